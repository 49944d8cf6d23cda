package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// benchShop is a company that sells.
type benchShop struct {
	Company uuid.UUID   `json:"company"`
	Key     string      `json:"key,omitempty"` // with HTTP
	Event   uuid.UUID   `json:"event"`
	Orders  []uuid.UUID `json:"orders,omitempty"` // to read
}

func (s *benchShop) caller() ticketing.Caller {
	return ticketing.TrustedCaller(s.Company, ticketing.AllGrants()...)
}

const (
	benchTier = "GENERAL_ADMISSION"
	// benchPrice is so low that the largest funding lasts for any bench.
	benchPrice = money.Amount(10_00)
	benchRate  = "250"
	benchAhead = 300 * 24 * time.Hour
	// settingUp is how many companies are made at a time.
	settingUp = 8
)

// quotedTiers are those that quotes are for, each in several price bands.
func quotedTiers() []string { return []string{"BALCONY", "PARTERRE", "STALLS"} }

// openShops makes companies that are ready to sell.
func openShops(
	ctx context.Context, svc *ticketing.Service, store ticketing.Store, n int, http bool, told func(done int),
) ([]benchShop, error) {
	shops := make([]benchShop, n)
	err := inParallel(ctx, n, settingUp, told, func(ctx context.Context, i int) error {
		return shops[i].openUp(ctx, svc, store, http)
	})
	return shops, err
}

// inParallel does n things, some at a time, until all are done or one has failed. told hears how many are done, one
// call at a time.
func inParallel(
	ctx context.Context, n, atATime int, told func(done int), do func(ctx context.Context, i int) error,
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
				told(done)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (s *benchShop) openUp(ctx context.Context, svc *ticketing.Service, store ticketing.Store, http bool) error {
	op := svc.As(ticketing.Staff("bench"))
	company, err := op.CreateCompany(ctx, "Bench Live")
	if err != nil {
		return err
	}
	s.Company = company.ID
	if _, err := op.ApproveVerification(ctx, s.Company, time.Time{}); err != nil {
		return err
	}
	rate, err := money.ParseRate(benchRate, money.BasisPoints)
	if err != nil {
		return err
	}
	if _, err := op.ScheduleCommission(ctx, s.Company, rate, time.Time{}); err != nil {
		return err
	}
	if _, err := op.CreditFloat(ctx, s.Company, money.MaxInput, "bench-float"); err != nil {
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

// putOnSale makes an event whose one tier holds as many admissions as a tier may, in one batch, as any number of equal
// additions would have made it. The tiers that are quoted have several prices, of which the lowest is nearly sold out.
func (s *benchShop) putOnSale(ctx context.Context, svc *ticketing.Service, store ticketing.Store) error {
	event, err := svc.CreateEvent(ctx, s.caller(), "bench-"+uuid.NewString(), ticketing.CreateEventParams{
		Title: "Highlife Night", Description: "An evening of highlife by the lagoon.",
		Date:     time.Now().Add(benchAhead).UTC().Format(time.DateOnly),
		StartsAt: "19:00", EndsAt: "23:00", Timezone: demoZone, Location: "Lagos", Venue: "Freedom Park",
		ImageURL: "https://images.example/highlife.jpg", OrganizerName: "Bench Live",
		TicketCategories: quotedTiers(), Status: ticketing.EventPublished,
	})
	if err != nil {
		return err
	}
	s.Event = event.ID
	return store.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
		if _, err := tx.Enter(ctx, ticketing.Entrance{Share: []uuid.UUID{s.Company}}); err != nil {
			return err
		}
		if err := s.stock(ctx, tx, benchTier, benchPrice, ticketing.MaxTierAdmissions); err != nil {
			return err
		}
		for _, tier := range quotedTiers() {
			if err := s.stock(ctx, tx, tier, benchPrice, 1, 2, 1000, 1000, 1000); err != nil {
				return err
			}
		}
		return nil
	})
}

// stock adds batches to a tier, each dearer than the one before.
func (s *benchShop) stock(
	ctx context.Context, tx ticketing.Tx, name string, price money.Amount, quantities ...int64,
) error {
	tier, err := tx.LockTier(ctx, ticketing.EventRef{CompanyID: s.Company, ID: s.Event}, name)
	if err != nil {
		return err
	}
	for _, quantity := range quantities {
		tier.Batches++
		tier.Total += quantity
		err := tx.CreateBatch(ctx, ticketing.BatchRecord{
			CompanyID: s.Company, EventID: s.Event, Tier: name, Position: tier.Batches,
			Title: fmt.Sprintf("Admission %d", tier.Batches), UnitPrice: price * money.Amount(tier.Batches),
			Status: ticketing.InventoryAvailable, Quantity: quantity, CreatedAt: time.Now(),
		})
		if err != nil {
			return err
		}
	}
	return tx.UpdateTiers(ctx, []ticketing.TierRecord{tier})
}
