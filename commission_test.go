package ticketing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

func mustRate(tb testing.TB, value string, unit money.Unit) money.Rate {
	tb.Helper()
	rate, err := money.ParseRate(value, unit)
	is.New(tb).NoErr(err)
	return rate
}

// TestTheLatestEffectiveRateHolds checks 2.9, item 1: "the latest rate whose effectiveFrom is at or before the
// transaction time … (ties by creation time)".
func TestTheLatestEffectiveRateHolds(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		effective := func(at time.Time) string {
			var rates []driver.Rate
			is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
				var err error
				rates, err = tx.EffectiveRates(ctx, []uuid.UUID{company}, at)
				return err
			}))
			if rates[0].ID == uuid.Nil {
				return "none"
			}
			return rates[0].Rate.Value()
		}
		is.Equal(effective(opening), "none")
		hour := opening.Add(time.Hour)
		for _, entry := range []struct {
			value string
			from  *time.Time
		}{{"1", nil}, {"2", &hour}, {"3", new(hour.Add(time.Microsecond))}, {"4", new(opening.Add(-time.Hour))}} {
			_, err := e.staff.ScheduleCommission(t.Context(), company, ticketing.CommissionParams{
				Rate: mustRate(t, entry.value, money.Percent), EffectiveFrom: entry.from,
			})
			is.NoErr(err)
		}
		is.Equal(effective(opening.Add(-time.Hour-time.Millisecond)), "none")
		is.Equal(effective(opening.Add(-time.Millisecond)), "4")
		is.Equal(effective(opening), "1")
		is.Equal(effective(hour.Add(-time.Millisecond)), "1")
		is.Equal(effective(hour), "3") // of two rates from the same millisecond, the later created
	})
}

func TestTheScheduleIsListedNewestFirst(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		rates, err := e.staff.ListCommissionRates(t.Context(), company)
		is.NoErr(err)
		told, err := json.Marshal(rates)
		is.NoErr(err)
		is.Equal(string(told), "[]")

		zone := time.FixedZone("WAT", 3600)
		first, err := e.staff.ScheduleCommission(t.Context(), company, ticketing.CommissionParams{
			Rate: mustRate(t, "2.50", money.Percent), EffectiveFrom: new(time.Date(2027, 1, 1, 1, 0, 0, 999_999, zone)),
		})
		is.NoErr(err)
		second, err := e.staff.ScheduleCommission(t.Context(), company, ticketing.CommissionParams{})
		is.NoErr(err)
		rates, err = e.staff.ListCommissionRates(t.Context(), company)
		is.NoErr(err)
		is.Equal(rates, []ticketing.CommissionRate{second, first})
		told, err = json.Marshal(rates)
		is.NoErr(err)
		is.Equal(string(told), fmt.Sprintf(`[{"id":"%s","value":"0","unit":"BASIS_POINTS",`+
			`"effectiveFrom":"2026-11-21T09:30:00.000Z","createdAt":"2026-11-21T09:30:00.000Z"},`+
			`{"id":"%s","value":"2.5","unit":"PERCENT",`+
			`"effectiveFrom":"2027-01-01T00:00:00.000Z","createdAt":"2026-11-21T09:30:00.000Z"}]`, second.ID, first.ID))

		// Neither the zero time nor a fraction of a millisecond after it means now.
		for _, at := range []time.Time{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), {}, time.Time{}.Add(time.Microsecond)} {
			_, err = e.staff.ScheduleCommission(t.Context(), company, ticketing.CommissionParams{EffectiveFrom: &at})
			is.Equal(said(err), "effectiveFrom: must be in the years 1 to 9999")
		}
	})
}
