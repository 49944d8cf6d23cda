package ticketing

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/ids"
	"github.com/floatgate/ticketing/money"
)

// samplePrefix begins the type of a sample fact. The type of the event follows it.
const samplePrefix = "sample."

// isSample reports whether a fact is a sample, which shows a developer what webhooks look like. Nothing happened.
func isSample(f driver.Fact) bool { return strings.HasPrefix(string(f.Type), samplePrefix) }

// eventTypeOf returns the type that a receiver sees. It is the same for a sample and a real fact. The prefix is kept in
// the outbox only. A message and its deliveries have the plain type.
func eventTypeOf(f driver.Fact) FactType {
	return FactType(strings.TrimPrefix(string(f.Type), samplePrefix))
}

// factsToPublish returns the facts of a record that are published to the host: none for a sample. A host must not count
// a sample as a sale.
func factsToPublish(f driver.Fact) []driver.Fact {
	if isSample(f) {
		return nil
	}
	return f.Facts()
}

// sampleData returns the data of a sample of any of the four types, and nil for any other type. It is made of the fact
// alone, so that every attempt and every replay has the same body. Each of its ids is the first 16 bytes of the SHA-256
// of the following, made a UUID of version 4:
//
//	"ticketing/sample/v1\n", the 16 bytes of the fact's id, a name
func sampleData(f driver.Fact) any {
	order := Order{
		ID: sampleID(f, "order"), EventID: sampleID(f, "event"), Status: OrderConfirmed, Gross: 15_000_00,
		FloatDebited: 15_000_00,
		Commission: OrderCommission{
			Amount: 750_00, Rate: OrderRate{ID: sampleID(f, "rate"), Value: "5", Unit: money.Percent},
		},
		Balances: OrderBalances{
			FloatBefore: 15_900_00, FloatAfter: 900_00, EarningsBefore: 2_000_00, EarningsAfter: 2_750_00,
		},
		Buyer:       Buyer{Email: "ada@example.com", Fullname: new("Ada Obi"), Phone: new("+234 800 000 0000")},
		ConfirmedAt: Time{Time: f.At}, CreatedAt: Time{Time: f.At},
	}
	for _, name := range []string{"first", "second"} {
		order.Lines = append(order.Lines, OrderLine{
			ID: sampleID(f, name+" purchase"), AdmissionID: sampleID(f, name+" admission"), Title: "Sample ticket",
			Tier: "REGULAR", UnitPrice: 7_500_00,
		})
	}
	switch kind := eventTypeOf(f); kind {
	case FactOrderCreated, FactCommissionAccrued, FactBalanceLow:
		return order.fact(kind)
	case FactTicketValidated:
		return validatedData(driver.Admission{
			ID: order.Lines[0].AdmissionID, EventID: order.EventID, OrderID: order.ID, ValidatedAt: f.At,
		})
	default:
		return nil
	}
}

// sampleID returns the id of the given name in a sample. It depends only on the fact and the name. The ids of a sample
// are stable, and no record has them.
func sampleID(f driver.Fact, name string) uuid.UUID {
	return ids.Derive("ticketing/sample/v1\n", f.ID, name)
}

// TriggerWebhook makes a sample event of one of the four types and delivers it to the endpoints that a real event would
// go to. [Config.OnFact] does not receive it. It returns the event as endpoints receive it. It needs
// COMPANY:webhook:manage.
//
// Nothing in the body marks it as a sample, and its signature is valid, so a receiver processes it as a real event. Use
// it only for a company whose endpoints are for testing. Another type is INVALID_REQUEST.
func (o Operator) TriggerWebhook(ctx context.Context, companyID uuid.UUID, event FactType) (WebhookEvent, error) {
	if err := o.allowWrite(PermissionWebhookManage, companyID); err != nil {
		return WebhookEvent{}, err
	}
	var v violations
	checkEventType(&v, "type", event)
	if err := v.err(); err != nil {
		return WebhookEvent{}, err
	}
	var made driver.Fact
	// The ids are made before the transaction, which may run again.
	id, subject := o.s.newID(), o.s.newID()
	err := o.changeShared(ctx, PermissionWebhookManage, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			// The sample goes through the outbox like a real fact, so it tests the whole way to the receiver.
			made = driver.Fact{
				CompanyID: companyID, At: at, ID: id, Type: samplePrefix + event, Subject: subject,
				Endpoints: company.WebhookEndpoints,
			}
			if err := tx.AppendFacts(ctx, []driver.Fact{made}); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "webhook.trigger", companyID, about("company", companyID),
				changes{after: map[string]any{"eventType": event, "eventId": id}})
		})
	if err != nil {
		return WebhookEvent{}, err
	}
	o.s.wakeFor(driver.DueWork{Kind: driver.WorkDispatch, CompanyID: companyID})
	// The event is rendered from the fact that was just kept: endpoints receive the same bytes.
	var shown WebhookEvent
	err = o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		shown, err = firstRecord(o.s.renderWebhookEvents(ctx, tx, []driver.Fact{made}))
		return err
	})
	return shown, err
}
