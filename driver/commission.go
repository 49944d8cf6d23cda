package driver

import (
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// Rate is an entry of a commission schedule as a store keeps it. It never changes, and orders refer to it by its id.
type Rate struct {
	CompanyID uuid.UUID
	ID        uuid.UUID
	// Position is 1, 2, 3 … in order of creation. Of two entries with the same EffectiveFrom, the later one is effective.
	Position      int64
	Rate          money.Rate
	EffectiveFrom time.Time
	CreatedAt     time.Time
}

// RateRef names one entry of a schedule.
type RateRef struct{ CompanyID, ID uuid.UUID }
