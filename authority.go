package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// authority is what a caller's right to act rests on, read behind the gate.
type authority struct {
	company CompanyRecord
	key     APIKeyRecord
}

// authorities reads what the callers' rights rest on, in their order.
func authorities(ctx context.Context, tx ReadTx, callers []Caller) ([]authority, error) {
	ids := make([]uuid.UUID, 0, len(callers))
	refs := make([]APIKeyRef, 0, len(callers))
	for _, c := range callers {
		ids = append(ids, c.companyID)
		if c.keyID != uuid.Nil {
			refs = append(refs, APIKeyRef{CompanyID: c.companyID, ID: c.keyID})
		}
	}
	ids, refs = distinct(ids), distinct(refs)
	companies, err := tx.Companies(ctx, ids)
	if err != nil {
		return nil, err
	}
	var keys []APIKeyRecord
	if len(refs) > 0 {
		if keys, err = tx.APIKeys(ctx, refs); err != nil {
			return nil, err
		}
	}
	held := make([]authority, len(callers))
	for i, c := range callers {
		held[i].company = companies[slices.Index(ids, c.companyID)]
		if c.keyID != uuid.Nil {
			held[i].key = keys[slices.Index(refs, APIKeyRef{CompanyID: c.companyID, ID: c.keyID})]
		}
	}
	return held, nil
}

// check tells whether a caller that was let in may still write: the company is active, and a caller with a key has
// an active one with the exact grant.
func (a authority) check(c Caller, grant Grant) error {
	if a.company.Status != CompanyActive {
		return errPermissionDenied
	}
	if c.keyID != uuid.Nil && (a.key.Status != APIKeyActive || !slices.Contains(a.key.Grants, grant)) {
		return errPermissionDenied
	}
	return nil
}

// write is the first half of the pipeline, for operations without an idempotency key. Where closed, fn changes what a
// sale only reads, and the company's other writers wait.
func (s *Service) write(
	ctx context.Context, operation string, caller Caller, grant Grant, closed bool,
	fn func(context.Context, Tx, time.Time) error,
) error {
	ctx, end := s.observe(ctx, operation)
	at := s.now()
	in := Entrance{Share: []uuid.UUID{caller.companyID}}
	if closed {
		in = Entrance{Close: in.Share}
	}
	err := s.onOwnSlot(ctx, operation, caller.companyID, closed, func() error {
		return s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
			if _, err := tx.Enter(ctx, in); err != nil {
				return err
			}
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
