package mail_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
	"github.com/floatgate/ticketing/money"
)

func TestAMailIsFromTheBrandByWayOfTheSender(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	tickets := lagosMail(seats(2, "Lagos Jazz Night", "VIP", 25_000_00)...)
	tickets.Sender.Bounces = new("bounces@mail.floatgate.example")
	tickets.To = "other@example.com"
	made := render(is, mail.NewRenderer(), tickets)

	order := tickets.Order.ID.String()
	is.Equal(made.FromName, "Harmattan via Floatgate")
	is.Equal(made.FromAddress, "tickets@mail.floatgate.example")
	is.Equal(made.To, "other@example.com")
	is.Equal(made.ReplyTo, "help@harmattan.example")
	is.Equal(made.Bounces, "bounces@mail.floatgate.example")
	is.Equal(made.Subject, "Your tickets: Lagos Jazz Night (order …"+order[28:]+")")
	is.Equal(made.MessageID, "<"+order+".1@mail.floatgate.example>")
	is.Equal(made.References, "")
	is.Equal(made.Date, tickets.At)
}

func TestACopyRefersToTheFirstMail(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	tickets := lagosMail(seats(1, "Lagos Jazz Night", "VIP", 25_000_00)...)
	tickets.Copy = 3
	made := render(is, mail.NewRenderer(), tickets)
	order := tickets.Order.ID.String()
	is.Equal(made.MessageID, "<"+order+".3@mail.floatgate.example>")
	is.Equal(made.References, "<"+order+".1@mail.floatgate.example>")
	is.Equal(made.Subject, "Your ticket: Lagos Jazz Night (order …"+order[28:]+")")
	is.True(strings.Contains(made.Text, "These tickets were sent again."))
	is.True(strings.Contains(made.HTML, "These tickets were sent again."))
}

func TestAMailHasEachAdmission(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	tickets := lagosMail(append(
		seats(2, "Lagos Jazz Night", "VIP", 1_225_000_00), seats(2, "After party", "GENERAL_ADMISSION", 0)...,
	)...)
	made := render(is, mail.NewRenderer(), tickets)
	shown := textOf(parseHTML(is, made.HTML))
	for i, line := range tickets.Order.Lines {
		code := ticketing.FormatAdmissionCode(tickets.Event.ID, line.AdmissionID)
		number := fmt.Sprintf("Ticket %d of 4", i+1)
		is.True(strings.Contains(made.Text, code+"\n"))
		is.True(strings.Contains(made.Text, number+"\n"+line.Title+"\n"))
		is.True(strings.Contains(strings.ReplaceAll(made.HTML, "<wbr>", ""), ">"+code+"</p>"))
		is.True(strings.Contains(shown, number+" "+line.Title))
		is.True(strings.Contains(made.HTML, `src="cid:`+made.Inline[i].ContentID+`"`))
		is.True(strings.Contains(made.HTML, `alt="Code of ticket `+strings.TrimPrefix(number, "Ticket ")+`"`))
	}
	for _, text := range []string{
		"2 x VIP at NGN 1,225,000.00 each: NGN 2,450,000.00\n", "2 x General admission: Free\n",
		"Total: NGN 2,450,000.00\n",
	} {
		is.True(strings.Contains(made.Text, text))
	}
	is.True(strings.Contains(shown, "2 × VIP NGN 1,225,000.00 each NGN 2,450,000.00 2 × General admission Free"))
	is.True(strings.Contains(shown, "Total NGN 2,450,000.00"))
	for _, text := range []string{
		"Doors open an hour before. No re-entry after 21:00.", "Harmattan Live Ltd, 3 Broad Street, Lagos",
		"help@harmattan.example", "Eko Hall", "14 Idowu Taylor Street, Victoria Island, Lagos",
		"Sent by Floatgate on behalf of Harmattan", tickets.Order.ID.String(),
	} {
		is.True(strings.Contains(made.Text, text))
		is.True(strings.Contains(shown, text))
	}
}

// TestAMailHasNothingOfTheCompanysOwn gives each member that is not for the buyer a text or an amount to search for.
func TestAMailHasNothingOfTheCompanysOwn(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	tickets := lagosMail(seats(1, "Lagos Jazz Night", "VIP", 25_000_00)...)
	order := &tickets.Order
	order.Branding.CheckoutFooter = new("checkout footer")
	order.Commission = ticketing.OrderCommission{
		Amount: 91_111, Rate: ticketing.OrderRate{ID: fixtureID(77), Value: "92222", Unit: money.BasisPoints},
	}
	order.Balances = ticketing.OrderBalances{
		FloatBefore: 93_333, FloatAfter: 94_444, EarningsBefore: 95_555, EarningsAfter: 96_666,
	}
	order.Buyer.Phone = new("+234 800 555 0100")
	made := render(is, mail.NewRenderer(), tickets)
	whole := made.Text + made.HTML + string(made.Attached[0].Data) + made.Subject
	for _, text := range []string{
		"checkout footer", "911.11", "92222", fixtureID(77).String(), "933.33", "944.44", "955.55", "966.66",
		"555 0100", "Ada Obi", "ada@example.com",
	} {
		is.True(!strings.Contains(whole, text))
	}
}

func TestAMailSaysFirstWhatItsTicketsAreNot(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	for _, tt := range []struct {
		name     string
		change   func(*ticketing.TicketMail)
		notice   string // empty: none
		calendar bool
	}{
		{name: "valid tickets", change: func(*ticketing.TicketMail) {}, calendar: true},
		{
			name: "a sample", change: func(m *ticketing.TicketMail) { m.Sample = true }, calendar: true,
			notice: "This is a sample. Nothing was bought, and its codes admit nobody.",
		},
		{
			name: "refunded", change: func(m *ticketing.TicketMail) { m.Order.Status = ticketing.OrderRefunded },
			notice: "This order was refunded. Its tickets no longer admit anybody.",
		},
		{
			name: "cancelled", change: func(m *ticketing.TicketMail) { m.Order.Status = ticketing.OrderCancelled },
			notice: "This order was cancelled. Its tickets no longer admit anybody.",
		},
		{
			name: "no event", change: func(m *ticketing.TicketMail) { m.Event.Status = ticketing.EventCancelled },
			notice: "The event was cancelled.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			tickets := lagosMail(seats(2, "Lagos Jazz Night", "VIP", 1)...)
			tt.change(&tickets)
			made := render(is, renderer, tickets)
			first := "Lagos Jazz Night\n"
			if tt.notice != "" {
				first = "*** " + tt.notice + " ***\n"
				is.True(strings.Contains(textOf(parseHTML(is, made.HTML)), tt.notice))
			}
			is.True(strings.HasPrefix(made.Text, first))
			is.Equal(len(made.Attached) > 0, tt.calendar)
			is.Equal(strings.HasPrefix(made.Subject, "Sample: "), tickets.Sample)
			is.Equal(strings.Contains(made.Text, "Ticket 2 of 2 (sample)\n"), tickets.Sample)
			is.Equal(strings.Contains(made.HTML, ">Sample ticket 2 of 2</h2>"), tickets.Sample)
		})
	}
}

func TestTextsThatShowNothingAreReplaced(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	tickets := lagosMail(seats(1, "\u202e", "VIP", 1)...)
	tickets.Event.Title, tickets.Order.Branding.BrandName, tickets.Sender.Name = "\u202e", "\u202e", "\u202e"
	made := render(is, mail.NewRenderer(), tickets)
	is.Equal(made.FromName, "tickets@mail.floatgate.example via tickets@mail.floatgate.example")
	is.True(strings.HasPrefix(made.Subject, "Your ticket: Event (order …"))
	is.True(strings.Contains(made.HTML, ">Event</h1>"))
}

func TestAMailNeedsAddressesThatAreSuch(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	for _, tt := range []struct{ name, address string }{
		{name: "empty"},
		{name: "no domain", address: "secret"},
		{name: "an empty domain", address: "secret@"},
		{name: "a line", address: "secret@example.com\r\nBcc: victim@example.org"},
		{name: "two", address: "secret@example.com,victim@example.org"},
		{name: "angle brackets", address: "<secret@example.com>"},
		{name: "a domain with brackets", address: "secret@example.com>"},
		{name: "too long", address: strings.Repeat("secret", 60) + "@example.com"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			for _, change := range []func(*ticketing.TicketMail){
				func(m *ticketing.TicketMail) { m.To = tt.address },
				func(m *ticketing.TicketMail) { m.Sender.Address = tt.address },
			} {
				tickets := lagosMail(seats(1, "Lagos Jazz Night", "VIP", 1)...)
				change(&tickets)
				made, err := renderer.RenderTickets(t.Context(), tickets)
				is.True(err != nil)
				is.True(!strings.Contains(err.Error(), "secret")) // No error repeats an address.
				is.True(reflect.ValueOf(made).IsZero())
			}
		})
	}
}

func TestRenderingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := mail.NewRenderer().RenderTickets(ctx, lagosMail(seats(1, "Lagos Jazz Night", "VIP", 1)...))
	is.True(errors.Is(err, context.Canceled))
}

// TestOneRendererServesSeveralGoroutines renders different mails concurrently. Each must equal the one that is rendered
// alone.
func TestOneRendererServesSeveralGoroutines(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shared := mail.NewRenderer()
	var wg sync.WaitGroup
	for i := range 8 {
		tickets := lagosMail(seats(1+i, "Lagos Jazz Night", "VIP", 1)...)
		tickets.Order.EventID = fixtureID(uint64(i))
		want := render(is, mail.NewRenderer(), tickets)
		wg.Go(func() {
			for range 5 {
				made, err := shared.RenderTickets(t.Context(), tickets)
				if err != nil || !reflect.DeepEqual(made, want) {
					t.Error("a mail is not as it was rendered alone")
				}
			}
		})
	}
	wg.Wait()
}
