package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Grant is a right on the data plane (section 5). A read grant never implies the manage grant.
type Grant = driver.Grant

// The seven grants that a public API key may carry.
const (
	GrantEventRead       = driver.GrantEventRead
	GrantEventManage     = driver.GrantEventManage
	GrantInventoryRead   = driver.GrantInventoryRead
	GrantInventoryManage = driver.GrantInventoryManage
	GrantCheckoutCreate  = driver.GrantCheckoutCreate
	GrantOrderRead       = driver.GrantOrderRead
	GrantTicketValidate  = driver.GrantTicketValidate
)

// AllGrants returns the seven grants, in the order of section 5.
func AllGrants() []Grant {
	return []Grant{
		GrantEventRead, GrantEventManage, GrantInventoryRead, GrantInventoryManage, GrantCheckoutCreate,
		GrantOrderRead, GrantTicketValidate,
	}
}

// Caller acts on the data plane, for one company and with its grants. [Service.Authenticate] and [Service.Identify]
// return one for an API key. [TrustedCaller] returns one for a host that authenticates by itself, and [Accounts.Caller]
// one for a member of a company. The zero Caller may do nothing.
//
// A Caller holds what was true when it was made. Every write checks the company, the key or the member, and the grant
// again in its transaction (section 5, rule 5). For a caller of [Service.Identify] every read checks them, too.
type Caller struct {
	companyID uuid.UUID
	keyID     uuid.UUID
	userID    uuid.UUID // the member that [Accounts.Caller] made it for; zero: none
	grants    []Grant

	provisional *provisional // of a caller from [Service.Identify] that no transaction has checked yet; else nil
}

// TrustedCaller returns a caller without an API key. It is for a host that decides by itself who may act for the
// company. Every write still checks that the company is active, and a checkout also that it is verified.
func TrustedCaller(companyID uuid.UUID, grants ...Grant) Caller {
	return Caller{companyID: companyID, grants: slices.Clone(grants)}
}

// CompanyID returns the id of the company that the caller acts for.
func (c Caller) CompanyID() uuid.UUID { return c.companyID }

// KeyID returns the id of the caller's API key, or the zero id for a caller without one.
func (c Caller) KeyID() uuid.UUID { return c.keyID }

// Require returns nil if the caller carries exactly this grant, otherwise PERMISSION_DENIED. For the zero Caller it
// returns AUTHENTICATION_FAILED. Every operation calls it first. An adapter may call it earlier, before it reads a
// body. Require reads no data; a write checks the grant again in its transaction.
func (c Caller) Require(grant Grant) error {
	if c.companyID == uuid.Nil {
		return errAuthenticationFailed
	}
	if !slices.Contains(c.grants, grant) {
		return errPermissionDenied
	}
	return nil
}

// The refusals of authentication and authority. They are the same for all causes, so that a client cannot find out
// whether a key exists or why a company is not verified (sections 5 and 7).
var (
	errAuthenticationFailed = &Error{
		Code: CodeAuthenticationFailed, Message: "The API key is missing, malformed, revoked or not usable.",
	}
	errPermissionDenied = &Error{
		Code: CodePermissionDenied, Message: "The API key does not have the permission for this operation.",
	}
	errVerificationRequired = &Error{
		Code: CodeVerificationRequired, Message: "Current company verification is required",
	}
)

// authority is what a caller's right to act depends on: the company, and the API key or the member. A write reads it
// under the company's gate, so that it holds until the transaction ends. A revocation needs the gate exclusively, and
// waits for it. An authority is read for each transaction and never remembered: a cached one would outlive a
// revocation. What [Service.Identify] remembers is compared with it, and never used in its place.
type authority struct {
	// company is the caller's company, and key is its API key. key is zero for a caller without one, and member for one
	// that is no member.
	company driver.Company
	key     driver.APIKey
	member  driver.Member
}

// authorities returns the authority of each caller, in their order. A write reads it in a later statement than its
// gate: what was read before the lock may be out of date. Repeated companies and keys are read once. A
// caller without a key has the zero record of one. Members are read only if a caller is one.
func authorities(ctx context.Context, tx driver.ReadTx, callers []Caller) ([]authority, error) {
	ids := make([]uuid.UUID, 0, len(callers))
	refs := make([]driver.APIKeyRef, 0, len(callers))
	var people []driver.MemberRef
	for _, c := range callers {
		ids = append(ids, c.companyID)
		if c.keyID != uuid.Nil {
			refs = append(refs, driver.APIKeyRef{CompanyID: c.companyID, ID: c.keyID})
		}
		if c.userID != uuid.Nil {
			people = append(people, c.memberRef())
		}
	}
	ids, refs = distinct(ids), distinct(refs)
	companies, err := tx.Companies(ctx, ids)
	if err != nil {
		return nil, err
	}
	var keys []driver.APIKey
	if len(refs) > 0 {
		if keys, err = tx.APIKeys(ctx, refs); err != nil {
			return nil, err
		}
	}
	var members []driver.Member
	if len(people) > 0 {
		people = distinct(people)
		if members, err = tx.Members(ctx, people); err != nil {
			return nil, err
		}
	}
	// The store returns records in the order of the references, and the zero record for what does not exist.
	held := make([]authority, len(callers))
	for i, c := range callers {
		held[i].company = companies[slices.Index(ids, c.companyID)]
		if c.keyID != uuid.Nil {
			held[i].key = keys[slices.Index(refs, driver.APIKeyRef{CompanyID: c.companyID, ID: c.keyID})]
		}
		if c.userID != uuid.Nil {
			held[i].member = members[slices.Index(people, c.memberRef())]
		}
	}
	return held, nil
}

// check returns nil if the caller may still write, and else PERMISSION_DENIED (section 5, rule 5). The company must be
// active. A caller with an API key needs an active key with the exact grant, and a member a role that has it. A
// revocation that committed before the gate was entered therefore stops every later write, and so does a removal.
//
// For a provisional caller that is not as it was remembered it returns errOutdatedCaller, see runCurrent.
func (a authority) check(c Caller, grant Grant) error {
	if err := a.checkProvisional(c); err != nil {
		if a.lostMeanwhile(c) {
			c.setConfirmed()
			return errPermissionDenied
		}
		return err
	}
	// The zero record of an unknown company has no status, so it is refused like a suspended one.
	if a.company.Status != CompanyActive {
		return errPermissionDenied
	}
	if c.keyID != uuid.Nil && (a.key.Status != APIKeyActive || !slices.Contains(a.key.Grants, grant)) {
		return errPermissionDenied
	}
	// A removed member has no role, and so no grant.
	if c.userID != uuid.Nil && !slices.Contains(grantsOf(a.member.Role), grant) {
		return errPermissionDenied
	}
	return nil
}

// memberRef names the member that the caller acts as.
func (c Caller) memberRef() driver.MemberRef {
	return driver.MemberRef{CompanyID: c.companyID, UserID: c.userID}
}

// write runs fn in a transaction, after it has checked the caller's authority under the gate. It is the first half of
// the pipeline, for operations without an idempotency key. If exclusive is set, fn changes what a sale only reads: the
// gate is held exclusively, and the company's other writers wait.
//
// fn gets the time of the operation, which is the same when the transaction runs again.
//
// Errors beside those of fn: PERMISSION_DENIED if the authority has changed since the call was let in, and [ErrBusy] if
// the gate is not free in time or too many calls of the company wait. Nothing is written then.
func (s *Service) write(
	ctx context.Context, operation string, caller Caller, grant Grant, exclusive bool,
	fn func(context.Context, driver.Tx, time.Time) error,
) error {
	in := driver.BeginOptions{Shared: []uuid.UUID{caller.companyID}}
	// The choice is made before the transaction, because a shared hold of a gate is never upgraded.
	if exclusive {
		in = driver.BeginOptions{Exclusive: in.Shared}
	}
	ctx, end := s.observe(ctx, operation)
	err := s.runCurrent(ctx, caller, grant, func(caller Caller) error {
		in.Reads = func(ctx context.Context, tx driver.Tx) { _, _ = authorities(ctx, tx, []Caller{caller}) }
		// The time is read once, since the transaction may run again.
		at := s.now()
		return s.runOnSlot(ctx, operation, caller.companyID, exclusive, func() error {
			return s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
				if _, err := tx.Begin(ctx, in); err != nil {
					return err
				}
				// This read begins after the gate was entered, so it sees every committed revocation.
				held, err := authorities(ctx, tx, []Caller{caller})
				if err != nil {
					return err
				}
				// A refusal ends the transaction before fn has locked anything.
				if err := held[0].check(caller, grant); err != nil {
					return err
				}
				return fn(ctx, tx, at)
			})
		})
	})
	end(err)
	return err
}

// read runs fn for reading, as an operation of the data plane, on a slot of the caller's company. The caller has the
// grant already. Authority is checked only for a provisional caller: any other has authenticated, and a read is not
// checked again in its transaction (section 5, rule 5, is about writes).
func (s *Service) read(
	ctx context.Context, operation string, caller Caller, grant Grant, fn func(context.Context, driver.ReadTx) error,
) error {
	ctx, end := s.observe(ctx, operation)
	// A read takes no gate: it sees what is committed when it runs.
	err := s.readCurrent(ctx, caller, grant, func(caller Caller) error {
		return s.runOnSlot(ctx, operation, caller.companyID, false, func() error {
			return s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
				return s.readAuthorised(ctx, tx, caller, fn)
			})
		})
	})
	end(err)
	return err
}

// readPage is read for a page of a list; fn returns the number of lines on the page. The lines decide whether the next
// page of the list takes a turn, see runOnPageSlot.
func (s *Service) readPage(
	ctx context.Context, operation string, caller Caller, grant Grant,
	fn func(context.Context, driver.ReadTx) (lines int, err error),
) error {
	ctx, end := s.observe(ctx, operation)
	err := s.runCurrent(ctx, caller, grant, func(caller Caller) error {
		return s.runOnPageSlot(ctx, operation, caller.companyID, func() (lines int, err error) {
			err = s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
				return s.readAuthorised(ctx, tx, caller, func(ctx context.Context, tx driver.ReadTx) (err error) {
					lines, err = fn(ctx, tx)
					return err
				})
			})
			return lines, err
		})
	})
	end(err)
	return err
}
