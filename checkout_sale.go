package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// checkoutCall is one checkout on its way through the pipeline.
type checkoutCall = call[CheckoutParams, Order]

// sale is the state that a group of checkouts is decided on, and the rows that they write. It is read once, changes
// with each accepted checkout, and is written once at the end. So a group takes about as many statements as one
// checkout.
//
// The shared gate guards what a sale only reads: event status, branding and rate. Stock and wallets are locked before
// they are read, the wallets last, because all sales of a company meet there. A checkout that is refused leaves no
// trace in the state, so each checkout sees exactly what the accepted ones before it have left (section 4.7).
type sale struct {
	brandings map[uuid.UUID]driver.Branding // by company
	rates     map[uuid.UUID]driver.Rate     // by company; of its sales' time, once settleTimes has set that
	stock     map[stockKey][]*driver.Batch  // oldest first
	wallets   map[driver.WalletRef]*driver.LockedWallet
	times     map[uuid.UUID]time.Time // of each company's sales: not before the last entry of its wallets

	// What the accepted checkouts write. soldFrom may hold a batch more than once.
	soldFrom   []*driver.Batch
	orders     []driver.Order
	admissions []driver.Admission
	entries    []ledger.Entry
	facts      []driver.Fact
	buyers     map[driver.BuyerRef]driver.Buyer
}

// stockKey identifies the admissions of one tier at one price. A line of a checkout is sold from one stock key: price
// bands are never mixed.
type stockKey struct {
	event driver.EventRef
	tier  string
	price money.Amount
}

// allocation is a number of admissions from one batch, for one line of a checkout. A line may need several allocations,
// of batches with the same price. It becomes a sale in issueAdmissions. Until then nothing is counted, so a refusal has
// nothing to undo.
type allocation struct {
	batch    *driver.Batch
	quantity int64
}

// The refusals of a checkout, in the order in which they are checked. Each one leaves the idempotency key unspent, so
// the same request may be tried again.
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

// sell decides checkouts in the order in which they came, and writes the accepted ones. An [*Error] refuses only its
// own checkout. Every other error fails the transaction, because it says nothing about one checkout alone.
//
// The steps follow the order of the contract's refusals and the lock order of [driver.Store]: event state, stock,
// wallets, then for each checkout inventory and price, rate, wallets and balance.
func (s *Service) sell(ctx context.Context, tx driver.Tx, at time.Time, calls []*checkoutCall) error {
	// The state is made for each run of the transaction, so a run that was rolled back leaves nothing in the next one.
	state := &sale{buyers: map[driver.BuyerRef]driver.Buyer{}}
	if err := state.readTerms(ctx, tx, at, calls); err != nil {
		return err
	}
	s.rememberBrandings(calls)
	// Only calls that can still succeed lock stock and wallets here. A call alone may hold them already: see saleLocks.
	calls = openCalls(calls)
	if len(calls) == 0 {
		return nil
	}
	if err := state.lock(ctx, tx, calls); err != nil {
		return err
	}
	before := state.sequences()
	// The time of a sale depends on the last entries of its wallets, which are known only under their locks.
	if err := state.settleTimes(ctx, tx, at, calls); err != nil {
		return err
	}
	// Calls are decided in the order in which they came, on stock and balances that change with each accepted one.
	for _, c := range openCalls(calls) {
		if err := s.sellOne(state, c); err != nil {
			if c.err = refusal(err); c.err == nil {
				return err
			}
		}
	}
	// With nothing sold the transaction is rolled back, see operation.decide.
	if len(state.orders) == 0 {
		return nil
	}
	s.sales.note(before, state.sequences())
	return state.write(ctx, tx)
}

// sellOne decides one checkout against the state that the ones before it left. If it refuses, it changes nothing of
// that state, so all checks come before the first change. The order number is the sequence of the FLOAT debit, which
// also makes it unique.
func (s *Service) sellOne(st *sale, c *checkoutCall) error {
	// The checks follow the order of refusals in the contract: inventory, rate, wallets, balance.
	picks, err := st.allocate(c)
	if err != nil {
		return err
	}
	rate := st.rates[c.company.ID]
	if rate.ID == uuid.Nil {
		return errCommissionUnavailable
	}
	float := st.wallets[driver.WalletRef{CompanyID: c.company.ID, Wallet: ledger.Float}]
	earnings := st.wallets[driver.WalletRef{CompanyID: c.company.ID, Wallet: ledger.Earnings}]
	gross := c.params.gross()
	// The rate is applied to the gross of the whole order and rounded once, not line by line.
	commission := rate.Rate.Of(gross)
	// A wallet that is suspended, or that disagrees with its last ledger entry, stops the company's sales. Building on
	// such a balance would extend a chain that no longer verifies. EARNINGS at its maximum is refused alike.
	if _, fits := earnings.Balance.Add(commission); !isUsable(*float) || !isUsable(*earnings) || !fits {
		return errCheckoutUnavailable
	}
	// A gross of zero passes on an empty FLOAT. It still writes both ledger entries and needs a rate like any other
	// sale.
	if float.Balance < gross {
		return errInsufficientFloat
	}
	at := st.times[c.company.ID]
	// Nothing was changed so far; from here on the checkout is accepted.
	order := driver.Order{
		CompanyID: c.company.ID, Number: float.Sequence + 1, ID: s.newID(), EventID: c.params.EventID,
		Status: OrderConfirmed, Gross: gross, Commission: commission, RateID: rate.ID,
		Branding: c.company.BrandingVersion, FloatBefore: float.Balance, EarningsBefore: earnings.Balance,
		BuyerEmail: c.params.Buyer.Email, BuyerFullname: c.params.Buyer.Fullname, BuyerPhone: c.params.Buyer.Phone,
		ConfirmedAt: at, CreatedAt: at,
	}
	// The entries are appended to the chains in memory. The next checkout of the company continues from them.
	if err := st.pay(order, float, earnings); err != nil {
		return err
	}
	lines := s.issueAdmissions(st, order, picks)
	st.orders = append(st.orders, order)
	st.admissions = append(st.admissions, lines...)
	// One record stands for all facts of the sale. It is rendered after the commit, so a sale pays for one row.
	st.facts = append(st.facts, s.saleFact(c.company, order))
	st.buyers[driver.BuyerRef{CompanyID: order.CompanyID, Email: order.BuyerEmail}] = driver.Buyer{
		CompanyID: order.CompanyID, Email: order.BuyerEmail, Fullname: order.BuyerFullname, Phone: order.BuyerPhone,
		CreatedAt: at, UpdatedAt: at,
	}
	// The result is rendered by the function that renders a replay, so both are equal.
	c.result = showOrder(order, lines, rate, st.brandings[c.company.ID])
	c.record = driver.IdempotencyResult{Subject: order.ID}
	return nil
}

// allocate selects the admissions of every line, oldest batch first, each at exactly the price that the buyer expects.
// It changes no count. Two lines never select from one stock key, since the tiers of a checkout are unique.
func (st *sale) allocate(c *checkoutCall) ([]allocation, error) {
	picks := make([]allocation, 0, len(c.params.Lines))
	for _, line := range c.params.Lines {
		// Sold counts what earlier checkouts of the group took, so no admission is selected twice.
		left := int64(line.Quantity)
		from := stockKey{driver.EventRef{CompanyID: c.company.ID, ID: c.params.EventID}, line.Tier, line.ExpectedUnitPrice}
		for _, b := range st.stock[from] {
			if n := min(left, b.Quantity-b.Sold); n > 0 {
				// A line may take the rest of one batch and the beginning of the next at the same price.
				picks = append(picks, allocation{b, n})
				left -= n
			}
		}
		if left > 0 {
			return nil, errInventoryUnavailable
		}
	}
	return picks, nil
}

// pay moves the money: the gross out of FLOAT, the commission into EARNINGS. The caller has checked that both fit, so
// an error here is a fault of the service.
func (st *sale) pay(order driver.Order, float, earnings *driver.LockedWallet) error {
	// The whole gross leaves FLOAT. The commission is accrued beside it and not deducted from the gross.
	debit, err := moveWallet(float, ledger.CheckoutDebit, -order.Gross, order.ID.String(), order.ConfirmedAt)
	if err != nil {
		return err
	}
	accrual, err := moveWallet(earnings, ledger.CommissionAccrual, order.Commission, order.ID.String(), order.ConfirmedAt)
	if err != nil {
		return err
	}
	st.entries = append(st.entries, debit, accrual)
	return nil
}

// issueAdmissions counts the selected admissions as sold, and gives each of them its id and its order line. An
// admission has no id before this.
func (s *Service) issueAdmissions(st *sale, order driver.Order, picks []allocation) []driver.Admission {
	var lines []driver.Admission
	for _, p := range picks {
		// The count changes at once, since the next checkout of the group is decided on it.
		p.batch.Sold += p.quantity
		st.soldFrom = append(st.soldFrom, p.batch)
		// Lines are numbered in the order of the tiers, which the params have been sorted by.
		for range p.quantity {
			id := s.newID()
			lines = append(lines, driver.Admission{
				CompanyID: order.CompanyID, OrderNumber: order.Number, Line: len(lines) + 1, ID: id,
				LineID: derivedID(id, lineMask), OrderID: order.ID, EventID: order.EventID,
				Tier: p.batch.Tier, Batch: p.batch.Position, Title: p.batch.Title, UnitPrice: p.batch.UnitPrice,
			})
		}
	}
	return lines
}

// write keeps everything that was sold, in as many statements for one order as for many. A buyer with several orders in
// the group is written once, as the last of them knew it. A store may send all the writes in one message.
func (st *sale) write(ctx context.Context, tx driver.Tx) error {
	var batches []driver.Batch
	// Each batch is written once, with its last count. The elements are pointers, so equal ones are the same batch.
	for _, b := range distinct(st.soldFrom) {
		batches = append(batches, *b)
	}
	// Each wallet is written once, in its last state, however many orders moved it.
	var wallets []driver.Wallet
	for _, order := range st.orders {
		for _, kind := range []ledger.Wallet{ledger.Float, ledger.Earnings} {
			wallets = append(wallets, st.wallets[driver.WalletRef{CompanyID: order.CompanyID, Wallet: kind}].Wallet)
		}
	}
	buyers := make([]driver.Buyer, 0, len(st.buyers))
	for _, order := range st.orders {
		ref := driver.BuyerRef{CompanyID: order.CompanyID, Email: order.BuyerEmail}
		if buyer, ok := st.buyers[ref]; ok {
			buyers = append(buyers, buyer)
			// The map has the last record of each buyer; deleting it keeps a second order from writing the buyer again.
			delete(st.buyers, ref)
		}
	}
	// The gate and the locks keep other transactions from these rows, so the order of the writes is free. A store may
	// send all of them with the commit, and those beside each other as one: what changes rows, and then what only adds.
	for _, write := range []func() error{
		func() error { return tx.UpdateBatches(ctx, batches) },
		func() error { return tx.UpdateWallets(ctx, distinct(wallets)) },
		func() error { return tx.PutBuyers(ctx, buyers) },
		func() error { return tx.AppendOrders(ctx, st.orders) },
		func() error { return tx.AppendAdmissions(ctx, st.admissions) },
		func() error { return tx.AppendEntries(ctx, st.entries) },
		func() error { return tx.AppendFacts(ctx, st.facts) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// replayOrders is the replay of checkouts: it renders the order that a spent key made. Its columns never change except
// the status, which is shown as it was then, and the buyer after an erasure.
func replayOrders(ctx context.Context, tx driver.ReadTx, calls []*checkoutCall) error {
	refs := make([]driver.OrderRef, len(calls))
	for i, c := range calls {
		refs[i] = driver.OrderRef{CompanyID: c.ref.CompanyID, ID: c.earlier.Subject}
	}
	records, err := tx.Orders(ctx, refs)
	if err != nil {
		return err
	}
	for i := range records {
		records[i].Status = OrderConfirmed // As in the first result.
	}
	// The same function rendered the first result. A replay differs from it only in a buyer who was erased since.
	orders, err := showOrders(ctx, tx, records)
	if err != nil {
		return err
	}
	for i, c := range calls {
		c.result = orders[i]
	}
	return nil
}
