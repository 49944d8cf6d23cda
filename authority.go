package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// authority is what a caller's right to act depends on: the company and the API key. A write reads it under the
// company's gate, so that it holds until the transaction ends. A revocation needs the gate exclusively, and waits for
// it.
type authority struct {
	// company is the caller's company, and key is its API key. key is zero for a trusted caller.
	company driver.Company
	key     driver.APIKey
}

// authorities returns the authority of each caller, in their order. A write calls it after [driver.Gate.Begin], in a
// statement of its own: what was read before the lock may be out of date. Repeated companies and keys are read once. A
// trusted caller has no key, and its key record is zero.
func authorities(ctx context.Context, tx driver.ReadTx, callers []Caller) ([]authority, error) {
	ids := make([]uuid.UUID, 0, len(callers))
	refs := make([]driver.APIKeyRef, 0, len(callers))
	for _, c := range callers {
		ids = append(ids, c.companyID)
		if c.keyID != uuid.Nil {
			refs = append(refs, driver.APIKeyRef{CompanyID: c.companyID, ID: c.keyID})
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
	held := make([]authority, len(callers))
	for i, c := range callers {
		held[i].company = companies[slices.Index(ids, c.companyID)]
		if c.keyID != uuid.Nil {
			held[i].key = keys[slices.Index(refs, driver.APIKeyRef{CompanyID: c.companyID, ID: c.keyID})]
		}
	}
	return held, nil
}

// check returns nil if the caller may still write, and else PERMISSION_DENIED (section 5, rule 5). The company must be
// active. A caller with an API key needs an active key with the exact grant. A revocation that committed before the
// gate was entered therefore stops every later write.
func (a authority) check(c Caller, grant Grant) error {
	if a.company.Status != CompanyActive {
		return errPermissionDenied
	}
	if c.keyID != uuid.Nil && (a.key.Status != APIKeyActive || !slices.Contains(a.key.Grants, grant)) {
		return errPermissionDenied
	}
	return nil
}

// write runs fn in a transaction, after it has checked the caller's authority under the gate. It is the first half of
// the pipeline, for operations without an idempotency key. With closed, fn changes what a sale only reads: the gate is
// held exclusively, and the company's other writers wait.
//
// fn gets the time of the operation, which is the same when the transaction runs again.
//
// Errors beside those of fn: PERMISSION_DENIED if the authority has changed since the call was let in, and [ErrBusy] if
// the gate is not free in time or too many calls of the company wait. Nothing is written then.
func (s *Service) write(
	ctx context.Context, operation string, caller Caller, grant Grant, closed bool,
	fn func(context.Context, driver.Tx, time.Time) error,
) error {
	ctx, end := s.observe(ctx, operation)
	// The time is read once, since the transaction may run again.
	at := s.now()
	in := driver.BeginOptions{Shared: []uuid.UUID{caller.companyID}}
	if closed {
		in = driver.BeginOptions{Exclusive: in.Shared}
	}
	err := s.onOwnSlot(ctx, operation, caller.companyID, closed, func() error {
		return s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, in); err != nil {
				return err
			}
			// This read begins after the gate was entered, so it sees every committed revocation.
			held, err := authorities(ctx, tx, []Caller{caller})
			if err != nil {
				return err
			}
			if err := held[0].check(caller, grant); err != nil {
				return err
			}
			return fn(ctx, tx, at)
		})
	})
	end(err)
	return err
}
