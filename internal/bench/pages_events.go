package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

// pageEvents is how many events the company has whose pages are measured.
const pageEvents = 1000

// makeEvents gives the first company events that have ended, beside the one that it sells.
func (b *bench) makeEvents(ctx context.Context) error {
	b.Progress("making events", "%d", pageEvents)
	company, now := b.shops[0].Company, time.Now().UTC().Truncate(time.Millisecond)
	return b.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}}); err != nil {
			return err
		}
		for i := 1; i < pageEvents; i++ {
			at := now.Add(-time.Duration(i) * time.Hour)
			err := tx.CreateEvent(ctx, driver.Event{
				CompanyID: company, ID: uuid.New(), Title: fmt.Sprintf("Highlife Night %d", i),
				Description: "An evening of highlife by the lagoon.", Status: ticketing.EventEnded,
				Date: at.Format(time.DateOnly), StartsAt: "19:00", EndsAt: "23:00", Timezone: shopZone, Location: "Lagos",
				Venue: "Freedom Park", ImageURL: "https://images.example/highlife.jpg", CreatedAt: at, UpdatedAt: at,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
