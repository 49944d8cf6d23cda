package driver

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// Rate is an entry of the schedule as a store keeps it. It never changes, and orders refer to it by its id.
type Rate struct {
	CompanyID uuid.UUID
	ID        uuid.UUID
	// Position is 1, 2, 3 … in order of creation. Of two entries with one EffectiveFrom the later created holds.
	Position      int64
	Rate          money.Rate
	EffectiveFrom time.Time
	CreatedAt     time.Time
}

// RateRef names one entry of a schedule.
type RateRef struct{ CompanyID, ID uuid.UUID }

// CommissionReader finds entries of commission schedules.
type CommissionReader interface {
	// Rates returns entries by their references.
	Rates(ctx context.Context, refs []RateRef) ([]Rate, error)
	// EffectiveRates returns, for each company, the entry with the latest EffectiveFrom at or before a time. Of several
	// such entries it returns the one with the highest position.
	EffectiveRates(ctx context.Context, companies []uuid.UUID, at time.Time) ([]Rate, error)
	// ListRates returns a company's schedule, highest position first.
	ListRates(ctx context.Context, companyID uuid.UUID, limit int) ([]Rate, error)
}

// CommissionWriter keeps new entries of commission schedules. An entry is appended only under the company's gate, held
// exclusively, because a checkout reads the schedule without a lock of its own.
type CommissionWriter interface {
	// AppendRate keeps a new entry. Its position is one above the highest.
	AppendRate(ctx context.Context, rate Rate) error
}
