package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// shop is a company that sells.
type shop struct {
	Company uuid.UUID   `json:"company"`
	Key     string      `json:"key,omitempty"` // set with HTTP
	Event   uuid.UUID   `json:"event"`
	Orders  []uuid.UUID `json:"orders,omitempty"` // orders to read
}

func (s *shop) caller() ticketing.Caller {
	return ticketing.TrustedCaller(s.Company, ticketing.AllGrants()...)
}

const (
	shopTier = "GENERAL_ADMISSION"
	// shopPrice is so low that the maximum float credit lasts for any bench.
	shopPrice = money.Amount(10_00)
	shopRate  = "250"
	shopZone  = "Africa/Lagos"
	shopAhead = 300 * 24 * time.Hour
	// settingUp is how many companies are set up concurrently.
	settingUp = 8
)

// quotedTiers returns the tiers that quotes ask for. Each has several price bands.
func quotedTiers() []string { return []string{"BALCONY", "PARTERRE", "STALLS"} }

// openShops creates companies that are ready to sell.
func openShops(
	ctx context.Context, svc *ticketing.Service, store driver.Store, n int, http bool, onDone func(done int),
) ([]shop, error) {
	shops := make([]shop, n)
	err := inParallel(ctx, n, settingUp, onDone, func(ctx context.Context, i int) error {
		return shops[i].openUp(ctx, svc, store, http)
	})
	return shops, err
}

// inParallel calls do for n indexes, at most atATime concurrently, until all are done or one has failed. It calls
// onDone with the number that are done, one call at a time.
func inParallel(
	ctx context.Context, n, atATime int, onDone func(done int), do func(ctx context.Context, i int) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		next atomic.Int64
		all  sync.WaitGroup
		mu   sync.Mutex
		done int
	)
	for range min(n, atATime) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				done++
				onDone(done)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (s *shop) openUp(ctx context.Context, svc *ticketing.Service, store driver.Store, http bool) error {
	op := svc.As(ticketing.Staff("bench"))
	company, err := op.CreateCompany(ctx, "Bench Live")
	if err != nil {
		return err
	}
	s.Company = company.ID
	if _, err := op.ApproveVerification(ctx, s.Company, ticketing.ApprovalParams{}); err != nil {
		return err
	}
	rate, err := money.ParseRate(shopRate, money.BasisPoints)
	if err != nil {
		return err
	}
	if _, err := op.ScheduleCommission(ctx, s.Company, ticketing.CommissionParams{Rate: rate}); err != nil {
		return err
	}
	if _, err := op.CreditFloat(ctx, s.Company, "bench-float", money.MaxInput); err != nil {
		return err
	}
	if http {
		issued, err := op.IssueAPIKey(ctx, s.Company, "bench", ticketing.AllGrants())
		if err != nil {
			return err
		}
		s.Key = issued.Key
	}
	return s.putOnSale(ctx, svc, store)
}

// putOnSale creates an event with one tier that holds the maximum number of admissions, in one batch. Any number of
// equal additions would lead to the same batch. The quoted tiers have several prices, the lowest of which is nearly
// sold out.
func (s *shop) putOnSale(ctx context.Context, svc *ticketing.Service, store driver.Store) error {
	event, err := svc.CreateEvent(ctx, s.caller(), "bench-"+uuid.NewString(), ticketing.CreateEventParams{
		Title: "Highlife Night", Description: "An evening of highlife by the lagoon.",
		Date:     time.Now().Add(shopAhead).UTC().Format(time.DateOnly),
		StartsAt: "19:00", EndsAt: "23:00", Timezone: shopZone, Location: "Lagos", Venue: "Freedom Park",
		ImageURL: "https://images.example/highlife.jpg", OrganizerName: "Bench Live",
		TicketCategories: quotedTiers(), Status: ticketing.EventPublished,
	})
	if err != nil {
		return err
	}
	s.Event = event.ID
	return store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{s.Company}}); err != nil {
			return err
		}
		if err := s.stock(ctx, tx, shopTier, shopPrice, ticketing.MaxTierAdmissions); err != nil {
			return err
		}
		for _, tier := range quotedTiers() {
			if err := s.stock(ctx, tx, tier, shopPrice, 1, 2, 1000, 1000, 1000); err != nil {
				return err
			}
		}
		return nil
	})
}

// stock adds batches to a tier, each dearer than the one before.
func (s *shop) stock(
	ctx context.Context, tx driver.Tx, name string, price money.Amount, quantities ...int64,
) error {
	tier, err := tx.LockTier(ctx, driver.EventRef{CompanyID: s.Company, ID: s.Event}, name)
	if err != nil {
		return err
	}
	for _, quantity := range quantities {
		tier.Batches++
		tier.Total += quantity
		err := tx.CreateBatch(ctx, driver.Batch{
			CompanyID: s.Company, EventID: s.Event, Tier: name, Position: tier.Batches,
			Title: fmt.Sprintf("Admission %d", tier.Batches), UnitPrice: price * money.Amount(tier.Batches),
			Status: ticketing.InventoryAvailable, Quantity: quantity, CreatedAt: time.Now(),
		})
		if err != nil {
			return err
		}
	}
	return tx.UpdateTiers(ctx, []driver.Tier{tier})
}
