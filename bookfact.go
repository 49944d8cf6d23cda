package ticketing

import (
	"bytes"
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/google/uuid"
)

// minFactRetention is how long facts stay at the least.
const minFactRetention = time.Hour

// factKinds is a set of facts of an order or admission. A record of the outbox holds one or, as [FactSale], several.
type factKinds uint8

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

// kinds are the facts that a record holds. A sample is of no order, and holds none.
func (f FactRecord) kinds() factKinds {
	switch f.Type {
	case FactSale:
		return saleFacts
	case FactSaleLow:
		return saleLowFacts
	case FactOrderCreated:
		return orderFact
	case FactCommissionAccrued:
		return commissionFact
	case FactTicketEmail:
		return emailFact
	case FactBalanceLow:
		return lowBalanceFact
	case FactTicketValidated:
		return validationFact
	default:
		return 0
	}
}

// factKinds are the facts that an order has.
func (o *OrderRecord) factKinds() factKinds {
	if o.crossesLowBalance() {
		return saleLowFacts
	}
	return saleFacts
}

// factCheck compares a company's facts with its orders and validated admissions, each once. What retention has removed it
// infers from what is left: PruneFacts removes nothing that is newer than what it leaves, and no sale is older than the
// one before it. So every order after the oldest fact of a sale has its own, and every validation after the oldest fact.
// Of that moment itself some facts may be gone, since a removal has a limit. What is younger than half of
// minFactRetention has its facts whatever is left; the other half allows for clocks that differ.
type factCheck struct {
	sales, validations time.Time // what is after them has its facts

	seeds [2]maphash.Seed
	// weights are those of sets of kinds: that of a set is the sum of those of its members.
	weights [allFactKinds + 1]uint64
	sums    [2]uint64 // of the facts that there are, less those that there should be
}

func newFactCheck() factCheck {
	c := factCheck{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for set := range c.weights {
		for kind := range factKindCount {
			if set&(1<<kind) != 0 {
				c.weights[set] += maphash.Bytes(c.seeds[0], []byte{byte(kind)}) | 1
			}
		}
	}
	return c
}

// add counts facts of an order or admission, or with less those that it should have.
func (c *factCheck) add(id uuid.UUID, kinds factKinds, less bool) {
	for i, seed := range c.seeds {
		sum := maphash.Bytes(seed, id[:]) * c.weights[kinds]
		if less {
			sum = -sum
		}
		c.sums[i] += sum
	}
}

// since is the time after which what has these facts has all of them.
func (c *factCheck) since(kinds factKinds) time.Time {
	if kinds == validationFact {
		return c.validations
	}
	return c.sales
}

// sold counts the facts that an order should have.
func (c *factCheck) sold(order *OrderRecord) {
	if order.ConfirmedAt.After(c.sales) {
		c.add(order.ID, order.factKinds(), true)
	}
}

// validated counts the fact that a validated admission should have.
func (c *factCheck) validated(admission *AdmissionRecord) {
	if admission.ValidatedAt.After(c.validations) {
		c.add(admission.ID, validationFact, true)
	}
}

// found counts facts that there are.
func (c *factCheck) found(facts []FactRecord) {
	for i := range facts {
		if kinds := facts[i].kinds(); kinds != 0 && facts[i].At.After(c.since(kinds)) {
			c.add(facts[i].Subject, kinds, false)
		}
	}
}

// findFacts finds after which times all facts are there, as of a time.
func (b *companyBooks) findFacts(ctx context.Context, now time.Time) error {
	recent := now.Add(-minFactRetention / 2)
	b.facts.sales, b.facts.validations = recent, recent
	query, first := Position{}, true
	for limit := 1; ; limit = factPage {
		facts, err := b.tx.ListFacts(ctx, b.record.ID, query, limit)
		if err != nil || len(facts) == 0 {
			return err
		}
		if first && facts[0].At.Before(recent) {
			b.facts.validations = facts[0].At
		}
		first = false
		for _, fact := range facts {
			if fact.At.After(recent) {
				return nil
			}
			if kinds := fact.kinds(); kinds != 0 && kinds != validationFact {
				b.facts.sales = fact.At
				return nil
			}
		}
		query = facts[len(facts)-1].position()
	}
}

func (f FactRecord) position() Position { return Position{At: f.At, ID: f.ID} }

// factPage is how many facts are read at a time.
const factPage = 10 * bookPage

// readFacts reads facts by time.
func (b *companyBooks) readFacts() func(context.Context) ([]FactRecord, bool, error) {
	var after Position
	return func(ctx context.Context) ([]FactRecord, bool, error) {
		facts, err := b.tx.ListFacts(ctx, b.record.ID, after, factPage)
		if err != nil || len(facts) < factPage {
			return facts, false, err
		}
		after = facts[factPage-1].position()
		return facts, true, nil
	}
}

// matchFacts proves that each order and each validated admission has its facts once, and that there is no fact of anything else.
func (b *companyBooks) matchFacts(ctx context.Context) error {
	if b.facts.sums != [2]uint64{} {
		if err := b.blameFacts(ctx); err != nil {
			return err
		}
	}
	return b.oldestFacts(ctx)
}

// factCounts are the facts of an order or admission, by kind: those that there are, less those that there should be.
type factCounts struct {
	counts   [factKindCount]int
	there    int
	expected factKinds
}

// blameFacts goes through facts, orders and admissions again, parted by the hashes of their ids, and then through those
// parts that differ, so that few ids are held.
func (b *companyBooks) blameFacts(ctx context.Context) error {
	const parts = 1 << 14
	sums := make([]uint64, parts)
	part := func(id uuid.UUID) (hash uint64, part int) {
		hash = maphash.Bytes(b.facts.seeds[0], id[:])
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
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range ids {
		b.blameFactsOf(id, found[id])
	}
	return nil
}

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
func (b *companyBooks) blameFactsOf(id uuid.UUID, of *factCounts) {
	sale, low, validation := of.counts[:3], of.counts[3], of.counts[4]
	switch {
	case of.expected == 0 && validation > 0:
		b.problemf("admission %s: the outbox has a fact of its validation, and it is not validated", id)
	case of.expected == 0:
		b.problemf("order %s: the outbox has a fact of it, and there is no such order", id)
	case validation < 0:
		b.problemf("admission %s: it is validated, and the outbox has no fact of that", id)
	case validation > 0:
		b.problemf("admission %s: the outbox has more than one fact of its validation", id)
	case of.there == 0:
		b.problemf("order %s: the outbox has no fact of it", id)
	case slices.Min(sale) < 0:
		b.problemf("order %s: the outbox lacks one of its facts", id)
	case slices.Max(sale) > 0 || low > 0 && of.expected == saleLowFacts:
		b.problemf("order %s: the outbox has more than one fact of it", id)
	case low < 0:
		b.problemf("order %s: it took FLOAT below %s, and its fact does not say so", id, LowBalance)
	case low > 0:
		b.problemf("order %s: its fact says that it took FLOAT below %s, and it did not", id, LowBalance)
	}
}

// eachFact hands over the facts that are compared, and with less those that there should be.
func (b *companyBooks) eachFact(ctx context.Context, yield func(id uuid.UUID, kinds factKinds, less bool)) error {
	err := eachOf(ctx, b.readFacts(), func(facts []FactRecord) {
		for i := range facts {
			if kinds := facts[i].kinds(); kinds != 0 && facts[i].At.After(b.facts.since(kinds)) {
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
				yield(order.ID, order.factKinds(), true)
			}
		}
	})
	if err != nil {
		return err
	}
	return eachOf(ctx, b.readAdmissions(b.sales.count), func(admissions []AdmissionRecord) {
		for i := range admissions {
			if admissions[i].ValidatedAt.After(b.facts.validations) {
				yield(admissions[i].ID, validationFact, true)
			}
		}
	})
}

// oldestFacts proves that the facts that are not compared, those of the moment after which all are there, are of an order
// or admission. They are few.
func (b *companyBooks) oldestFacts(ctx context.Context) error {
	for after := (Position{}); ; {
		facts, err := b.tx.ListFacts(ctx, b.record.ID, after, bookPage)
		if err != nil || len(facts) == 0 {
			return err
		}
		var orders []OrderRef
		var admissions []AdmissionRef
		for i := range facts {
			fact := &facts[i]
			switch kinds := fact.kinds(); {
			case kinds == 0 || fact.At.After(b.facts.since(kinds)):
			case kinds == validationFact:
				admissions = append(admissions, AdmissionRef{CompanyID: fact.CompanyID, ID: fact.Subject})
			default:
				orders = append(orders, OrderRef{CompanyID: fact.CompanyID, ID: fact.Subject})
			}
		}
		if err := b.subjectsOf(ctx, distinct(orders), distinct(admissions)); err != nil {
			return err
		}
		after = facts[len(facts)-1].position()
		if len(facts) < bookPage || after.At.After(later(b.facts.sales, b.facts.validations)) {
			return nil
		}
	}
}

func (b *companyBooks) subjectsOf(ctx context.Context, orders []OrderRef, admissions []AdmissionRef) error {
	if len(orders) > 0 {
		found, err := b.tx.Orders(ctx, orders)
		if err != nil {
			return err
		}
		for i, order := range found {
			if order.ID == uuid.Nil {
				b.blameFactsOf(orders[i].ID, &factCounts{})
			}
		}
	}
	if len(admissions) == 0 {
		return nil
	}
	found, err := b.tx.Admissions(ctx, admissions)
	for i, admission := range found {
		if admission.ValidationID == uuid.Nil {
			b.blameFactsOf(admissions[i].ID, &factCounts{counts: [factKindCount]int{4: 1}})
		}
	}
	return err
}
