package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const messageColumns = "company_id, at, id, type, subject, body"

func scanMessage(row *sql.Rows, m *ticketing.MessageRecord) error {
	return row.Scan((*id)(&m.CompanyID), (*moment)(&m.At), (*id)(&m.ID), (*string)(&m.Type), (*id)(&m.Subject), &m.Body)
}

func messageKeyOf(m ticketing.MessageRecord) timedKey {
	return timedKey{m.CompanyID, m.At.UnixMilli(), m.ID}
}

// Messages finds messages.
func (s *session) Messages(ctx context.Context, refs []ticketing.MessageRef) ([]ticketing.MessageRecord, error) {
	keys := make([]timedKey, len(refs))
	for i, ref := range refs {
		keys[i] = timedKey{ref.CompanyID, ref.At.UnixMilli(), ref.ID}
	}
	return lookUp(keys, messageKeyOf, func(keys []timedKey) ([]ticketing.MessageRecord, error) {
		return query(ctx, s, "Messages", scanMessage, "SELECT "+messageColumns+" FROM ?",
			found{table: "ticketing_webhook_messages m", set: of("company_id, at, id", keys, func(k timedKey) []any {
				return []any{k.company, k.at, k.id}
			})})
	})
}

// AppendMessages keeps new messages.
func (tx *transaction) AppendMessages(ctx context.Context, messages []ticketing.MessageRecord) error {
	return inParts(messages, func(messages []ticketing.MessageRecord) error {
		return tx.insert(ctx, "AppendMessages", "ticketing_webhook_messages", of(messageColumns, messages,
			func(m ticketing.MessageRecord) []any {
				return []any{m.CompanyID, m.At.UnixMilli(), m.ID, string(m.Type), m.Subject, m.Body}
			}))
	})
}

// UpdateMessages keeps bodies.
func (tx *transaction) UpdateMessages(ctx context.Context, messages []ticketing.MessageRecord) error {
	const keys = 3
	messages = folded(messages, messageKeyOf)
	return inParts(messages, func(messages []ticketing.MessageRecord) error {
		return tx.update(ctx, "UpdateMessages", "ticketing_webhook_messages", keys,
			of("company_id, at, id, body", messages, func(m ticketing.MessageRecord) []any {
				return []any{m.CompanyID, m.At.UnixMilli(), m.ID, m.Body}
			}))
	})
}

// ForgetMessages empties the bodies of the messages about orders. The time of confirmation is the beginning of the key.
func (tx *transaction) ForgetMessages(ctx context.Context, orders []ticketing.OrderRecord) error {
	const keys = 3
	return inParts(orders, func(orders []ticketing.OrderRecord) error {
		statement := build(tx.store.engine, "")
		tx.store.engine.appendUpdate(statement, "ticketing_webhook_messages", keys,
			of("company_id, at, subject, body", orders, func(o ticketing.OrderRecord) []any {
				return []any{o.CompanyID, o.ConfirmedAt.UnixMilli(), o.ID, ""}
			}))
		return tx.send(ctx, "ForgetMessages", anyNumber, statement)
	})
}

// PruneMessages removes a company's oldest messages that no delivery is left of. The offset keeps the planner of PostgreSQL
// from joining all messages with all deliveries of the company.
func (tx *transaction) PruneMessages(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (int, error) {
	same, args := "d.company_id = t.company_id", []any{before.UnixMilli()}
	if tx.store.Grouping().ByCompany { // A cluster has to see in every table which company it is.
		same, args = "d.company_id = ?", append(args, companyID)
	}
	return tx.prune(ctx, pruning{
		name: "PruneMessages", table: "ticketing_webhook_messages", key: "at, id",
		due: `at < ? AND NOT EXISTS (
			SELECT 1 FROM ticketing_webhook_deliveries d WHERE ` + same + ` AND d.message_id = t.id LIMIT 1 OFFSET 0
		)`, args: args, lock: tx.store.engine.skipLocked(),
	}, companyID, limit)
}
