package ticketing

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Permission is one right on the operator's plane. None of them can be placed on a public API key.
type Permission string

// The permissions of a company's administrators, for their own company.
const (
	PermissionKYBRead        Permission = "COMPANY:kyb:read"
	PermissionAPIKeyRead     Permission = "COMPANY:api_key:read"
	PermissionAPIKeyManage   Permission = "COMPANY:api_key:manage"
	PermissionBrandingRead   Permission = "COMPANY:branding:read"
	PermissionBrandingManage Permission = "COMPANY:branding:manage"
	PermissionWalletRead     Permission = "COMPANY:wallet:read"
)

// The permissions of platform staff, for every company.
const (
	PermissionFloatCredit        Permission = "tenant_float:credit"
	PermissionCommissionSchedule Permission = "tenant_commission:schedule"
	PermissionKYBDecide          Permission = "tenant_kyb:decide"
	PermissionManage             Permission = "tenant:manage"
)

// Actor is who acts on the operator's plane: an administrator of one company, or platform staff.
type Actor struct {
	// Name tells people who it was.
	Name string
	// CompanyID is the company an administrator belongs to; zero for platform staff.
	CompanyID uuid.UUID
	// Permissions are what the actor may do. Staff may hold those of companies, too, and then for every company.
	Permissions []Permission
}

// Staff is a platform actor with every permission, for a host or a command line that trusts itself.
func Staff(name string) Actor { return Actor{Name: name, Permissions: AllPermissions()} }

// AllPermissions are the permissions of companies, then those of staff.
func AllPermissions() []Permission {
	return []Permission{
		PermissionKYBRead, PermissionAPIKeyRead, PermissionAPIKeyManage, PermissionBrandingRead,
		PermissionBrandingManage, PermissionWalletRead,
		PermissionFloatCredit, PermissionCommissionSchedule, PermissionKYBDecide, PermissionManage,
	}
}

// Operator runs companies and their money on behalf of an actor. [Service.As] makes it.
type Operator struct {
	s     *Service
	actor Actor
}

// As is the operator's plane in the name of an actor. Each method checks the exact permission it names, and that an
// administrator stays within their own company: else PERMISSION_DENIED, and for another company NOT_FOUND.
func (s *Service) As(actor Actor) Operator { return Operator{s: s, actor: actor} }

// forStaff tells whether a permission is one that no administrator of a company can hold.
func (p Permission) forStaff() bool { return !strings.HasPrefix(string(p), "COMPANY:") }

// holds checks a permission, for whichever company.
func (o Operator) holds(permission Permission) error {
	staff := o.actor.CompanyID == uuid.Nil
	if !slices.Contains(o.actor.Permissions, permission) || (permission.forStaff() && !staff) {
		return &Error{Code: CodePermissionDenied, Message: "The permission " + string(permission) + " is required."}
	}
	return nil
}

// reaches tells whether the actor may see a company, or (the zero id) what belongs to none.
func (o Operator) reaches(companyID uuid.UUID) bool {
	return o.actor.CompanyID == uuid.Nil || o.actor.CompanyID == companyID
}

// allow checks a permission for one company, or (the zero id) for the platform.
func (o Operator) allow(permission Permission, companyID uuid.UUID) error {
	if err := o.holds(permission); err != nil {
		return err
	}
	if !o.reaches(companyID) {
		return errNoCompany
	}
	return nil
}

var errNoCompany = notFound("The company")

// An operatorRule decides about one company and writes what follows, at a time that was read before. It may run again.
type operatorRule func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error

// change runs a rule that changes what a sale only reads: it has the company to itself.
func (o Operator) change(ctx context.Context, permission Permission, companyID uuid.UUID, rule operatorRule) error {
	return o.update(ctx, permission, companyID, Entrance{Close: []uuid.UUID{companyID}}, rule)
}

// share runs a rule that changes something else, which it locks itself, beside the company's sales.
func (o Operator) share(ctx context.Context, permission Permission, companyID uuid.UUID, rule operatorRule) error {
	return o.update(ctx, permission, companyID, Entrance{Share: []uuid.UUID{companyID}}, rule)
}

func (o Operator) update(
	ctx context.Context, permission Permission, companyID uuid.UUID, in Entrance, rule operatorRule,
) error {
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	at := o.s.now()
	return o.s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, in); err != nil {
			return err
		}
		company, err := findCompany(ctx, tx, companyID)
		if err != nil {
			return err
		}
		return rule(ctx, tx, at, &company)
	})
}

// view reads about one company.
func (o Operator) view(
	ctx context.Context, permission Permission, companyID uuid.UUID,
	read func(ctx context.Context, tx ReadTx, company CompanyRecord) error,
) error {
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	return o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		company, err := findCompany(ctx, tx, companyID)
		if err != nil {
			return err
		}
		return read(ctx, tx, company)
	})
}

// maxListed is the most that a listing without pages answers with, the newest.
const maxListed = 10_000
