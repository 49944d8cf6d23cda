package mail

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/contrast"
)

// ticketPage is what the templates show. All texts are clean, and none is escaped yet.
type ticketPage struct {
	Brand     string
	LogoURL   string // https, or empty
	Sender    string
	Support   string // an address, or empty
	MailTo    string // Support as the path of a mailto URL
	Title     string
	When      string
	WhenShort string
	Place     string
	Venue     string
	Organizer string
	OrderID   string
	Count     int
	Tickets   []pageTicket
	Prices    []ticketPrice
	Total     string
	// TicketFooter is shown below all tickets; EachFooter is the same on each ticket. One of them is empty.
	TicketFooter, EachFooter string
	EmailFooter              string
	Notices                  []string // what is shown first, such as that this is a sample
	Sample                   bool
	Void                     bool // the tickets admit nobody
	Style                    pageStyle
}

// pageTicket is a ticket of a page.
type pageTicket struct {
	Number    int // 1 of Count
	Title     string
	Tier      string
	Where     string // as Where of the page, and shorter
	Code      string
	ContentID string // of the picture
}

// codeCut is where a code may be divided into two lines, after the event's id.
const codeCut = len("SVC1:00000000-0000-0000-0000-000000000000:")

// CodeEvent returns the beginning of the code, which all tickets of an event share.
func (t pageTicket) CodeEvent() string { return t.Code[:codeCut] }

// CodeAdmission returns the rest of the code.
func (t pageTicket) CodeAdmission() string { return t.Code[codeCut:] }

// newTicketPage returns the page of an order. It shows no commission and no balance: these are the company's own
// business.
func newTicketPage(tickets ticketing.TicketMail, when span) *ticketPage {
	order, event, brand := tickets.Order, tickets.Event, tickets.Order.Branding
	page := &ticketPage{
		Brand:       cmp.Or(clean(brand.BrandName), tickets.Sender.Address),
		Sender:      cmp.Or(clean(tickets.Sender.Name), tickets.Sender.Address),
		Title:       cmp.Or(clean(event.Title), "Event"),
		When:        when.words(),
		WhenShort:   when.short(),
		Place:       clean(value(event.Location.Name)),
		Venue:       clean(value(event.Location.Venue)),
		Organizer:   clean(value(event.OrganizerName)),
		OrderID:     order.ID.String(),
		Count:       len(order.Lines),
		Prices:      pricesOf(order.Lines),
		Total:       formatPrice(order.Gross),
		EachFooter:  clean(value(brand.TicketFooter)),
		EmailFooter: clean(value(brand.EmailFooter)),
		Sample:      tickets.Sample,
		Void: order.Status == ticketing.OrderRefunded || order.Status == ticketing.OrderCancelled ||
			event.Status == ticketing.EventCancelled,
		Notices: noticesOf(tickets),
		Style:   styleOf(brand),
	}
	if logo, err := url.Parse(value(brand.LogoURL)); err == nil && logo.Scheme == "https" && logo.Host != "" {
		page.LogoURL = logo.String()
	}
	if support := value(brand.SupportEmail); isAddress(support) {
		page.Support, page.MailTo = support, url.PathEscape(support)
	}
	for i, line := range order.Lines {
		page.Tickets = append(page.Tickets, pageTicket{
			Number: i + 1, Title: cmp.Or(clean(line.Title), page.Title), Tier: tierName(line.Tier),
			Where:     page.WhereShort(),
			Code:      ticketing.FormatAdmissionCode(order.EventID, line.AdmissionID),
			ContentID: fmt.Sprintf("%d.%s@tickets", i+1, order.ID),
		})
	}
	return page
}

// noticesOf returns what a reader must know before anything else.
func noticesOf(tickets ticketing.TicketMail) []string {
	var notices []string
	if tickets.Sample {
		notices = append(notices, "This is a sample. Nothing was bought, and its codes admit nobody.")
	}
	switch tickets.Order.Status {
	case ticketing.OrderRefunded:
		notices = append(notices, "This order was refunded. Its tickets no longer admit anybody.")
	case ticketing.OrderCancelled:
		notices = append(notices, "This order was cancelled. Its tickets no longer admit anybody.")
	case ticketing.OrderConfirmed:
	}
	if tickets.Event.Status == ticketing.EventCancelled {
		notices = append(notices, "The event was cancelled.")
	}
	if tickets.Copy > 1 && !tickets.Sample {
		notices = append(notices, "These tickets were sent again. Their codes are those of the first mail.")
	}
	return notices
}

// Where returns the venue and the place on one line.
func (p *ticketPage) Where() string {
	if p.Venue == "" || p.Place == "" {
		return p.Venue + p.Place
	}
	return p.Venue + ", " + p.Place
}

// WhereShort returns the beginning of Where.
func (p *ticketPage) WhereShort() string { return shorten(p.Where(), 100) }

// Summary returns the number of tickets, such as "2 tickets".
func (p *ticketPage) Summary() string {
	if p.Count == 1 {
		return "1 ticket"
	}
	return fmt.Sprintf("%d tickets", p.Count)
}

// calendarText returns the description of the calendar entry.
func (p *ticketPage) calendarText() string {
	text := "Your tickets are in the mail from " + p.Brand + "."
	if p.Organizer != "" {
		text += "\nOrganizer: " + p.Organizer
	}
	if p.Support != "" {
		text += "\nQuestions: " + p.Support
	}
	return text
}

// fittings yields the page as it is, and then with shorter and shorter texts in the HTML. A limit is in bytes, for a
// text of a ticket or a price. A text that occurs once may have ten times as many, and so may the logo's URL. The last
// page fits even with the longest texts allowed.
func (p *ticketPage) fittings(yield func(*ticketPage) bool) {
	if !yield(p) {
		return
	}
	for _, limit := range []int{5_000, 600, 400, 240, 120, 60} {
		shorter := *p
		shorter.TicketFooter, shorter.EachFooter = p.EachFooter, ""
		for _, text := range []*string{
			&shorter.Brand, &shorter.Sender, &shorter.Title, &shorter.Venue, &shorter.Place, &shorter.Organizer,
			&shorter.TicketFooter, &shorter.EmailFooter,
		} {
			*text = fit(*text, 10*limit)
		}
		if len(shorter.LogoURL) > 10*limit {
			shorter.LogoURL = "" // The bar has the brand's name instead.
		}
		shorter.Tickets, shorter.Prices = slices.Clone(p.Tickets), slices.Clone(p.Prices)
		for i := range shorter.Tickets {
			ticket := &shorter.Tickets[i]
			ticket.Title, ticket.Tier = fit(ticket.Title, limit), fit(ticket.Tier, limit)
			ticket.Where = fit(ticket.Where, limit)
		}
		for i := range shorter.Prices {
			shorter.Prices[i].Tier = fit(shorter.Prices[i].Tier, limit)
		}
		if !yield(&shorter) {
			return
		}
	}
}

// pageStyle are the colours of a page, derived from the brand.
type pageStyle struct {
	Bar, OnBar                 string // the bar with the brand, and text on it
	Accent, OnAccent           string // the tier of a ticket, and text on it
	AccentText, AccentTextDark string // text on a card, light and dark
}

// The colours of a card and of its text. The templates have the same.
var (
	cardLight = contrast.Color{R: 0xFF, G: 0xFF, B: 0xFF} //nolint:gochecknoglobals // Never assigned.
	textLight = contrast.Color{R: 0x11, G: 0x18, B: 0x27} //nolint:gochecknoglobals // Never assigned.
	cardDark  = contrast.Color{R: 0x1A, G: 0x21, B: 0x2C} //nolint:gochecknoglobals // Never assigned.
	textDark  = contrast.Color{R: 0xF3, G: 0xF5, B: 0xF8} //nolint:gochecknoglobals // Never assigned.
)

// styleOf returns the colours of a branding. A malformed colour falls back to that of a new company.
func styleOf(brand ticketing.Branding) pageStyle {
	primary := contrast.Parse(brand.PrimaryColor, contrast.Color{R: 0x11, G: 0x18, B: 0x27})
	accent := contrast.Parse(brand.AccentColor, contrast.Color{R: 0x25, G: 0x63, B: 0xEB})
	return pageStyle{
		Bar: primary.String(), OnBar: contrast.TextOn(primary).String(),
		Accent: accent.String(), OnAccent: contrast.TextOn(accent).String(),
		AccentText:     contrast.Readable(accent, cardLight, textLight).String(),
		AccentTextDark: contrast.Readable(accent, cardDark, textDark).String(),
	}
}
