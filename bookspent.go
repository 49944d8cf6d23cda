package ticketing

import (
	"context"
	"hash/maphash"
	"slices"

	"github.com/google/uuid"
)

// opCheckout scopes the idempotency keys of checkouts.
const opCheckout = "checkouts.create"

// idDigest stands for ids in any order: two are equal where they were given the same ids equally often. Its seeds are of
// one verification alone, so nobody can choose ids that make it err.
type idDigest struct {
	seeds [2]maphash.Seed
	sums  [2]uint64
	count int64
}

func newIDDigest() idDigest {
	return idDigest{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

func (d *idDigest) add(id uuid.UUID) {
	for i, seed := range d.seeds {
		d.sums[i] += maphash.Bytes(seed, id[:])
	}
	d.count++
}

// idSource hands over ids, one by one.
type idSource func(ctx context.Context, yield func(id uuid.UUID)) error

// spent proves that the spent keys of checkouts name the orders, and those of the validations that admitted somebody the
// validated admissions: each exactly once.
func (b *companyBooks) spent(ctx context.Context) error {
	err := b.compare(ctx, &b.sales, b.subjects(opCheckout, ""), b.orderIDs, func(id uuid.UUID, keys, orders int64) {
		switch {
		case orders == 0:
			b.problemf("order %s: the key of its checkout is spent, and there is no such order", id)
		case keys == 0:
			b.problemf("order %s: no spent key of a checkout names it", id)
		default:
			b.problemf("order %s: %d spent keys of checkouts name it", id, keys)
		}
	})
	if err != nil {
		return err
	}
	admitted := b.subjects(opValidate, string(OutcomeAdmitted))
	return b.compare(ctx, &b.validated, admitted, b.validatedIDs, func(id uuid.UUID, keys, admissions int64) {
		switch {
		case keys > 1:
			b.problemf("admission %s: more than one validation admitted it", id)
		case admissions == 0:
			b.problemf("admission %s: a validation admitted it, and it is not validated", id)
		default:
			b.problemf("admission %s: it is validated, and no validation admitted it", id)
		}
	})
}

// compare tells blame of every id that keys name otherwise than once for each record, whose digest is known.
func (b *companyBooks) compare(
	ctx context.Context, known *idDigest, keys, records idSource, blame func(id uuid.UUID, keys, records int64),
) error {
	found := idDigest{seeds: known.seeds}
	if err := keys(ctx, found.add); err != nil || found == *known {
		return err
	}
	// Both are gone through again, parted by their hashes, and then those parts that differ, so that few ids are held.
	const parts = 1 << 14
	sums := make([]uint64, parts)
	part := func(id uuid.UUID) (hash uint64, part int) {
		hash = maphash.Bytes(known.seeds[0], id[:])
		return hash, int(hash % parts)
	}
	if err := keys(ctx, func(id uuid.UUID) { hash, at := part(id); sums[at] += hash | 1 }); err != nil {
		return err
	}
	if err := records(ctx, func(id uuid.UUID) { hash, at := part(id); sums[at] -= hash | 1 }); err != nil {
		return err
	}
	limitParts(sums)
	counts := make(map[uuid.UUID][2]int64)
	for side, source := range [2]idSource{keys, records} {
		err := source(ctx, func(id uuid.UUID) {
			if _, at := part(id); sums[at] != 0 {
				count := counts[id]
				count[side]++
				counts[id] = count
			}
		})
		if err != nil {
			return err
		}
	}
	var wrong []uuid.UUID
	for id, count := range counts {
		if count[0] != count[1] {
			wrong = append(wrong, id)
		}
	}
	slices.SortFunc(wrong, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	for _, id := range wrong {
		blame(id, counts[id][0], counts[id][1])
	}
	return nil
}

// limitParts leaves as many parts that differ as a report tells problems one by one, and one more.
func limitParts(sums []uint64) {
	differing := 0
	for at, sum := range sums {
		switch {
		case sum == 0:
		case differing > maxProblems:
			sums[at] = 0
		default:
			differing++
		}
	}
}

// subjects are what the spent keys of an operation name that had an outcome.
func (b *companyBooks) subjects(operation, outcome string) idSource {
	return func(ctx context.Context, yield func(id uuid.UUID)) error {
		const limit = 10 * bookPage
		query := SubjectQuery{CompanyID: b.record.ID, Operation: operation, Outcome: outcome, Limit: limit}
		for {
			keys, err := b.tx.ListSubjects(ctx, query)
			if err != nil {
				return err
			}
			for i := range keys {
				yield(keys[i].Subject)
			}
			if len(keys) < limit {
				return nil
			}
			query.After = keys[limit-1].Key
		}
	}
}

func (b *companyBooks) orderIDs(ctx context.Context, yield func(id uuid.UUID)) error {
	return eachOf(ctx, b.readOrders(b.sales.count), func(page orderPage) {
		for i := range page.orders {
			yield(page.orders[i].ID)
		}
	})
}

func (b *companyBooks) validatedIDs(ctx context.Context, yield func(id uuid.UUID)) error {
	return eachOf(ctx, b.readAdmissions(b.sales.count), func(admissions []AdmissionRecord) {
		for i := range admissions {
			if admissions[i].ValidationID != uuid.Nil {
				yield(admissions[i].ID)
			}
		}
	})
}

// eachOf goes through portions to their end.
func eachOf[T any](ctx context.Context, read func(context.Context) (T, bool, error), yield func(T)) error {
	for {
		portion, more, err := read(ctx)
		if err != nil {
			return err
		}
		yield(portion)
		if !more {
			return nil
		}
	}
}
