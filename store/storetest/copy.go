package storetest

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
)

func copyChecks() []Check {
	return []Check{
		{"copies/what is handed in may be changed afterwards", grounded(copiedIn)},
		{"copies/what is handed out may be changed", grounded(copiedOut)},
	}
}

// sliced is every kind of record that has a slice in it, and some that arrive in one.
type sliced struct {
	key     ticketing.APIKeyRecord
	event   ticketing.EventRecord
	results []ticketing.ResultRecord
	orders  []ticketing.OrderRecord
	entries []ledger.Entry
	facts   []ticketing.FactRecord
	hook    ticketing.WebhookEndpointRecord
	sent    []ticketing.DeliveryRecord
}

func newSliced() sliced {
	event := eventRecord(ticketing.EventRef{CompanyID: companyA, ID: id(50)})
	event.CreatedAt = at(50)
	sent := deliveryRecord(companyA, 60, at(0))
	sent.Attempts = []ticketing.DeliveryAttempt{{At: ticketing.Time{Time: at(1)}, Status: 500, Error: "failed"}}
	return sliced{
		key: apiKeyRecord(companyA, 30, at(0)), event: event,
		results: []ticketing.ResultRecord{resultRecord(companyA, "key-1")},
		orders:  []ticketing.OrderRecord{orderRecord(eventA, 1), orderRecord(eventA, 2)},
		entries: entries(companyA, ledger.Float, 2),
		facts:   []ticketing.FactRecord{factRecord(companyA, 10, at(0))},
		hook:    endpointRecord(companyA, 1), sent: []ticketing.DeliveryRecord{sent},
	}
}

// spoil changes everything that can be reached.
func (c *sliced) spoil() {
	c.hook.Events[0] = "spoilt"
	for i := range c.sent {
		c.sent[i].Attempts[0].Error, c.sent[i].URL = "spoilt", "spoilt"
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

// readBack finds all that was kept.
func readBack(ctx context.Context, tx ticketing.Tx) (sliced, error) {
	keys, keyErr := tx.FindAPIKeys(ctx, []uuid.UUID{id(30)})
	events, eventErr := tx.Events(ctx, []ticketing.EventRef{{CompanyID: companyA, ID: id(50)}})
	results, resultErr := tx.Results(ctx, []ticketing.ResultRef{resultRef(companyA, "key-1")})
	orders, orderErr := tx.ListOrders(ctx, ticketing.OrderQuery{CompanyID: companyA, Limit: 9})
	moved, ledgerErr := tx.ListEntries(ctx, ticketing.LedgerQuery{
		WalletRef: ticketing.WalletRef{CompanyID: companyA, Wallet: ledger.Float}, Limit: 9,
	})
	facts, factErr := tx.ListFacts(ctx, companyA, ticketing.Position{}, 9)
	hook, hookErr := tx.FindWebhookEndpoint(ctx, endpointRecord(companyA, 1).ID)
	sent, sentErr := tx.ListDeliveries(ctx, ticketing.DeliveryQuery{CompanyID: companyA, Limit: 9})
	if err := errors.Join(keyErr, eventErr, resultErr, orderErr, ledgerErr, factErr, hookErr, sentErr); err != nil {
		return sliced{}, err
	}
	slices.Reverse(orders)
	found := sliced{results: results, orders: orders, entries: moved, facts: facts, hook: hook, sent: sent}
	if len(keys) == 1 && len(events) == 1 {
		found.key, found.event = keys[0], events[0]
	}
	return found, nil
}

func (c *sliced) holds(ctx context.Context, tx ticketing.Tx) error {
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
	)
}

func (c *sliced) keep(ctx context.Context, tx ticketing.Tx) error {
	return steps(
		func() error { return tx.CreateAPIKey(ctx, c.key) },
		func() error { return tx.CreateEvent(ctx, c.event) },
		func() error { return tx.AppendResults(ctx, c.results) },
		func() error { return tx.AppendOrders(ctx, c.orders) },
		func() error { return tx.AppendEntries(ctx, c.entries) },
		func() error { return tx.AppendFacts(ctx, c.facts) },
		func() error { return tx.CreateWebhookEndpoint(ctx, c.hook) },
		func() error { return tx.AppendDeliveries(ctx, c.sent) },
	)
}

func copiedIn(ctx context.Context, s ticketing.Store) error {
	original := newSliced()
	err := update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		given := newSliced()
		if err := given.keep(ctx, tx); err != nil {
			return err
		}
		// Before the writes were sent, where they are sent late.
		given.spoil()
		return original.holds(ctx, tx)
	})
	if err != nil {
		return err
	}
	err = update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		given := newSliced()
		err := errors.Join(
			tx.UpdateEvent(ctx, given.event), tx.UpdateWebhookEndpoint(ctx, given.hook), tx.UpdateDeliveries(ctx, given.sent),
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

func copiedOut(ctx context.Context, s ticketing.Store) error {
	original := newSliced()
	if err := update(ctx, s, original.keep); err != nil {
		return err
	}
	original = newSliced()
	for _, fn := range []writes{
		func(ctx context.Context, tx ticketing.Tx) error {
			found, err := readBack(ctx, tx)
			if err != nil {
				return err
			}
			found.spoil()
			return original.holds(ctx, tx)
		},
		func(ctx context.Context, tx ticketing.Tx) error {
			locked, err := tx.LockEvent(ctx, ticketing.EventRef{CompanyID: companyA, ID: id(50)})
			if err != nil {
				return err
			}
			locked.TicketCategories[0] = "spoilt"
			listed, err := tx.ListEvents(ctx, ticketing.EventQuery{CompanyID: companyA, Limit: 1})
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
			held, err := tx.LockPending(ctx, ticketing.WebhookEndpointRef{CompanyID: companyA, Number: 1}, 1)
			if err != nil {
				return err
			}
			held[0].Attempts[0].Error = "spoilt"
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
