package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/webhook"
)

// Fact is something that happened, as [Config.OnFact] receives it. A fact that is published again has the same ID, so a
// host can detect it. The outbox stores neither a body nor a buyer: a fact is rendered when it is published.
type Fact struct {
	ID        uuid.UUID
	CompanyID uuid.UUID
	Type      FactType
	CreatedAt Time
	// Data marshals to the JSON of section 6.6. It is a webhook.OrderCreated, webhook.CommissionAccrued,
	// webhook.BalanceLow or webhook.TicketValidated, and for notification.ticket_email a [TicketEmail].
	Data any
}

// TicketEmail is the data of a request for the ticket mail of an order, in the branding of the sale.
type TicketEmail struct {
	Order Order `json:"order"`
}

// fact returns a new record for the outbox. It keeps how many webhook endpoints the company has, so that later ones do
// not get the fact. The count is read under the company's gate. The id is drawn in the transaction. A run that is
// repeated draws another one, and only that of the last run is kept.
func (s *Service) fact(company driver.Company, at time.Time, kind FactType, subject uuid.UUID) driver.Fact {
	return driver.Fact{
		CompanyID: company.ID, At: at, ID: s.newID(), Type: kind, Subject: subject, Endpoints: company.WebhookEndpoints,
	}
}

// saleFact returns the facts of a sale as one record (section 6.1). balance.low is among them once, when the sale takes
// FLOAT below the threshold.
//
// order.created, commission.accrued, the ticket mail and balance.low have ids of their own, derived from that of the
// record. Rows of their own would be a fifth of all rows that a sale writes.
func (s *Service) saleFact(company driver.Company, order driver.Order) driver.Fact {
	kind := driver.FactSale
	if crossesLowBalance(&order) {
		kind = driver.FactSaleLow
	}
	return s.fact(company, order.ConfirmedAt, kind, order.ID)
}

// crossesLowBalance reports whether an order took FLOAT from at least the threshold to below it (section 2.9, item 4).
// A wallet that was below already does not cross it again.
func crossesLowBalance(o *driver.Order) bool {
	return o.FloatBefore >= LowBalance && o.FloatBefore-o.Gross < LowBalance
}

// showFacts renders facts from what never changes, except that a buyer may be erased ([Operator.EraseBuyer]). So a fact
// looks the same whenever it is rendered. A record of several facts must be split before, see [driver.Fact.Facts]. The
// number of reads does not depend on the number of facts.
func showFacts(ctx context.Context, tx driver.ReadTx, records []driver.Fact) ([]Fact, error) {
	var orderRefs []driver.OrderRef
	var admissionRefs []driver.AdmissionRef
	for _, f := range records {
		if f.Type == FactTicketValidated {
			admissionRefs = append(admissionRefs, driver.AdmissionRef{CompanyID: f.CompanyID, ID: f.Subject})
		} else {
			orderRefs = append(orderRefs, driver.OrderRef{CompanyID: f.CompanyID, ID: f.Subject})
		}
	}
	// The facts of a sale share an order, so each order is read once.
	orders := make(map[uuid.UUID]Order)
	if orderRefs = distinct(orderRefs); len(orderRefs) > 0 {
		found, err := tx.Orders(ctx, orderRefs)
		if err != nil {
			return nil, err
		}
		// The zero record stands for an order that does not exist.
		found = slices.DeleteFunc(found, func(order driver.Order) bool { return order.ID == uuid.Nil })
		shown, err := showOrders(ctx, tx, found)
		if err != nil {
			return nil, err
		}
		for _, order := range shown {
			order.Status = OrderConfirmed // As it was when the fact was written.
			orders[order.ID] = order
		}
	}
	admissions := make(map[uuid.UUID]driver.Admission)
	if len(admissionRefs) > 0 {
		found, err := tx.Admissions(ctx, admissionRefs)
		if err != nil {
			return nil, err
		}
		for _, a := range found {
			if a.ID != uuid.Nil {
				admissions[a.ID] = a
			}
		}
	}
	facts := make([]Fact, len(records))
	for i, f := range records {
		// The order of the records is kept.
		facts[i] = Fact{ID: f.ID, CompanyID: f.CompanyID, Type: f.Type, CreatedAt: Time{Time: f.At}}
		// A fact of something that does not exist has no data.
		if admission, found := admissions[f.Subject]; found && f.Type == FactTicketValidated {
			facts[i].Data = validatedData(admission)
		} else if order, found := orders[f.Subject]; found {
			facts[i].Data = order.fact(f.Type)
		}
	}
	return facts, nil
}

// fact returns the data of one of the order's facts, as section 6.6 specifies it.
//
// Every type but the three is the ticket mail.
func (o Order) fact(kind FactType) any {
	rate := webhook.Rate{
		ID: o.Commission.Rate.ID.String(), Value: o.Commission.Rate.Value, Unit: string(o.Commission.Rate.Unit),
	}
	switch kind {
	case FactOrderCreated:
		return webhook.OrderCreated{Order: webhook.Order{
			ID: o.ID.String(), EventID: o.EventID.String(), Status: string(o.Status), Currency: money.Currency,
			GrossAmount: o.Gross.String(), FloatDebitedAmount: o.FloatDebited.String(),
			Commission: webhook.Commission{Amount: o.Commission.Amount.String(), Rate: rate},
			Balances: webhook.Balances{
				FloatBefore: o.Balances.FloatBefore.String(), FloatAfter: o.Balances.FloatAfter.String(),
				EarningsBefore: o.Balances.EarningsBefore.String(), EarningsAfter: o.Balances.EarningsAfter.String(),
			},
			Buyer: webhook.Buyer{Email: o.Buyer.Email, Name: o.Buyer.Fullname, Phone: o.Buyer.Phone},
			Lines: o.factLines(), ConfirmedAt: o.ConfirmedAt.String(),
		}}
	case FactCommissionAccrued:
		return webhook.CommissionAccrued{
			OrderID: o.ID.String(), EventID: o.EventID.String(), Currency: money.Currency,
			Amount: o.Commission.Amount.String(), Rate: rate,
			EarningsBalanceBefore: o.Balances.EarningsBefore.String(),
			EarningsBalanceAfter:  o.Balances.EarningsAfter.String(), AccruedAt: o.ConfirmedAt.String(),
		}
	case FactBalanceLow:
		return webhook.BalanceLow{
			OrderID: o.ID.String(), Currency: money.Currency, BalanceBefore: o.Balances.FloatBefore.String(),
			BalanceAfter: o.Balances.FloatAfter.String(), ThresholdAmount: LowBalance.String(),
		}
	default:
		return TicketEmail{Order: o}
	}
}

// factLines returns the lines of the order as order.created shows them.
func (o Order) factLines() []webhook.Line {
	lines := make([]webhook.Line, len(o.Lines))
	for i, l := range o.Lines {
		lines[i] = webhook.Line{
			AdmissionID: l.AdmissionID.String(), TicketPurchaseID: l.ID.String(), Title: l.Title, Tier: l.Tier,
			UnitPrice: l.UnitPrice.String(), Currency: money.Currency,
		}
	}
	return lines
}

// validatedData returns the data of the admission's ticket.validated.
func validatedData(a driver.Admission) webhook.TicketValidated {
	return webhook.TicketValidated{
		AdmissionID: a.ID.String(), EventID: a.EventID.String(), OrderID: a.OrderID.String(),
		ValidatedAt: Time{Time: a.ValidatedAt}.String(),
	}
}

// FactType is the kind of a fact: what happened.
type FactType = driver.FactType

// The four facts that webhooks deliver (section 6), and the request for the ticket mail of a sale.
const (
	FactOrderCreated      = driver.FactOrderCreated
	FactCommissionAccrued = driver.FactCommissionAccrued
	FactBalanceLow        = driver.FactBalanceLow
	FactTicketValidated   = driver.FactTicketValidated
	FactTicketEmail       = driver.FactTicketEmail
)
