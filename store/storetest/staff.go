package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func newStaffMember(user int, role driver.StaffRole) driver.StaffMember {
	return driver.StaffMember{UserID: id(user), Name: awkward, Role: role, CreatedAt: at(12), UpdatedAt: at(13)}
}

func putStaff(members ...driver.StaffMember) writes {
	return func(ctx context.Context, tx driver.Tx) error {
		for _, member := range members {
			if err := tx.PutStaffMember(ctx, member); err != nil {
				return err
			}
		}
		return nil
	}
}

func staffKind() record {
	one := newStaffMember(10, driver.StaffFinance)
	holds := func(found driver.StaffMember, listed ...driver.StaffMember) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("StaffMembers", []driver.StaffMember{found}).from(tx.StaffMembers(ctx, []uuid.UUID{one.UserID})),
				want("ListStaff", listed).from(tx.ListStaff(ctx, 9)),
			)
		}
	}
	return record{name: "staff", create: putStaff(one), created: holds(one, one), absent: holds(driver.StaffMember{})}
}

func staffChecks() []Check {
	return []Check{
		{"staff/roles change, and one who was removed is listed no more", grounded(staffChanged)},
		{"staff/answers are aligned", grounded(staffAligned)},
		{"staff/list is in order", grounded(staffListed)},
		{"staff/are sound", grounded(staffSound)},
	}
}

func staffChanged(ctx context.Context, s driver.Store) error {
	first := newStaffMember(10, driver.StaffSupport)
	changed, removed, back := first, first, first
	changed.Name, changed.Role, changed.CreatedAt, changed.UpdatedAt = "Obi", driver.StaffAdministrator, at(20), at(21)
	removed.Role, removed.CreatedAt, removed.UpdatedAt = "", at(30), at(31)
	back.Role, back.CreatedAt, back.UpdatedAt = driver.StaffAuditor, at(40), at(41)
	holds := func(kept driver.StaffMember) error {
		kept.CreatedAt = first.CreatedAt
		var listed []driver.StaffMember
		if kept.Role != "" {
			listed = append(listed, kept)
		}
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("member", []driver.StaffMember{kept}).from(tx.StaffMembers(ctx, []uuid.UUID{kept.UserID})),
				want("list", listed).from(tx.ListStaff(ctx, 9)),
			)
		})
	}
	if err := update(ctx, s, putStaff(first)); err != nil {
		return err
	}
	before := first
	for _, member := range []driver.StaffMember{changed, removed, removed, back} {
		if err := steps(
			func() error { return failing(ctx, s, putStaff(member)) },
			func() error { return holds(before) },
		); err != nil {
			return fmt.Errorf("in an Update that failed: %w", err)
		}
		if err := update(ctx, s, putStaff(member)); err != nil {
			return err
		}
		if err := holds(member); err != nil {
			return err
		}
		before = member
	}
	return nil
}

func staffAligned(ctx context.Context, s driver.Store) error {
	a, b := newStaffMember(10, driver.StaffOnboarding), newStaffMember(20, "")
	if err := update(ctx, s, putStaff(b, a)); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps and out of order", []driver.StaffMember{b, {}, a, b}).
				from(tx.StaffMembers(ctx, []uuid.UUID{b.UserID, id(15), a.UserID, b.UserID})),
			want("none", []driver.StaffMember(nil)).from(tx.StaffMembers(ctx, nil)),
		)
	})
}

func staffListed(ctx context.Context, s driver.Store) error {
	var all []driver.StaffMember
	for _, user := range []int{10, 20, 30, 40} {
		all = append(all, newStaffMember(user, driver.StaffSupport))
	}
	gone := newStaffMember(5, "")
	if err := update(ctx, s, putStaff(all[2], all[0], gone, all[3], all[1])); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("all", all).from(tx.ListStaff(ctx, 4)),
			want("three", all[:3]).from(tx.ListStaff(ctx, 3)),
			want("none", []driver.StaffMember(nil)).from(tx.ListStaff(ctx, 0)),
		)
	})
}

func staffSound(ctx context.Context, s driver.Store) error {
	return refuses("a role of companies", update(ctx, s, putStaff(newStaffMember(10, "OWNER"))))
}
