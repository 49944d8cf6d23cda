package memory

import (
	"bytes"
	"context"

	"github.com/floatgate/ticketing/driver"
)

type results struct {
	byRef map[driver.IdempotencyKey]driver.IdempotencyResult
}

func newResults() results {
	return results{byRef: make(map[driver.IdempotencyKey]driver.IdempotencyResult)}
}

func (tx *updating) Results(
	ctx context.Context, refs []driver.IdempotencyKey,
) ([]driver.IdempotencyResult, error) {
	return ask(ctx, tx.reading, func(s *state) []driver.IdempotencyResult {
		return each(refs, func(ref driver.IdempotencyKey) driver.IdempotencyResult {
			result := s.results.byRef[ref]
			result.Body = bytes.Clone(result.Body)
			return result
		})
	})
}

func (tx *updating) AppendResults(ctx context.Context, results []driver.IdempotencyResult) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, result := range results {
			result.Body = bytes.Clone(result.Body)
			result.CreatedAt = moment(result.CreatedAt)
			if err := create(u, s.results.byRef, result.IdempotencyKey, result, "idempotency_keys_pkey"); err != nil {
				return err
			}
		}
		return nil
	})
}
