package ticketing

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// samplePrefix is what the type of a fact that tells of nothing begins with. What is behind it is the event's type.
const samplePrefix = "sample."

// sample tells whether a fact is one of nothing that happened, for a developer to see what webhooks look like.
func (f FactRecord) sample() bool { return strings.HasPrefix(string(f.Type), samplePrefix) }

// eventType is the type that a receiver sees.
func (f FactRecord) eventType() FactType {
	return FactType(strings.TrimPrefix(string(f.Type), samplePrefix))
}

// told are the facts of a record that the host is told.
func (f FactRecord) told() []FactRecord {
	if f.sample() {
		return nil
	}
	return f.Facts()
}

// sampleData is the data of a sample, of any of the four types, nil for another. Its ids are made of the fact's, so that
// it is the same whenever it is asked for: the first 16 bytes, made a UUID of version 4, of the SHA-256 of
//
//	"ticketing/sample/v1\n", the 16 bytes of the fact's id, a name
func (f FactRecord) sampleData() any {
	order := Order{
		ID: f.sampleID("order"), EventID: f.sampleID("event"), Status: OrderConfirmed, Gross: 15_000_00,
		FloatDebited: 15_000_00,
		Commission: OrderCommission{
			Amount: 750_00, Rate: OrderRate{ID: f.sampleID("rate"), Value: "5", Unit: money.Percent},
		},
		Balances: OrderBalances{
			FloatBefore: 15_900_00, FloatAfter: 900_00, EarningsBefore: 2_000_00, EarningsAfter: 2_750_00,
		},
		Buyer:       Buyer{Email: "ada@example.com", Fullname: new("Ada Obi"), Phone: new("+234 800 000 0000")},
		ConfirmedAt: Time{f.At}, CreatedAt: Time{f.At},
	}
	for _, name := range []string{"first", "second"} {
		order.Lines = append(order.Lines, OrderLine{
			ID: f.sampleID(name + " purchase"), AdmissionID: f.sampleID(name + " admission"), Title: "Sample ticket",
			Tier: "REGULAR", UnitPrice: 7_500_00,
		})
	}
	switch kind := f.eventType(); kind {
	case FactOrderCreated, FactCommissionAccrued, FactBalanceLow:
		return order.fact(kind)
	case FactTicketValidated:
		return AdmissionRecord{
			ID: order.Lines[0].AdmissionID, EventID: order.EventID, OrderID: order.ID, ValidatedAt: f.At,
		}.validated()
	default:
		return nil
	}
}

func (f FactRecord) sampleID(name string) uuid.UUID {
	return madeID("ticketing/sample/v1\n", f.ID, name)
}

// TriggerWebhook makes a sample event of one of the four types, for the endpoints that a real one would go to: it tells of
// nothing that happened, and [Config.OnFact] is not told of it. Nothing in it says that it is made up, and it is signed: a
// receiver takes it for real, so trigger for a company whose endpoints are for trying out. It needs
// COMPANY:webhook:manage.
func (o Operator) TriggerWebhook(ctx context.Context, companyID uuid.UUID, event FactType) (WebhookEvent, error) {
	if err := o.allowWrite(PermissionWebhookManage, companyID); err != nil {
		return WebhookEvent{}, err
	}
	var v violations
	checkEventType(&v, "type", event)
	if err := v.err(); err != nil {
		return WebhookEvent{}, err
	}
	var made FactRecord
	id, subject := o.s.newID(), o.s.newID()
	err := o.share(ctx, PermissionWebhookManage, companyID,
		func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error {
			made = FactRecord{
				CompanyID: companyID, At: at, ID: id, Type: samplePrefix + event, Subject: subject,
				Endpoints: company.WebhookEndpoints,
			}
			if err := tx.AppendFacts(ctx, []FactRecord{made}); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "webhook.trigger", companyID, about("company", companyID),
				changes{after: map[string]any{"eventType": event, "eventId": id}})
		})
	if err != nil {
		return WebhookEvent{}, err
	}
	o.s.Wake()
	var shown WebhookEvent
	err = o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		shown, err = only(o.s.showEvents(ctx, tx, []FactRecord{made}))
		return err
	})
	return shown, err
}
