package embedproxy

import (
	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// order is an order as a browser gets it (section 4.12, rule 6). The rest of section 2.6 is checked and dropped.
type order struct {
	ID          string      `json:"id"`
	Object      string      `json:"object"`
	EventID     string      `json:"eventId"`
	Status      string      `json:"status"`
	Gross       amount      `json:"gross"`
	Branding    branding    `json:"branding"`
	Lines       []orderLine `json:"lines"`
	ConfirmedAt string      `json:"confirmedAt"`
}

type branding struct {
	BrandName      string  `json:"brandName"`
	LogoURL        *string `json:"logoUrl"`
	PrimaryColor   string  `json:"primaryColor"`
	AccentColor    string  `json:"accentColor"`
	CheckoutFooter *string `json:"checkoutFooter"`
}

type orderLine struct {
	ID          string `json:"id"`
	AdmissionID string `json:"admissionId"`
	Title       string `json:"title"`
	Tier        string `json:"tier"`
	UnitPrice   amount `json:"unitPrice"`
}

func (r *reader) order() order {
	var o order
	var debited amount
	for name := range r.members("id", "object", "eventId", "status", "gross", "floatDebited", "commission", "balances",
		"buyer", "branding", "lines", "confirmedAt", "createdAt") {
		switch name {
		case "id":
			o.ID = r.id()
		case "object":
			o.Object = r.one("order")
		case "eventId":
			o.EventID = r.id()
		case "status":
			o.Status = r.one("CONFIRMED", "CANCELLED", "REFUNDED")
		case "gross":
			o.Gross = r.amount()
		case "floatDebited":
			debited = r.amount()
		case "commission":
			r.commission()
		case "balances":
			r.balances()
		case "buyer":
			r.buyer()
		case "branding":
			o.Branding = r.branding()
		case "lines":
			o.Lines = list(r, 1, ticketing.MaxAdmissions, (*reader).orderLine)
		case "confirmedAt":
			o.ConfirmedAt = r.timestamp()
		case "createdAt":
			r.timestamp()
		}
	}
	if r.ok() && o.Gross != debited { // An amount has one spelling.
		r.refuse("must equal gross")
		r.within("floatDebited")
	}
	return o
}

func (r *reader) commission() {
	for name := range r.members("amount", "rate") {
		switch name {
		case "amount":
			r.amount()
		case "rate":
			r.rate()
		}
	}
}

func (r *reader) rate() {
	const maxValue = 25 // twelve digits, a point and twelve digits
	var value, unit string
	for name := range r.members("id", "value", "unit") {
		switch name {
		case "id":
			r.id()
		case "value":
			value = r.text(maxValue)
		case "unit":
			unit = r.one(string(money.BasisPoints), string(money.Percent), string(money.Fraction))
		}
	}
	if !r.ok() {
		return
	}
	if _, err := money.ParseRate(value, money.Unit(unit)); err != nil {
		r.refuse("must be a rate of its unit")
		r.within("value")
	}
}

func (r *reader) balances() {
	for range r.members("floatBefore", "floatAfter", "earningsBefore", "earningsAfter") {
		r.amount()
	}
}

func (r *reader) buyer() {
	for name := range r.members("email", "fullname", "phone") {
		switch name {
		case "email":
			r.text(maxEmail)
		case "fullname":
			r.optionalText(maxFullname)
		case "phone":
			r.optionalText(maxPhone)
		}
	}
}

func (r *reader) branding() branding {
	const maxFooter, maxSupportEmail = 500, 254
	var b branding
	for name := range r.members("brandName", "logoUrl", "primaryColor", "accentColor", "checkoutFooter", "ticketFooter",
		"emailFooter", "supportEmail", "emailMode") {
		switch name {
		case "brandName":
			b.BrandName = r.form(120, isLine)
		case "logoUrl":
			b.LogoURL = r.logo()
		case "primaryColor":
			b.PrimaryColor = r.color()
		case "accentColor":
			b.AccentColor = r.color()
		case "checkoutFooter":
			b.CheckoutFooter = r.optionalText(maxFooter)
		case "ticketFooter", "emailFooter":
			r.optionalText(maxFooter)
		case "supportEmail":
			r.optionalText(maxSupportEmail)
		case "emailMode":
			r.one(string(ticketing.EmailServiceSender))
		}
	}
	return b
}

func (r *reader) orderLine() orderLine {
	var l orderLine
	for name := range r.members("id", "admissionId", "title", "tier", "unitPrice") {
		switch name {
		case "id":
			l.ID = r.id()
		case "admissionId":
			l.AdmissionID = r.id()
		case "title":
			l.Title = r.text(200)
		case "tier":
			l.Tier = r.category()
		case "unitPrice":
			l.UnitPrice = r.amount()
		}
	}
	return l
}
