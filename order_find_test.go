package ticketing_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestOrderIsFoundByWhatItsTicketShows checks that an order is found by each text that names it, and that neither
// another company nor another event has it.
func TestOrderIsFoundByWhatItsTicketShows(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		own, other := e.subject(t), e.subject(t)
		e.sellFor(t, &own)
		order, err := e.staff.GetOrder(t.Context(), own.order)
		is.NoErr(err)
		is.True(order.EventTitle != "")
		admission := order.Lines[0].AdmissionID
		code := ticketing.FormatAdmissionCode(order.EventID, admission)
		for _, text := range []string{own.order.String(), admission.String(), "\t" + code + "\r\n"} {
			found, err := e.staff.FindOrder(t.Context(), own.company, text)
			is.NoErr(err)
			is.Equal(found, order) // text
			_, err = e.staff.FindOrder(t.Context(), other.company, text)
			is.True(errors.Is(err, ticketing.CodeNotFound)) // text
		}
		for _, text := range []string{
			uuid.NewString(), ticketing.FormatAdmissionCode(uuid.New(), admission),
			ticketing.FormatAdmissionCode(order.EventID, own.order),
		} {
			_, err = e.staff.FindOrder(t.Context(), own.company, text)
			is.True(errors.Is(err, ticketing.CodeNotFound)) // text
		}
		for _, text := range []string{"", "ada@example.com", code + ":1", own.order.String()[:35]} {
			_, err = e.staff.FindOrder(t.Context(), own.company, text)
			is.True(errors.Is(err, ticketing.CodeInvalidRequest)) // text
		}
	})
}

// TestExportOfOrdersIsInTheLog checks that who takes orders away is in the log with what they asked for, without the
// address of a buyer, and that a refused filter leaves nothing.
func TestExportOfOrdersIsInTheLog(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		before := len(e.acts(t, uuid.Nil))
		for _, refused := range []ticketing.OrderSearch{
			{From: opening, To: opening}, {Email: "ada"}, {OrderFilter: ticketing.OrderFilter{
				Statuses: []ticketing.OrderStatus{"SOLD"},
			}},
		} {
			is.True(errors.Is(e.staff.RecordOrderExport(t.Context(), company, refused), ticketing.CodeInvalidRequest))
		}
		for _, unknown := range []uuid.UUID{uuid.Nil, uuid.New()} {
			is.True(errors.Is(e.staff.RecordOrderExport(t.Context(), unknown, ticketing.OrderSearch{}),
				ticketing.CodeNotFound))
		}
		is.Equal(len(e.acts(t, uuid.Nil)), before)

		e.clock.advance(time.Second)
		event := uuid.New()
		is.NoErr(e.staff.RecordOrderExport(t.Context(), company, ticketing.OrderSearch{
			Email: "Ada@example.com", From: opening, To: opening.Add(time.Hour), OrderFilter: ticketing.OrderFilter{
				EventID: event, Statuses: []ticketing.OrderStatus{ticketing.OrderRefunded, ticketing.OrderCancelled},
			},
		}))
		latest := e.acts(t, company)[0]
		is.Equal(latest.Action, "order.export")
		is.Equal(latest.Subject, "company "+company.String())
		is.Equal(exportFilter(t, latest), map[string]string{
			"email": "an address", "event": event.String(), "status": "CANCELLED,REFUNDED",
			"from": opening.Format("2006-01-02T15:04:05.000Z"),
			"to":   opening.Add(time.Hour).Format("2006-01-02T15:04:05.000Z"),
		})
	})
}
