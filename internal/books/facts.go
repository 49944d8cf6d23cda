package books

import (
	"bytes"
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// factKinds is a set of facts about one order or admission. A record of the outbox holds one fact, or those of a sale
// ([driver.FactSale]).
//
// A set lets one record stand for several facts, which is how a sale writes them.
type factKinds uint8

// The kinds of facts. An order has the facts in saleFacts, and lowBalanceFact if it took FLOAT below the threshold.
const (
	orderFact factKinds = 1 << iota
	commissionFact
	emailFact
	lowBalanceFact
	validationFact

	allFactKinds  = validationFact<<1 - 1
	saleFacts     = orderFact | commissionFact | emailFact
	saleLowFacts  = saleFacts | lowBalanceFact
	factKindCount = 5
)

// kindsOfFact returns the facts that a record holds. A sample event belongs to no order and holds none.
func kindsOfFact(f driver.Fact) factKinds {
	switch f.Type {
	case driver.FactSale:
		return saleFacts
	case driver.FactSaleLow:
		return saleLowFacts
	case driver.FactOrderCreated:
		return orderFact
	case driver.FactCommissionAccrued:
		return commissionFact
	case driver.FactTicketEmail:
		return emailFact
	case driver.FactBalanceLow:
		return lowBalanceFact
	case driver.FactTicketValidated:
		return validationFact
	default:
		return 0
	}
}

// kindsOfOrder returns the facts that an order must have (section 6.1).
func kindsOfOrder(o *driver.Order, crosses func(*driver.Order) bool) factKinds {
	if crosses(o) {
		return saleLowFacts
	}
	return saleFacts
}

// factCheck compares a company's facts with its orders and its validated admissions, which must have each fact exactly
// once. It adds up hashes and keeps no ids, so it needs the same memory for books of any length.
//
// Retention removes old facts, so factCheck infers from what is left which ones must be there. PruneFacts never removes
// a fact that is newer than one it leaves, and no sale is older than the sale before it. So every order after the
// oldest remaining fact of a sale has its own facts, and every validation after the oldest remaining fact has its fact.
// At exactly that moment some facts may be gone, because a removal has a limit. Whatever is younger than half of
// FactRetention has its facts in any case; the other half allows for clocks that differ.
type factCheck struct {
	crosses func(*driver.Order) bool // Config.CrossesLowBalance
	// After these times every sale, and every validation, has all of its facts.
	sales, validations time.Time

	seeds [2]maphash.Seed
	// weights holds the weight of each set of kinds: the sum of the weights of its members. So one record with several
	// facts and several records with one each give the same sum.
	weights [allFactKinds + 1]uint64
	// sums holds the hashes of the facts in the outbox, less those of the facts that must be there. Both are zero if
	// the outbox is in order. The seeds are random, so nobody can choose ids that hide a difference.
	sums [2]uint64
}

// newFactCheck returns a check with fresh seeds. The weight of a single kind is odd, so that multiplying a hash by it
// loses no bits.
func newFactCheck(crosses func(*driver.Order) bool) factCheck {
	c := factCheck{crosses: crosses, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for set := range c.weights {
		for kind := range factKindCount {
			if set&(1<<kind) != 0 {
				// A hash for each kind keeps the kinds apart in the sums.
				c.weights[set] += maphash.Bytes(c.seeds[0], []byte{byte(kind)}) | 1
			}
		}
	}
	return c
}

// add counts the facts of an order or admission. With less it counts facts that must be there.
func (c *factCheck) add(id uuid.UUID, kinds factKinds, less bool) {
	for i, seed := range c.seeds {
		sum := maphash.Bytes(seed, id[:]) * c.weights[kinds]
		if less {
			// The sums wrap around, so a subtraction takes back exactly what an addition added.
			sum = -sum
		}
		c.sums[i] += sum
	}
}

// since returns the time after which a record with these facts is compared.
func (c *factCheck) since(kinds factKinds) time.Time {
	if kinds == validationFact {
		return c.validations
	}
	return c.sales
}

// sold counts the facts that an order must have.
func (c *factCheck) sold(order *driver.Order) {
	if order.ConfirmedAt.After(c.sales) {
		c.add(order.ID, kindsOfOrder(order, c.crosses), true)
	}
}

// validated counts the fact that a validated admission must have.
func (c *factCheck) validated(admission *driver.Admission) {
	if admission.ValidatedAt.After(c.validations) {
		c.add(admission.ID, validationFact, true)
	}
}

// found counts facts of the outbox.
//
// Facts that are older than the compared ones are left to oldestFacts.
func (c *factCheck) found(facts []driver.Fact) {
	for i := range facts {
		if kinds := kindsOfFact(facts[i]); kinds != 0 && facts[i].At.After(c.since(kinds)) {
			c.add(facts[i].Subject, kinds, false)
		}
	}
}

// findFacts sets the times after which all facts must be there, as of now. It reads from the oldest fact to the first
// one of a sale.
func (b *companyBooks) findFacts(ctx context.Context, now time.Time) error {
	recent := now.Add(-b.FactRetention / 2)
	b.facts.sales, b.facts.validations = recent, recent
	query, first := driver.Position{}, true
	// The oldest fact is often that of a sale, so the first read asks for one fact only.
	for limit := 1; ; limit = factPage {
		facts, err := b.Tx.ListFacts(ctx, b.record.ID, query, limit)
		if err != nil || len(facts) == 0 {
			return err
		}
		// The oldest fact of all limits the validations.
		if first && facts[0].At.Before(recent) {
			b.facts.validations = facts[0].At
		}
		first = false
		for _, fact := range facts {
			if fact.At.After(recent) {
				return nil
			}
			// The oldest fact of a sale limits the sales.
			if kinds := kindsOfFact(fact); kinds != 0 && kinds != validationFact {
				b.facts.sales = fact.At
				return nil
			}
		}
		query = facts[len(facts)-1].Position()
	}
}

// factPage is how many facts are read at a time. A fact is small, so its page is larger than one of other records.
//
// newCompanyBooks takes one such page for every ten pages of orders.
const factPage = 10 * bookPage

// readFacts returns a function that reads the next page of facts, by time.
func (b *companyBooks) readFacts() func(context.Context) ([]driver.Fact, bool, error) {
	var after driver.Position
	return func(ctx context.Context) ([]driver.Fact, bool, error) {
		facts, err := b.Tx.ListFacts(ctx, b.record.ID, after, factPage)
		if err != nil || len(facts) < factPage {
			return facts, false, err
		}
		after = facts[factPage-1].Position()
		return facts, true, nil
	}
}

// matchFacts checks that each order and each validated admission has its facts exactly once, and that no other fact
// exists. Only if the sums differ does it look for the ids.
func (b *companyBooks) matchFacts(ctx context.Context) error {
	if b.facts.sums != [2]uint64{} {
		if err := b.blameFacts(ctx); err != nil {
			return err
		}
	}
	return b.oldestFacts(ctx)
}

// factCounts counts the facts of one order or admission.
type factCounts struct {
	// counts holds, by kind, how many facts there are, less how many there must be. there counts the records of the
	// outbox, and expected is the set of the facts that must be there.
	counts   [factKindCount]int
	there    int
	expected factKinds
}

// blameFacts finds the orders and admissions whose facts are wrong. It goes through all facts, orders and admissions
// again and adds up their hashes in parts, by the hash of the id. A second pass keeps the ids of only those parts whose
// sums differ, so that few ids are in memory.
//
// It reads everything twice more, which is why it runs only for books that are not in order.
func (b *companyBooks) blameFacts(ctx context.Context) error {
	// The number of parts; their sums take 128 KiB.
	const parts = 1 << 14
	sums := make([]uint64, parts)
	part := func(id uuid.UUID) (hash uint64, part int) {
		hash = maphash.Bytes(b.facts.seeds[0], id[:])
		// An odd factor keeps every bit of the weight.
		return hash | 1, int(hash % parts)
	}
	err := b.eachFact(ctx, func(id uuid.UUID, kinds factKinds, less bool) {
		hash, at := part(id)
		if less {
			hash = -hash
		}
		sums[at] += hash * b.facts.weights[kinds]
	})
	if err != nil {
		return err
	}
	// A report lists a limited number of problems, so the second pass needs a limited number of parts.
	limitParts(sums)
	found := make(map[uuid.UUID]*factCounts)
	err = b.eachFact(ctx, func(id uuid.UUID, kinds factKinds, less bool) {
		if _, at := part(id); sums[at] == 0 {
			return
		}
		of := found[id]
		if of == nil {
			of = new(factCounts)
			found[id] = of
		}
		of.add(kinds, less)
	})
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, 0, len(found))
	for id := range found {
		ids = append(ids, id)
	}
	// Maps have no order, but the report should be the same each time.
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range ids {
		b.blameFactsOf(id, found[id])
	}
	return nil
}

// add counts the facts of a record, or with less those that must be there.
func (c *factCounts) add(kinds factKinds, less bool) {
	by := 1
	if less {
		c.expected |= kinds
		by = -1
	} else {
		c.there++
	}
	for kind := range c.counts {
		if kinds&(1<<kind) != 0 {
			c.counts[kind] += by
		}
	}
}

// blameFactsOf reports what is wrong with the facts of an order or admission.
//
// A negative count means that facts are missing, and a positive one that there are too many.
func (b *companyBooks) blameFactsOf(id uuid.UUID, of *factCounts) {
	sale, low, validation := of.counts[:3], of.counts[3], of.counts[4]
	switch {
	case of.expected == 0 && validation > 0:
		b.problemf("admission %s: the outbox has a fact of its validation, but it is not validated", id)
	case of.expected == 0:
		b.problemf("order %s: the outbox has a fact of it, but the order does not exist", id)
	case validation < 0:
		b.problemf("admission %s: it is validated, but the outbox has no fact of that", id)
	case validation > 0:
		b.problemf("admission %s: the outbox has more than one fact of its validation", id)
	case of.there == 0:
		b.problemf("order %s: the outbox has no fact of it", id)
	case slices.Min(sale) < 0:
		b.problemf("order %s: the outbox lacks one of its facts", id)
	case slices.Max(sale) > 0 || low > 0 && of.expected == saleLowFacts:
		b.problemf("order %s: the outbox has more than one fact of it", id)
	case low < 0:
		b.problemf("order %s: it took FLOAT below %s, but its fact does not say so", id, b.LowBalance)
	case low > 0:
		b.problemf("order %s: its fact says that it took FLOAT below %s, but it did not", id, b.LowBalance)
	}
}

// eachFact calls yield with all facts that are compared, and then, with less, with those that must be there.
//
// The three kinds of records are read one after the other, in pages.
func (b *companyBooks) eachFact(ctx context.Context, yield func(id uuid.UUID, kinds factKinds, less bool)) error {
	err := eachOf(ctx, b.readFacts(), func(facts []driver.Fact) {
		for i := range facts {
			if kinds := kindsOfFact(facts[i]); kinds != 0 && facts[i].At.After(b.facts.since(kinds)) {
				yield(facts[i].Subject, kinds, false)
			}
		}
	})
	if err != nil {
		return err
	}
	err = eachOf(ctx, b.readOrders(b.sales.count), func(page orderPage) {
		for i := range page.orders {
			if order := &page.orders[i]; order.ConfirmedAt.After(b.facts.sales) {
				yield(order.ID, kindsOfOrder(order, b.CrossesLowBalance), true)
			}
		}
	})
	if err != nil {
		return err
	}
	return eachOf(ctx, b.readAdmissions(b.sales.count), func(admissions []driver.Admission) {
		for i := range admissions {
			if admissions[i].ValidatedAt.After(b.facts.validations) {
				yield(admissions[i].ID, validationFact, true)
			}
		}
	})
}

// oldestFacts checks the facts that are not compared because of retention: each must belong to an order or to a
// validated admission. They are those at or before the times that findFacts set, and they are few.
func (b *companyBooks) oldestFacts(ctx context.Context) error {
	for after := (driver.Position{}); ; {
		facts, err := b.Tx.ListFacts(ctx, b.record.ID, after, bookPage)
		if err != nil || len(facts) == 0 {
			return err
		}
		var orders []driver.OrderRef
		var admissions []driver.AdmissionRef
		for i := range facts {
			fact := &facts[i]
			switch kinds := kindsOfFact(*fact); {
			// A record of no order, or one that is compared.
			case kinds == 0 || fact.At.After(b.facts.since(kinds)):
			case kinds == validationFact:
				admissions = appendNew(admissions, driver.AdmissionRef{CompanyID: fact.CompanyID, ID: fact.Subject})
			default:
				orders = appendNew(orders, driver.OrderRef{CompanyID: fact.CompanyID, ID: fact.Subject})
			}
		}
		if err := b.subjectsOf(ctx, orders, admissions); err != nil {
			return err
		}
		after = facts[len(facts)-1].Position()
		// The facts are in order of time, so all further ones are compared.
		if len(facts) < bookPage || after.At.After(b.facts.sales) && after.At.After(b.facts.validations) {
			return nil
		}
	}
}

// subjectsOf reports the orders and admissions among these that do not exist or are not validated.
func (b *companyBooks) subjectsOf(
	ctx context.Context, orders []driver.OrderRef, admissions []driver.AdmissionRef,
) error {
	if len(orders) > 0 {
		found, err := b.Tx.Orders(ctx, orders)
		if err != nil {
			return err
		}
		for i, order := range found {
			if order.ID == uuid.Nil {
				// Counts of zero report a fact of an order that does not exist.
				b.blameFactsOf(orders[i].ID, &factCounts{})
			}
		}
	}
	if len(admissions) == 0 {
		return nil
	}
	found, err := b.Tx.Admissions(ctx, admissions)
	for i, admission := range found {
		if admission.ValidationID == uuid.Nil {
			// A count of one validation reports a fact of an admission that is not validated.
			b.blameFactsOf(admissions[i].ID, &factCounts{counts: [factKindCount]int{4: 1}})
		}
	}
	return err
}

// appendNew appends an item that a list does not have. A list is of one page at most.
func appendNew[T comparable](list []T, item T) []T {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}
