package ticketing_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

// listed returns the ids of all deliveries that a filter matches, read page by page.
func (e *env) listed(t *testing.T, companyID uuid.UUID, filter ticketing.DeliveryFilter, limit int) []uuid.UUID {
	t.Helper()
	is := is.New(t)
	ids := []uuid.UUID{}
	for params := (ticketing.PageParams{Limit: limit}); ; {
		page, err := e.staff.ListDeliveries(t.Context(), companyID, filter, params)
		is.NoErr(err)
		for _, delivery := range page.Items {
			ids = append(ids, delivery.ID)
			is.Equal(delivery.Log, nil) // A list has only the number of attempts.
		}
		is.True(len(page.Items) <= limit)
		if params.Cursor = page.NextCursor; !page.HasMore {
			return ids
		}
	}
}

// TestDeliveriesAreListed checks Section 6.5: "Exhausted deliveries stay visible". Deliveries are listed newest first,
// by status, endpoint, type and time, page by page.
func TestDeliveriesAreListed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.unverified(t), e.unverified(t)
		first, second := e.hook(t, company), e.hook(t, company)
		statuses := []ticketing.DeliveryStatus{
			ticketing.DeliveryPending, ticketing.DeliverySucceeded, ticketing.DeliveryFailed, ticketing.DeliveryCancelled,
		}
		change := func(n int, delivery *driver.Delivery) {
			delivery.Status = statuses[n%4]
			delivery.Type = ticketing.WebhookEventTypes()[n%3]
		}
		all := slices.Concat(e.delivered(t, first.ID, 12, change), e.delivered(t, second.ID, 5, change))
		foreign := e.hook(t, other)
		e.delivered(t, foreign.ID, 3, nil)
		slices.SortFunc(all, func(a, b driver.Delivery) int {
			if later := b.CreatedAt.Compare(a.CreatedAt); later != 0 {
				return later
			}
			return slices.Compare(b.ID[:], a.ID[:])
		})
		at := func(n int) time.Time { return opening.Add(time.Duration(n) * time.Second) }
		for _, test := range []struct {
			name   string
			filter ticketing.DeliveryFilter
			means  func(delivery driver.Delivery) bool
		}{
			{"all", ticketing.DeliveryFilter{}, func(driver.Delivery) bool { return true }},
			{"an endpoint", ticketing.DeliveryFilter{EndpointID: second.ID}, func(d driver.Delivery) bool {
				return d.EndpointID == second.ID
			}},
			{"dead letters", ticketing.DeliveryFilter{Status: ticketing.DeliveryFailed}, func(d driver.Delivery) bool {
				return d.Status == ticketing.DeliveryFailed
			}},
			{"a type", ticketing.DeliveryFilter{Type: ticketing.FactBalanceLow}, func(d driver.Delivery) bool {
				return d.Type == ticketing.FactBalanceLow
			}},
			{"a time", ticketing.DeliveryFilter{Since: at(2), Until: at(4)}, func(d driver.Delivery) bool {
				return !d.CreatedAt.Before(at(2)) && d.CreatedAt.Before(at(4))
			}},
			{
				"between milliseconds",
				ticketing.DeliveryFilter{Since: at(2).Add(1), Until: at(4).Add(1)},
				func(d driver.Delivery) bool { return d.CreatedAt.After(at(2)) && !d.CreatedAt.After(at(4)) },
			},
			{"everything", ticketing.DeliveryFilter{
				EndpointID: first.ID, Status: ticketing.DeliverySucceeded, Type: ticketing.FactCommissionAccrued, Since: at(1),
				Until: at(11),
			}, func(d driver.Delivery) bool { return d.CreatedAt.Equal(at(1)) && d.EndpointID == first.ID }},
			{"nothing", ticketing.DeliveryFilter{Since: at(100)}, func(driver.Delivery) bool { return false }},
		} {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				want := []uuid.UUID{}
				for _, delivery := range all {
					if test.means(delivery) {
						want = append(want, delivery.ID)
					}
				}
				is.Equal(e.listed(t, company, test.filter, 100), want)
				is.Equal(e.listed(t, company, test.filter, 2), want)
				count, err := e.staff.CountDeliveries(t.Context(), company, test.filter)
				is.NoErr(err)
				is.Equal(count, len(want))
				count, err = e.staff.CountDeliveriesTo(t.Context(), company, test.filter, 2)
				is.NoErr(err)
				is.Equal(count, min(2, len(want)))
			})
		}

		_, err := e.staff.CountDeliveriesTo(t.Context(), company, ticketing.DeliveryFilter{}, 0)
		is.Equal(said(err), "limit: must be positive")

		// A cursor is valid only for its filter and company.
		page, err := e.staff.ListDeliveries(t.Context(), company, ticketing.DeliveryFilter{}, ticketing.PageParams{Limit: 1})
		is.NoErr(err)
		next := ticketing.PageParams{Cursor: page.NextCursor}
		_, err = e.staff.ListDeliveries(t.Context(), company, ticketing.DeliveryFilter{Status: ticketing.DeliveryFailed},
			next)
		is.Equal(code(err), ticketing.CodeInvalidCursor)
		_, err = e.staff.ListDeliveries(t.Context(), other, ticketing.DeliveryFilter{}, next)
		is.Equal(code(err), ticketing.CodeInvalidCursor)
		// The endpoint of another company is not found.
		_, err = e.staff.ListDeliveries(t.Context(), company, ticketing.DeliveryFilter{EndpointID: foreign.ID},
			ticketing.PageParams{})
		is.Equal(said(err), "The webhook endpoint was not found.")
		_, err = e.staff.CountDeliveries(t.Context(), company, ticketing.DeliveryFilter{EndpointID: foreign.ID})
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

func TestDeliveryFiltersAreChecked(t *testing.T) {
	t.Parallel()
	const kind = "type: must be order.created, commission.accrued, balance.low or ticket.validated"
	tests := []struct {
		name   string
		filter ticketing.DeliveryFilter
		want   string
	}{
		{"status", ticketing.DeliveryFilter{Status: "DEAD"}, "status: must be PENDING, SUCCEEDED, FAILED or CANCELLED"},
		{"type", ticketing.DeliveryFilter{Type: ticketing.FactTicketEmail}, kind},
		{"backwards", ticketing.DeliveryFilter{Since: opening, Until: opening}, "until: must be later than since"},
		{
			"no year",
			ticketing.DeliveryFilter{Since: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
			"since: must be in the years 1 to 9999",
		},
		{
			"all",
			ticketing.DeliveryFilter{Status: "x", Type: "y"},
			"status: must be PENDING, SUCCEEDED, FAILED or CANCELLED; " + kind,
		},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.unverified(t)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				_, err := e.staff.ListDeliveries(t.Context(), company, test.filter, ticketing.PageParams{})
				is.Equal(said(err), test.want)
				_, err = e.staff.CountDeliveries(t.Context(), company, test.filter)
				is.Equal(said(err), test.want)
				_, err = e.staff.ReplayDeliveries(t.Context(), company, ticketing.ReplayParams{DeliveryFilter: test.filter})
				is.Equal(said(err), test.want)
			})
		}
		_, err := e.staff.ListDeliveries(t.Context(), company, ticketing.DeliveryFilter{}, ticketing.PageParams{Limit: 101})
		is.New(t).Equal(said(err), "limit: must be from 1 to 100")
	})
}

// TestADeliveryShowsItsAttempts checks that a delivery has every attempt with its time, the receiver's status, its
// duration and a bounded error.
func TestADeliveryShowsItsAttempts(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		made := e.hook(t, e.unverified(t))
		kept := e.delivered(t, made.ID, 1, func(_ int, delivery *driver.Delivery) {
			delivery.Attempts = []ticketing.DeliveryAttempt{
				{At: ticketing.Time{Time: opening}, DurationMS: 10_000, Error: "no answer in time"},
				{At: ticketing.Time{Time: opening.Add(16 * time.Second)}, Status: 503, DurationMS: 12, Error: "status 503"},
				{At: ticketing.Time{Time: opening.Add(20 * time.Second)}, DurationMS: 3, Error: "connection refused"},
			}
			delivery.DueAt = opening.Add(26 * time.Second)
		})[0]
		found, err := e.staff.GetDelivery(t.Context(), kept.ID)
		is.NoErr(err)
		names := strings.NewReplacer(kept.ID.String(), "DELIVERY", kept.CompanyID.String(), "COMPANY",
			kept.MessageID.String(), "EVENT", made.ID.String(), "ENDPOINT", hookURL, "URL")
		is.Equal(names.Replace(show(t, found)), `{"id":"DELIVERY","companyId":"COMPANY","eventId":"EVENT",`+
			`"eventType":"order.created","endpointId":"ENDPOINT","url":"URL","status":"PENDING","attempts":3,`+
			`"lastHttpStatus":503,"lastError":"connection refused","nextAttemptAt":"2026-11-21T09:30:26.000Z",`+
			`"createdAt":"2026-11-21T09:30:00.000Z","finishedAt":null,"replayOf":null,"log":[`+
			`{"at":"2026-11-21T09:30:00.000Z","httpStatus":null,"durationMs":10000,"error":"no answer in time"},`+
			`{"at":"2026-11-21T09:30:16.000Z","httpStatus":503,"durationMs":12,"error":"status 503"},`+
			`{"at":"2026-11-21T09:30:20.000Z","httpStatus":null,"durationMs":3,"error":"connection refused"}]}`)
		is.Equal(show(t, ticketing.DeliveryAttempt{At: ticketing.Time{Time: opening}, Status: 204, DurationMS: 7}),
			`{"at":"2026-11-21T09:30:00.000Z","httpStatus":204,"durationMs":7,"error":null}`)
		_, err = e.staff.GetDelivery(t.Context(), uuid.New())
		is.Equal(said(err), "The delivery was not found.")
	})
}
