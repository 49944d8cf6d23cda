package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/floatgate/ticketing"
)

func idempotencyChecks() []Check {
	return []Check{
		{"results/round trip, aligned and in their scope", grounded(resultsKept)},
		{"results/a failed Update keeps none", grounded(resultsTakenBack)},
		{"results/taken key", grounded(resultTaken)},
	}
}

func resultsIn(ctx context.Context, s ticketing.Store, refs ...ticketing.ResultRef) ([]ticketing.ResultRecord, error) {
	var found []ticketing.ResultRecord
	err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		var err error
		found, err = tx.Results(ctx, refs)
		return err
	})
	return found, err
}

func appendResults(results ...ticketing.ResultRecord) writes {
	return func(ctx context.Context, tx ticketing.Tx) error { return tx.AppendResults(ctx, results) }
}

func resultsKept(ctx context.Context, s ticketing.Store) error {
	a, b, other := resultRecord(companyA, "key-1"), resultRecord(companyB, "key-1"), resultRecord(companyA, "key-1")
	b.Body, b.Outcome, b.Digest = nil, "", "v1.def"
	other.Operation, other.Digest = "events.create", "v1.ghi"
	refs := []ticketing.ResultRef{
		b.ResultRef, resultRef(companyA, "KEY-1"), other.ResultRef, resultRef(companyB, "key-2"), a.ResultRef,
	}
	answer := []ticketing.ResultRecord{b, {}, other, {}, a}
	err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		if err := want("before", make([]ticketing.ResultRecord, len(refs))).from(tx.Results(ctx, refs)); err != nil {
			return err
		}
		if err := tx.AppendResults(ctx, []ticketing.ResultRecord{a, b, other}); err != nil {
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
		want("none", []ticketing.ResultRecord(nil)).from(resultsIn(ctx, s)),
	)
}

func resultsTakenBack(ctx context.Context, s ticketing.Store) error {
	kept := resultRecord(companyA, "key-1")
	if err := failing(ctx, s, appendResults(kept)); err != nil {
		return err
	}
	if err := want("after a failed Update", make([]ticketing.ResultRecord, 1)).
		from(resultsIn(ctx, s, kept.ResultRef)); err != nil {
		return err
	}
	if err := share(ctx, s, appendResults(kept)); err != nil {
		return fmt.Errorf("spend a key that a failed Update did not spend: %w", err)
	}
	return want("result", []ticketing.ResultRecord{kept}).from(resultsIn(ctx, s, kept.ResultRef))
}

func resultTaken(ctx context.Context, s ticketing.Store) error {
	kept := resultRecord(companyA, "key-1")
	if err := share(ctx, s, appendResults(kept)); err != nil {
		return err
	}
	other := kept
	other.Digest = "v1.other"
	if err := refuses("spend a key twice", share(ctx, s, appendResults(resultRecord(companyA, "key-0"), other))); err != nil {
		return err
	}
	return want("results", []ticketing.ResultRecord{kept, {}}).
		from(resultsIn(ctx, s, kept.ResultRef, resultRef(companyA, "key-0")))
}
