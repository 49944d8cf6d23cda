package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

const messageColumns = "company_id, at, id, type, subject, body"

func scanMessage(row rowSet, m *driver.Message) error {
	return row.Scan((*id)(&m.CompanyID), (*moment)(&m.At), (*id)(&m.ID), (*string)(&m.Type), (*id)(&m.Subject), &m.Body)
}

func messageKeyOf(m driver.Message) timedKey {
	return timedKey{m.CompanyID, m.At.UnixMilli(), m.ID}
}

// Messages finds messages.
func (s *session) Messages(ctx context.Context, refs []driver.MessageRef) ([]driver.Message, error) {
	keys := make([]timedKey, len(refs))
	for i, ref := range refs {
		keys[i] = timedKey{ref.CompanyID, ref.At.UnixMilli(), ref.ID}
	}
	return findByRefs(keys, messageKeyOf, func(keys []timedKey) ([]driver.Message, error) {
		return query(ctx, s, "Messages", scanMessage, "SELECT "+messageColumns+" FROM ?",
			keyedRows{table: "ticketing_webhook_messages m", set: newSet("company_id, at, id", keys, func(k timedKey) []any {
				return []any{k.company, k.at, k.id}
			})})
	})
}

// AppendMessages inserts messages.
func (tx *transaction) AppendMessages(ctx context.Context, messages []driver.Message) error {
	return inParts(messages, func(messages []driver.Message) error {
		return tx.insert(ctx, "AppendMessages", "ticketing_webhook_messages", newSet(messageColumns, messages,
			func(m driver.Message) []any {
				return []any{m.CompanyID, m.At.UnixMilli(), m.ID, string(m.Type), m.Subject, m.Body}
			}))
	})
}

// UpdateMessages writes the bodies of messages.
func (tx *transaction) UpdateMessages(ctx context.Context, messages []driver.Message) error {
	const keys = 3
	messages = lastChanges(messages, messageKeyOf)
	return inParts(messages, func(messages []driver.Message) error {
		return tx.update(ctx, "UpdateMessages", "ticketing_webhook_messages", keys,
			newSet("company_id, at, id, body", messages, func(m driver.Message) []any {
				return []any{m.CompanyID, m.At.UnixMilli(), m.ID, m.Body}
			}))
	})
}

// ForgetMessages empties the bodies of the messages about orders. Their key begins with the company and the order's
// time of confirmation.
func (tx *transaction) ForgetMessages(ctx context.Context, orders []driver.Order) error {
	const keys = 3
	return inParts(orders, func(orders []driver.Order) error {
		statement := build(tx.store.engine, "")
		tx.store.engine.appendUpdate(statement, "ticketing_webhook_messages", keys,
			newSet("company_id, at, subject, body", orders, func(o driver.Order) []any {
				return []any{o.CompanyID, o.ConfirmedAt.UnixMilli(), o.ID, ""}
			}))
		return tx.send(ctx, "ForgetMessages", anyNumber, statement)
	})
}

// PruneMessages removes a company's oldest messages that have no deliveries left. OFFSET 0 keeps the planner of
// PostgreSQL from joining all messages with all deliveries of the company.
func (tx *transaction) PruneMessages(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (int, error) {
	same, args := "d.company_id = t.company_id", []any(nil)
	// A cluster needs to see the company in the condition on every table.
	if tx.store.Grouping().ByCompany {
		same, args = "d.company_id = ?", []any{id(companyID)}
	}
	return tx.prune(ctx, "PruneMessages", "ticketing_webhook_messages", "at, id", companyID, limit,
		func(messages *bun.SelectQuery) *bun.SelectQuery {
			return messages.Where("at < ?", integer(before.UnixMilli())).Where(`NOT EXISTS (
				SELECT 1 FROM ticketing_webhook_deliveries d WHERE `+same+` AND d.message_id = t.id LIMIT 1 OFFSET 0
			)`, args...).Apply(tx.lockedFree)
		})
}
