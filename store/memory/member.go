package memory

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// people are the users of the platform, and the members of companies by the ids of their users.
type people struct {
	byID      map[uuid.UUID]ticketing.UserRecord
	byEmail   map[string]uuid.UUID
	members   map[ticketing.MemberRef]ticketing.MemberRecord
	ofCompany map[uuid.UUID]*index[uuid.UUID] // without those who were removed
}

func newPeople() people {
	return people{
		byID:      make(map[uuid.UUID]ticketing.UserRecord),
		byEmail:   make(map[string]uuid.UUID),
		members:   make(map[ticketing.MemberRef]ticketing.MemberRecord),
		ofCompany: make(map[uuid.UUID]*index[uuid.UUID]),
	}
}

func newMembers() *index[uuid.UUID] { return newIndex(compareIDs) }

func (r reading) Users(ctx context.Context, ids []uuid.UUID) ([]ticketing.UserRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.UserRecord {
		return each(ids, func(id uuid.UUID) ticketing.UserRecord { return s.people.byID[id] })
	})
}

func (r reading) FindUsers(ctx context.Context, emails []string) ([]ticketing.UserRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.UserRecord {
		return each(emails, func(email string) ticketing.UserRecord { return s.people.byID[s.people.byEmail[email]] })
	})
}

func (r reading) Members(ctx context.Context, refs []ticketing.MemberRef) ([]ticketing.MemberRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.MemberRecord {
		return each(refs, func(ref ticketing.MemberRef) ticketing.MemberRecord { return s.people.members[ref] })
	})
}

func (r reading) ListMembers(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]ticketing.MemberRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.MemberRecord {
		of, ok := s.people.ofCompany[companyID]
		if !ok {
			return nil
		}
		return each(of.first(limit), func(userID uuid.UUID) ticketing.MemberRecord {
			return s.people.members[ticketing.MemberRef{CompanyID: companyID, UserID: userID}]
		})
	})
}

func (tx *updating) CreateUser(ctx context.Context, user ticketing.UserRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		user.CreatedAt = moment(user.CreatedAt)
		if err := create(u, s.people.byID, user.ID, user, "users_pkey"); err != nil {
			return err
		}
		return create(u, s.people.byEmail, user.Email, user.ID, "users_email_key")
	})
}

func (tx *updating) PutMember(ctx context.Context, member ticketing.MemberRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		member.CreatedAt, member.UpdatedAt = moment(member.CreatedAt), moment(member.UpdatedAt)
		ref := ticketing.MemberRef{CompanyID: member.CompanyID, UserID: member.UserID}
		old, known := s.people.members[ref]
		if known {
			member.CreatedAt = old.CreatedAt
		}
		put(u, s.people.members, ref, member)
		listed := need(s.people.ofCompany, member.CompanyID, newMembers)
		switch {
		case old.Role == "" && member.Role != "":
			listed.add(u, member.UserID)
		case old.Role != "" && member.Role == "":
			listed.drop(u, member.UserID)
		}
		return nil
	})
}
