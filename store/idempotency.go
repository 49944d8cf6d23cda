package store

import (
	"context"
	"database/sql"

	"github.com/floatgate/ticketing"
)

const resultColumns = "company_id, operation, key, digest, outcome, subject, body, created_at"

func scanResult(row *sql.Rows, r *ticketing.ResultRecord) error {
	return row.Scan((*id)(&r.CompanyID), &r.Operation, &r.Key, &r.Digest, &r.Outcome, (*id)(&r.Subject), &r.Body,
		(*moment)(&r.CreatedAt))
}

// Results finds what spent keys answer with.
func (tx *transaction) Results(
	ctx context.Context, refs []ticketing.ResultRef,
) ([]ticketing.ResultRecord, error) {
	return lookUp(refs, func(r ticketing.ResultRecord) ticketing.ResultRef { return r.ResultRef },
		func(refs []ticketing.ResultRef) ([]ticketing.ResultRecord, error) {
			return query(ctx, &tx.session, "Results", scanResult,
				"SELECT "+resultColumns+` FROM ?`,
				found{table: "ticketing_idempotency_keys i", set: of("company_id, operation, key", refs, func(r ticketing.ResultRef) []any {
					return []any{r.CompanyID, r.Operation, r.Key}
				})})
		})
}

// AppendResults keeps what keys answer with from now on.
func (tx *transaction) AppendResults(ctx context.Context, results []ticketing.ResultRecord) error {
	return inParts(results, func(results []ticketing.ResultRecord) error {
		return tx.insert(ctx, "AppendResults", "ticketing_idempotency_keys", of(resultColumns,
			results, func(r ticketing.ResultRecord) []any {
				return []any{
					r.CompanyID, r.Operation, r.Key, r.Digest, r.Outcome, r.Subject, r.Body, r.CreatedAt,
				}
			}))
	})
}
