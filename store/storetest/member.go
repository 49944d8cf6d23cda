package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func newUser(n int, email string) driver.User {
	return driver.User{ID: id(n), Email: email, CreatedAt: at(11)}
}

func newMember(companyID uuid.UUID, user int, role driver.Role) driver.Member {
	return driver.Member{
		CompanyID: companyID, UserID: id(user), Name: awkward, Role: role, CreatedAt: at(12), UpdatedAt: at(13),
	}
}

func userKinds() []record {
	user := newUser(10, "ada@example.com")
	holds := func(found driver.User) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("Users", []driver.User{found}).from(tx.Users(ctx, []uuid.UUID{user.ID})),
				want("FindUsers", []driver.User{found}).from(tx.FindUsers(ctx, []string{user.Email})),
			)
		}
	}
	create := func(user driver.User) writes {
		return func(ctx context.Context, tx driver.Tx) error { return tx.CreateUser(ctx, user) }
	}
	return []record{{
		name: "users", create: create(user), created: holds(user), absent: holds(driver.User{}),
		taken: map[string]writes{
			"id":    create(newUser(10, "bob@example.com")),
			"email": create(newUser(11, user.Email)),
		},
	}}
}

func memberKinds() []record {
	member := newMember(companyA, 10, driver.RoleOwner)
	holds := func(found driver.Member, listed ...driver.Member) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("Members", []driver.Member{found}).
					from(tx.Members(ctx, []driver.MemberRef{{CompanyID: companyA, UserID: member.UserID}})),
				want("ListMembers", listed).from(tx.ListMembers(ctx, companyA, 9)),
				want("ListMemberships", listed).from(tx.ListMemberships(ctx, member.UserID, 9)),
			)
		}
	}
	return []record{{
		name: "members", created: holds(member, member), absent: holds(driver.Member{}),
		create: func(ctx context.Context, tx driver.Tx) error { return tx.PutMember(ctx, member) },
	}}
}

func memberChecks() []Check {
	return []Check{
		{"users/answers are aligned", usersAligned},
		{"members/roles change, and a member who was removed is listed no more", grounded(membersChanged)},
		{"members/answers are aligned and of their company", grounded(membersAligned)},
		{"members/list is in order", grounded(membersListed)},
		{"members/memberships are in order and of their user", grounded(membershipsListed)},
	}
}

func usersAligned(ctx context.Context, s driver.Store) error {
	ada, bob := newUser(20, "ada@example.com"), newUser(10, "BOB@example.com ")
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(tx.CreateUser(ctx, ada), tx.CreateUser(ctx, bob))
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("by id", []driver.User{{}, bob, ada, bob}).
				from(tx.Users(ctx, []uuid.UUID{id(90), bob.ID, ada.ID, bob.ID})),
			want("by email", []driver.User{bob, {}, {}, ada}).
				from(tx.FindUsers(ctx, []string{bob.Email, "bob@example.com", "", ada.Email})),
			want("none", []driver.User(nil)).from(tx.Users(ctx, nil)),
		)
	})
}

func putMembers(members ...driver.Member) writes {
	return func(ctx context.Context, tx driver.Tx) error {
		for _, member := range members {
			if err := tx.PutMember(ctx, member); err != nil {
				return err
			}
		}
		return nil
	}
}

func membersChanged(ctx context.Context, s driver.Store) error {
	joined := newMember(companyA, 10, driver.RoleViewer)
	changed := joined
	changed.Role, changed.CreatedAt, changed.UpdatedAt = driver.RoleOwner, at(20), at(21)
	removed, back := changed, changed
	removed.Role, back.Role = "", driver.RoleAdministrator
	changed.Name, back.Name = "Ada", "Ada Obi"
	removed.Name = changed.Name
	refs := []driver.MemberRef{{CompanyID: companyA, UserID: joined.UserID}}
	holds := func(kept driver.Member) error {
		kept.CreatedAt = joined.CreatedAt // The first one stays.
		var listed []driver.Member
		if kept.Role != "" {
			listed = append(listed, kept)
		}
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("member", []driver.Member{kept}).from(tx.Members(ctx, refs)),
				want("list", listed).from(tx.ListMembers(ctx, companyA, 9)),
				want("memberships", listed).from(tx.ListMemberships(ctx, joined.UserID, 9)),
			)
		})
	}
	if err := update(ctx, s, putMembers(joined)); err != nil {
		return err
	}
	for _, member := range []driver.Member{changed, removed, removed, back} {
		before := joined
		if member.Role == back.Role {
			before = removed
		}
		if member.Role == changed.Role {
			if err := steps(
				func() error { return failing(ctx, s, putMembers(member)) },
				func() error { return holds(before) },
			); err != nil {
				return fmt.Errorf("in an Update that failed: %w", err)
			}
		}
		if err := update(ctx, s, putMembers(member)); err != nil {
			return err
		}
		if err := holds(member); err != nil {
			return err
		}
	}
	return nil
}

func membersAligned(ctx context.Context, s driver.Store) error {
	a, b := newMember(companyA, 10, driver.RoleOwner), newMember(companyB, 10, driver.RoleViewer)
	c := newMember(companyB, 11, driver.RoleAdministrator)
	if err := update(ctx, s, putMembers(b, a, c)); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps and out of order", []driver.Member{b, {}, a, c}).
				from(tx.Members(ctx, []driver.MemberRef{
					{CompanyID: companyB, UserID: id(10)},
					{CompanyID: companyA, UserID: id(11)},
					{CompanyID: companyA, UserID: id(10)},
					{CompanyID: companyB, UserID: id(11)},
				})),
			want("of one", []driver.Member{a}).from(tx.ListMembers(ctx, companyA, 9)),
			want("of the other", []driver.Member{b, c}).from(tx.ListMembers(ctx, companyB, 9)),
			want("of none", []driver.Member(nil)).from(tx.ListMembers(ctx, id(90), 9)),
		)
	})
}

func membersListed(ctx context.Context, s driver.Store) error {
	var all []driver.Member
	for _, user := range []int{10, 20, 30, 40} {
		all = append(all, newMember(companyA, user, driver.RoleViewer))
	}
	if err := update(ctx, s, putMembers(all[2], all[0], all[3], all[1])); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("all", all).from(tx.ListMembers(ctx, companyA, 4)),
			want("three", all[:3]).from(tx.ListMembers(ctx, companyA, 3)),
		)
	})
}

// membershipsListed has memberships of one user in several companies, of which one was removed.
func membershipsListed(ctx context.Context, s driver.Store) error {
	var all []driver.Member
	for _, company := range []int{30, 31, 32, 33} {
		all = append(all, newMember(id(company), 10, driver.RoleViewer))
	}
	gone := newMember(companyA, 10, "")
	if err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, member := range all {
			err := errors.Join(
				tx.CreateCompany(ctx, newCompany(member.CompanyID)), tx.AppendBranding(ctx, newBranding(member.CompanyID, 1)),
			)
			if err != nil {
				return err
			}
		}
		return putMembers(all[2], all[0], gone, all[3], newMember(companyB, 11, driver.RoleOwner), all[1])(ctx, tx)
	}); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("all", all).from(tx.ListMemberships(ctx, id(10), 4)),
			want("three", all[:3]).from(tx.ListMemberships(ctx, id(10), 3)),
			want("of none", []driver.Member(nil)).from(tx.ListMemberships(ctx, id(90), 9)),
		)
	})
}
