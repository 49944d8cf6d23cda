package books

import (
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// bookPage is how many records of the books are read at a time.
const bookPage = 500

// movementPage is a page of a wallet's ledger. causes holds the causes of those movements that no checkout makes.
//
// The causes are read with the page, in the same goroutine, because the check must not use the transaction.
type movementPage struct {
	entries []ledger.Entry
	causes  map[int64]cause // by sequence
}

// cause is what the reference of a movement names. The records are zero where it names nothing.
type cause struct {
	credit     driver.FloatCredit
	order      driver.Order
	ending     driver.OrderEnding
	settlement driver.Settlement
}

// orderPage is a page of orders. rates holds those of their commission rates that no earlier page had.
type orderPage struct {
	orders []driver.Order
	rates  []driver.Rate
}

// numberRanges cuts a sequence of numbers with few gaps into ranges of about a page. A query that names both ends of
// its range keeps a database from reading and sorting all that follows. end is the highest number that should exist. A
// last range without an end finds the records with higher numbers.
//
// A range may hold more records than a page, since a number that should not exist may be there. Such a range is read in
// several pages.
type numberRanges struct {
	after, last, end int64
}

// newNumberRanges returns the ranges up to end. The first one begins below every number, so that records with wrong
// numbers are found as well.
func newNumberRanges(end int64) *numberRanges {
	return &numberRanges{after: math.MinInt64, last: max(min(bookPage, end), 0), end: end}
}

// next moves to the range or page that follows, and reports whether there is one. within is the last number that was
// read if the range may hold more, and else nil.
func (p *numberRanges) next(within *int64) (more bool) {
	switch {
	case within != nil:
		p.after = *within
	case p.last == 0:
		return false
	case p.last >= p.end:
		p.after, p.last = p.last, 0 // The last range has no end and comes once.
	default:
		p.after, p.last = p.last, min(p.last+bookPage, p.end)
	}
	return true
}

// left returns the last number of a full page, or nil if the range ends with it as well.
func (p *numberRanges) left(number int64) *int64 {
	if number == p.last {
		return nil
	}
	return &number
}

// readMovements returns a function that reads the next page of a wallet's ledger with the causes of its movements.
func (b *companyBooks) readMovements(of driver.Wallet) func(context.Context) (movementPage, bool, error) {
	query := driver.LedgerQuery{WalletRef: of.Ref(), Limit: bookPage}
	along := newNumberRanges(of.Sequence)
	return func(ctx context.Context) (page movementPage, more bool, err error) {
		query.After, query.Last = along.after, along.last
		if page.entries, err = b.Tx.ListEntries(ctx, query); err != nil {
			return page, false, err
		}
		if page.causes, err = b.causes(ctx, page.entries); err != nil {
			return page, false, err
		}
		b.progressed(len(page.entries))
		var within *int64
		if len(page.entries) == bookPage {
			within = along.left(page.entries[bookPage-1].Sequence)
		}
		return page, along.next(within), nil
	}
}

// causes finds the causes of the movements of a page, in one query for each kind of cause. A checkout's movements need
// none: they are compared with the orders, which stand in the same order.
func (b *companyBooks) causes(ctx context.Context, entries []ledger.Entry) (map[int64]cause, error) {
	id := b.record.ID
	var credits []string
	var orders []driver.OrderRef
	var settlements []driver.SettlementRef
	for i := range entries {
		switch entry := &entries[i]; entry.Kind { //nolint:exhaustive // The others stand beside their causes.
		case ledger.FloatCredit:
			credits = append(credits, entry.Reference)
		case ledger.CheckoutRefund, ledger.CommissionReversal:
			orders = append(orders, driver.OrderRef{CompanyID: id, ID: referenced(entry)})
		case ledger.SettlementRefund:
			settlements = append(settlements, driver.SettlementRef{CompanyID: id, ID: referenced(entry)})
		}
	}
	if len(credits)+len(orders)+len(settlements) == 0 {
		return nil, nil
	}
	var found struct {
		credits     []driver.FloatCredit
		orders      []driver.Order
		endings     []driver.OrderEnding
		settlements []driver.Settlement
	}
	var err error
	if len(credits) > 0 {
		if found.credits, err = b.Tx.FloatCredits(ctx, id, credits); err != nil {
			return nil, err
		}
	}
	if len(orders) > 0 {
		if found.orders, err = b.Tx.Orders(ctx, orders); err != nil {
			return nil, err
		}
		numbers := make([]driver.OrderNumber, len(orders))
		for i, order := range found.orders {
			numbers[i] = driver.OrderNumber{CompanyID: id, Number: order.Number}
		}
		if found.endings, err = b.Tx.OrderEndings(ctx, numbers); err != nil {
			return nil, err
		}
	}
	if len(settlements) > 0 {
		if found.settlements, err = b.Tx.Settlements(ctx, settlements); err != nil {
			return nil, err
		}
	}
	// The methods return a record for each reference, in their order, so each movement takes the next one.
	causes := make(map[int64]cause)
	for i := range entries {
		switch entry := &entries[i]; entry.Kind { //nolint:exhaustive // The others stand beside their causes.
		case ledger.FloatCredit:
			causes[entry.Sequence] = cause{credit: found.credits[0]}
			found.credits = found.credits[1:]
		case ledger.CheckoutRefund, ledger.CommissionReversal:
			causes[entry.Sequence] = cause{order: found.orders[0], ending: found.endings[0]}
			found.orders, found.endings = found.orders[1:], found.endings[1:]
		case ledger.SettlementRefund:
			causes[entry.Sequence] = cause{settlement: found.settlements[0]}
			found.settlements = found.settlements[1:]
		}
	}
	return causes, nil
}

// referenced returns the id that an entry's reference holds, or the zero id if it holds none.
func referenced(entry *ledger.Entry) uuid.UUID {
	id, err := uuid.Parse(entry.Reference)
	// uuid.Parse accepts other spellings, which a reference must not have.
	if err != nil || id.String() != entry.Reference {
		return uuid.Nil
	}
	return id
}

// readOrders returns a function that reads the next page of orders, by number. end is the highest number that should
// exist.
func (b *companyBooks) readOrders(end int64) func(context.Context) (orderPage, bool, error) {
	// A rate is read once, with the first order that has it.
	known := make(map[uuid.UUID]bool)
	along := newNumberRanges(end)
	return func(ctx context.Context) (page orderPage, more bool, err error) {
		page.orders, err = b.Tx.ListSoldOrders(ctx, driver.SoldQuery{
			CompanyID: b.record.ID, After: driver.SoldPlace{Number: along.after}, Last: along.last, Limit: bookPage,
		})
		if err != nil {
			return page, false, err
		}
		var unknown []driver.RateRef
		for i := range page.orders {
			if id := page.orders[i].RateID; !known[id] {
				known[id] = true
				unknown = append(unknown, driver.RateRef{CompanyID: b.record.ID, ID: id})
			}
		}
		if len(unknown) > 0 {
			if page.rates, err = b.Tx.Rates(ctx, unknown); err != nil {
				return page, false, err
			}
		}
		var within *int64
		if len(page.orders) == bookPage {
			within = along.left(page.orders[bookPage-1].Number)
		}
		return page, along.next(within), nil
	}
}

// readAdmissions returns a function that reads the next page of sold admissions, by order and line. end is the highest
// number of an order that should exist.
func (b *companyBooks) readAdmissions(end int64) func(context.Context) ([]driver.Admission, bool, error) {
	// An order has at least one line, and most have few. With two lines for each order, a page mostly holds its range.
	const limit = 2 * bookPage
	// An order's lines may be on two pages, so line says where the next page continues.
	line := math.MaxInt32
	along := newNumberRanges(end)
	return func(ctx context.Context) ([]driver.Admission, bool, error) {
		admissions, err := b.Tx.ListSoldAdmissions(ctx, driver.SoldQuery{
			CompanyID: b.record.ID, After: driver.SoldPlace{Number: along.after, Line: line}, Last: along.last, Limit: limit,
		})
		if err != nil {
			return nil, false, err
		}
		var within *int64
		line = math.MaxInt32
		if len(admissions) == limit {
			last := admissions[limit-1]
			within, line = &last.OrderNumber, last.Line
		}
		return admissions, along.next(within), nil
	}
}

// readEndings returns a function that reads the next page of order endings, by the number of the order. Endings are
// few, so they need no ranges.
func (b *companyBooks) readEndings() func(context.Context) ([]driver.OrderEnding, bool, error) {
	query := driver.OrderEndingQuery{CompanyID: b.record.ID, After: math.MinInt64, Limit: bookPage}
	return func(ctx context.Context) ([]driver.OrderEnding, bool, error) {
		endings, err := b.Tx.ListOrderEndings(ctx, query)
		more := len(endings) == bookPage
		if more {
			query.After = endings[bookPage-1].Number
		}
		return endings, more, err
	}
}

// readSettlements returns a function that reads the next page of settlements, oldest first.
func (b *companyBooks) readSettlements() func(context.Context) ([]driver.Settlement, bool, error) {
	// Settlements are few, so they need no ranges.
	query := driver.SettlementQuery{CompanyID: b.record.ID, OldestFirst: true, Limit: bookPage}
	return func(ctx context.Context) ([]driver.Settlement, bool, error) {
		settlements, err := b.Tx.ListSettlements(ctx, query)
		more := len(settlements) == bookPage
		if more {
			query.After = settlements[bookPage-1].Number
		}
		return settlements, more, err
	}
}

// movements is a cursor over a wallet's ledger, oldest first.
//
// It may hold more than a page: ahead reads on without passing entries.
type movements struct {
	stream  *bookStream[movementPage]
	entries []ledger.Entry // that were read and not passed
	causes  map[int64]cause
	ended   bool
}

// ahead reads until at least count entries are available or the ledger ends. It reports whether any is available.
func (m *movements) ahead(count int) bool {
	for len(m.entries) < count && !m.ended {
		page, ok := m.stream.take()
		m.ended = !ok
		switch {
		case len(m.entries) == 0:
			m.entries = page.entries
		case ok:
			// append must not write into the page that the entries came from.
			m.entries = append(slices.Clip(m.entries), page.entries...)
		}
		// Entries of two pages may be available, so the causes are merged.
		for sequence, of := range page.causes {
			if m.causes == nil {
				m.causes = make(map[int64]cause)
			}
			m.causes[sequence] = of
		}
	}
	return len(m.entries) > 0
}

// first returns the next entry, and cause returns its cause. An entry must be available.
func (m *movements) first() *ledger.Entry { return &m.entries[0] }
func (m *movements) cause() cause         { return m.causes[m.entries[0].Sequence] }

// pass drops the next entry and its cause.
func (m *movements) pass() {
	if len(m.causes) > 0 {
		delete(m.causes, m.entries[0].Sequence)
	}
	m.entries = m.entries[1:]
}

// cursorOver is a cursor over records that are read in pages. more returns the next page, or false at the end.
type cursorOver[R any] struct {
	more    func() ([]R, bool)
	records []R
	ended   bool
}

// peek returns the next record, or nil at the end.
func (c *cursorOver[R]) peek() *R {
	for len(c.records) == 0 {
		if c.ended {
			return nil
		}
		records, ok := c.more()
		c.records, c.ended = records, !ok
	}
	return &c.records[0]
}

// pass drops the next record, which peek has returned.
func (c *cursorOver[R]) pass() { c.records = c.records[1:] }
