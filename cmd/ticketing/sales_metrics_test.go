package main_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// A sale counts once: neither a replay of it nor a refusal does. What waits is counted, with its age, while nobody does
// the work.
func TestSalesAndBacklogMetrics(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	store := memory.New()
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: store})
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 150_00, 10)
	cfg, scrape, closeSender, err := program.Serving(false)
	is.NoErr(err)
	t.Cleanup(closeSender)
	cfg.Clock = shop.Clock.Now
	svc, err := ticketing.New(store, cfg)
	is.NoErr(err)
	lines := func(wanted ...string) {
		t.Helper()
		metrics := scrape(t.Context())
		for _, line := range wanted {
			if !strings.Contains(metrics, "\n"+line+"\n") {
				t.Errorf("%s is missing", line)
			}
		}
	}
	lines("ticketing_sales_orders_total 0", `ticketing_backlog_items{queue="facts"} 0`,
		`ticketing_backlog_age_seconds{queue="facts"} 0`, `ticketing_group_queue_calls{operation="checkouts.create"} 0`)

	basket := ticketingtest.Basket(event.ID, "VIP", 150_00, 2)
	for range 2 {
		_, err = svc.Checkout(t.Context(), shop.Caller, "cart-0001", basket)
		is.NoErr(err)
	}
	basket.Lines[0].Quantity = 20
	_, err = svc.Checkout(t.Context(), shop.Caller, "cart-0002", basket)
	is.True(errors.Is(err, ticketing.CodeInventoryUnavailable))
	shop.Clock.Advance(90 * time.Second)
	lines("ticketing_sales_orders_total 1", "ticketing_sales_admissions_total 2", "ticketing_sales_gross_kobo_total 30000",
		"ticketing_sales_commission_kobo_total 750", `ticketing_backlog_items{queue="facts"} 1`,
		`ticketing_backlog_age_seconds{queue="facts"} 90`, `ticketing_backlog_items{queue="deliveries"} 0`)
}
