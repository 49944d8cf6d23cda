package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// lowFloatsFor is how long a process shows the lowest balances that it has read.
const lowFloatsFor = 10 * time.Second

// LowFloats are the companies with the lowest FLOAT.
type LowFloats struct {
	// ReadAt is when the balances were read, at most ten seconds ago.
	ReadAt    Time           `json:"readAt"`
	Companies []CompanyFloat `json:"companies"` // lowest first, then by id
}

// CompanyFloat is a company's FLOAT among those of all companies.
type CompanyFloat struct {
	CompanyID   uuid.UUID     `json:"companyId"`
	CompanyName string        `json:"companyName"`
	Status      CompanyStatus `json:"status"` // of the company
	Float       money.Amount  `json:"float"`
	FloatStatus WalletStatus  `json:"floatStatus"`
	// LowBalance reports whether FLOAT is strictly below the threshold [LowBalance] (section 2.9, item 4).
	LowBalance bool `json:"lowBalance"`
}

// lowFloatCache holds the lowest balances that the process has read. turn has one slot, which its reader takes.
type lowFloatCache struct {
	turn chan struct{}
	kept LowFloats
}

func newLowFloatCache() lowFloatCache { return lowFloatCache{turn: make(chan struct{}, 1)} }

// LowFloats returns the companies with the lowest FLOAT, lowest first: at most limit of them, 1 to 100; 0 means 25. All
// companies count, also those that never sold. It needs tenant:read.
//
// No index orders companies by their balance, because every sale would have to change it. Instead all wallets are read,
// at most every ten seconds in a process: within that time a balance may have changed. A service that is bound to a
// transaction of the host reads them each time.
func (o Operator) LowFloats(ctx context.Context, limit int) (LowFloats, error) {
	if err := o.allow(PermissionTenantRead, uuid.Nil); err != nil {
		return LowFloats{}, err
	}
	var v violations
	limit = PageParams{Limit: limit}.limit(&v)
	if err := v.err(); err != nil {
		return LowFloats{}, err
	}
	found, err := o.s.lowFloats(ctx)
	if err != nil {
		return LowFloats{}, err
	}
	// The kept list is shared, so the caller gets a copy.
	found.Companies = slices.Clone(found.Companies[:min(limit, len(found.Companies))])
	return found, nil
}

// lowFloats returns the lowest balances that were read last, or reads them. One caller reads them at a time, and those
// that wait for it use what it has read.
func (s *Service) lowFloats(ctx context.Context) (LowFloats, error) {
	if s.bound {
		return s.readLowFloats(ctx)
	}
	select {
	case s.floats.turn <- struct{}{}:
	case <-ctx.Done():
		return LowFloats{}, ctx.Err()
	}
	defer func() { <-s.floats.turn }()
	age := s.now().Sub(s.floats.kept.ReadAt.Time)
	// A clock that was set back makes the age negative.
	if !s.floats.kept.ReadAt.IsZero() && age >= 0 && age < lowFloatsFor {
		return s.floats.kept, nil
	}
	found, err := s.readLowFloats(ctx)
	if err == nil {
		s.floats.kept = found
	}
	return found, err
}

// readLowFloats reads as many of the lowest balances as a call may ask for.
func (s *Service) readLowFloats(ctx context.Context) (LowFloats, error) {
	found := LowFloats{ReadAt: Time{Time: s.now()}}
	err := s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		wallets, err := tx.LowestFloats(ctx, MaxPageLimit)
		if err != nil {
			return err
		}
		ids := make([]uuid.UUID, len(wallets))
		for i, wallet := range wallets {
			ids[i] = wallet.CompanyID
		}
		companies, err := tx.Companies(ctx, ids)
		if err != nil {
			return err
		}
		found.Companies = make([]CompanyFloat, len(wallets))
		for i, wallet := range wallets {
			found.Companies[i] = CompanyFloat{
				CompanyID: wallet.CompanyID, CompanyName: companies[i].Name, Status: companies[i].Status,
				Float: wallet.Balance, FloatStatus: wallet.Status, LowBalance: wallet.Balance < LowBalance,
			}
		}
		return nil
	})
	return found, err
}
