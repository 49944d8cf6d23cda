package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/webhook"
)

// Fact is something that happened, for [Config.OnFact]. A fact that is told again has the same ID.
type Fact struct {
	ID        uuid.UUID
	CompanyID uuid.UUID
	Type      FactType
	CreatedAt Time
	// Data marshals to the JSON of section 6.6. It is a webhook.OrderCreated, webhook.CommissionAccrued,
	// webhook.BalanceLow or webhook.TicketValidated, and for notification.ticket_email a [TicketEmail].
	Data any
}

// TicketEmail asks for the mail with the tickets of an order, in the branding they were sold under.
type TicketEmail struct {
	Order Order `json:"order"`
}

func (s *Service) fact(company CompanyRecord, at time.Time, kind FactType, subject uuid.UUID) FactRecord {
	return FactRecord{
		CompanyID: company.ID, At: at, ID: s.newID(), Type: kind, Subject: subject, Endpoints: company.WebhookEndpoints,
	}
}

// saleFact is what a sale tells (section 6.1): balance.low once, when it takes FLOAT below the threshold.
func (s *Service) saleFact(company CompanyRecord, order OrderRecord) FactRecord {
	kind := FactSale
	if order.crossesLowBalance() {
		kind = FactSaleLow
	}
	return s.fact(company, order.ConfirmedAt, kind, order.ID)
}

// crossesLowBalance reports whether an order took FLOAT below the threshold.
func (o *OrderRecord) crossesLowBalance() bool {
	return o.FloatBefore >= LowBalance && o.FloatBefore-o.Gross < LowBalance
}

// showFacts renders facts, none of them those of a sale together, from what never changes, in a few reads for any number
// of them.
func showFacts(ctx context.Context, tx ReadTx, records []FactRecord) ([]Fact, error) {
	var orderRefs []OrderRef
	var admissionRefs []AdmissionRef
	for _, f := range records {
		if f.Type == FactTicketValidated {
			admissionRefs = append(admissionRefs, AdmissionRef{CompanyID: f.CompanyID, ID: f.Subject})
		} else {
			orderRefs = append(orderRefs, OrderRef{CompanyID: f.CompanyID, ID: f.Subject})
		}
	}
	orders := make(map[uuid.UUID]Order)
	if orderRefs = distinct(orderRefs); len(orderRefs) > 0 {
		found, err := tx.Orders(ctx, orderRefs)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(order OrderRecord) bool { return order.ID == uuid.Nil })
		shown, err := showOrders(ctx, tx, found)
		if err != nil {
			return nil, err
		}
		for _, order := range shown {
			order.Status = OrderConfirmed // As it was when the fact was written.
			orders[order.ID] = order
		}
	}
	admissions := make(map[uuid.UUID]AdmissionRecord)
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
		facts[i] = Fact{ID: f.ID, CompanyID: f.CompanyID, Type: f.Type, CreatedAt: Time{f.At}}
		// What tells of nothing that is there has no data.
		if admission, found := admissions[f.Subject]; found && f.Type == FactTicketValidated {
			facts[i].Data = admission.validated()
		} else if order, found := orders[f.Subject]; found {
			facts[i].Data = order.fact(f.Type)
		}
	}
	return facts, nil
}

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

func (a AdmissionRecord) validated() webhook.TicketValidated {
	return webhook.TicketValidated{
		AdmissionID: a.ID.String(), EventID: a.EventID.String(), OrderID: a.OrderID.String(),
		ValidatedAt: Time{a.ValidatedAt}.String(),
	}
}
