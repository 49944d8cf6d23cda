package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Actor is who acts on the operator's plane: an administrator of one company, or platform staff.
type Actor struct {
	// Name tells people who it was, and is what the audit log keeps: 1 to 200 characters on one line, surrounding white
	// space aside. Without one an actor may read and not write.
	Name string
	// CompanyID is the company an administrator belongs to; zero for platform staff.
	CompanyID uuid.UUID
	// Permissions are what the actor may do. Staff may hold those of companies, too, and then for every company.
	Permissions []Permission

	userID uuid.UUID // the member that [Service.Member] made it from; zero: none
}

// Staff is a platform actor with every permission, for a host or a command line that trusts itself.
func Staff(name string) Actor { return Actor{Name: name, Permissions: AllPermissions()} }

// Operator runs companies and their money on behalf of an actor. [Service.As] makes it.
type Operator struct {
	s     *Service
	actor Actor
}

// As is the operator's plane in the name of an actor. Each method checks the exact permission it names, and that an
// administrator stays within their own company: else PERMISSION_DENIED, and for another company NOT_FOUND.
func (s *Service) As(actor Actor) Operator { return Operator{s: s, actor: actor} }

// holds checks a permission, for whichever company.
func (o Operator) holds(permission Permission) error {
	staff := o.actor.CompanyID == uuid.Nil
	if !slices.Contains(o.actor.Permissions, permission) || (permission.forStaff() && !staff) {
		return errMissing(permission)
	}
	return nil
}

func errMissing(permission Permission) error {
	return &Error{Code: CodePermissionDenied, Message: "The permission " + string(permission) + " is required."}
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

// allowWrite is allow for what changes something: the actor has a name for the audit log, else INVALID_REQUEST.
func (o Operator) allowWrite(permission Permission, companyID uuid.UUID) error {
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	_, err := o.actor.auditName()
	return err
}

var errNoCompany = notFound("The company")

// An operatorRule decides about one company and writes what follows, at a time that was read before; where it changed
// something, it ends with [Operator.audit]. It may run again.
type operatorRule func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error

// change runs a rule that changes what a sale only reads: it has the company to itself.
func (o Operator) change(ctx context.Context, permission Permission, companyID uuid.UUID, rule operatorRule) error {
	return o.update(ctx, permission, companyID, Entrance{Close: []uuid.UUID{companyID}}, rule)
}

// share runs a rule that changes something else, which it locks itself, beside the company's sales.
func (o Operator) share(ctx context.Context, permission Permission, companyID uuid.UUID, rule operatorRule) error {
	return o.update(ctx, permission, companyID, Entrance{Share: []uuid.UUID{companyID}}, rule)
}

// platformAlone has what belongs to no company to itself, behind the gate of the zero company.
func platformAlone() Entrance { return Entrance{Close: []uuid.UUID{uuid.Nil}} }

func (o Operator) update(
	ctx context.Context, permission Permission, companyID uuid.UUID, in Entrance, rule operatorRule,
) error {
	if err := o.allowWrite(permission, companyID); err != nil {
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
		if err := o.stillHolds(ctx, tx, permission, companyID); err != nil {
			return err
		}
		return rule(ctx, tx, at, &company)
	})
}

// operatorRead reads about one company.
type operatorRead func(ctx context.Context, tx ReadTx, company CompanyRecord) error

// view reads what one statement answers, or what does not change.
func (o Operator) view(ctx context.Context, permission Permission, companyID uuid.UUID, read operatorRead) error {
	return o.look(ctx, Store.View, permission, companyID, read)
}

// snapshot reads what has to agree, as of one moment.
func (o Operator) snapshot(ctx context.Context, permission Permission, companyID uuid.UUID, read operatorRead) error {
	return o.look(ctx, Store.Snapshot, permission, companyID, read)
}

func (o Operator) look(
	ctx context.Context, run func(Store, context.Context, func(context.Context, ReadTx) error) error,
	permission Permission, companyID uuid.UUID, read operatorRead,
) error {
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	return run(o.s.store, ctx, func(ctx context.Context, tx ReadTx) error {
		company, err := findCompany(ctx, tx, companyID)
		if err != nil {
			return err
		}
		return read(ctx, tx, company)
	})
}

// maxListed is the most that a listing without pages answers with, the newest.
const maxListed = 10_000
