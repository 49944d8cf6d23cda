package books

import (
	"context"
	"hash/maphash"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// idDigest is a digest of ids in any order. Two digests with the same seeds are equal if they were given the same ids
// equally often. The seeds belong to one verification, so nobody can choose ids that make it fail.
//
// The probability that different ids give the same two sums is negligible.
type idDigest struct {
	seeds [2]maphash.Seed
	sums  [2]uint64
	count int64
}

// newIDDigest returns an empty digest with fresh seeds.
func newIDDigest() idDigest {
	return idDigest{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// add adds an id. Sums do not depend on the order.
func (d *idDigest) add(id uuid.UUID) {
	for i, seed := range d.seeds {
		d.sums[i] += maphash.Bytes(seed, id[:])
	}
	d.count++
}

// idSource calls yield with ids, one by one.
type idSource func(ctx context.Context, yield func(id uuid.UUID)) error

// spent checks the subjects of idempotency keys. The keys of checkouts must name the orders, and those of the
// validations that admitted somebody must name the validated admissions. Each must be named exactly once (section
// 4.11).
//
// An order without a key could be sold again by a retry, and a key without an order would have no result to replay.
func (b *companyBooks) spent(ctx context.Context) error {
	err := b.compare(ctx, &b.sales, b.subjects(b.Checkouts, ""), b.orderIDs, func(id uuid.UUID, keys, orders int64) {
		switch {
		case orders == 0:
			b.problemf("order %s: the key of its checkout is spent, but the order does not exist", id)
		case keys == 0:
			b.problemf("order %s: no spent key of a checkout names it", id)
		default:
			b.problemf("order %s: %d spent keys of checkouts name it", id, keys)
		}
	})
	if err != nil {
		return err
	}
	admitted := b.subjects(b.Validations, b.Admitted)
	return b.compare(ctx, &b.validated, admitted, b.validatedIDs, func(id uuid.UUID, keys, admissions int64) {
		switch {
		case keys > 1:
			b.problemf("admission %s: more than one validation admitted it", id)
		case admissions == 0:
			b.problemf("admission %s: a validation admitted it, but it is not validated", id)
		default:
			b.problemf("admission %s: it is validated, but no validation admitted it", id)
		}
	})
}

// compare calls blame for every id that is not named by exactly one key for each of its records. known is the digest of
// the records, which the first pass has made. If the keys have the same digest, the records are not read again.
func (b *companyBooks) compare(
	ctx context.Context, known *idDigest, keys, records idSource, blame func(id uuid.UUID, keys, records int64),
) error {
	// The same seeds make the digests comparable.
	found := idDigest{seeds: known.seeds}
	if err := keys(ctx, found.add); err != nil || found == *known {
		return err
	}
	// The digests differ. Both sides are read again and added up in parts, by the hash of the id. Then only the parts
	// that differ are read into memory, so that few ids are held at a time.
	const parts = 1 << 14
	sums := make([]uint64, parts)
	part := func(id uuid.UUID) (hash uint64, part int) {
		hash = maphash.Bytes(known.seeds[0], id[:])
		return hash, int(hash % parts)
	}
	// An odd number is added for each id, so that no id adds zero.
	if err := keys(ctx, func(id uuid.UUID) { hash, at := part(id); sums[at] += hash | 1 }); err != nil {
		return err
	}
	if err := records(ctx, func(id uuid.UUID) { hash, at := part(id); sums[at] -= hash | 1 }); err != nil {
		return err
	}
	limitParts(sums)
	counts := make(map[uuid.UUID][2]int64)
	// Only ids in differing parts are counted.
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
	// Maps have no order, but the report should be the same each time.
	slices.SortFunc(wrong, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	for _, id := range wrong {
		blame(id, counts[id][0], counts[id][1])
	}
	return nil
}

// limitParts keeps at most one more differing part than a report lists problems, and clears the others. It bounds the
// memory of the search.
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

// subjects returns a source of the subjects of an operation's spent keys with the given outcome.
//
// For checkouts the outcome is empty, and for validations it distinguishes who was admitted.
func (b *companyBooks) subjects(operation, outcome string) idSource {
	return func(ctx context.Context, yield func(id uuid.UUID)) error {
		// A subject is small, so its page is larger than one of other records.
		const limit = 10 * bookPage
		query := driver.SubjectQuery{CompanyID: b.record.ID, Operation: operation, Outcome: outcome, Limit: limit}
		for {
			keys, err := b.Tx.ListSubjects(ctx, query)
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

// orderIDs yields the ids of the company's orders.
func (b *companyBooks) orderIDs(ctx context.Context, yield func(id uuid.UUID)) error {
	return eachOf(ctx, b.readOrders(b.sales.count), func(page orderPage) {
		for i := range page.orders {
			yield(page.orders[i].ID)
		}
	})
}

// validatedIDs yields the ids of the company's validated admissions.
func (b *companyBooks) validatedIDs(ctx context.Context, yield func(id uuid.UUID)) error {
	return eachOf(ctx, b.readAdmissions(b.sales.count), func(admissions []driver.Admission) {
		for i := range admissions {
			if admissions[i].ValidationID != uuid.Nil {
				yield(admissions[i].ID)
			}
		}
	})
}

// eachOf reads pages to their end and calls yield with each.
func eachOf[T any](ctx context.Context, read func(context.Context) (T, bool, error), yield func(T)) error {
	for {
		page, more, err := read(ctx)
		if err != nil {
			return err
		}
		yield(page)
		if !more {
			return nil
		}
	}
}
