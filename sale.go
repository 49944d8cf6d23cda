package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

type checkoutCall = call[CheckoutParams, Order]

// sale is the state that a slice of checkouts is decided on, and what they write. It is read once, changes with each
// accepted checkout, and is written at the end.
//
// What a sale only reads (event status, branding, rate) is behind the shared gate; stock and wallets are locked before
// they are read, the wallets last.
type sale struct {
	brandings map[uuid.UUID]BrandingRecord
	rates     map[uuid.UUID]RateRecord
	stock     map[shelf][]*BatchRecord // oldest first
	wallets   map[WalletRef]*LockedWallet
	times     map[uuid.UUID]time.Time // of each company's sales: never behind its wallets' last movements

	soldFrom   []*BatchRecord
	orders     []OrderRecord
	admissions []AdmissionRecord
	entries    []ledger.Entry
	facts      []FactRecord
	buyers     map[BuyerRef]BuyerRecord
}

// shelf is where admissions of one tier at one price are taken from.
type shelf struct {
	event EventRef
	tier  string
	price money.Amount
}

// pick is a number of admissions out of one batch, for one line of a checkout.
type pick struct {
	batch    *BatchRecord
	quantity int64
}

var (
	errEventNotOnSale       = conflict("The event is not published.")
	errInventoryUnavailable = &Error{
		Code: CodeInventoryUnavailable, Message: "The inventory is no longer available at the expected price.",
	}
	errCommissionUnavailable = &Error{
		Code: CodeCommissionUnavailable, Message: "No commission rate is effective for the company.",
	}
	errCheckoutUnavailable = &Error{
		Code: CodeCheckoutUnavailable, Message: "The company's balances are not available for checkout.",
	}
	errInsufficientFloat = &Error{
		Code: CodeInsufficientFloat, Message: "The FLOAT balance cannot fund the checkout.",
	}
)

// sell decides checkouts in the order they came and writes the accepted ones.
func (s *Service) sell(ctx context.Context, tx Tx, at time.Time, calls []*checkoutCall) error {
	state := &sale{buyers: map[BuyerRef]BuyerRecord{}}
	if err := state.readTerms(ctx, tx, at, calls); err != nil {
		return err
	}
	calls = open(calls)
	if len(calls) == 0 {
		return nil
	}
	if err := state.lockStock(ctx, tx, calls); err != nil {
		return err
	}
	if err := state.lockWallets(ctx, tx, calls); err != nil {
		return err
	}
	if err := state.settleTimes(ctx, tx, at, calls); err != nil {
		return err
	}
	for _, c := range open(calls) {
		if err := s.sellOne(state, c); err != nil {
			if c.err = refusal(err); c.err == nil {
				return err
			}
		}
	}
	if len(state.orders) == 0 {
		return nil
	}
	return state.write(ctx, tx)
}

// readTerms reads what the checkouts are made under, and refuses those of events that are not on sale.
func (st *sale) readTerms(ctx context.Context, tx Tx, at time.Time, calls []*checkoutCall) error {
	refs := make([]SaleTermsRef, len(calls))
	for i, c := range calls {
		refs[i] = SaleTermsRef{
			EventRef:        EventRef{CompanyID: c.company.ID, ID: c.params.EventID},
			BrandingVersion: c.company.BrandingVersion,
		}
	}
	found, err := tx.SaleTerms(ctx, distinct(refs), at)
	if err != nil {
		return err
	}
	statuses := make(map[EventRef]EventStatus, len(found))
	st.rates = make(map[uuid.UUID]RateRecord)
	st.brandings = make(map[uuid.UUID]BrandingRecord)
	for _, terms := range found {
		statuses[terms.EventRef] = terms.Status
		st.rates[terms.CompanyID], st.brandings[terms.CompanyID] = terms.Rate, terms.Branding
	}
	for i, c := range calls {
		switch statuses[refs[i].EventRef] {
		case EventPublished:
		case "":
			c.err = errEventNotFound
		default:
			c.err = errEventNotOnSale
		}
	}
	return nil
}

func (st *sale) lockStock(ctx context.Context, tx Tx, calls []*checkoutCall) error {
	wanted := make(map[shelf]int)
	var queries []StockQuery
	for _, c := range calls {
		for _, line := range c.params.Lines {
			from := shelf{EventRef{CompanyID: c.company.ID, ID: c.params.EventID}, line.Tier, line.ExpectedUnitPrice}
			i, known := wanted[from]
			if !known {
				i = len(queries)
				wanted[from] = i
				queries = append(queries, StockQuery{
					CompanyID: c.company.ID, EventID: c.params.EventID, Tier: line.Tier,
					UnitPrice: line.ExpectedUnitPrice,
				})
			}
			queries[i].Quantity += int64(line.Quantity)
		}
	}
	batches, err := tx.LockStock(ctx, queries)
	if err != nil {
		return err
	}
	st.stock = make(map[shelf][]*BatchRecord, len(wanted))
	for i := range batches {
		b := &batches[i]
		from := shelf{EventRef{CompanyID: b.CompanyID, ID: b.EventID}, b.Tier, b.UnitPrice}
		st.stock[from] = append(st.stock[from], b)
	}
	return nil
}

func (st *sale) lockWallets(ctx context.Context, tx Tx, calls []*checkoutCall) error {
	refs := make([]WalletRef, 0, 2*len(calls))
	for _, c := range calls {
		refs = append(refs, WalletRef{c.company.ID, ledger.Float}, WalletRef{c.company.ID, ledger.Earnings})
	}
	refs = distinct(refs)
	locked, err := tx.LockWallets(ctx, refs)
	if err != nil {
		return err
	}
	st.wallets = make(map[WalletRef]*LockedWallet, len(refs))
	for i, ref := range refs {
		st.wallets[ref] = &locked[i]
	}
	return nil
}

// settleTimes gives each company's sales their time. Where the clock lags behind a wallet, what holds at the later
// time counts: its rate, and whether the company is still verified.
func (st *sale) settleTimes(ctx context.Context, tx Tx, at time.Time, calls []*checkoutCall) error {
	st.times = make(map[uuid.UUID]time.Time)
	for _, c := range calls {
		id := c.company.ID
		settled, known := st.times[id]
		if !known {
			float, earnings := st.wallets[WalletRef{id, ledger.Float}], st.wallets[WalletRef{id, ledger.Earnings}]
			settled = earnings.notBefore(float.notBefore(at))
			st.times[id] = settled
			if settled.After(at) {
				rate, err := only(tx.EffectiveRates(ctx, []uuid.UUID{id}, settled))
				if err != nil {
					return err
				}
				st.rates[id] = rate
			}
		}
		if settled.After(at) && !c.company.Verification.current(settled) {
			c.err = errVerificationRequired
		}
	}
	return nil
}

// sellOne decides one checkout against what the ones before it left, and changes nothing where it refuses.
func (s *Service) sellOne(st *sale, c *checkoutCall) error {
	picks, err := st.pick(c)
	if err != nil {
		return err
	}
	rate := st.rates[c.company.ID]
	if rate.ID == uuid.Nil {
		return errCommissionUnavailable
	}
	float := st.wallets[WalletRef{c.company.ID, ledger.Float}]
	earnings := st.wallets[WalletRef{c.company.ID, ledger.Earnings}]
	gross := c.params.gross()
	commission := rate.Rate.Of(gross)
	if _, fits := earnings.Balance.Add(commission); !float.usable() || !earnings.usable() || !fits {
		return errCheckoutUnavailable
	}
	if float.Balance < gross {
		return errInsufficientFloat
	}
	at := st.times[c.company.ID]
	order := OrderRecord{
		CompanyID: c.company.ID, Number: float.Sequence + 1, ID: s.newID(), EventID: c.params.EventID,
		Status: OrderConfirmed, Gross: gross, Commission: commission, RateID: rate.ID,
		Branding: c.company.BrandingVersion, FloatBefore: float.Balance, EarningsBefore: earnings.Balance,
		BuyerEmail: c.params.Buyer.Email, BuyerFullname: c.params.Buyer.Fullname, BuyerPhone: c.params.Buyer.Phone,
		ConfirmedAt: at, CreatedAt: at,
	}
	if err := st.pay(order, float, earnings); err != nil {
		return err
	}
	lines := s.admit(st, order, picks)
	st.orders = append(st.orders, order)
	st.admissions = append(st.admissions, lines...)
	st.facts = append(st.facts, s.saleFact(c.company, order))
	st.buyers[BuyerRef{order.CompanyID, order.BuyerEmail}] = BuyerRecord{
		CompanyID: order.CompanyID, Email: order.BuyerEmail, Fullname: order.BuyerFullname, Phone: order.BuyerPhone,
		CreatedAt: at, UpdatedAt: at,
	}
	c.result = order.order(lines, rate, st.brandings[c.company.ID])
	c.record = ResultRecord{Subject: order.ID}
	return nil
}

// pick finds the admissions of every line, oldest batch first, each at exactly the price the buyer expects.
func (st *sale) pick(c *checkoutCall) ([]pick, error) {
	picks := make([]pick, 0, len(c.params.Lines))
	for _, line := range c.params.Lines {
		left := int64(line.Quantity)
		from := shelf{EventRef{CompanyID: c.company.ID, ID: c.params.EventID}, line.Tier, line.ExpectedUnitPrice}
		for _, b := range st.stock[from] {
			if n := min(left, b.Quantity-b.Sold); n > 0 {
				picks = append(picks, pick{b, n})
				left -= n
			}
		}
		if left > 0 {
			return nil, errInventoryUnavailable
		}
	}
	return picks, nil
}

// pay moves the money: the gross out of FLOAT, the commission into EARNINGS. That both fit was checked before.
func (st *sale) pay(order OrderRecord, float, earnings *LockedWallet) error {
	debit, err := float.move(ledger.CheckoutDebit, -order.Gross, order.ID.String(), order.ConfirmedAt)
	if err != nil {
		return err
	}
	accrual, err := earnings.move(ledger.CommissionAccrual, order.Commission, order.ID.String(), order.ConfirmedAt)
	if err != nil {
		return err
	}
	st.entries = append(st.entries, debit, accrual)
	return nil
}

// admit takes the picked admissions off their shelves and gives each its id and its line.
func (s *Service) admit(st *sale, order OrderRecord, picks []pick) []AdmissionRecord {
	var lines []AdmissionRecord
	for _, p := range picks {
		p.batch.Sold += p.quantity
		st.soldFrom = append(st.soldFrom, p.batch)
		for range p.quantity {
			lines = append(lines, AdmissionRecord{
				CompanyID: order.CompanyID, OrderNumber: order.Number, Line: len(lines) + 1, ID: s.newID(),
				LineID: s.newID(), OrderID: order.ID, EventID: order.EventID,
				Tier: p.batch.Tier, Batch: p.batch.Position, Title: p.batch.Title, UnitPrice: p.batch.UnitPrice,
			})
		}
	}
	return lines
}

// write keeps everything that was sold, in as many statements for one order as for many.
func (st *sale) write(ctx context.Context, tx Tx) error {
	var batches []BatchRecord
	for _, b := range distinct(st.soldFrom) {
		batches = append(batches, *b)
	}
	var wallets []WalletRecord
	for _, order := range st.orders {
		for _, kind := range []ledger.Wallet{ledger.Float, ledger.Earnings} {
			wallets = append(wallets, st.wallets[WalletRef{order.CompanyID, kind}].WalletRecord)
		}
	}
	buyers := make([]BuyerRecord, 0, len(st.buyers))
	for _, order := range st.orders {
		ref := BuyerRef{order.CompanyID, order.BuyerEmail}
		if buyer, ok := st.buyers[ref]; ok {
			buyers = append(buyers, buyer)
			delete(st.buyers, ref)
		}
	}
	for _, write := range []func() error{
		func() error { return tx.UpdateBatches(ctx, batches) },
		func() error { return tx.AppendOrders(ctx, st.orders) },
		func() error { return tx.AppendAdmissions(ctx, st.admissions) },
		func() error { return tx.PutBuyers(ctx, buyers) },
		func() error { return tx.UpdateWallets(ctx, distinct(wallets)) },
		func() error { return tx.AppendEntries(ctx, st.entries) },
		func() error { return tx.AppendFacts(ctx, st.facts) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// recallOrders renders spent keys from the orders they made, which never change.
func recallOrders(ctx context.Context, tx ReadTx, calls []*checkoutCall) error {
	refs := make([]OrderRef, len(calls))
	for i, c := range calls {
		refs[i] = OrderRef{CompanyID: c.ref.CompanyID, ID: c.earlier.Subject}
	}
	records, err := tx.Orders(ctx, refs)
	if err != nil {
		return err
	}
	for i := range records {
		records[i].Status = OrderConfirmed // As it was first answered.
	}
	orders, err := showOrders(ctx, tx, records)
	if err != nil {
		return err
	}
	for i, c := range calls {
		c.result = orders[i]
	}
	return nil
}
