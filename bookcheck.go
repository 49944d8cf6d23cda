package ticketing

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// companyBooks are the books of one company: what is read of them, in order, and what was found so far. What reads and
// what checks run side by side, and share no field.
type companyBooks struct {
	*bookCheck

	record      CompanyRecord
	feed        bookFeed
	float       movements
	earnings    movements
	orders      cursorOver[OrderRecord]
	admissions  cursorOver[AdmissionRecord]
	endings     cursorOver[OrderEndingRecord]
	settlements cursorOver[SettlementRecord]

	chains *ledger.Verifier
	rates  map[uuid.UUID]RateRecord
	shares map[share]money.Amount
	tally  bookTally
	// schedule are the company's rates by EffectiveFrom, then position, and newest is the highest position that an order
	// had a rate of.
	schedule []RateRecord
	newest   int64
	accounts int64 // versions of the bank account
	open     int   // settlements

	sales     idDigest // orders
	validated idDigest // admissions that are validated
	facts     factCheck
	// passFacts takes a page of facts, and reports whether there was one.
	passFacts func() bool
}

// bookTally counts what has its cause, and the causes: where they differ, something is missing.
type bookTally struct {
	credits           int64 // fundings with their reference
	refunds, reversed int64 // movements of refunded orders
	refunded          int64 // refunded orders
	returned          int64 // movements of rejected settlements
	rejected          int64 // rejected settlements
}

// share is a question that sales ask over and over: what a rate makes of a gross.
type share struct {
	rate  uuid.UUID
	gross money.Amount
}

// newCompanyBooks is about a company and its wallets, FLOAT first, of which the ids are set where there are none, too.
func newCompanyBooks(b *bookCheck, company CompanyRecord, wallets []WalletRecord) *companyBooks {
	of := &companyBooks{
		bookCheck: b, record: company, chains: ledger.NewVerifier(), rates: make(map[uuid.UUID]RateRecord),
		shares: make(map[share]money.Amount), sales: newIDDigest(), validated: newIDDigest(),
		facts: newFactCheck(),
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
	of.orders.more = func() ([]OrderRecord, bool) {
		if pages++; pages%(factPage/bookPage) == 0 {
			of.passFacts() // About as many as orders, so that they are read beside the hashing.
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

func (b *companyBooks) problemf(format string, args ...any) {
	b.problem(fmt.Sprintf("company %s ", b.record.ID) + fmt.Sprintf(format, args...))
}

// check goes through all streams, each to its end. An order's number is the sequence of its debit in FLOAT, a
// settlement's that of its debit in EARNINGS, so each of them stands beside its movement.
func (b *companyBooks) check() {
	for b.float.ahead(1) {
		entry := b.float.first()
		b.chain(entry)
		b.ordersBefore(entry.Sequence)
		b.moveFloat(entry)
		b.float.pass()
	}
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
		b.problemf("order %s: it was ended, and there is no order %d", ending.OrderID, ending.Number)
		b.endings.pass()
	}
	for b.passFacts() {
	}
}

// chain proves an entry's place in its chain.
func (b *companyBooks) chain(entry *ledger.Entry) {
	for _, problem := range b.chains.Add(*entry) {
		b.problem(problem.String())
	}
}

// ordersBefore tells of the orders without a debit that have a number below one.
func (b *companyBooks) ordersBefore(number int64) {
	for order := b.orders.peek(); order != nil && order.Number < number; order = b.orders.peek() {
		b.problemf("order %s: FLOAT has no debit %d", order.ID, order.Number)
		b.sold(order)
		b.orders.pass()
	}
}

// moveFloat proves that an entry of FLOAT has its cause.
func (b *companyBooks) moveFloat(entry *ledger.Entry) {
	order := b.orders.peek()
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
		if credit := b.float.cause().credit; entry.Amount <= 0 || credit.Sequence != entry.Sequence ||
			credit.Amount != entry.Amount {
			b.problemf("FLOAT %d: no funding of this amount has its reference", entry.Sequence)
			return
		}
		b.tally.credits++
	case ledger.CheckoutRefund:
		if of := b.float.cause(); of.ending.Status != OrderRefunded || of.ending.FloatSequence != entry.Sequence ||
			of.order.Gross != entry.Amount || !of.ending.At.Equal(entry.At) {
			b.problemf("FLOAT %d: no refund of an order of this gross has its reference", entry.Sequence)
			return
		}
		b.tally.refunds++
	default:
		b.problemf("FLOAT %d: its kind has no place in FLOAT", entry.Sequence)
	}
}

// debited proves that an order agrees with its debit and with its accrual, which is the next one in EARNINGS.
func (b *companyBooks) debited(order *OrderRecord, debit *ledger.Entry) {
	var id idText
	reference := id.of(order.ID)
	if debit.Reference != string(reference) || debit.Amount != -order.Gross || debit.Before != order.FloatBefore {
		b.problemf("order %s: debit %d in FLOAT differs in order, amount or balance", order.ID, debit.Sequence)
	}
	if !debit.At.Equal(order.ConfirmedAt) || !debit.At.Equal(order.CreatedAt) {
		b.problemf("order %s: debit %d in FLOAT was made at another time", order.ID, debit.Sequence)
	}
	// What lies before an order's accrual has another cause, or none; where the accrual is not near, it is missing. So one
	// entry too many or too few does not put the blame on the orders behind it.
	accrues := func(entry ledger.Entry) bool {
		return entry.Kind == ledger.CommissionAccrual && entry.Reference == string(reference)
	}
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

// passEarnings proves that the next entry of EARNINGS, which no order at hand accrues, has another cause.
func (b *companyBooks) passEarnings() {
	entry := b.earnings.first()
	b.chain(entry)
	b.settlementsBefore(entry.Sequence)
	switch entry.Kind {
	case ledger.SettlementDebit:
		b.settled(entry)
	case ledger.SettlementRefund:
		if of := b.earnings.cause().settlement; of.Status != SettlementRejected ||
			of.RefundSequence != entry.Sequence || of.Amount != entry.Amount || !of.DecidedAt.Equal(entry.At) {
			b.problemf("EARNINGS %d: no rejected settlement of this amount has its reference", entry.Sequence)
		} else {
			b.tally.returned++
		}
	case ledger.CommissionReversal:
		if of := b.earnings.cause(); of.ending.Status != OrderRefunded ||
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

// settlementsBefore tells of the settlements without a debit that have a number below one.
func (b *companyBooks) settlementsBefore(number int64) {
	for of := b.settlements.peek(); of != nil && of.Number < number; of = b.settlements.peek() {
		b.problemf("settlement %s: EARNINGS has no debit %d", of.ID, of.Number)
		b.passSettlement(of)
	}
}

func (b *companyBooks) passSettlement(of *SettlementRecord) {
	if of.BankAccount < 1 || of.BankAccount > b.accounts {
		b.problemf("settlement %s: there is no bank account %d", of.ID, of.BankAccount)
	}
	switch of.Status { //nolint:exhaustive // The others are over.
	case SettlementPending, SettlementProcessing, SettlementApproved:
		if b.open++; b.open > 1 {
			b.problemf("settlement %s: it is %s, and so is an earlier one", of.ID, of.Status)
		}
	}
	switch {
	case of.Status == SettlementRejected:
		b.tally.rejected++
	case of.RefundSequence != 0:
		b.problemf("settlement %s: it is %s, and says that EARNINGS got it back", of.ID, of.Status)
	}
	b.settlements.pass()
}

// settled proves that a settlement agrees with its debit.
func (b *companyBooks) settled(debit *ledger.Entry) {
	of := b.settlements.peek()
	if of == nil || of.Number != debit.Sequence {
		b.problemf("EARNINGS %d: there is no settlement of this number", debit.Sequence)
		return
	}
	if debit.Reference != of.ID.String() || debit.Amount != -of.Amount || !debit.At.Equal(of.RequestedAt) {
		b.problemf("settlement %s: debit %d in EARNINGS differs in settlement, amount or time", of.ID, debit.Sequence)
	}
	if debit.After != 0 || debit.Amount == 0 {
		b.problemf("settlement %s: debit %d is not of all that EARNINGS held", of.ID, debit.Sequence)
	}
	b.passSettlement(of)
}

// sold proves an order by itself: its lines, its commission, its branding, and what ended it.
func (b *companyBooks) sold(order *OrderRecord) {
	b.sales.add(order.ID)
	b.facts.sold(order)
	b.lines(order)
	if scheduled, known := b.rates[order.RateID]; !known {
		b.problemf("order %s: there is no commission rate %s", order.ID, order.RateID)
	} else if rate := scheduled.Rate; !b.inForce(&scheduled, order.ConfirmedAt) {
		b.problemf("order %s: its rate of %s %s was not in force", order.ID, rate.Value(), rate.Unit())
	} else if commission := b.share(order.RateID, rate, order.Gross); commission != order.Commission {
		b.problemf("order %s: its commission is %s, its rate of %s %s makes %s of its gross of %s",
			order.ID, order.Commission, rate.Value(), rate.Unit(), commission, order.Gross)
	}
	if order.Branding < 1 || order.Branding > b.record.BrandingVersion {
		b.problemf("order %s: there is no branding %d", order.ID, order.Branding)
	}
	ending := b.endings.peek()
	for ; ending != nil && ending.Number < order.Number; ending = b.endings.peek() {
		b.problemf("order %s: it was ended, and there is no order %d", ending.OrderID, ending.Number)
		b.endings.pass()
	}
	switch {
	case ending == nil || ending.Number != order.Number:
		if order.Status != OrderConfirmed {
			b.problemf("order %s: it is %s, and nothing tells what ended it", order.ID, order.Status)
		}
		return
	case ending.Status != order.Status || ending.OrderID != order.ID:
		b.problemf("order %s: it is %s, what ended it tells %s of order %s", order.ID, order.Status, ending.Status,
			ending.OrderID)
	}
	if ending.Status == OrderRefunded {
		b.tally.refunded++
	}
	b.endings.pass()
}

// inForce tells whether a rate held at a time. That of an order that came before cannot be unknown to one that follows.
// Beyond that, clocks of several servers tell when an entry of the schedule came about, and a day is left to them.
func (b *companyBooks) inForce(rate *RateRecord, at time.Time) bool {
	const clocks = 24 * time.Hour
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

// effective is how many entries of the schedule take effect at or before a time.
func (b *companyBooks) effective(at time.Time) int {
	return sort.Search(len(b.schedule), func(i int) bool { return b.schedule[i].EffectiveFrom.After(at) })
}

func compareRates(a, b *RateRecord) int {
	return cmp.Or(a.EffectiveFrom.Compare(b.EffectiveFrom), cmp.Compare(a.Position, b.Position))
}

// lines proves that the lines of an order add up to it, and that a void admission is that of an order that ended.
func (b *companyBooks) lines(order *OrderRecord) {
	var gross money.Amount
	count, foreign, wrong := 0, 0, 0
	numbered := true
	void := order.Status != OrderConfirmed
	line := b.admissions.peek()
	for ; line != nil && line.OrderNumber <= order.Number; line = b.admissions.peek() {
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
		if line.Voided != void {
			wrong++
		}
		if line.ValidationID != uuid.Nil {
			b.validated.add(line.ID)
			b.facts.validated(line)
		}
		b.admissions.pass()
	}
	if count == 0 || !numbered {
		b.problemf("order %s: its %d lines are not numbered from 1 without a gap", order.ID, count)
	}
	if gross != order.Gross {
		b.problemf("order %s: its lines add up to %s, its gross is %s", order.ID, gross, order.Gross)
	}
	if foreign > 0 {
		b.problemf("order %s: %d of its lines tell another order or event", order.ID, foreign)
	}
	if wrong > 0 && void {
		b.problemf("order %s: it is %s, and %d of its admissions are not void", order.ID, order.Status, wrong)
	} else if wrong > 0 {
		b.problemf("order %s: it is %s, and %d of its admissions are void", order.ID, order.Status, wrong)
	}
}

// passStray passes an admission without an order.
func (b *companyBooks) passStray(admission *AdmissionRecord) {
	if admission.ValidationID != uuid.Nil {
		b.validated.add(admission.ID)
		b.facts.validated(admission)
	}
	b.admissions.pass()
}

// share is what a rate makes of a gross. Few grosses are sold over and over.
func (b *companyBooks) share(id uuid.UUID, rate money.Rate, gross money.Amount) money.Amount {
	if gross < 0 || gross > money.MaxBalance {
		return -1 // No rate makes that of anything: the chain tells what is wrong.
	}
	const most = 4096
	question := share{id, gross}
	answer, known := b.shares[question]
	if !known {
		if len(b.shares) == most {
			clear(b.shares)
		}
		answer = rate.Of(gross)
		b.shares[question] = answer
	}
	return answer
}

// idText is the 36 characters of an id, without an allocation.
type idText [36]byte

func (t *idText) of(id uuid.UUID) []byte {
	hex.Encode(t[:], id[:4])
	t[8] = '-'
	hex.Encode(t[9:13], id[4:6])
	t[13] = '-'
	hex.Encode(t[14:18], id[6:8])
	t[18] = '-'
	hex.Encode(t[19:23], id[8:10])
	t[23] = '-'
	hex.Encode(t[24:], id[10:])
	return t[:]
}
