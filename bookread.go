package ticketing

import (
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
)

// bookPage is how many records of the books are read at a time.
const bookPage = 500

// movementPage is a portion of a wallet's ledger, and the causes of those movements that no sale causes.
type movementPage struct {
	entries []ledger.Entry
	causes  map[int64]cause // by sequence
}

// cause is what a movement has its reference from; the zero records where there is none.
type cause struct {
	credit     FloatCreditRecord
	order      OrderRecord
	ending     OrderEndingRecord
	settlement SettlementRecord
}

// orderPage is a portion of the orders, and those of their rates that no earlier order had.
type orderPage struct {
	orders []OrderRecord
	rates  []RateRecord
}

// portions goes along numbers that leave out few, in ranges that hold about a page: no database then thinks of reading
// all that follows and sorting it. end is the highest number there should be; what lies beyond is found all the same.
type portions struct {
	after, last, end int64
}

// newPortions begins below every number: no number that should not be there is passed over.
func newPortions(end int64) *portions {
	return &portions{after: math.MinInt64, last: max(min(bookPage, end), 0), end: end}
}

// next says what follows a page, given the number behind which more of this range may lie (nil: none does).
func (p *portions) next(within *int64) (more bool) {
	switch {
	case within != nil:
		p.after = *within
	case p.last == 0:
		return false
	case p.last >= p.end:
		p.after, p.last = p.last, 0 // Without an end, once.
	default:
		p.after, p.last = p.last, min(p.last+bookPage, p.end)
	}
	return true
}

// left is the number that a full page ended with, nil where the range ends with it, too.
func (p *portions) left(number int64) *int64 {
	if number == p.last {
		return nil
	}
	return &number
}

func (b *companyBooks) readMovements(of WalletRecord) func(context.Context) (movementPage, bool, error) {
	query := LedgerQuery{WalletRef: of.ref(), Limit: bookPage}
	along := newPortions(of.Sequence)
	return func(ctx context.Context) (page movementPage, more bool, err error) {
		query.After, query.Last = along.after, along.last
		if page.entries, err = b.tx.ListEntries(ctx, query); err != nil {
			return page, false, err
		}
		if page.causes, err = b.causes(ctx, page.entries); err != nil {
			return page, false, err
		}
		b.tell(len(page.entries))
		var within *int64
		if len(page.entries) == bookPage {
			within = along.left(page.entries[bookPage-1].Sequence)
		}
		return page, along.next(within), nil
	}
}

// causes finds, for all of them together, what movements have their references from.
func (b *companyBooks) causes(ctx context.Context, entries []ledger.Entry) (map[int64]cause, error) {
	id := b.record.ID
	var credits []string
	var orders []OrderRef
	var settlements []SettlementRef
	for i := range entries {
		switch entry := &entries[i]; entry.Kind { //nolint:exhaustive // The others stand beside their causes.
		case ledger.FloatCredit:
			credits = append(credits, entry.Reference)
		case ledger.CheckoutRefund, ledger.CommissionReversal:
			orders = append(orders, OrderRef{CompanyID: id, ID: referenced(entry)})
		case ledger.SettlementRefund:
			settlements = append(settlements, SettlementRef{CompanyID: id, ID: referenced(entry)})
		}
	}
	if len(credits)+len(orders)+len(settlements) == 0 {
		return nil, nil
	}
	var found struct {
		credits     []FloatCreditRecord
		orders      []OrderRecord
		endings     []OrderEndingRecord
		settlements []SettlementRecord
	}
	var err error
	if len(credits) > 0 {
		if found.credits, err = b.tx.FloatCredits(ctx, id, credits); err != nil {
			return nil, err
		}
	}
	if len(orders) > 0 {
		if found.orders, err = b.tx.Orders(ctx, orders); err != nil {
			return nil, err
		}
		numbers := make([]OrderNumber, len(orders))
		for i, order := range found.orders {
			numbers[i] = OrderNumber{CompanyID: id, Number: order.Number}
		}
		if found.endings, err = b.tx.OrderEndings(ctx, numbers); err != nil {
			return nil, err
		}
	}
	if len(settlements) > 0 {
		if found.settlements, err = b.tx.Settlements(ctx, settlements); err != nil {
			return nil, err
		}
	}
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

// referenced is the id that is an entry's reference, the zero one where it is none.
func referenced(entry *ledger.Entry) uuid.UUID {
	id, err := uuid.Parse(entry.Reference)
	if err != nil || id.String() != entry.Reference {
		return uuid.Nil
	}
	return id
}

func (b *companyBooks) readOrders(end int64) func(context.Context) (orderPage, bool, error) {
	known := make(map[uuid.UUID]bool)
	along := newPortions(end)
	return func(ctx context.Context) (page orderPage, more bool, err error) {
		page.orders, err = b.tx.ListSoldOrders(ctx, SoldQuery{
			CompanyID: b.record.ID, After: SoldPlace{Number: along.after}, Last: along.last, Limit: bookPage,
		})
		if err != nil {
			return page, false, err
		}
		var unknown []RateRef
		for i := range page.orders {
			if id := page.orders[i].RateID; !known[id] {
				known[id] = true
				unknown = append(unknown, RateRef{CompanyID: b.record.ID, ID: id})
			}
		}
		if len(unknown) > 0 {
			if page.rates, err = b.tx.Rates(ctx, unknown); err != nil {
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

func (b *companyBooks) readAdmissions(end int64) func(context.Context) ([]AdmissionRecord, bool, error) {
	// An order has a line at the least, and most have few: more than an order each, and a page holds its range.
	const limit = 2 * bookPage
	line := math.MaxInt32
	along := newPortions(end)
	return func(ctx context.Context) ([]AdmissionRecord, bool, error) {
		admissions, err := b.tx.ListSoldAdmissions(ctx, SoldQuery{
			CompanyID: b.record.ID, After: SoldPlace{Number: along.after, Line: line}, Last: along.last, Limit: limit,
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

func (b *companyBooks) readEndings() func(context.Context) ([]OrderEndingRecord, bool, error) {
	query := OrderEndingQuery{CompanyID: b.record.ID, After: math.MinInt64, Limit: bookPage}
	return func(ctx context.Context) ([]OrderEndingRecord, bool, error) {
		endings, err := b.tx.ListOrderEndings(ctx, query)
		more := len(endings) == bookPage
		if more {
			query.After = endings[bookPage-1].Number
		}
		return endings, more, err
	}
}

func (b *companyBooks) readSettlements() func(context.Context) ([]SettlementRecord, bool, error) {
	query := SettlementQuery{CompanyID: b.record.ID, OldestFirst: true, Limit: bookPage}
	return func(ctx context.Context) ([]SettlementRecord, bool, error) {
		settlements, err := b.tx.ListSettlements(ctx, query)
		more := len(settlements) == bookPage
		if more {
			query.Beyond = settlements[bookPage-1].Number
		}
		return settlements, more, err
	}
}

// movements goes through a wallet's ledger, oldest first.
type movements struct {
	stream  *bookStream[movementPage]
	entries []ledger.Entry // what was read and not passed
	causes  map[int64]cause
	ended   bool
}

// ahead sees to it that several entries are at hand, and tells whether any is.
func (m *movements) ahead(count int) bool {
	for len(m.entries) < count && !m.ended {
		page, ok := m.stream.take()
		m.ended = !ok
		switch {
		case len(m.entries) == 0:
			m.entries = page.entries
		case ok:
			m.entries = append(slices.Clip(m.entries), page.entries...)
		}
		for sequence, of := range page.causes {
			if m.causes == nil {
				m.causes = make(map[int64]cause)
			}
			m.causes[sequence] = of
		}
	}
	return len(m.entries) > 0
}

// first is the next entry, which is at hand, and cause is what it has its reference from.
func (m *movements) first() *ledger.Entry { return &m.entries[0] }
func (m *movements) cause() cause         { return m.causes[m.entries[0].Sequence] }

func (m *movements) pass() {
	if len(m.causes) > 0 {
		delete(m.causes, m.entries[0].Sequence)
	}
	m.entries = m.entries[1:]
}

// cursorOver goes through records that come in portions.
type cursorOver[R any] struct {
	more    func() ([]R, bool)
	records []R
	ended   bool
}

// peek is the next record; nil at the end.
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

func (c *cursorOver[R]) pass() { c.records = c.records[1:] }
