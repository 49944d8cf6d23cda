package storetest

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

func copyChecks() []Check {
	return []Check{
		{"copies/what is handed in may be changed afterwards", grounded(copiedIn)},
		{"copies/what is handed out may be changed", grounded(copiedOut)},
	}
}

// sliced holds every kind of record that contains a slice, and some that are passed in a slice.
type sliced struct {
	key     driver.APIKey
	event   driver.Event
	results []driver.IdempotencyResult
	orders  []driver.Order
	entries []ledger.Entry
	facts   []driver.Fact
	hook    driver.WebhookEndpoint
	sent    []driver.Delivery
	mails   []driver.Notification
}

func newSliced() sliced {
	event := newEvent(driver.EventRef{CompanyID: companyA, ID: id(50)})
	event.CreatedAt = at(50)
	sent := newDelivery(companyA, 60, at(0))
	sent.Attempts = []driver.DeliveryAttempt{{At: driver.Time{Time: at(1)}, Status: 500, Error: "failed"}}
	mail := newNotification(companyA, 3, 1, at(0))
	mail.Attempts = []driver.NotificationAttempt{{At: driver.Time{Time: at(1)}, Code: "450", Error: "failed"}}
	return sliced{
		key: newAPIKey(companyA, 30, at(0)), event: event,
		results: []driver.IdempotencyResult{newResult(companyA, "key-1")},
		orders:  []driver.Order{newOrder(eventA, 1), newOrder(eventA, 2)},
		entries: entries(companyA, ledger.Float, 2),
		facts:   []driver.Fact{newFact(companyA, 10, at(0))},
		hook:    newEndpoint(companyA, 1), sent: []driver.Delivery{sent}, mails: []driver.Notification{mail},
	}
}

// spoil changes everything that can be reached from the records.
func (c *sliced) spoil() {
	c.hook.Events[0] = "spoilt"
	for i := range c.sent {
		c.sent[i].Attempts[0].Error, c.sent[i].URL = "spoilt", "spoilt"
	}
	for i := range c.mails {
		c.mails[i].Attempts[0].Error, c.mails[i].Recipient = "spoilt", "spoilt"
	}
	c.key.Grants[0], c.event.TicketCategories[0] = "spoilt", "spoilt"
	for i := range c.results {
		c.results[i].Body[0] = 'X'
		c.results[i].Digest = "spoilt"
	}
	for i := range c.orders {
		c.orders[i].BuyerEmail, c.orders[i].Number, c.orders[i].ID = "spoilt", 99, id(99)
	}
	for i := range c.entries {
		c.entries[i].Amount, c.entries[i].Reference = 99, "spoilt"
	}
	for i := range c.facts {
		c.facts[i].Subject, c.facts[i].Type = id(99), "spoilt"
	}
}

// readBack reads all the records.
func readBack(ctx context.Context, tx driver.Tx) (sliced, error) {
	keys, keyErr := tx.FindAPIKeys(ctx, []uuid.UUID{id(30)})
	events, eventErr := tx.Events(ctx, []driver.EventRef{{CompanyID: companyA, ID: id(50)}})
	results, resultErr := tx.Results(ctx, []driver.IdempotencyKey{resultRef(companyA, "key-1")})
	orders, orderErr := tx.ListOrders(ctx, driver.OrderQuery{CompanyID: companyA, Limit: 9})
	moved, ledgerErr := tx.ListEntries(ctx, driver.LedgerQuery{
		WalletRef: driver.WalletRef{CompanyID: companyA, Wallet: ledger.Float}, Limit: 9,
	})
	facts, factErr := tx.ListFacts(ctx, companyA, driver.Position{}, 9)
	hook, hookErr := tx.FindWebhookEndpoint(ctx, newEndpoint(companyA, 1).ID)
	sent, sentErr := tx.ListDeliveries(ctx, driver.DeliveryQuery{CompanyID: companyA, Limit: 9})
	mails, mailErr := tx.ListNotifications(ctx, driver.NotificationQuery{CompanyID: companyA, Limit: 9})
	err := errors.Join(keyErr, eventErr, resultErr, orderErr, ledgerErr, factErr, hookErr, sentErr, mailErr)
	if err != nil {
		return sliced{}, err
	}
	slices.Reverse(orders)
	found := sliced{results: results, orders: orders, entries: moved, facts: facts, hook: hook, sent: sent, mails: mails}
	if len(keys) == 1 && len(events) == 1 {
		found.key, found.event = keys[0], events[0]
	}
	return found, nil
}

func (c *sliced) holds(ctx context.Context, tx driver.Tx) error {
	found, err := readBack(ctx, tx)
	if err != nil {
		return err
	}
	return errors.Join(
		want("API key", c.key).from(found.key, nil),
		want("event", c.event).from(found.event, nil),
		want("results", c.results).from(found.results, nil),
		want("orders", c.orders).from(found.orders, nil),
		want("entries", c.entries).from(found.entries, nil),
		want("facts", c.facts).from(found.facts, nil),
		want("endpoint", c.hook).from(found.hook, nil),
		want("deliveries", c.sent).from(found.sent, nil),
		want("notifications", c.mails).from(found.mails, nil),
	)
}

func (c *sliced) keep(ctx context.Context, tx driver.Tx) error {
	return steps(
		func() error { return tx.CreateAPIKey(ctx, c.key) },
		func() error { return tx.CreateEvent(ctx, c.event) },
		func() error { return tx.AppendResults(ctx, c.results) },
		func() error { return tx.AppendOrders(ctx, c.orders) },
		func() error { return tx.AppendEntries(ctx, c.entries) },
		func() error { return tx.AppendFacts(ctx, c.facts) },
		func() error { return tx.CreateWebhookEndpoint(ctx, c.hook) },
		func() error { return tx.AppendDeliveries(ctx, c.sent) },
		func() error { return tx.AppendNotifications(ctx, c.mails) },
	)
}

func copiedIn(ctx context.Context, s driver.Store) error {
	original := newSliced()
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		given := newSliced()
		if err := given.keep(ctx, tx); err != nil {
			return err
		}
		// Some stores have not sent the writes yet.
		given.spoil()
		return original.holds(ctx, tx)
	})
	if err != nil {
		return err
	}
	err = update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		given := newSliced()
		err := errors.Join(
			tx.UpdateEvent(ctx, given.event), tx.UpdateWebhookEndpoint(ctx, given.hook), tx.UpdateDeliveries(ctx, given.sent),
			tx.UpdateNotifications(ctx, given.mails),
		)
		if err != nil {
			return err
		}
		given.spoil()
		return nil
	})
	if err != nil {
		return err
	}
	return share(ctx, s, original.holds)
}

func copiedOut(ctx context.Context, s driver.Store) error {
	original := newSliced()
	if err := update(ctx, s, original.keep); err != nil {
		return err
	}
	original = newSliced()
	for _, fn := range []writes{
		func(ctx context.Context, tx driver.Tx) error {
			found, err := readBack(ctx, tx)
			if err != nil {
				return err
			}
			found.spoil()
			return original.holds(ctx, tx)
		},
		func(ctx context.Context, tx driver.Tx) error {
			locked, err := tx.LockEvent(ctx, driver.EventRef{CompanyID: companyA, ID: id(50)})
			if err != nil {
				return err
			}
			locked.TicketCategories[0] = "spoilt"
			listed, err := tx.ListEvents(ctx, driver.EventQuery{CompanyID: companyA, Limit: 1})
			if err != nil {
				return err
			}
			listed[0].TicketCategories[0] = "spoilt"
			keys, err := tx.ListAPIKeys(ctx, companyA, 1)
			if err != nil {
				return err
			}
			keys[0].Grants[0] = "spoilt"
			hooks, err := tx.ListWebhookEndpoints(ctx, companyA)
			if err != nil {
				return err
			}
			hooks[0].Events[0] = "spoilt"
			sent, err := tx.FindDelivery(ctx, id(60))
			if err != nil {
				return err
			}
			sent.Attempts[0].Error = "spoilt"
			held, err := tx.LockPending(ctx, driver.WebhookEndpointRef{CompanyID: companyA, Number: 1}, 1)
			if err != nil {
				return err
			}
			held[0].Attempts[0].Error = "spoilt"
			mails, err := tx.LockNotifications(ctx, []driver.NotificationRef{{CompanyID: companyA, Number: 3, Copy: 1}})
			if err != nil {
				return err
			}
			mails[0].Attempts[0].Error = "spoilt"
			of, err := tx.OrderNotifications(ctx, []driver.OrderNumber{{CompanyID: companyA, Number: 3}})
			if err != nil {
				return err
			}
			of[0].Attempts[0].Error = "spoilt"
			return original.holds(ctx, tx)
		},
		original.holds,
	} {
		if err := share(ctx, s, fn); err != nil {
			return err
		}
	}
	return nil
}
