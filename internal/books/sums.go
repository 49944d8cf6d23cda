package books

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/sales"
)

// sumCheck compares a company's sums of sales with its orders. It adds up hashes and keeps no sum, so it needs the same
// memory for books of any length. A hash is linear in the members of a sum, so the hashes of what single orders add
// give the hash of the sum.
//
// An order whose number is not above uncounted is in no sum. Neither is what facts that are not dispatched stand for:
// it is subtracted after the orders were read.
type sumCheck struct {
	uncounted int64

	seeds   [2]maphash.Seed
	weights [7]uint64 // one for each member of a sum
	// sums holds the hashes of what the orders add, less those of the stored sums. Both are zero if the sums are right.
	// The seeds are random, so nobody can choose amounts that hide a difference.
	sums  [2]uint64
	lines []driver.Admission // of the order that is being checked
}

// newSumCheck returns a check with fresh seeds. A weight is odd, so that multiplying by it loses no bits.
func newSumCheck() sumCheck {
	c := sumCheck{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for i := range c.weights {
		c.weights[i] = maphash.Bytes(c.seeds[0], []byte{byte(i)}) | 1
	}
	return c
}

// weigh returns a number that is linear in the members of a sum, and differs for sums that differ.
func (c *sumCheck) weigh(s *driver.SalesSum) uint64 {
	var weight uint64
	for i, value := range [7]int64{
		s.Orders, s.Admissions, int64(s.Gross), int64(s.Commission), int64(s.Refunded), int64(s.Reversed), s.Admitted,
	} {
		weight += c.weights[i] * uint64(value) //nolint:gosec // It wraps around, as the sums do.
	}
	return weight
}

// place returns the hash of a reference.
func (c *sumCheck) place(ref *driver.SalesSumRef, seed maphash.Seed) uint64 {
	var buffer [64]byte
	key := append(buffer[:0], ref.EventID[:]...)
	key = binary.BigEndian.AppendUint64(key, uint64(ref.At.UnixMilli()))
	return maphash.Bytes(seed, append(key, ref.Tier...))
}

// add counts what an order adds to a sum. take counts what is stored, or what is in no sum.
func (c *sumCheck) add(sum driver.SalesSum) {
	weight := c.weigh(&sum)
	for i, seed := range c.seeds {
		c.sums[i] += (c.place(&sum.SalesSumRef, seed) | 1) * weight
	}
}

func (c *sumCheck) take(sum driver.SalesSum) {
	weight := c.weigh(&sum)
	for i, seed := range c.seeds {
		c.sums[i] -= (c.place(&sum.SalesSumRef, seed) | 1) * weight
	}
}

// sold counts an order, whose lines were collected before, and its ending; nil: there is none.
func (c *sumCheck) sold(order *driver.Order, ending *driver.OrderEnding) {
	addOrder(order, c.lines, ending, c.uncounted, c.add)
}

// addOrder calls add with everything that happened to an order.
func addOrder(
	order *driver.Order, lines []driver.Admission, ending *driver.OrderEnding, uncounted int64,
	add func(driver.SalesSum),
) {
	if order.Number <= uncounted {
		return
	}
	sales.Sold(order, lines, add)
	if ending != nil && ending.Status == driver.OrderRefunded {
		sales.Refunded(order, lines, ending.At, add)
	}
	for i := range lines {
		if lines[i].ValidationID != uuid.Nil {
			sales.Admitted(&lines[i], add)
		}
	}
}

// matchSums checks that the sums of sales are what the orders add up to. It searches for wrong sums only if the hashes
// differ. It does not compare if orders are wrong: that was reported, and their sums would only repeat it. Nor does it
// compare while the sums are left over from before a rebuild.
func (b *companyBooks) matchSums(ctx context.Context) error {
	switch {
	case b.counted.uncounted == driver.SalesReset:
		b.note(fmt.Sprintf("company %s: its sums of sales and its index of buyers are being rebuilt and were not compared",
			b.record.ID))
		return nil
	case b.counted.uncounted > 0:
		b.note(fmt.Sprintf("company %s: its orders up to number %d are not counted yet: the sums of sales and the index "+
			"of buyers were compared without them", b.record.ID, b.counted.uncounted))
	}
	if b.found > b.foundBefore {
		return nil
	}
	b.announce(ctx, func(ctx context.Context) {
		_ = b.eachUncounted(ctx, func(driver.SalesSum) {})
		_ = b.eachKept(ctx, func(driver.SalesSum) {})
		_, _ = b.Tx.UndispatchedFacts(ctx, b.record.ID, driver.Position{}, 1) // Of the index.
	})
	if err := b.eachUncounted(ctx, b.counted.take); err != nil {
		return err
	}
	if err := b.eachKept(ctx, b.counted.take); err != nil || b.counted.sums == [2]uint64{} {
		return err
	}
	return b.blameSums(ctx)
}

// eachKept calls yield with every stored sum.
func (b *companyBooks) eachKept(ctx context.Context, yield func(driver.SalesSum)) error {
	for after := (driver.SalesSumRef{CompanyID: b.record.ID}); ; {
		sums, err := b.Tx.ListSalesSums(ctx, after, factPage)
		if err != nil {
			return err
		}
		for _, sum := range sums {
			yield(sum)
		}
		if len(sums) < factPage {
			return nil
		}
		after = sums[factPage-1].SalesSumRef
	}
}

// eachUncounted calls yield with what the facts stand for that are not dispatched.
func (b *companyBooks) eachUncounted(ctx context.Context, yield func(driver.SalesSum)) error {
	for after := (driver.Position{}); ; {
		facts, err := b.Tx.UndispatchedFacts(ctx, b.record.ID, after, bookPage)
		if err != nil || len(facts) == 0 {
			return err
		}
		if err := b.eachOfFacts(ctx, facts, yield); err != nil {
			return err
		}
		after = facts[len(facts)-1].Position()
	}
}

// eachOfFacts calls yield with what some facts stand for.
func (b *companyBooks) eachOfFacts(ctx context.Context, facts []driver.Fact, yield func(driver.SalesSum)) error {
	var orders []driver.OrderRef
	var admissions []driver.AdmissionRef
	for _, fact := range facts {
		switch fact.Type { //nolint:exhaustive // No other fact is counted.
		case driver.FactSale, driver.FactSaleLow, driver.FactOrderCreated:
			orders = append(orders, driver.OrderRef{CompanyID: fact.CompanyID, ID: fact.Subject})
		case driver.FactTicketValidated:
			admissions = append(admissions, driver.AdmissionRef{CompanyID: fact.CompanyID, ID: fact.Subject})
		}
	}
	if len(orders) > 0 {
		found, err := b.Tx.Orders(ctx, orders)
		if err != nil {
			return err
		}
		lines, err := b.linesOf(ctx, found)
		if err != nil {
			return err
		}
		for i := range found {
			if order := &found[i]; order.Number > b.counted.uncounted {
				sales.Sold(order, lines[order.Number], yield)
			}
		}
	}
	if len(admissions) == 0 {
		return nil
	}
	found, err := b.Tx.Admissions(ctx, admissions)
	for i := range found {
		if found[i].OrderNumber > b.counted.uncounted {
			sales.Admitted(&found[i], yield)
		}
	}
	return err
}

// linesOf returns the admissions of orders by the order's number.
func (b *companyBooks) linesOf(ctx context.Context, orders []driver.Order) (map[int64][]driver.Admission, error) {
	numbers := make([]driver.OrderNumber, len(orders))
	for i, order := range orders {
		numbers[i] = driver.OrderNumber{CompanyID: b.record.ID, Number: order.Number}
	}
	found, err := b.Tx.OrderLines(ctx, numbers)
	lines := make(map[int64][]driver.Admission, len(orders))
	for _, line := range found {
		lines[line.OrderNumber] = append(lines[line.OrderNumber], line)
	}
	return lines, err
}

// eachCounted calls yield with everything that the orders add to the sums.
func (b *companyBooks) eachCounted(ctx context.Context, yield func(driver.SalesSum)) error {
	read := b.readOrders(b.sales.count)
	for more := true; more; {
		page, further, err := read(ctx)
		if err != nil {
			return err
		}
		lines, err := b.linesOf(ctx, page.orders)
		if err != nil {
			return err
		}
		numbers := make([]driver.OrderNumber, len(page.orders))
		for i, order := range page.orders {
			numbers[i] = order.NumberRef()
		}
		endings, err := b.Tx.OrderEndings(ctx, numbers)
		if err != nil {
			return err
		}
		for i := range page.orders {
			order := &page.orders[i]
			addOrder(order, lines[order.Number], &endings[i], b.counted.uncounted, yield)
		}
		more = further
	}
	return nil
}

// blameSums finds the wrong sums. It reads everything that adds to them again and adds up hashes in parts, by the hash
// of the reference. A second pass adds up only the sums of parts whose hashes differ, so that few are in memory.
func (b *companyBooks) blameSums(ctx context.Context) error {
	const parts = 1 << 14
	differing := make([]uint64, parts)
	part := func(ref *driver.SalesSumRef) (hash uint64, part int) {
		hash = b.counted.place(ref, b.counted.seeds[0])
		return hash | 1, int(hash % parts)
	}
	weigh := func(sign uint64) func(driver.SalesSum) {
		return func(sum driver.SalesSum) {
			hash, at := part(&sum.SalesSumRef)
			differing[at] += sign * hash * b.counted.weigh(&sum)
		}
	}
	each := func(add, take, kept func(driver.SalesSum)) error {
		if err := b.eachCounted(ctx, add); err != nil {
			return err
		}
		if err := b.eachUncounted(ctx, take); err != nil {
			return err
		}
		return b.eachKept(ctx, kept)
	}
	const plus, minus = 1, ^uint64(0)
	if err := each(weigh(plus), weigh(minus), weigh(minus)); err != nil {
		return err
	}
	limitParts(differing)
	wanted, present := sales.Tally{}, sales.Tally{}
	within := func(add func(driver.SalesSum)) func(driver.SalesSum) {
		return func(sum driver.SalesSum) {
			if _, at := part(&sum.SalesSumRef); differing[at] != 0 {
				add(sum)
			}
		}
	}
	take := func(sum driver.SalesSum) { wanted.Add(negated(sum)) }
	if err := each(within(wanted.Add), within(take), within(present.Add)); err != nil {
		return err
	}
	// A missing sum equals one of zeros.
	all := sales.Tally{}
	for ref := range wanted {
		all[ref] = driver.SalesSum{SalesSumRef: ref, Orders: 1}
	}
	for ref := range present {
		all[ref] = driver.SalesSum{SalesSumRef: ref, Orders: 1}
	}
	for _, sum := range all.Sums() {
		ref := sum.SalesSumRef
		want, got := wanted[ref], present[ref]
		want.SalesSumRef, got.SalesSumRef = ref, ref
		if want != got {
			b.blameSum(got, want)
		}
	}
	return nil
}

// negated returns a sum with its members negated.
func negated(s driver.SalesSum) driver.SalesSum {
	return driver.SalesSum{
		SalesSumRef: s.SalesSumRef, Orders: -s.Orders, Admissions: -s.Admissions, Gross: -s.Gross,
		Commission: -s.Commission, Refunded: -s.Refunded, Reversed: -s.Reversed, Admitted: -s.Admitted,
	}
}

// blameSum reports the first member in which a sum differs from its orders.
func (b *companyBooks) blameSum(got, want driver.SalesSum) {
	whose := "of all events"
	switch {
	case got.Tier != "":
		whose = "of event " + got.EventID.String() + " tier \"" + got.Tier + "\""
	case got.EventID != uuid.Nil:
		whose = "of event " + got.EventID.String()
	}
	for _, member := range []struct {
		name      string
		got, want int64
	}{
		{"orders", got.Orders, want.Orders},
		{"admissions", got.Admissions, want.Admissions},
		{"kobo of gross", int64(got.Gross), int64(want.Gross)},
		{"kobo of commission", int64(got.Commission), int64(want.Commission)},
		{"kobo refunded", int64(got.Refunded), int64(want.Refunded)},
		{"kobo of commission reversed", int64(got.Reversed), int64(want.Reversed)},
		{"admitted", got.Admitted, want.Admitted},
	} {
		if member.got != member.want {
			since := "of all time"
			if !got.At.IsZero() {
				since = "from " + got.At.UTC().Format(time.RFC3339)
			}
			b.problemf("sum of sales %s %s: it has %d %s, the orders make %d", whose, since, member.got, member.name,
				member.want)
			return
		}
	}
}
