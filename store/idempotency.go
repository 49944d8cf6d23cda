package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const resultColumns = "company_id, operation, key, digest, outcome, subject, body, created_at"

func scanResult(row rowSet, r *driver.IdempotencyResult) error {
	return row.Scan((*id)(&r.CompanyID), &r.Operation, &r.Key, &r.Digest, &r.Outcome, (*id)(&r.Subject), &r.Body,
		(*moment)(&r.CreatedAt))
}

// Results returns the results that are stored under spent idempotency keys.
func (tx *transaction) Results(
	ctx context.Context, refs []driver.IdempotencyKey,
) ([]driver.IdempotencyResult, error) {
	return findByRefs(refs, func(r driver.IdempotencyResult) driver.IdempotencyKey { return r.IdempotencyKey },
		func(refs []driver.IdempotencyKey) ([]driver.IdempotencyResult, error) {
			return queryRefs(ctx, &tx.session, refs, refsQuery[driver.IdempotencyKey, driver.IdempotencyResult]{
				name: "Results", scan: scanResult, text: "SELECT " + resultColumns + " FROM ?",
				value: func(refs []driver.IdempotencyKey) fragment {
					return keyedRows{table: "ticketing_idempotency_keys i", set: newSet("company_id, operation, key", refs,
						func(r driver.IdempotencyKey) []any { return []any{r.CompanyID, r.Operation, r.Key} })}
				},
			})
		})
}

// AppendResults stores the results that the keys return from now on.
func (tx *transaction) AppendResults(ctx context.Context, results []driver.IdempotencyResult) error {
	type result = driver.IdempotencyResult
	return insertRecords(ctx, tx, "AppendResults", "ticketing_idempotency_keys", []column[result]{
		idColumn("company_id", func(r *result) uuid.UUID { return r.CompanyID }),
		textColumn("operation", func(r *result) string { return r.Operation }),
		textColumn("key", func(r *result) string { return r.Key }),
		textColumn("digest", func(r *result) string { return r.Digest }),
		textColumn("outcome", func(r *result) string { return r.Outcome }),
		idColumn("subject", func(r *result) uuid.UUID { return r.Subject }),
		bytesColumn("body", func(r *result) []byte { return r.Body }),
		timeColumn("created_at", func(r *result) time.Time { return r.CreatedAt }),
	}, results, 1)
}
