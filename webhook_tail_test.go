package ticketing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// follow returns a company's events since a place, and moves the place after them.
func follow(
	t testing.TB, o ticketing.Operator, companyID uuid.UUID, place *ticketing.WebhookCursor, limit int,
) []ticketing.WebhookEvent {
	t.Helper()
	events, next, err := o.TailWebhooks(t.Context(), companyID, *place, limit)
	is.New(t).NoErr(err)
	*place = next
	return events
}

func typesOf(events []ticketing.WebhookEvent) (types []ticketing.FactType) {
	for _, event := range events {
		types = append(types, event.Type)
	}
	slices.Sort(types)
	return types
}

// TestEventsAreFollowed checks that a developer gets the events of Section 6.1 as they happen, whether or not an
// endpoint exists. Each comes once, with the body of Section 6.3, and no earlier event does.
func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 1200_00}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 50)
		shop.Sell(t, event.ID, "VIP", 1)
		var place ticketing.WebhookCursor
		is.Equal(len(follow(t, shop.Staff, shop.Company.ID, &place, 0)), 0)
		is.Equal(len(follow(t, shop.Staff, shop.Company.ID, &place, 0)), 0)

		shop.Clock.Advance(-time.Second) // This is the clock of another process.
		order := shop.Sell(t, event.ID, "VIP", 2)
		scan := shop.Scan(t, event.ID, order.Lines[0].AdmissionID)
		neighbour := shop.Neighbour(t)
		elsewhere := neighbour.Event(t)
		neighbour.Inventory(t, elsewhere.ID, "VIP", 100_00, 50)
		neighbour.Sell(t, elsewhere.ID, "VIP", 1)
		begins := place
		events := follow(t, shop.Staff, shop.Company.ID, &place, 0)
		is.Equal(typesOf(events), []ticketing.FactType{
			ticketing.FactBalanceLow, ticketing.FactCommissionAccrued, ticketing.FactOrderCreated, ticketing.FactTicketValidated,
		})
		for _, one := range events {
			var body struct {
				ID         uuid.UUID          `json:"id"`
				Type       ticketing.FactType `json:"type"`
				APIVersion string             `json:"api_version"`
				CreatedAt  ticketing.Time     `json:"created_at"`
			}
			is.NoErr(json.Unmarshal(one.Body, &body))
			is.Equal(body.ID, one.ID)
			is.Equal(body.Type, one.Type)
			is.Equal(body.APIVersion, "v1")
			is.Equal(body.CreatedAt, one.CreatedAt)
			is.True(!one.Replayed)
			if one.Type == ticketing.FactTicketValidated {
				is.Equal(one.CreatedAt, scan.ValidatedAt)
			}
		}
		is.Equal(len(follow(t, shop.Staff, shop.Company.ID, &place, 0)), 0)
		is.Equal(follow(t, shop.Staff, shop.Company.ID, &begins, 0), events) // The same place returns the same events again.

		// Read a few at a time, and long after.
		shop.Clock.Advance(time.Hour)
		shop.Sell(t, event.ID, "VIP", 1)
		shop.Clock.Advance(time.Hour)
		shop.Sell(t, event.ID, "VIP", 1)
		var few []ticketing.WebhookEvent
		for range 4 {
			one := follow(t, shop.Staff, shop.Company.ID, &place, 1)
			is.Equal(len(one), 1)
			few = append(few, one...)
		}
		is.Equal(len(follow(t, shop.Staff, shop.Company.ID, &place, 1)), 0)
		is.Equal(typesOf(few), []ticketing.FactType{
			ticketing.FactCommissionAccrued, ticketing.FactCommissionAccrued, ticketing.FactOrderCreated,
			ticketing.FactOrderCreated,
		})
		is.True(few[0].CreatedAt.Before(few[3].CreatedAt.Time))

		for _, limit := range []int{-1, 1001} {
			_, _, err := shop.Staff.TailWebhooks(t.Context(), shop.Company.ID, place, limit)
			is.Equal(said(err), "limit: must be from 1 to 1000, or 0 for 100")
		}
	})
}

// TestLateFactsAreFollowed checks that a fact is found even if a fact of a later time was committed before it, up to
// half a minute.
func TestLateFactsAreFollowed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		sample := func(after time.Duration) uuid.UUID {
			t.Helper()
			id := uuid.New()
			e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
				return tx.AppendFacts(ctx, []driver.Fact{{
					CompanyID: company, At: opening.Add(after), ID: id, Type: "sample.order.created", Subject: uuid.New(),
				}})
			})
			return id
		}
		sample(-29 * time.Second)
		var place ticketing.WebhookCursor
		is.Equal(len(follow(t, e.staff, company, &place, 0)), 0)
		next := func(want ...uuid.UUID) {
			t.Helper()
			var got []uuid.UUID
			for _, event := range follow(t, e.staff, company, &place, 0) {
				got = append(got, event.ID)
			}
			is.Equal(got, want)
		}
		late := sample(-time.Second)
		next(late)
		latest := sample(time.Minute)
		next(latest)
		late = sample(30 * time.Second)
		next(late)
		sample(30*time.Second - 1*time.Millisecond) // this is later than the promised half minute
		next()
		// These are more than one page, all of one time.
		want := make(map[uuid.UUID]bool)
		facts := make([]driver.Fact, 1200)
		for n := range facts {
			facts[n] = driver.Fact{
				CompanyID: company, At: opening.Add(time.Minute), ID: uuid.New(), Type: "sample.balance.low", Subject: uuid.New(),
			}
			want[facts[n].ID] = true
		}
		e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendFacts(ctx, facts)
		})
		for range 3 {
			for _, event := range follow(t, e.staff, company, &place, 500) {
				is.True(want[event.ID])
				delete(want, event.ID)
			}
		}
		is.Equal(len(want), 0)
		next()
	})
}

// TestReplaysAreFollowed checks that each replay is found, with the body as it was delivered, and that other deliveries
// are not.
func TestReplaysAreFollowed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made := e.hook(t, company)
		all := e.delivered(t, made.ID, 2, failed)
		_, err := e.staff.ReplayDelivery(t.Context(), all[1].ID)
		is.NoErr(err)
		var place ticketing.WebhookCursor
		is.Equal(len(follow(t, e.staff, company, &place, 0)), 0)
		for range 2 {
			e.clock.advance(time.Hour)
			_, err = e.staff.ReplayDelivery(t.Context(), all[0].ID)
			is.NoErr(err)
			_, err = e.staff.ReplayDelivery(t.Context(), all[0].ID)
			is.NoErr(err)
			e.delivered(t, made.ID, 2, nil)
			for range 2 {
				events := follow(t, e.staff, company, &place, 1)
				is.Equal(len(events), 1)
				is.Equal(events[0].ID, all[0].MessageID)
				is.Equal(events[0].Type, ticketing.FactOrderCreated)
				is.Equal(events[0].CreatedAt.Time, opening)
				is.True(events[0].Replayed)
				is.Equal(string(events[0].Body), `{"n":0}`)
			}
			is.Equal(len(follow(t, e.staff, company, &place, 1)), 0)
		}
	})
}

// TestFactsAndReplaysAreFollowedTogether checks that replays are found however many facts there are, and facts however
// many replays there are, each event once.
func TestFactsAndReplaysAreFollowedTogether(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 7, 0} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				is := is.New(t)
				company := e.unverified(t)
				made := e.hook(t, company)
				all := e.delivered(t, made.ID, 1, failed)
				var place ticketing.WebhookCursor
				follow(t, e.staff, company, &place, limit)
				const each = 30
				for range each {
					e.clock.advance(time.Millisecond)
					_, err := e.staff.ReplayDelivery(t.Context(), all[0].ID)
					is.NoErr(err)
				}
				write := func(n int) {
					facts := make([]driver.Fact, n)
					for i := range facts {
						facts[i] = driver.Fact{
							CompanyID: company, At: e.clock.now(), ID: uuid.New(), Type: "sample.balance.low", Subject: uuid.New(),
						}
					}
					e.write(t, company, func(ctx context.Context, tx driver.Tx) error { return tx.AppendFacts(ctx, facts) })
				}
				write(4 * each)
				calls, replays, others := 0, 0, make(map[uuid.UUID]bool)
				for replays < each {
					calls++
					write(max(limit, 1)) // There are always more.
					for _, event := range follow(t, e.staff, company, &place, limit) {
						if event.Replayed {
							replays++
						} else {
							is.True(!others[event.ID])
							others[event.ID] = true
						}
					}
				}
				is.True(calls <= 2*each+1)
				is.True(len(others) >= replays-1) // Both get half of each call.
			})
		})
	}
}

// readings counts the facts that a follower reads.
type readings struct {
	driver.Store

	facts int
}

func (s *readings) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return s.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		return fn(ctx, readingTx{tx, s})
	})
}

type readingTx struct {
	driver.ReadTx

	s *readings
}

func (tx readingTx) ListFacts(
	ctx context.Context, companyID uuid.UUID, after driver.Position, limit int,
) ([]driver.Fact, error) {
	facts, err := tx.ReadTx.ListFacts(ctx, companyID, after, limit)
	tx.s.facts += len(facts)
	return facts, err
}

// TestFollowingReadsAPart checks that a call does not read more if thousands of facts lie in the half minute in which
// late facts are expected. A late fact is found all the same.
func TestFollowingReadsAPart(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	store := &readings{Store: memory.New()}
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: store})
	company := shop.Company.ID
	write := func(at time.Time, n int) (last uuid.UUID) {
		facts := make([]driver.Fact, n)
		for i := range facts {
			last = uuid.New()
			facts[i] = driver.Fact{
				CompanyID: company, At: at, ID: last, Type: "sample.balance.low", Subject: uuid.New(),
			}
		}
		onCompany(t, shop, func(ctx context.Context, tx driver.Tx) error { return tx.AppendFacts(ctx, facts) })
		return last
	}
	now := shop.Clock.Now()
	var place ticketing.WebhookCursor
	follow(t, shop.Staff, company, &place, 0)
	const all = 6000
	for i := range all / 1000 {
		write(now.Add(time.Duration(i)*time.Second), 1000)
	}
	told := 0
	poll := func() []ticketing.WebhookEvent {
		before := store.facts
		events := follow(t, shop.Staff, company, &place, 0)
		is.True(store.facts-before <= 1400)
		return events
	}
	for told < all {
		events := poll()
		is.True(len(events) > 0)
		told += len(events)
	}
	late := write(now.Add(time.Second), 1)
	for range 2 * all / 700 {
		for _, event := range poll() {
			is.Equal(event.ID, late)
			told++
		}
	}
	is.Equal(told, all+1)
}

// TestSamplesAreTriggered checks that a sample of each type is a fact like any other: endpoints get it, and a developer
// finds it.
func TestSamplesAreTriggered(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		var place ticketing.WebhookCursor
		follow(t, e.staff, company, &place, 0)
		e.hook(t, company)
		var made []ticketing.WebhookEvent
		for _, kind := range ticketing.WebhookEventTypes() {
			event, err := e.staff.TriggerWebhook(t.Context(), company, kind)
			is.NoErr(err)
			is.Equal(event.Type, kind)
			is.Equal(event.CreatedAt.Time, opening)
			made = append(made, event)
		}
		seen := follow(t, e.staff, company, &place, 0)
		is.Equal(len(seen), len(made))
		for _, event := range made {
			is.True(slices.ContainsFunc(seen, func(one ticketing.WebhookEvent) bool { return show(t, one) == show(t, event) }))
		}
		is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			facts, err := tx.ListFacts(ctx, company, driver.Position{}, 100)
			is.Equal(len(facts), 4)
			for _, fact := range facts {
				is.Equal(fact.Endpoints, int64(1))
			}
			return err
		}))
		acts := e.actsOf(t, company, "webhook.trigger")
		is.Equal(len(acts), 4)
		is.Equal(acts[0].Subject, "company "+company.String())
		for _, kind := range []ticketing.FactType{"", ticketing.FactTicketEmail, driver.FactSale, "sample.order.created"} {
			_, err := e.staff.TriggerWebhook(t.Context(), company, kind)
			is.Equal(said(err), "type: must be order.created, commission.accrued, balance.low or ticket.validated")
		}
		is.Equal(len(e.actsOf(t, company, "webhook.trigger")), 4)
	})
}

func ExampleOperator_TailWebhooks() {
	var operator ticketing.Operator // svc.As(actor)
	var place ticketing.WebhookCursor
	for {
		events, next, err := operator.TailWebhooks(context.Background(), uuid.Nil, place, 0)
		if err != nil {
			fmt.Println("this actor may not:", err)
			return
		}
		for _, event := range events {
			fmt.Println(event.Type, len(event.Body))
		}
		place = next
		time.Sleep(500 * time.Millisecond)
	}
	// Output: this actor may not: PERMISSION_DENIED: The permission COMPANY:webhook:read is required.
}
