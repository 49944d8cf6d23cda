package ticketing_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// sold creates an event and sells an order of two of its admissions.
func sold(t testing.TB, shop *ticketingtest.Shop) (ticketing.Event, ticketing.Order) {
	t.Helper()
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 150_00, 2, func(p *ticketing.CreateInventoryParams) { p.Title = "Front row" })
	return event, shop.Sell(t, event.ID, "VIP", 2)
}

// TestValidationAdmitsOnce checks Sections 2.8 and 3.4. The first scan admits. A later scan under a new key returns
// ALREADY_VALIDATED with the original's id, location and time, and that result is kept for its key. A replay of either
// key returns the same result.
func TestValidationAdmitsOnce(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := sold(t, shop)
		admission := order.Lines[0].AdmissionID
		scan := func(key, location string) ticketing.TicketValidation {
			shop.Clock.Advance(time.Minute)
			validation, err := shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, admission, key,
				ticketing.ValidateParams{Location: location})
			is.NoErr(err)
			return validation
		}
		one, two := shop.Key(), shop.Key()
		before := holdings(t, shop)
		first := scan(one, " North gate ")
		is.Equal(show(t, first), `{"id":"`+first.ID.String()+`","object":"ticket_validation","outcome":"ADMITTED",`+
			`"admissionId":"`+admission.String()+`","eventId":"`+event.ID.String()+`","orderId":"`+order.ID.String()+`",`+
			`"location":"North gate","ticket":{"title":"Front row","tier":"VIP","branding":`+show(t, order.Branding)+`},`+
			`"validatedAt":"2026-11-21T09:31:00.000Z"}`)
		is.True(first.ID != uuid.Nil && first.ID != admission)
		is.Equal(holdings(t, shop).Facts, before.Facts+1)

		second := scan(two, "South gate")
		want := first
		want.Outcome = ticketing.OutcomeAlreadyValidated
		is.Equal(second, want)
		is.Equal(scan(one, "North gate"), first)
		is.Equal(scan(two, "South gate"), second)
		is.Equal(holdings(t, shop).Facts, before.Facts+1) // One ticket.validated, for the first.

		// The other admission of the order is validated independently.
		other, err := shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, order.Lines[1].AdmissionID, shop.Key(),
			ticketing.ValidateParams{Location: " "})
		is.NoErr(err)
		is.Equal(other.Outcome, ticketing.OutcomeAdmitted)
		is.Equal(other.Location, nil)
		is.Equal(other.ValidatedAt, ticketing.Time{Time: shop.Clock.Now()})
	})
}

// TestValidationKeysAreForOneInput checks Section 4.11: an idempotency key is valid for one admission, event and
// location.
func TestValidationKeysAreForOneInput(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := sold(t, shop)
		other, _ := sold(t, shop)
		key := shop.Key()
		validate := func(event, admission uuid.UUID, location string) error {
			_, err := shop.ValidateAdmission(t.Context(), shop.Caller, event, admission, key,
				ticketing.ValidateParams{Location: location})
			return err
		}
		is.NoErr(validate(event.ID, order.Lines[0].AdmissionID, "Gate"))
		is.NoErr(validate(event.ID, order.Lines[0].AdmissionID, " Gate "))
		for _, err := range []error{
			validate(event.ID, order.Lines[1].AdmissionID, "Gate"),
			validate(other.ID, order.Lines[0].AdmissionID, "Gate"),
			validate(event.ID, order.Lines[0].AdmissionID, "gate"),
			validate(event.ID, order.Lines[0].AdmissionID, ""),
		} {
			is.Equal(code(err), ticketing.CodeConflict)
			is.Equal(said(err), "The idempotency key was used with different input.")
		}
	})
}

// TestValidationOfWhatIsNotThere checks that an admission that is unsold, unknown, or of another event or company is
// 404 and does not use up the key.
func TestValidationOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		other := shop.Neighbour(t)
		event, order := sold(t, shop)
		second, _ := sold(t, shop)
		foreignEvent, foreign := sold(t, other)
		before, key := holdings(t, shop), shop.Key()
		for _, of := range [][2]uuid.UUID{
			{event.ID, uuid.New()},
			{second.ID, order.Lines[0].AdmissionID},
			{uuid.New(), order.Lines[0].AdmissionID},
			{foreignEvent.ID, foreign.Lines[0].AdmissionID},
			{event.ID, foreign.Lines[0].AdmissionID},
			{event.ID, order.Lines[0].ID}, // The id of a line is not the id of an admission.
		} {
			_, err := shop.ValidateAdmission(t.Context(), shop.Caller, of[0], of[1], key, ticketing.ValidateParams{})
			is.Equal(code(err), ticketing.CodeNotFound)
		}
		is.Equal(holdings(t, shop), before)
		_, err := shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, order.Lines[0].AdmissionID, key,
			ticketing.ValidateParams{})
		is.NoErr(err)
	})
}

// TestValidationLocationHasBounds checks Section 8: a location has at most 200 characters.
func TestValidationLocationHasBounds(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event, order := sold(t, shop)
		for location, want := range map[string]string{
			wide(200): "", " " + wide(200) + " ": "", wide(201): "location: must be at most 200 characters",
			"a\nb": "location: must not contain control characters", "": "",
		} {
			_, err := shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, order.Lines[0].AdmissionID, shop.Key(),
				ticketing.ValidateParams{Location: location})
			is.New(t).Equal(said(err), want)
		}
	})
}

// TestValidationAtTheGateOfAnyEvent checks that validation depends neither on the event's status nor on the company's
// verification: ticket holders are already at the gate.
func TestValidationAtTheGateOfAnyEvent(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, shop *ticketingtest.Shop, event ticketing.Event) error{
		"draft": func(t *testing.T, shop *ticketingtest.Shop, event ticketing.Event) error {
			unpublish(t, shop, event.ID)
			return nil
		},
		"cancelled": func(t *testing.T, shop *ticketingtest.Shop, event ticketing.Event) error {
			_, err := shop.CancelEvent(t.Context(), shop.Caller, event.ID)
			return err
		},
		"ended": func(t *testing.T, shop *ticketingtest.Shop, event ticketing.Event) error {
			_, err := shop.Staff.EndEvent(t.Context(), event.ID)
			return err
		},
		"unverified": func(t *testing.T, shop *ticketingtest.Shop, _ ticketing.Event) error {
			_, err := shop.Staff.RevokeVerification(t.Context(), shop.Company.ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
				is := is.New(t)
				event, order := sold(t, shop)
				is.NoErr(end(t, shop, event))
				is.Equal(shop.Scan(t, event.ID, order.Lines[0].AdmissionID).Outcome, ticketing.OutcomeAdmitted)
			})
		})
	}
}

// TestValidationOfAVoidedAdmission checks that the validation of an admission whose order was voided is 409. A replay
// and an ALREADY_VALIDATED still succeed.
func TestValidationOfAVoidedAdmission(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := sold(t, shop)
		key := shop.Key()
		validate := func(line int, key string) (ticketing.TicketValidation, error) {
			return shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, order.Lines[line].AdmissionID, key,
				ticketing.ValidateParams{})
		}
		first, err := validate(0, key)
		is.NoErr(err)
		_, err = shop.Staff.CancelOrder(t.Context(), order.ID, "The show moves.")
		is.NoErr(err)
		again, err := validate(0, key)
		is.NoErr(err)
		is.Equal(again, first)
		later, err := validate(0, shop.Key())
		is.NoErr(err)
		is.Equal(later.Outcome, ticketing.OutcomeAlreadyValidated)
		is.Equal(later.ID, first.ID)
		_, err = validate(1, shop.Key())
		is.Equal(code(err), ticketing.CodeConflict)
		is.Equal(said(err), "The order of the admission is cancelled or refunded.")
	})
}

// TestScansAtOnceAdmitOnce checks that one of several concurrent scans of an admission admits, and that all return the
// same validation.
func TestScansAtOnceAdmitOnce(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := sold(t, shop)
		before := holdings(t, shop)
		scans := make([]ticketing.TicketValidation, 16)
		var done sync.WaitGroup
		for i := range scans {
			key := shop.Key()
			done.Go(func() {
				var err error
				scans[i], err = shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, order.Lines[0].AdmissionID, key,
					ticketing.ValidateParams{Location: key})
				if err != nil {
					t.Errorf("a scan: %v", err)
				}
			})
		}
		done.Wait()
		admitted := 0
		for _, scan := range scans {
			if scan.Outcome == ticketing.OutcomeAdmitted {
				admitted++
			}
			is.Equal(scan.ID, scans[0].ID)
			is.Equal(scan.Location, scans[0].Location)
			is.Equal(scan.ValidatedAt, scans[0].ValidatedAt)
		}
		is.Equal(admitted, 1)
		is.Equal(holdings(t, shop).Facts, before.Facts+1)
	})
}
