package storetest_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func brokenWrites() []broken {
	return []broken{
		{"cuts long texts", "values/texts are kept exactly", writing(func(tx driver.Tx) driver.Tx {
			return cutting{tx}
		})},
		{"trims texts", "values/texts are kept exactly", writing(func(tx driver.Tx) driver.Tx {
			return trimming{tx}
		})},
		{"composes letters of names", "values/texts that look alike stay distinct", writing(func(tx driver.Tx) driver.Tx {
			return normalising{tx}
		})},
		{"loses milliseconds", "companies/round trip", writing(func(tx driver.Tx) driver.Tx {
			return coarse{tx}
		})},
		{"makes the year 1970 of no time", "values/a zero time is kept as none", writing(func(tx driver.Tx) driver.Tx {
			return epochal{tx}
		})},
		{"sends late what it was handed", "copies/what is handed in may be changed afterwards", sendsLate},
		{"passes over orders that are there", "orders/taken number", writing(func(tx driver.Tx) driver.Tx {
			return overlooking{tx}
		})},
		{
			"passes over wallets that are missing", "wallets/a change of what is missing fails",
			writing(func(tx driver.Tx) driver.Tx { return indulgent{tx} }),
		},
		{"lets a wallet fall below zero", "wallets/a balance is never below zero", writing(func(tx driver.Tx) driver.Tx {
			return clamping{tx}
		})},
		{"keeps an order of an Update that failed", "orders/a failed Update keeps nothing", updating(dropsUndo)},
		{"locks stock at any price", "stock/the oldest batches that cover a query", writing(func(tx driver.Tx) driver.Tx {
			return anyPrice{tx}
		})},
		{
			"locks the newest stock first", "stock/queries of several tiers and companies",
			writing(func(tx driver.Tx) driver.Tx { return newestStock{tx} }),
		},
		{"sells what another has sold", "stock/nobody oversells", staleStock},
		{"grants no lease", "facts/a lease keeps others away until it runs out", writing(func(tx driver.Tx) driver.Tx {
			return unleased{tx}
		})},
		{"leases for ever", "facts/a lease keeps others away until it runs out", writing(func(tx driver.Tx) driver.Tx {
			return forEver{tx}
		})},
		{"forgets what was handled", "facts/what is handled is not leased again", writing(func(tx driver.Tx) driver.Tx {
			return forgetful{tx}
		})},
		{
			"takes the change of a role for joining", "members/roles change, and a member who was removed is listed no more",
			writing(func(tx driver.Tx) driver.Tx { return rejoining{tx} }),
		},
		{
			"keeps the first name of a member", "members/roles change, and a member who was removed is listed no more",
			writing(func(tx driver.Tx) driver.Tx { return firstNamed{tx} }),
		},
		{"edits a case by another", "verification cases/a case is put again", writing(func(tx driver.Tx) driver.Tx {
			return appending{tx}
		})},
		{"leaves a buyer's phone", "buyers/orders take another buyer and nothing else", writing(func(tx driver.Tx) driver.Tx {
			return halfErasing{tx}
		})},
		{
			"keeps a buyer beside the new one", "buyers/a record takes the place of another",
			writing(func(tx driver.Tx) driver.Tx { return doubling{tx} }),
		},
		{"keeps one act of a list", "audit/list is in order and in pages", writing(func(tx driver.Tx) driver.Tx {
			return forgetsActs{tx}
		})},
		{"forgets the user of an act", "audit/list is in order and in pages", writing(func(tx driver.Tx) driver.Tx {
			return forgetsUsers{tx}
		})},
		{"loses what an ending says", "order endings/round trip", writing(func(tx driver.Tx) driver.Tx {
			return unreasoned{tx}
		})},
		{"forgets the lists of a status", "order statuses/a change is kept", writing(func(tx driver.Tx) driver.Tx {
			return steadfast{tx}
		})},
		{"changes the whole of a settlement", "settlements/a change is kept", writing(func(tx driver.Tx) driver.Tx {
			return lavish{tx}
		})},
		{
			"takes any movement for what was given back", "settlements/EARNINGS gets back what it gave before",
			writing(func(tx driver.Tx) driver.Tx { return overpaid{tx} }),
		},
		{"lets two decide about a settlement", "settlements/are decided once", staleSettlement},
		{"keeps the first bank account", "bank accounts/a change is kept", writing(func(tx driver.Tx) driver.Tx {
			return unsealing{tx}
		})},
		{"loses when a buyer changed", "buyers/new and known ones", writing(func(tx driver.Tx) driver.Tx {
			return latestBuyer{tx}
		})},
	}
}

type cutting struct{ driver.Tx }

func (c cutting) UpdateEvent(ctx context.Context, event driver.Event) error {
	event.Description = event.Description[:min(len(event.Description), 10_000)]
	return c.Tx.UpdateEvent(ctx, event)
}

type trimming struct{ driver.Tx }

func (t trimming) UpdateEvent(ctx context.Context, event driver.Event) error {
	event.Title = strings.TrimSpace(event.Title)
	return t.Tx.UpdateEvent(ctx, event)
}

type normalising struct{ driver.Tx }

func (n normalising) PutBuyers(ctx context.Context, buyers []driver.Buyer) error {
	buyers = slices.Clone(buyers)
	for i := range buyers {
		buyers[i].Email = strings.ReplaceAll(buyers[i].Email, "e\u0301", "\u00e9")
	}
	return n.Tx.PutBuyers(ctx, buyers)
}

type coarse struct{ driver.Tx }

func (c coarse) CreateCompany(ctx context.Context, company driver.Company) error {
	company.UpdatedAt = company.UpdatedAt.Truncate(time.Second)
	return c.Tx.CreateCompany(ctx, company)
}

type epochal struct{ driver.Tx }

func (e epochal) CreateAPIKey(ctx context.Context, key driver.APIKey) error {
	if key.RevokedAt.IsZero() {
		key.RevokedAt = time.Unix(0, 0)
	}
	return e.Tx.CreateAPIKey(ctx, key)
}

// late sends orders with the next list of orders, or at the end.
type late struct {
	driver.Tx

	orders *[]driver.Order
}

func sendsLate(s driver.Store) driver.Store {
	return updating(func(s driver.Store, ctx context.Context, fn updateFn) error {
		return s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			sender := late{tx, new([]driver.Order)}
			if err := fn(ctx, sender); err != nil {
				return err
			}
			return sender.send(ctx)
		})
	})(s)
}

func (l late) AppendOrders(_ context.Context, orders []driver.Order) error {
	*l.orders = orders
	return nil
}

func (l late) ListOrders(ctx context.Context, query driver.OrderQuery) ([]driver.Order, error) {
	if err := l.send(ctx); err != nil {
		return nil, err
	}
	return l.Tx.ListOrders(ctx, query)
}

func (l late) send(ctx context.Context) error {
	orders := *l.orders
	*l.orders = nil
	if len(orders) == 0 {
		return nil
	}
	return l.Tx.AppendOrders(ctx, orders)
}

type overlooking struct{ driver.Tx }

func (o overlooking) AppendOrders(ctx context.Context, orders []driver.Order) error {
	known, err := o.ListOrders(ctx, driver.OrderQuery{CompanyID: orders[0].CompanyID, Limit: 100})
	if err != nil {
		return err
	}
	return o.Tx.AppendOrders(ctx, slices.DeleteFunc(slices.Clone(orders), func(order driver.Order) bool {
		return slices.ContainsFunc(known, func(k driver.Order) bool { return k.Number == order.Number })
	}))
}

type indulgent struct{ driver.Tx }

func (i indulgent) UpdateWallets(ctx context.Context, wallets []driver.Wallet) error {
	var known []driver.Wallet
	for _, wallet := range wallets {
		found, err := i.Wallets(ctx, []driver.WalletRef{{CompanyID: wallet.CompanyID, Wallet: wallet.Kind}})
		if err != nil {
			return err
		}
		if found[0].CompanyID != uuid.Nil {
			known = append(known, wallet)
		}
	}
	return i.Tx.UpdateWallets(ctx, known)
}

// clamping stores zero instead of a balance below zero, without an error.
type clamping struct{ driver.Tx }

func (c clamping) UpdateWallets(ctx context.Context, wallets []driver.Wallet) error {
	wallets = slices.Clone(wallets)
	for i := range wallets {
		wallets[i].Balance = max(wallets[i].Balance, 0)
	}
	return c.Tx.UpdateWallets(ctx, wallets)
}

type noting struct {
	driver.Tx

	orders *[]driver.Order
}

func (n noting) AppendOrders(ctx context.Context, orders []driver.Order) error {
	*n.orders = append(*n.orders, orders...)
	return n.Tx.AppendOrders(ctx, orders)
}

// dropsUndo keeps the orders of an Update that failed.
func dropsUndo(s driver.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	var orders []driver.Order
	failed := s.Update(ctx, func(ctx context.Context, tx driver.Tx) error { return fn(ctx, noting{tx, &orders}) })
	if failed == nil || len(orders) == 0 {
		return failed
	}
	err := s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{}); err != nil {
			return err
		}
		return tx.AppendOrders(ctx, orders)
	})
	if err != nil {
		return err
	}
	return failed
}

type anyPrice struct{ driver.Tx }

func (a anyPrice) LockStock(ctx context.Context, queries []driver.StockQuery) ([]driver.Batch, error) {
	var found []driver.Batch
	for _, query := range queries {
		event := driver.EventRef{CompanyID: query.CompanyID, ID: query.EventID}
		open, err := a.LockOpenBatches(ctx, event, []string{query.Tier})
		if err != nil {
			return nil, err
		}
		found = append(found, open...)
	}
	return found, nil
}

type newestStock struct{ driver.Tx }

func (n newestStock) LockStock(
	ctx context.Context, queries []driver.StockQuery,
) ([]driver.Batch, error) {
	found, err := n.Tx.LockStock(ctx, queries)
	slices.Reverse(found)
	return found, err
}

// stale returns the stock as it was at the first call.
type stale struct {
	driver.Tx

	first *[]driver.Batch
}

func staleStock(s driver.Store) driver.Store {
	first := new([]driver.Batch)
	return writing(func(tx driver.Tx) driver.Tx { return stale{tx, first} })(s)
}

func (s stale) LockStock(ctx context.Context, queries []driver.StockQuery) ([]driver.Batch, error) {
	found, err := s.Tx.LockStock(ctx, queries)
	if *s.first == nil {
		*s.first = slices.Clone(found)
	}
	return slices.Clone(*s.first), err
}

type unleased struct{ driver.Tx }

func (u unleased) LeaseFacts(
	ctx context.Context, companyID uuid.UUID, at, _ time.Time, limit int,
) ([]driver.Fact, error) {
	return u.Tx.LeaseFacts(ctx, companyID, at, at, limit)
}

type forEver struct{ driver.Tx }

func (f forEver) LeaseFacts(
	ctx context.Context, companyID uuid.UUID, at, until time.Time, limit int,
) ([]driver.Fact, error) {
	return f.Tx.LeaseFacts(ctx, companyID, at, until.AddDate(100, 0, 0), limit)
}

type forgetful struct{ driver.Tx }

func (forgetful) CompleteFacts(context.Context, []driver.Fact) error { return nil }

// rejoining returns the time of a change as the time of joining.
type rejoining struct{ driver.Tx }

func (r rejoining) Members(ctx context.Context, refs []driver.MemberRef) ([]driver.Member, error) {
	found, err := r.Tx.Members(ctx, refs)
	for i := range found {
		found[i].CreatedAt = found[i].UpdatedAt
	}
	return found, err
}

// firstNamed never changes the name of a member.
type firstNamed struct{ driver.Tx }

func (f firstNamed) PutMember(ctx context.Context, member driver.Member) error {
	known, err := f.Members(ctx, []driver.MemberRef{{CompanyID: member.CompanyID, UserID: member.UserID}})
	if err != nil {
		return err
	}
	if !known[0].CreatedAt.IsZero() {
		member.Name = known[0].Name
	}
	return f.Tx.PutMember(ctx, member)
}

// appending stores an existing case as another one.
type appending struct{ driver.Tx }

func (a appending) PutVerificationCase(ctx context.Context, record driver.VerificationCase) error {
	known, err := a.ListVerificationCases(ctx, record.CompanyID, 1)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		record.Number = known[0].Number + 1
	}
	return a.Tx.PutVerificationCase(ctx, record)
}

type halfErasing struct{ driver.Tx }

func (h halfErasing) UpdateOrderBuyers(ctx context.Context, orders []driver.Order) error {
	orders = slices.Clone(orders)
	for i, order := range orders {
		kept, err := h.Orders(ctx, []driver.OrderRef{{CompanyID: order.CompanyID, ID: order.ID}})
		if err != nil {
			return err
		}
		orders[i].BuyerPhone = kept[0].BuyerPhone
	}
	return h.Tx.UpdateOrderBuyers(ctx, orders)
}

// doubling keeps the old record of a buyer.
type doubling struct{ driver.Tx }

func (d doubling) ReplaceBuyer(ctx context.Context, ref driver.BuyerRef, buyer driver.Buyer) error {
	old, err := d.Buyers(ctx, []driver.BuyerRef{ref})
	if err != nil {
		return err
	}
	if err := d.Tx.ReplaceBuyer(ctx, ref, buyer); err != nil {
		return err
	}
	return d.PutBuyers(ctx, old)
}

type forgetsActs struct{ driver.Tx }

func (f forgetsActs) AppendAudit(ctx context.Context, acts []driver.AuditEntry) error {
	return f.Tx.AppendAudit(ctx, acts[:min(1, len(acts))])
}

type forgetsUsers struct{ driver.Tx }

func (f forgetsUsers) AppendAudit(ctx context.Context, acts []driver.AuditEntry) error {
	acts = slices.Clone(acts)
	for i := range acts {
		acts[i].UserID = uuid.Nil
	}
	return f.Tx.AppendAudit(ctx, acts)
}

type latestBuyer struct{ driver.Tx }

// PutBuyers keeps the time of creation as the time of the change, for a buyer who exists.
func (l latestBuyer) PutBuyers(ctx context.Context, buyers []driver.Buyer) error {
	buyers = slices.Clone(buyers)
	for i, buyer := range buyers {
		known, err := l.Buyers(ctx, []driver.BuyerRef{{CompanyID: buyer.CompanyID, Email: buyer.Email}})
		if err != nil {
			return err
		}
		if known[0].CompanyID != uuid.Nil {
			buyers[i].UpdatedAt = buyer.CreatedAt
		}
	}
	return l.Tx.PutBuyers(ctx, buyers)
}

type unreasoned struct{ driver.Tx }

func (u unreasoned) AppendOrderEnding(ctx context.Context, ending driver.OrderEnding) error {
	ending.Restocked = false
	return u.Tx.AppendOrderEnding(ctx, ending)
}

type steadfast struct{ driver.Tx }

func (s steadfast) UpdateOrderStatus(
	ctx context.Context, order driver.OrderNumber, _ driver.OrderStatus,
) error {
	return s.Tx.UpdateOrderStatus(ctx, order, driver.OrderConfirmed)
}

// lavish keeps the time of the request as the time of the decision.
type lavish struct{ driver.Tx }

func (l lavish) UpdateSettlement(ctx context.Context, settlement driver.Settlement) error {
	settlement.DecidedAt = settlement.RequestedAt
	return l.Tx.UpdateSettlement(ctx, settlement)
}

// overpaid moves the refund far after its debit.
type overpaid struct{ driver.Tx }

func (o overpaid) UpdateSettlement(ctx context.Context, settlement driver.Settlement) error {
	settlement.RefundSequence = 1 << 40
	return o.Tx.UpdateSettlement(ctx, settlement)
}

type unsealing struct{ driver.Tx }

func (u unsealing) UpdateBankAccount(ctx context.Context, account driver.BankAccount) error {
	account.Number = "s1"
	return u.Tx.UpdateBankAccount(ctx, account)
}

// unlockedSettlements returns a settlement as it was at the first call.
type unlockedSettlements struct {
	driver.Tx

	seen map[driver.SettlementRef]driver.Settlement
}

func staleSettlement(s driver.Store) driver.Store {
	seen := make(map[driver.SettlementRef]driver.Settlement)
	return writing(func(tx driver.Tx) driver.Tx { return unlockedSettlements{tx, seen} })(s)
}

func (u unlockedSettlements) LockSettlement(
	ctx context.Context, ref driver.SettlementRef,
) (driver.Settlement, error) {
	if seen, ok := u.seen[ref]; ok {
		return seen, nil
	}
	found, err := u.Tx.LockSettlement(ctx, ref)
	u.seen[ref] = found
	return found, err
}
