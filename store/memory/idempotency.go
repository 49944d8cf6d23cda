package memory

import (
	"bytes"
	"context"

	"github.com/floatgate/ticketing"
)

type results struct {
	byRef map[ticketing.ResultRef]ticketing.ResultRecord
}

func newResults() results {
	return results{byRef: make(map[ticketing.ResultRef]ticketing.ResultRecord)}
}

func (tx *updating) Results(
	ctx context.Context, refs []ticketing.ResultRef,
) ([]ticketing.ResultRecord, error) {
	return ask(ctx, tx.reading, func(s *state) []ticketing.ResultRecord {
		return each(refs, func(ref ticketing.ResultRef) ticketing.ResultRecord {
			result := s.results.byRef[ref]
			result.Body = bytes.Clone(result.Body)
			return result
		})
	})
}

func (tx *updating) AppendResults(ctx context.Context, results []ticketing.ResultRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, result := range results {
			result.Body = bytes.Clone(result.Body)
			result.CreatedAt = moment(result.CreatedAt)
			if err := create(u, s.results.byRef, result.ResultRef, result, "idempotency_keys_pkey"); err != nil {
				return err
			}
		}
		return nil
	})
}
