package mail_test

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// fixtureID returns the UUID of version 4 with a number.
func fixtureID(n uint64) uuid.UUID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], 0x9E3779B97F4A7C15*n) // bits that look random
	binary.BigEndian.PutUint64(id[8:], n)
	id[6], id[8] = id[6]&0x0F|0x40, id[8]&0x3F|0x80
	return id
}

// seat is an admission of a fixture.
type seat struct {
	title string
	tier  string
	price money.Amount
}

// seats returns n admissions that are alike.
func seats(n int, title, tier string, price money.Amount) []seat {
	all := make([]seat, 0, n)
	for range n {
		all = append(all, seat{title, tier, price})
	}
	return all
}

// lagosMail returns the mail of an order with the admissions, for an event in Lagos.
func lagosMail(admissions ...seat) ticketing.TicketMail {
	event := ticketing.Event{
		ID: fixtureID(1), Object: "event", Title: "Lagos Jazz Night", Status: ticketing.EventPublished,
		Schedule: schedule("2030-12-24", "19:00", "23:00", "Africa/Lagos"),
		Location: ticketing.Location{
			Name: new("14 Idowu Taylor Street, Victoria Island, Lagos"), Venue: new("Eko Hall"),
		},
		OrganizerName: new("Harmattan Live"),
		UpdatedAt:     ticketing.Time{Time: time.Date(2030, 6, 1, 9, 30, 0, 0, time.UTC)},
	}
	order := ticketing.Order{
		ID: fixtureID(2), Object: "order", EventID: event.ID, Status: ticketing.OrderConfirmed,
		Buyer: ticketing.Buyer{Email: "ada@example.com", Fullname: new("Ada Obi")},
		Branding: ticketing.Branding{
			BrandName: "Harmattan", PrimaryColor: "#0F4C3A", AccentColor: "#C2410C",
			TicketFooter: new("Doors open an hour before. No re-entry after 21:00."),
			EmailFooter:  new("Harmattan Live Ltd, 3 Broad Street, Lagos"),
			SupportEmail: new("help@harmattan.example"),
		},
	}
	for i, s := range admissions {
		order.Lines = append(order.Lines, ticketing.OrderLine{
			ID: fixtureID(1000 + uint64(i)), AdmissionID: fixtureID(2000 + uint64(i)),
			Title: s.title, Tier: s.tier, UnitPrice: s.price,
		})
		order.Gross += s.price
	}
	return ticketing.TicketMail{
		Order: order, Event: event,
		Sender: ticketing.MailSender{Address: "tickets@mail.floatgate.example", Name: "Floatgate"},
		To:     "ada@example.com", Copy: 1, At: time.Date(2030, 6, 2, 8, 15, 0, 0, time.UTC),
	}
}

// schedule returns a schedule; an empty text is a missing member.
func schedule(date, startsAt, endsAt, zone string) ticketing.Schedule {
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return ticketing.Schedule{
		Date: optional(date), StartsAt: optional(startsAt), EndsAt: optional(endsAt), Timezone: optional(zone),
	}
}

// yoruba returns a mail whose texts are Yoruba.
func yoruba(n int) ticketing.TicketMail {
	tickets := lagosMail(seats(n, "Alẹ́ Orin Jùjú àti Àpàlà", "Ìjókòó iwájú", 15_000_00)...)
	tickets.Event.Title = "Alẹ́ Orin Jùjú àti Àpàlà"
	tickets.Event.Location = ticketing.Location{Name: new("Ọ̀nà Ọba, Ìbàdàn"), Venue: new("Gbọ̀ngàn Àṣà")}
	tickets.Event.OrganizerName = new("Ẹgbẹ́ Àṣà Yorùbá")
	tickets.Order.Branding.BrandName = "Ilé Orin"
	tickets.Order.Branding.PrimaryColor, tickets.Order.Branding.AccentColor = "#4C1D95", "#FBBF24"
	tickets.Order.Branding.TicketFooter = new("Ẹ jọ̀wọ́, ẹ mú tíkẹ́ẹ̀tì yìí wá sí ẹnu ọ̀nà.")
	tickets.Order.Branding.EmailFooter = new("Ẹ ṣeun púpọ̀. Ilé Orin, Ìbàdàn.")
	return tickets
}

// arabic returns a mail whose texts are Arabic.
func arabic(n int) ticketing.TicketMail {
	tickets := lagosMail(seats(n, "ليلة الموسيقى الأندلسية", "كبار الشخصيات", 250_00)...)
	tickets.Event.Title = "ليلة الموسيقى الأندلسية (Andalusian Night)"
	tickets.Event.Schedule = schedule("2030-12-24", "21:00", "02:00", "Africa/Casablanca")
	tickets.Event.Location = ticketing.Location{Name: new("شارع محمد الخامس 12، الرباط"), Venue: new("مسرح محمد الخامس")}
	tickets.Event.OrganizerName = new("جمعية أصدقاء الموسيقى")
	tickets.Order.Branding.BrandName = "دار النغم"
	tickets.Order.Branding.PrimaryColor, tickets.Order.Branding.AccentColor = "#FDE68A", "#0E7490"
	tickets.Order.Branding.TicketFooter = new("يرجى الحضور قبل نصف ساعة من بداية الحفل.")
	tickets.Order.Branding.EmailFooter = new("دار النغم، شارع محمد الخامس، الرباط")
	return tickets
}

// longest returns a mail in which every text is the same character, as often as the contract allows.
func longest(n int, character string) ticketing.TicketMail {
	text := func(length int) *string { return new(strings.Repeat(character, length)) }
	var admissions []seat
	for i := range n {
		admissions = append(admissions, seat{*text(200), *text(60), money.MaxInput - money.Amount(i)})
	}
	tickets := lagosMail(admissions...)
	tickets.Event.Title = *text(200)
	tickets.Event.Location = ticketing.Location{Name: text(500), Venue: text(500)}
	tickets.Event.OrganizerName = text(200)
	tickets.Order.Branding = ticketing.Branding{
		BrandName: *text(120), PrimaryColor: "#111827", AccentColor: "#2563EB", TicketFooter: text(500),
		EmailFooter: text(500), CheckoutFooter: text(500),
		LogoURL:      new("https://cdn.example.com/" + strings.Repeat("&", 2024)),
		SupportEmail: new(strings.Repeat("&", 64) + "@" + strings.Repeat("example.", 23) + "com"),
	}
	tickets.Sender.Name = *text(120)
	return tickets
}
