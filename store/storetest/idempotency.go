package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/floatgate/ticketing/driver"
)

func idempotencyChecks() []Check {
	return []Check{
		{"results/round trip, aligned and in their scope", grounded(resultsKept)},
		{"results/a failed Update keeps none", grounded(resultsTakenBack)},
		{"results/taken key", grounded(resultTaken)},
	}
}

func resultsIn(ctx context.Context, s driver.Store, refs ...driver.IdempotencyKey) ([]driver.IdempotencyResult, error) {
	var found []driver.IdempotencyResult
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		var err error
		found, err = tx.Results(ctx, refs)
		return err
	})
	return found, err
}

func appendResults(results ...driver.IdempotencyResult) writes {
	return func(ctx context.Context, tx driver.Tx) error { return tx.AppendResults(ctx, results) }
}

func resultsKept(ctx context.Context, s driver.Store) error {
	a, b, other := newResult(companyA, "key-1"), newResult(companyB, "key-1"), newResult(companyA, "key-1")
	b.Body, b.Outcome, b.Digest = nil, "", "v1.def"
	other.Operation, other.Digest = "events.create", "v1.ghi"
	refs := []driver.IdempotencyKey{
		b.IdempotencyKey, resultRef(companyA, "KEY-1"), other.IdempotencyKey, resultRef(companyB, "key-2"), a.IdempotencyKey,
	}
	answer := []driver.IdempotencyResult{b, {}, other, {}, a}
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		if err := want("before", make([]driver.IdempotencyResult, len(refs))).from(tx.Results(ctx, refs)); err != nil {
			return err
		}
		if err := tx.AppendResults(ctx, []driver.IdempotencyResult{a, b, other}); err != nil {
			return err
		}
		return want("own results", answer).from(tx.Results(ctx, refs))
	})
	if err != nil {
		return err
	}
	found, err := resultsIn(ctx, s, refs...)
	if err := want("results", answer).from(found, err); err != nil {
		return err
	}
	return errors.Join(
		that(found[0].Body == nil, "no body became an empty one"),
		want("none", []driver.IdempotencyResult(nil)).from(resultsIn(ctx, s)),
	)
}

func resultsTakenBack(ctx context.Context, s driver.Store) error {
	kept := newResult(companyA, "key-1")
	if err := failing(ctx, s, appendResults(kept)); err != nil {
		return err
	}
	if err := want("after a failed Update", make([]driver.IdempotencyResult, 1)).
		from(resultsIn(ctx, s, kept.IdempotencyKey)); err != nil {
		return err
	}
	if err := share(ctx, s, appendResults(kept)); err != nil {
		return fmt.Errorf("spend a key that a failed Update did not spend: %w", err)
	}
	return want("result", []driver.IdempotencyResult{kept}).from(resultsIn(ctx, s, kept.IdempotencyKey))
}

func resultTaken(ctx context.Context, s driver.Store) error {
	kept := newResult(companyA, "key-1")
	if err := share(ctx, s, appendResults(kept)); err != nil {
		return err
	}
	other := kept
	other.Digest = "v1.other"
	if err := refuses("spend a key twice", share(ctx, s, appendResults(newResult(companyA, "key-0"), other))); err != nil {
		return err
	}
	return want("results", []driver.IdempotencyResult{kept, {}}).
		from(resultsIn(ctx, s, kept.IdempotencyKey, resultRef(companyA, "key-0")))
}
