package memory

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// people holds the users of the platform, and the members of companies by the ids of their users.
type people struct {
	byID      map[uuid.UUID]driver.User
	byEmail   map[string]uuid.UUID
	members   map[driver.MemberRef]driver.Member
	ofCompany map[uuid.UUID]*index[uuid.UUID] // without removed members
	companies map[uuid.UUID]*index[uuid.UUID] // the companies of a user, without those that removed them
}

func newPeople() people {
	return people{
		byID:      make(map[uuid.UUID]driver.User),
		byEmail:   make(map[string]uuid.UUID),
		members:   make(map[driver.MemberRef]driver.Member),
		ofCompany: make(map[uuid.UUID]*index[uuid.UUID]),
		companies: make(map[uuid.UUID]*index[uuid.UUID]),
	}
}

func newIDs() *index[uuid.UUID] { return newIndex(compareIDs) }

func (r reading) Users(ctx context.Context, ids []uuid.UUID) ([]driver.User, error) {
	return ask(ctx, r, func(s *state) []driver.User {
		return each(ids, func(id uuid.UUID) driver.User { return s.people.byID[id] })
	})
}

func (r reading) FindUsers(ctx context.Context, emails []string) ([]driver.User, error) {
	return ask(ctx, r, func(s *state) []driver.User {
		return each(emails, func(email string) driver.User { return s.people.byID[s.people.byEmail[email]] })
	})
}

func (r reading) Members(ctx context.Context, refs []driver.MemberRef) ([]driver.Member, error) {
	return ask(ctx, r, func(s *state) []driver.Member {
		return each(refs, func(ref driver.MemberRef) driver.Member { return s.people.members[ref] })
	})
}

func (r reading) ListMembers(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.Member, error) {
	return ask(ctx, r, func(s *state) []driver.Member {
		of, ok := s.people.ofCompany[companyID]
		if !ok {
			return nil
		}
		return each(of.first(limit), func(userID uuid.UUID) driver.Member {
			return s.people.members[driver.MemberRef{CompanyID: companyID, UserID: userID}]
		})
	})
}

func (r reading) ListMemberships(
	ctx context.Context, userID uuid.UUID, limit int,
) ([]driver.Member, error) {
	return ask(ctx, r, func(s *state) []driver.Member {
		of, ok := s.people.companies[userID]
		if !ok {
			return nil
		}
		return each(of.first(limit), func(companyID uuid.UUID) driver.Member {
			return s.people.members[driver.MemberRef{CompanyID: companyID, UserID: userID}]
		})
	})
}

func (tx *updating) CreateUser(ctx context.Context, user driver.User) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		user.CreatedAt = moment(user.CreatedAt)
		if err := create(u, s.people.byID, user.ID, user, "users_pkey"); err != nil {
			return err
		}
		return create(u, s.people.byEmail, user.Email, user.ID, "users_email_key")
	})
}

func (tx *updating) PutMember(ctx context.Context, member driver.Member) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		member.CreatedAt, member.UpdatedAt = moment(member.CreatedAt), moment(member.UpdatedAt)
		ref := driver.MemberRef{CompanyID: member.CompanyID, UserID: member.UserID}
		old, known := s.people.members[ref]
		if known {
			member.CreatedAt = old.CreatedAt
		}
		put(u, s.people.members, ref, member)
		listed := need(s.people.ofCompany, member.CompanyID, newIDs)
		companies := need(s.people.companies, member.UserID, newIDs)
		switch {
		case old.Role == "" && member.Role != "":
			listed.add(u, member.UserID)
			companies.add(u, member.CompanyID)
		case old.Role != "" && member.Role == "":
			listed.drop(u, member.UserID)
			companies.drop(u, member.CompanyID)
		}
		return nil
	})
}
