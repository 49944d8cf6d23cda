package ticketing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Actor is who acts on the operator plane: an administrator of one company, or platform staff. The host authenticates
// the actor: an Operator trusts the Permissions that it is given.
type Actor struct {
	// Name identifies the actor to people, and is what the audit log keeps: 1 to 200 characters on one line,
	// surrounding white space not counted. An actor without a name may read but not write.
	Name string
	// CompanyID is the company that an administrator belongs to. It is zero for platform staff.
	CompanyID uuid.UUID
	// Permissions are what the actor may do. Staff may also hold the permissions of companies, and then for every
	// company.
	Permissions []Permission

	// userID is the member that [Service.Member] made it for, or the member of staff that [Accounts.Staff] did; zero:
	// none.
	userID uuid.UUID
	// staff is set for a member of CompanyID who is also a member of staff, see [Accounts.Actor].
	staff bool
}

// isStaff reports whether the actor is platform staff, whether or not they are also a member of a company.
func (a Actor) isStaff() bool { return a.CompanyID == uuid.Nil || a.staff }

// Staff returns a platform actor with every permission. It is for a host or a command line that needs no further check.
func Staff(name string) Actor { return Actor{Name: name, Permissions: AllPermissions()} }

// Operator manages companies and their money on behalf of an actor. None of its methods is available to an API key
// (section 1, item 4). [Service.As] returns one. An Operator costs nothing to make and is safe for concurrent use.
type Operator struct {
	s     *Service
	actor Actor
}

// As returns the operator plane in the name of an actor. Each method checks the exact permission that it names, and
// that an administrator stays within their own company. A missing permission is PERMISSION_DENIED; another company is
// NOT_FOUND, so that nobody learns which companies exist.
func (s *Service) As(actor Actor) Operator { return Operator{s: s, actor: actor} }

// holds checks that the actor has a permission, regardless of the company. A permission of staff never holds for an
// actor that belongs to a company, even if the host listed it. A method that names a record by its id alone calls it
// before the look-up, which finds the company.
func (o Operator) holds(permission Permission) error {
	if !slices.Contains(o.actor.Permissions, permission) || (permission.forStaff() && !o.actor.isStaff()) {
		return errMissing(permission)
	}
	return nil
}

// errMissing returns the PERMISSION_DENIED that names the missing permission.
func errMissing(permission Permission) error {
	return &Error{Code: CodePermissionDenied, Message: "The permission " + string(permission) + " is required."}
}

// reaches reports whether the actor may see a company. The zero id stands for what belongs to no company: only staff
// reach it.
func (o Operator) reaches(companyID uuid.UUID) bool {
	return o.actor.CompanyID == uuid.Nil || o.actor.CompanyID == companyID
}

// allow checks a permission for one company, or with the zero id for the platform.
func (o Operator) allow(permission Permission, companyID uuid.UUID) error {
	if err := o.holds(permission); err != nil {
		return err
	}
	if !o.reaches(companyID) {
		return errNoCompany
	}
	return nil
}

// heldOf returns the first of the permissions that the actor holds, and the first of all if they hold none. It is for a
// method that each of them lets in.
func (o Operator) heldOf(permissions ...Permission) Permission {
	for _, permission := range permissions {
		if o.holds(permission) == nil {
			return permission
		}
	}
	return permissions[0]
}

// allowPlatformRead is allow for a method that only reads what belongs to the platform. Who manages it may read it,
// too.
func (o Operator) allowPlatformRead(companyID uuid.UUID) error {
	return o.allow(o.heldOf(PermissionTenantRead, PermissionManage), companyID)
}

// readsOrders returns the permission by which the actor reads orders: as staff, or as somebody of a company.
func (o Operator) readsOrders() Permission {
	return o.heldOf(PermissionOrderRead, PermissionCompanyOrderRead)
}

// allowWrite is allow for a method that changes something: the actor must also have a name for the audit log. Without
// one it is INVALID_REQUEST.
func (o Operator) allowWrite(permission Permission, companyID uuid.UUID) error {
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	_, err := o.actor.auditName()
	return err
}

var errNoCompany = notFound("The company") // also for a company that exists but that the actor may not see

// An operatorRule decides about one company and writes the change. The time was read before the transaction. A rule
// that changed something ends with [Operator.audit], so that change and audit row commit together. It may run again.
type operatorRule func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error

// changeExclusive runs a rule that changes what a sale only reads: the company, its keys, verification, branding,
// endpoints or rates, or the status of an event. It holds the company's gate exclusively, so no sale of the company
// runs meanwhile. changeExclusive waits for the writes that are under way. A company with a flood of sales still lets
// it in: the gate is fair.
func (o Operator) changeExclusive(
	ctx context.Context, permission Permission, companyID uuid.UUID, rule operatorRule,
) error {
	return o.update(ctx, permission, companyID, driver.BeginOptions{Exclusive: []uuid.UUID{companyID}}, rule)
}

// changeShared runs a rule that changes something that sales do not rely on, or that the rule locks itself, such as a
// wallet. It holds the company's gate shared, so sales go on meanwhile.
func (o Operator) changeShared(
	ctx context.Context, permission Permission, companyID uuid.UUID, rule operatorRule,
) error {
	return o.update(ctx, permission, companyID, driver.BeginOptions{Shared: []uuid.UUID{companyID}}, rule)
}

// platformAlone returns the options of a transaction that changes what belongs to no company. It holds the gate of the
// zero company exclusively.
//
// Categories, users and the names of secrets are guarded by it. Changes of them are rare, so one gate for all of them
// is enough.
func platformAlone() driver.BeginOptions {
	return driver.BeginOptions{Exclusive: []uuid.UUID{uuid.Nil}}
}

// begin begins the transaction of a write and checks that the actor still has the permission. Every write of an
// operator begins with it. One by a member of staff also holds the gate of the zero company, which guards their role.
func (o Operator) begin(
	ctx context.Context, tx driver.Tx, in driver.BeginOptions, permission Permission, companyID uuid.UUID,
) error {
	if o.isStaffUser() && !slices.Contains(in.Exclusive, uuid.Nil) {
		in.Shared = append(slices.Clone(in.Shared), uuid.Nil)
	}
	if _, err := tx.Begin(ctx, in); err != nil {
		return err
	}
	return o.stillHolds(ctx, tx, permission, companyID)
}

// updatePlatform runs a rule that changes what belongs to no company, as update does. It holds the gate of the zero
// company exclusively.
func (o Operator) updatePlatform(
	ctx context.Context, permission Permission, rule func(ctx context.Context, tx driver.Tx, at time.Time) error,
) error {
	if err := o.allowWrite(permission, uuid.Nil); err != nil {
		return err
	}
	at := o.s.now()
	return o.commit(ctx, func(ctx context.Context, tx driver.Tx) error {
		if err := o.begin(ctx, tx, platformAlone(), permission, uuid.Nil); err != nil {
			return err
		}
		return rule(ctx, tx, at)
	})
}

// commit runs a transaction, and signals its commit to those who watch.
func (o Operator) commit(ctx context.Context, change func(context.Context, driver.Tx) error) error {
	err := o.s.store.Update(ctx, change)
	if err == nil {
		o.s.commits.send()
	}
	return err
}

// update runs a rule in a transaction. The permission is checked twice: before the transaction, from the actor as
// given, and within it for a user, whose role may have changed (see stillHolds).
func (o Operator) update(
	ctx context.Context, permission Permission, companyID uuid.UUID, in driver.BeginOptions, rule operatorRule,
) error {
	if err := o.allowWrite(permission, companyID); err != nil {
		return err
	}
	// The clock is read before the transaction, which may run again: all its runs have one time.
	at := o.s.now()
	return o.commit(ctx, func(ctx context.Context, tx driver.Tx) error {
		// The role of a user is read again under the gate, which also guards it, so a role that was removed no longer
		// counts.
		if err := o.begin(ctx, tx, in, permission, companyID); err != nil {
			return err
		}
		company, err := findCompany(ctx, tx, companyID)
		if err != nil {
			return err
		}
		return rule(ctx, tx, at, &company)
	})
}

// An operatorRead reads about one company. It may run again, so it assigns its results from the start each time. A
// companyRead also gets the company.
type (
	operatorRead func(ctx context.Context, tx driver.ReadTx) error
	companyRead  func(ctx context.Context, tx driver.ReadTx, company driver.Company) error
)

// A readRunner is one of the two methods of a store that read.
type readRunner func(driver.Store, context.Context, func(context.Context, driver.ReadTx) error) error

// view reads what a single statement returns, or what never changes. Its statements may see different moments. A read
// takes no gate, so it never waits for a change.
func (o Operator) view(ctx context.Context, permission Permission, companyID uuid.UUID, read operatorRead) error {
	return o.look(ctx, driver.Store.View, permission, companyID, read)
}

// snapshot reads as of one moment. It is for results whose parts must agree, such as an order and its admissions.
func (o Operator) snapshot(ctx context.Context, permission Permission, companyID uuid.UUID, read operatorRead) error {
	return o.look(ctx, driver.Store.Snapshot, permission, companyID, read)
}

// look checks the permission and runs read in the given kind of transaction. The company is read with the first read of
// it, in one message where the store can. What read has found counts only if the company exists.
func (o Operator) look(
	ctx context.Context, run readRunner, permission Permission, companyID uuid.UUID, read operatorRead,
) error {
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	return run(o.s.store, ctx, func(ctx context.Context, tx driver.ReadTx) error {
		announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) { _, _ = findCompany(ctx, tx, companyID) })
		found := read(ctx, o.s.cached(tx))
		if _, refused := errors.AsType[*Error](found); found != nil && !refused {
			return found // The store failed.
		}
		if _, err := findCompany(ctx, tx, companyID); err != nil {
			return err
		}
		return found
	})
}

// lookAt is look for a read that depends on the company.
func (o Operator) lookAt(
	ctx context.Context, run readRunner, permission Permission, companyID uuid.UUID, read companyRead,
) error {
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	return run(o.s.store, ctx, func(ctx context.Context, tx driver.ReadTx) error {
		company, err := findCompany(ctx, tx, companyID)
		if err != nil {
			return err
		}
		return read(ctx, o.s.cached(tx), company)
	})
}

// announce announces reads, so that they travel with the next one, where the store can: see [driver.Announcer].
func announce(ctx context.Context, tx driver.ReadTx, reads func(ctx context.Context, tx driver.ReadTx)) {
	if announcer, ok := tx.(driver.Announcer); ok {
		announcer.Announce(ctx, reads)
	}
}

// maxListed is the most items that a listing without pages returns: the newest.
const maxListed = 10_000

// findReached finds a record by its id alone, for an actor that may see it. One that does not exist, and one of a
// company that the actor does not reach, is missing. The result may be out of date: a change reads the record again
// under its lock.
func findReached[R any](
	ctx context.Context, o Operator, permission Permission, id uuid.UUID, missing error,
	find func(driver.ReadTx, context.Context, uuid.UUID) (R, error), company func(R) uuid.UUID,
) (R, error) {
	var found R
	if err := o.holds(permission); err != nil {
		return found, err
	}
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		found, err = find(tx, ctx, id)
		return err
	})
	return found, o.orMissing(err, company(found), missing)
}

// orMissing returns the error of a look-up by id alone, and missing where the record does not exist or belongs to a
// company that the actor does not reach. The id does not name the company, so it is checked after the look-up.
func (o Operator) orMissing(err error, company uuid.UUID, missing error) error {
	if err == nil && (company == uuid.Nil || !o.reaches(company)) {
		return missing
	}
	return err
}
