package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func newMessage(companyID uuid.UUID, n int, when time.Time) driver.Message {
	return driver.Message{
		CompanyID: companyID, At: when, ID: id(n), Type: driver.FactOrderCreated, Subject: id(n + 1), Body: awkward,
	}
}

func messageRef(message driver.Message) driver.MessageRef {
	return driver.MessageRef{CompanyID: message.CompanyID, At: message.At, ID: message.ID}
}

func messageKinds() []record {
	kept := newMessage(companyA, 10, at(0))
	changed := kept
	changed.Body = "again"
	holds := func(found driver.Message) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return want("Messages", []driver.Message{found}).
				from(tx.Messages(ctx, []driver.MessageRef{messageRef(kept)}))
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendMessages(ctx, []driver.Message{kept})
	}
	return []record{{
		name: "messages", create: create, created: holds(kept), absent: holds(driver.Message{}),
		change: func(ctx context.Context, tx driver.Tx) error {
			other := changed
			other.Type, other.Subject = driver.FactBalanceLow, id(9)
			return tx.UpdateMessages(ctx, []driver.Message{other})
		},
		changed: holds(changed), taken: map[string]writes{"id": create},
	}}
}

func messageChecks() []Check {
	return []Check{
		{"messages/answers are aligned and of their company", grounded(messagesAligned)},
		{"messages/those about an order are forgotten", grounded(messagesForgotten)},
		{"messages/old ones that no delivery is left of are removed", grounded(messagesPruned)},
	}
}

func keepMessages(ctx context.Context, s driver.Store, messages ...driver.Message) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendMessages(ctx, messages) })
	if err != nil {
		return fmt.Errorf("append messages: %w", err)
	}
	return nil
}

// messagesHold expects the given messages. A message without a type must not exist.
func messagesHold(messages ...driver.Message) reads {
	return func(ctx context.Context, tx driver.ReadTx) error {
		var refs []driver.MessageRef
		expected := make([]driver.Message, len(messages))
		for i, message := range messages {
			refs = append(refs, messageRef(message))
			if message.Type != "" {
				expected[i] = message
			}
		}
		return want("messages", expected).from(tx.Messages(ctx, refs))
	}
}

func gone(message driver.Message) driver.Message {
	message.Type = ""
	return message
}

func messagesAligned(ctx context.Context, s driver.Store) error {
	one, two, foreign := newMessage(companyA, 10, at(1)), newMessage(companyA, 11, at(1)), newMessage(companyB, 10, at(1))
	foreign.Body = "of another company"
	if err := keepMessages(ctx, s, two, foreign, one); err != nil {
		return err
	}
	later := gone(newMessage(companyA, 10, at(2)))
	return errors.Join(
		everywhere(ctx, s, messagesHold(two, later, foreign, one, two, driver.Message{})),
		everywhere(ctx, s, messagesHold()),
	)
}

func messagesForgotten(ctx context.Context, s driver.Store) error {
	order, other := newOrder(eventA, 1), newOrder(eventA, 2)
	other.ConfirmedAt = order.ConfirmedAt
	foreign := newOrder(eventB, 1) // It has the id of an order that is to be forgotten.
	of := func(order driver.Order, n int) driver.Message {
		message := newMessage(order.CompanyID, n, order.ConfirmedAt)
		message.Subject = order.ID
		return message
	}
	messages := []driver.Message{
		of(order, 10), of(order, 11), of(other, 12), of(foreign, 10), newMessage(companyA, 13, at(500)),
	}
	if err := keepMessages(ctx, s, messages...); err != nil {
		return err
	}
	forget := func(ctx context.Context, tx driver.Tx) error {
		// An order without a message is no error.
		return tx.ForgetMessages(ctx, []driver.Order{order, newOrder(eventA, 3)})
	}
	if err := failing(ctx, s, forget); err != nil {
		return err
	}
	if err := everywhere(ctx, s, messagesHold(messages...)); err != nil {
		return fmt.Errorf("forgotten in an Update that failed: %w", err)
	}
	if err := share(ctx, s, forget); err != nil {
		return fmt.Errorf("forget messages: %w", err)
	}
	messages[0].Body, messages[1].Body = "", ""
	return everywhere(ctx, s, messagesHold(messages...))
}

func messagesPruned(ctx context.Context, s driver.Store) error {
	var messages []driver.Message
	for i := range 5 {
		messages = append(messages, newMessage(companyA, 10+i, at(i)))
	}
	foreign := newMessage(companyB, 11, at(0))
	kept := newDelivery(companyA, 90, at(900))
	kept.MessageAt, kept.MessageID = messages[1].At, messages[1].ID
	if err := errors.Join(keepMessages(ctx, s, append(messages, foreign)...), keepDeliveries(ctx, s, kept)); err != nil {
		return err
	}
	prune := func(limit int) (pruned int, err error) {
		err = share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			pruned, err = tx.PruneMessages(ctx, companyA, at(4), limit)
			return err
		})
		return pruned, err
	}
	err := failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return want("removed in an Update that fails", 3).from(tx.PruneMessages(ctx, companyA, at(4), 9))
	})
	return errors.Join(err,
		everywhere(ctx, s, messagesHold(append(messages, foreign)...)),
		want("the oldest two", 2).from(prune(2)),
		everywhere(ctx, s, messagesHold(
			gone(messages[0]), messages[1], gone(messages[2]), messages[3], messages[4], foreign,
		)),
		want("the rest", 1).from(prune(9)),
		want("no more", 0).from(prune(9)),
		everywhere(ctx, s, messagesHold(messages[1], gone(messages[3]), messages[4], foreign)),
	)
}
