package books

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/ids"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// companyBooks is the verification of one company's books. It holds the streams of records, each in order, and what was
// found so far. A goroutine reads the streams and another one checks them. The two share no field.
//
// Every record must be explained by another one: a movement by its cause, and an order by its movements. What cannot be
// explained is a problem. The streams are read side by side, and each comparison needs only their next records.
type companyBooks struct {
	*Check

	record driver.Company
	feed   bookFeed
	// The streams below are ordered by the number of the order or settlement.
	float       movements
	earnings    movements
	orders      cursorOver[driver.Order]
	admissions  cursorOver[driver.Admission]
	endings     cursorOver[driver.OrderEnding]
	settlements cursorOver[driver.Settlement]

	// What the check has gathered so far.
	chains *ledger.Verifier
	rates  map[uuid.UUID]driver.Rate
	// shares caches the commissions that share has computed.
	shares map[share]money.Amount
	tally  bookTally
	// schedule holds the company's commission rates by EffectiveFrom, then position. newest is the highest position of
	// a rate that an order had so far.
	schedule []driver.Rate
	newest   int64
	accounts int64 // how many versions of the bank account there are
	open     int   // how many settlements are not final; at most one may be (section 2.9, item 6)

	sales     idDigest // of all orders
	validated idDigest // of the admissions that are validated
	facts     factCheck
	counted   sumCheck
	head      int64 // of FLOAT: the highest number that an order may have
	// foundBefore is how many problems were found in the books of other companies.
	foundBefore int
	// passFacts takes a page of facts, and reports whether there was one.
	passFacts func() bool
}

// bookTally counts movements and what caused them. Where the two counts differ, a movement or a cause is missing, and
// blame finds out which.
//
// A refund is compared with its order as it is read, but a refund that is missing has no entry to compare. The totals
// show it.
type bookTally struct {
	credits           int64 // fundings whose reference was found
	refunds, reversed int64 // movements that refund an order, of FLOAT and of EARNINGS
	refunded          int64 // refunded orders
	returned          int64 // movements that return the amount of a rejected settlement
	rejected          int64 // rejected settlements
}

// share is the key of the cache of commissions: a rate and the gross that it applies to.
type share struct {
	rate  uuid.UUID
	gross money.Amount
}

// newCompanyBooks returns the verification of a company. wallets are its two wallets, FLOAT first. Their ids must be
// set even where a wallet is missing, because its movements may still be there.
func newCompanyBooks(b *Check, company driver.Company, wallets []driver.Wallet) *companyBooks {
	of := &companyBooks{
		Check: b, record: company, chains: ledger.NewVerifier(), rates: make(map[uuid.UUID]driver.Rate),
		shares: make(map[share]money.Amount), sales: newIDDigest(), validated: newIDDigest(),
		facts: newFactCheck(b.CrossesLowBalance), counted: newSumCheck(), foundBefore: b.found,
	}
	of.float.stream = feedStream(&of.feed, of.readMovements(wallets[0]))
	orders := feedStream(&of.feed, of.readOrders(wallets[0].Sequence))
	admissions := feedStream(&of.feed, of.readAdmissions(wallets[0].Sequence))
	of.earnings.stream = feedStream(&of.feed, of.readMovements(wallets[1]))
	endings := feedStream(&of.feed, of.readEndings())
	settlements := feedStream(&of.feed, of.readSettlements())
	facts := feedStream(&of.feed, of.readFacts())
	of.passFacts = func() bool {
		page, ok := facts.take()
		of.facts.found(page)
		return ok
	}
	pages := 0
	of.orders.more = func() ([]driver.Order, bool) {
		if pages++; pages%(factPage/bookPage) == 0 {
			of.passFacts() // About as many facts as orders, so that facts are read while entries are hashed.
		}
		page, ok := orders.take()
		for _, rate := range page.rates {
			if rate.ID != uuid.Nil {
				of.rates[rate.ID] = rate
			}
		}
		return page.orders, ok
	}
	of.admissions.more, of.endings.more, of.settlements.more = admissions.take, endings.take, settlements.take
	return of
}

// problemf reports a problem of this company.
func (b *companyBooks) problemf(format string, args ...any) {
	b.problem(fmt.Sprintf("company %s ", b.record.ID) + fmt.Sprintf(format, args...))
}

// check takes every stream to its end. An order's number is the sequence of its debit in FLOAT, and a settlement's
// number is that of its debit in EARNINGS. So all streams ascend together, and one pass compares them in constant
// memory.
func (b *companyBooks) check() {
	for b.float.ahead(1) {
		entry := b.float.first()
		b.chain(entry)
		b.ordersBefore(entry.Sequence)
		b.moveFloat(entry)
		b.float.pass()
	}
	// What is left in the other streams belongs to no movement or order.
	b.ordersBefore(math.MaxInt64)
	for b.earnings.ahead(1) {
		b.passEarnings()
	}
	b.settlementsBefore(math.MaxInt64)
	for admission := b.admissions.peek(); admission != nil; admission = b.admissions.peek() {
		b.problemf("admission %s: there is no order %d", admission.ID, admission.OrderNumber)
		b.passStray(admission)
	}
	for ending := b.endings.peek(); ending != nil; ending = b.endings.peek() {
		b.problemf("order %s: it was cancelled or refunded, but there is no order %d", ending.OrderID, ending.Number)
		b.endings.pass()
	}
	for b.passFacts() {
	}
}

// chain checks an entry's place in its hash chain.
func (b *companyBooks) chain(entry *ledger.Entry) {
	for _, problem := range b.chains.Add(*entry) {
		b.problem(problem.String())
	}
}

// ordersBefore reports the orders with a number below the given one. FLOAT has no debit for them.
func (b *companyBooks) ordersBefore(number int64) {
	for order := b.orders.peek(); order != nil && order.Number < number; order = b.orders.peek() {
		b.problemf("order %s: FLOAT has no debit %d", order.ID, order.Number)
		b.sold(order)
		b.orders.pass()
	}
}

// moveFloat checks that an entry of FLOAT has its cause: an order, a funding or a refund.
//
// The order of this number, if there is one, is checked and passed in any case.
func (b *companyBooks) moveFloat(entry *ledger.Entry) {
	order := b.orders.peek()
	// The next order may belong to a later entry.
	if order != nil && order.Number != entry.Sequence {
		order = nil
	}
	if order != nil {
		b.sold(order)
		defer b.orders.pass()
	}
	switch entry.Kind {
	case ledger.CheckoutDebit:
		if order == nil {
			b.problemf("FLOAT %d: there is no order of this number", entry.Sequence)
			return
		}
		b.debited(order, entry)
	case ledger.FloatCredit:
		// The funding must name this entry, so that one funding cannot explain two entries.
		if credit := b.float.cause().credit; entry.Amount <= 0 || credit.Sequence != entry.Sequence ||
			credit.Amount != entry.Amount {
			b.problemf("FLOAT %d: no funding of this amount has its reference", entry.Sequence)
			return
		}
		b.tally.credits++
	case ledger.CheckoutRefund:
		// The ending must name this entry, so that one refund cannot explain two entries.
		if of := b.float.cause(); of.ending.Status != driver.OrderRefunded || of.ending.FloatSequence != entry.Sequence ||
			of.order.Gross != entry.Amount || !of.ending.At.Equal(entry.At) {
			b.problemf("FLOAT %d: no refund of an order of this gross has its reference", entry.Sequence)
			return
		}
		b.tally.refunds++
	default:
		b.problemf("FLOAT %d: FLOAT has no movements of its kind", entry.Sequence)
	}
}

// debited checks that an order agrees with its debit, and with its accrual. The accruals in EARNINGS come in the order
// of the debits.
//
// If an accrual is missing, the entries of EARNINGS stay where they are for the next order.
func (b *companyBooks) debited(order *driver.Order, debit *ledger.Entry) {
	var id [36]byte // A buffer saves an allocation for each order.
	reference := ids.AppendText(id[:0], order.ID)
	if debit.Reference != string(reference) || debit.Amount != -order.Gross || debit.Before != order.FloatBefore {
		b.problemf("order %s: debit %d in FLOAT differs in order, amount or balance", order.ID, debit.Sequence)
	}
	// A sale has one time, for the order and for both movements.
	if !debit.At.Equal(order.ConfirmedAt) || !debit.At.Equal(order.CreatedAt) {
		b.problemf("order %s: debit %d in FLOAT was made at another time", order.ID, debit.Sequence)
	}
	// Any entries before an order's accrual have another cause, or none. If the accrual is not among the next entries,
	// it is missing. The limited look-ahead keeps one entry too many or too few from being blamed on all orders after
	// it.
	accrues := func(entry ledger.Entry) bool {
		return entry.Kind == ledger.CommissionAccrual && entry.Reference == string(reference)
	}
	// Usually the next entry is the accrual, and nothing has to be searched.
	if !b.earnings.ahead(1) || !accrues(*b.earnings.first()) {
		b.earnings.ahead(bookPage / 2)
		place := slices.IndexFunc(b.earnings.entries, accrues)
		if place < 0 {
			b.problemf("order %s: EARNINGS has no accrual in its place", order.ID)
			return
		}
		for range place {
			b.passEarnings()
		}
	}
	accrual := b.earnings.first()
	b.settlementsBefore(accrual.Sequence)
	b.chain(accrual)
	if accrual.Amount != order.Commission || accrual.Before != order.EarningsBefore {
		b.problemf("order %s: accrual %d in EARNINGS differs in amount or balance", order.ID, accrual.Sequence)
	}
	if !accrual.At.Equal(order.ConfirmedAt) {
		b.problemf("order %s: accrual %d in EARNINGS was made at another time", order.ID, accrual.Sequence)
	}
	b.earnings.pass()
}

// passEarnings checks the next entry of EARNINGS. No order at hand accrues it, so it must have another cause: a
// settlement, or the refund of a settlement or an order.
func (b *companyBooks) passEarnings() {
	entry := b.earnings.first()
	b.chain(entry)
	b.settlementsBefore(entry.Sequence)
	switch entry.Kind {
	case ledger.SettlementDebit:
		b.settled(entry)
	case ledger.SettlementRefund:
		if of := b.earnings.cause().settlement; of.Status != driver.SettlementRejected ||
			of.RefundSequence != entry.Sequence || of.Amount != entry.Amount || !of.DecidedAt.Equal(entry.At) {
			b.problemf("EARNINGS %d: no rejected settlement of this amount has its reference", entry.Sequence)
		} else {
			b.tally.returned++
		}
	case ledger.CommissionReversal:
		if of := b.earnings.cause(); of.ending.Status != driver.OrderRefunded ||
			of.ending.EarningsSequence != entry.Sequence || of.order.Commission != -entry.Amount ||
			!of.ending.At.Equal(entry.At) {
			b.problemf("EARNINGS %d: no refund of an order of this commission has its reference", entry.Sequence)
		} else {
			b.tally.reversed++
		}
	default:
		b.problemf("EARNINGS %d: no order accrues it in this place", entry.Sequence)
	}
	b.earnings.pass()
}

// settlementsBefore reports the settlements with a number below the given one. EARNINGS has no debit for them.
func (b *companyBooks) settlementsBefore(number int64) {
	for of := b.settlements.peek(); of != nil && of.Number < number; of = b.settlements.peek() {
		b.problemf("settlement %s: EARNINGS has no debit %d", of.ID, of.Number)
		b.passSettlement(of)
	}
}

// passSettlement checks a settlement by itself and passes it: its bank account must exist, at most one settlement is
// open at a time, and only a rejected one may have been refunded (section 3.6).
func (b *companyBooks) passSettlement(of *driver.Settlement) {
	// The versions of a bank account have no gap, so the number alone proves that a version exists.
	if of.BankAccount < 1 || of.BankAccount > b.accounts {
		b.problemf("settlement %s: there is no bank account %d", of.ID, of.BankAccount)
	}
	switch of.Status { //nolint:exhaustive // The others are over.
	case driver.SettlementPending, driver.SettlementProcessing, driver.SettlementApproved:
		if b.open++; b.open > 1 {
			b.problemf("settlement %s: it is %s, but so is an earlier one", of.ID, of.Status)
		}
	}
	switch {
	case of.Status == driver.SettlementRejected:
		b.tally.rejected++
	case of.RefundSequence != 0:
		b.problemf("settlement %s: it is %s, but says that it was returned to EARNINGS", of.ID, of.Status)
	}
	b.settlements.pass()
}

// settled checks that a settlement agrees with its debit, which takes all that EARNINGS held (section 2.9, item 6).
func (b *companyBooks) settled(debit *ledger.Entry) {
	of := b.settlements.peek()
	if of == nil || of.Number != debit.Sequence {
		b.problemf("EARNINGS %d: there is no settlement of this number", debit.Sequence)
		return
	}
	if debit.Reference != of.ID.String() || debit.Amount != -of.Amount || !debit.At.Equal(of.RequestedAt) {
		b.problemf("settlement %s: debit %d in EARNINGS differs in settlement, amount or time", of.ID, debit.Sequence)
	}
	// A request debits the whole balance, which is above zero (section 2.9, item 6).
	if debit.After != 0 || debit.Amount == 0 {
		b.problemf("settlement %s: debit %d does not take all that EARNINGS held", of.ID, debit.Sequence)
	}
	b.passSettlement(of)
}

// sold checks an order by itself: its lines, its commission, its branding, and its ending. An order that is not
// CONFIRMED has exactly one ending, which agrees with its status.
//
// The movements of the order are checked by debited.
func (b *companyBooks) sold(order *driver.Order) {
	b.sales.add(order.ID)
	b.facts.sold(order)
	b.lines(order)
	if scheduled, known := b.rates[order.RateID]; !known {
		b.problemf("order %s: there is no commission rate %s", order.ID, order.RateID)
	} else if rate := scheduled.Rate; !b.inForce(&scheduled, order.ConfirmedAt) {
		b.problemf("order %s: its rate of %s %s was not in force", order.ID, rate.Value(), rate.Unit())
	} else if commission := b.share(order.RateID, rate, order.Gross); commission != order.Commission {
		b.problemf("order %s: its commission is %s, but its rate of %s %s gives %s for its gross of %s",
			order.ID, order.Commission, rate.Value(), rate.Unit(), commission, order.Gross)
	}
	// Versions of branding have no gap either.
	if order.Branding < 1 || order.Branding > b.record.BrandingVersion {
		b.problemf("order %s: there is no branding %d", order.ID, order.Branding)
	}
	// Endings ascend by the number of their order, as orders do.
	ending := b.endings.peek()
	for ; ending != nil && ending.Number < order.Number; ending = b.endings.peek() {
		b.problemf("order %s: it was cancelled or refunded, but there is no order %d", ending.OrderID, ending.Number)
		b.endings.pass()
	}
	if ending != nil && ending.Number == order.Number {
		b.counted.sold(order, ending)
	} else {
		b.counted.sold(order, nil)
	}
	switch {
	case ending == nil || ending.Number != order.Number:
		if order.Status != driver.OrderConfirmed {
			b.problemf("order %s: it is %s, but there is no record of that", order.ID, order.Status)
		}
		return
	case ending.Status != order.Status || ending.OrderID != order.ID:
		b.problemf("order %s: it is %s, but its record says %s, of order %s", order.ID, order.Status, ending.Status,
			ending.OrderID)
	}
	if ending.Status == driver.OrderRefunded {
		b.tally.refunded++
	}
	b.endings.pass()
}

// inForce reports whether a rate was the effective one at a time (section 2.9, item 1). Entries are appended in order
// of position. So every entry up to the position of a rate that was already used existed by then. Any other entry is
// judged by its time of creation. The clocks of several servers differ, so such an entry counts only if it was created
// more than a day before the sale.
//
// The schedule is sorted by the time of effect. So only the entries between that of the rate and the last one in effect
// can speak against it.
func (b *companyBooks) inForce(rate *driver.Rate, at time.Time) bool {
	const clocks = 24 * time.Hour
	// Rates are used in the order of sales, and newest only grows.
	b.newest = max(b.newest, rate.Position)
	if rate.EffectiveFrom.After(at) {
		return false
	}
	for i := b.effective(at) - 1; i >= 0 && compareRates(&b.schedule[i], rate) > 0; i-- {
		if later := &b.schedule[i]; later.Position <= b.newest || later.CreatedAt.Add(clocks).Before(at) {
			return false
		}
	}
	return true
}

// effective returns how many entries of the schedule take effect at or before a time.
func (b *companyBooks) effective(at time.Time) int {
	return sort.Search(len(b.schedule), func(i int) bool { return b.schedule[i].EffectiveFrom.After(at) })
}

// compareRates orders rates by when they take effect; of two with one time the later created comes last and holds.
func compareRates(a, b *driver.Rate) int {
	return cmp.Or(a.EffectiveFrom.Compare(b.EffectiveFrom), cmp.Compare(a.Position, b.Position))
}

// lines checks that the lines of an order are numbered from 1 without a gap and add up to its gross. It also checks
// that they are void if, and only if, the order has ended.
//
// The admissions come by order number and line, so one pass over them is enough.
func (b *companyBooks) lines(order *driver.Order) {
	var gross money.Amount
	count, foreign, wrong := 0, 0, 0
	numbered := true
	void := order.Status != driver.OrderConfirmed
	b.counted.lines = b.counted.lines[:0]
	line := b.admissions.peek()
	for ; line != nil && line.OrderNumber <= order.Number; line = b.admissions.peek() {
		// This admission lies before the order and after the one before it, so it has no order.
		if line.OrderNumber < order.Number {
			b.problemf("admission %s: there is no order %d", line.ID, line.OrderNumber)
			b.passStray(line)
			continue
		}
		count++
		gross += line.UnitPrice
		numbered = numbered && line.Line == count
		if line.OrderID != order.ID || line.EventID != order.EventID {
			foreign++
		}
		// All admissions of an order become void when it ends, and none before.
		if line.Voided != void {
			wrong++
		}
		if line.ValidationID != uuid.Nil {
			b.validated.add(line.ID)
			b.facts.validated(line)
		}
		b.counted.lines = append(b.counted.lines, *line)
		b.admissions.pass()
	}
	if count == 0 || !numbered {
		b.problemf("order %s: its %d lines are not numbered from 1 without a gap", order.ID, count)
	}
	if gross != order.Gross {
		b.problemf("order %s: its lines add up to %s, its gross is %s", order.ID, gross, order.Gross)
	}
	if foreign > 0 {
		b.problemf("order %s: %d of its lines name another order or event", order.ID, foreign)
	}
	if wrong > 0 && void {
		b.problemf("order %s: it is %s, but %d of its admissions are not void", order.ID, order.Status, wrong)
	} else if wrong > 0 {
		b.problemf("order %s: it is %s, but %d of its admissions are void", order.ID, order.Status, wrong)
	}
}

// passStray passes an admission without an order. Its validation still counts, so that it is not reported twice.
func (b *companyBooks) passStray(admission *driver.Admission) {
	if admission.ValidationID != uuid.Nil {
		b.validated.add(admission.ID)
		b.facts.validated(admission)
	}
	b.admissions.pass()
}

// share returns the commission that a rate gives on a gross. It caches the results, since a company sells the same few
// grosses again and again. The cache is bounded, so that the books may have any length.
func (b *companyBooks) share(id uuid.UUID, rate money.Rate, gross money.Amount) money.Amount {
	// The ledger does not know amounts out of this range.
	if gross < 0 || gross > money.MaxBalance {
		return -1 // No commission is negative, so this reports the order; the chain reports the amount.
	}
	const most = 4096
	question := share{id, gross}
	answer, known := b.shares[question]
	if !known {
		// To start again is simpler than to evict, and as good where few grosses are frequent.
		if len(b.shares) == most {
			clear(b.shares)
		}
		answer = rate.Of(gross)
		b.shares[question] = answer
	}
	return answer
}
