package storetest_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

func brokenWrites() []broken {
	return []broken{
		{"cuts long texts", "values/texts are kept exactly", writing(func(tx ticketing.Tx) ticketing.Tx {
			return cutting{tx}
		})},
		{"trims texts", "values/texts are kept exactly", writing(func(tx ticketing.Tx) ticketing.Tx {
			return trimming{tx}
		})},
		{"composes letters of names", "values/texts that look alike are told apart", writing(func(tx ticketing.Tx) ticketing.Tx {
			return normalising{tx}
		})},
		{"loses milliseconds", "companies/round trip", writing(func(tx ticketing.Tx) ticketing.Tx {
			return coarse{tx}
		})},
		{"makes the year 1970 of no time", "values/a zero time is kept as none", writing(func(tx ticketing.Tx) ticketing.Tx {
			return epochal{tx}
		})},
		{"sends late what it was handed", "copies/what is handed in may be changed afterwards", sendsLate},
		{"passes over orders that are there", "orders/taken number", writing(func(tx ticketing.Tx) ticketing.Tx {
			return overlooking{tx}
		})},
		{"passes over wallets that are missing", "wallets/a change of what is missing fails", writing(func(tx ticketing.Tx) ticketing.Tx {
			return indulgent{tx}
		})},
		{"lets a wallet fall below zero", "wallets/a balance is never below zero", writing(func(tx ticketing.Tx) ticketing.Tx {
			return clamping{tx}
		})},
		{"keeps an order of an Update that failed", "orders/a failed Update keeps nothing", updating(dropsUndo)},
		{"locks stock at any price", "stock/the oldest batches that cover a query", writing(func(tx ticketing.Tx) ticketing.Tx {
			return anyPrice{tx}
		})},
		{"locks the newest stock first", "stock/queries of several tiers and companies", writing(func(tx ticketing.Tx) ticketing.Tx {
			return newestStock{tx}
		})},
		{"sells what another has sold", "stock/nobody oversells", staleStock},
		{"grants no lease", "facts/a lease keeps others away until it runs out", writing(func(tx ticketing.Tx) ticketing.Tx {
			return unleased{tx}
		})},
		{"leases for ever", "facts/a lease keeps others away until it runs out", writing(func(tx ticketing.Tx) ticketing.Tx {
			return forEver{tx}
		})},
		{"forgets what was handled", "facts/what is handled is not leased again", writing(func(tx ticketing.Tx) ticketing.Tx {
			return forgetful{tx}
		})},
		{"takes the change of a role for joining", "members/roles change, and a member who was removed is listed no more", writing(func(tx ticketing.Tx) ticketing.Tx {
			return rejoining{tx}
		})},
		{"keeps the first name of a member", "members/roles change, and a member who was removed is listed no more", writing(func(tx ticketing.Tx) ticketing.Tx {
			return firstNamed{tx}
		})},
		{"edits a case by another", "verification cases/a case is put again", writing(func(tx ticketing.Tx) ticketing.Tx {
			return appending{tx}
		})},
		{"leaves a buyer's phone", "buyers/orders take another buyer and nothing else", writing(func(tx ticketing.Tx) ticketing.Tx {
			return halfErasing{tx}
		})},
		{"keeps a buyer beside the new one", "buyers/a record takes the place of another", writing(func(tx ticketing.Tx) ticketing.Tx {
			return doubling{tx}
		})},
		{"keeps one act of a list", "audit/list is in order and in pages", writing(func(tx ticketing.Tx) ticketing.Tx {
			return forgetsActs{tx}
		})},
		{"loses what an ending says", "order endings/round trip", writing(func(tx ticketing.Tx) ticketing.Tx {
			return unreasoned{tx}
		})},
		{"forgets the lists of a status", "order statuses/a change is kept", writing(func(tx ticketing.Tx) ticketing.Tx {
			return steadfast{tx}
		})},
		{"changes the whole of a settlement", "settlements/a change is kept", writing(func(tx ticketing.Tx) ticketing.Tx {
			return lavish{tx}
		})},
		{"takes any movement for what was given back", "settlements/EARNINGS gets back what it gave before", writing(func(tx ticketing.Tx) ticketing.Tx {
			return overpaid{tx}
		})},
		{"lets two decide about a settlement", "settlements/are decided once", staleSettlement},
		{"keeps the first bank account", "bank accounts/a change is kept", writing(func(tx ticketing.Tx) ticketing.Tx {
			return unsealing{tx}
		})},
		{"loses when a buyer changed", "buyers/new and known ones", writing(func(tx ticketing.Tx) ticketing.Tx {
			return latestBuyer{tx}
		})},
	}
}

type cutting struct{ ticketing.Tx }

func (c cutting) UpdateEvent(ctx context.Context, event ticketing.EventRecord) error {
	event.Description = event.Description[:min(len(event.Description), 10_000)]
	return c.Tx.UpdateEvent(ctx, event)
}

type trimming struct{ ticketing.Tx }

func (t trimming) UpdateEvent(ctx context.Context, event ticketing.EventRecord) error {
	event.Title = strings.TrimSpace(event.Title)
	return t.Tx.UpdateEvent(ctx, event)
}

type normalising struct{ ticketing.Tx }

func (n normalising) PutBuyers(ctx context.Context, buyers []ticketing.BuyerRecord) error {
	buyers = slices.Clone(buyers)
	for i := range buyers {
		buyers[i].Email = strings.ReplaceAll(buyers[i].Email, "e\u0301", "\u00e9")
	}
	return n.Tx.PutBuyers(ctx, buyers)
}

type coarse struct{ ticketing.Tx }

func (c coarse) CreateCompany(ctx context.Context, company ticketing.CompanyRecord) error {
	company.UpdatedAt = company.UpdatedAt.Truncate(time.Second)
	return c.Tx.CreateCompany(ctx, company)
}

type epochal struct{ ticketing.Tx }

func (e epochal) CreateAPIKey(ctx context.Context, key ticketing.APIKeyRecord) error {
	if key.RevokedAt.IsZero() {
		key.RevokedAt = time.Unix(0, 0)
	}
	return e.Tx.CreateAPIKey(ctx, key)
}

// late sends orders with the next read of orders, or at the end.
type late struct {
	ticketing.Tx

	orders *[]ticketing.OrderRecord
}

func sendsLate(s ticketing.Store) ticketing.Store {
	return updating(func(s ticketing.Store, ctx context.Context, fn updateFn) error {
		return s.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
			sender := late{tx, new([]ticketing.OrderRecord)}
			if err := fn(ctx, sender); err != nil {
				return err
			}
			return sender.send(ctx)
		})
	})(s)
}

func (l late) AppendOrders(_ context.Context, orders []ticketing.OrderRecord) error {
	*l.orders = orders
	return nil
}

func (l late) ListOrders(ctx context.Context, query ticketing.OrderQuery) ([]ticketing.OrderRecord, error) {
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

type overlooking struct{ ticketing.Tx }

func (o overlooking) AppendOrders(ctx context.Context, orders []ticketing.OrderRecord) error {
	known, err := o.ListOrders(ctx, ticketing.OrderQuery{CompanyID: orders[0].CompanyID, Limit: 100})
	if err != nil {
		return err
	}
	return o.Tx.AppendOrders(ctx, slices.DeleteFunc(slices.Clone(orders), func(order ticketing.OrderRecord) bool {
		return slices.ContainsFunc(known, func(k ticketing.OrderRecord) bool { return k.Number == order.Number })
	}))
}

type indulgent struct{ ticketing.Tx }

func (i indulgent) UpdateWallets(ctx context.Context, wallets []ticketing.WalletRecord) error {
	var known []ticketing.WalletRecord
	for _, wallet := range wallets {
		found, err := i.Wallets(ctx, []ticketing.WalletRef{{CompanyID: wallet.CompanyID, Wallet: wallet.Wallet}})
		if err != nil {
			return err
		}
		if found[0].CompanyID != uuid.Nil {
			known = append(known, wallet)
		}
	}
	return i.Tx.UpdateWallets(ctx, known)
}

// clamping takes what is below zero for zero, and says nothing.
type clamping struct{ ticketing.Tx }

func (c clamping) UpdateWallets(ctx context.Context, wallets []ticketing.WalletRecord) error {
	wallets = slices.Clone(wallets)
	for i := range wallets {
		wallets[i].Balance = max(wallets[i].Balance, 0)
	}
	return c.Tx.UpdateWallets(ctx, wallets)
}

type noting struct {
	ticketing.Tx

	orders *[]ticketing.OrderRecord
}

func (n noting) AppendOrders(ctx context.Context, orders []ticketing.OrderRecord) error {
	*n.orders = append(*n.orders, orders...)
	return n.Tx.AppendOrders(ctx, orders)
}

// dropsUndo takes all back but the orders.
func dropsUndo(s ticketing.Store, ctx context.Context, fn updateFn) error { //nolint:revive // Like a method.
	var orders []ticketing.OrderRecord
	failed := s.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error { return fn(ctx, noting{tx, &orders}) })
	if failed == nil || len(orders) == 0 {
		return failed
	}
	err := s.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
		if _, err := tx.Enter(ctx, ticketing.Entrance{}); err != nil {
			return err
		}
		return tx.AppendOrders(ctx, orders)
	})
	if err != nil {
		return err
	}
	return failed
}

type anyPrice struct{ ticketing.Tx }

func (a anyPrice) LockStock(ctx context.Context, queries []ticketing.StockQuery) ([]ticketing.BatchRecord, error) {
	var found []ticketing.BatchRecord
	for _, query := range queries {
		event := ticketing.EventRef{CompanyID: query.CompanyID, ID: query.EventID}
		open, err := a.LockOpenBatches(ctx, event, []string{query.Tier})
		if err != nil {
			return nil, err
		}
		found = append(found, open...)
	}
	return found, nil
}

type newestStock struct{ ticketing.Tx }

func (n newestStock) LockStock(
	ctx context.Context, queries []ticketing.StockQuery,
) ([]ticketing.BatchRecord, error) {
	found, err := n.Tx.LockStock(ctx, queries)
	slices.Reverse(found)
	return found, err
}

// stale answers with stock as it was when it was first asked for.
type stale struct {
	ticketing.Tx

	first *[]ticketing.BatchRecord
}

func staleStock(s ticketing.Store) ticketing.Store {
	first := new([]ticketing.BatchRecord)
	return writing(func(tx ticketing.Tx) ticketing.Tx { return stale{tx, first} })(s)
}

func (s stale) LockStock(ctx context.Context, queries []ticketing.StockQuery) ([]ticketing.BatchRecord, error) {
	found, err := s.Tx.LockStock(ctx, queries)
	if *s.first == nil {
		*s.first = slices.Clone(found)
	}
	return slices.Clone(*s.first), err
}

type unleased struct{ ticketing.Tx }

func (u unleased) LeaseFacts(
	ctx context.Context, companyID uuid.UUID, at, _ time.Time, limit int,
) ([]ticketing.FactRecord, error) {
	return u.Tx.LeaseFacts(ctx, companyID, at, at, limit)
}

type forEver struct{ ticketing.Tx }

func (f forEver) LeaseFacts(
	ctx context.Context, companyID uuid.UUID, at, until time.Time, limit int,
) ([]ticketing.FactRecord, error) {
	return f.Tx.LeaseFacts(ctx, companyID, at, until.AddDate(100, 0, 0), limit)
}

type forgetful struct{ ticketing.Tx }

func (forgetful) CompleteFacts(context.Context, []ticketing.FactRecord) error { return nil }

// rejoining takes the time of a change for that of joining.
type rejoining struct{ ticketing.Tx }

func (r rejoining) Members(ctx context.Context, refs []ticketing.MemberRef) ([]ticketing.MemberRecord, error) {
	found, err := r.Tx.Members(ctx, refs)
	for i := range found {
		found[i].CreatedAt = found[i].UpdatedAt
	}
	return found, err
}

// firstNamed never gives a member another name.
type firstNamed struct{ ticketing.Tx }

func (f firstNamed) PutMember(ctx context.Context, member ticketing.MemberRecord) error {
	known, err := f.Members(ctx, []ticketing.MemberRef{{CompanyID: member.CompanyID, UserID: member.UserID}})
	if err != nil {
		return err
	}
	if !known[0].CreatedAt.IsZero() {
		member.Name = known[0].Name
	}
	return f.Tx.PutMember(ctx, member)
}

// appending keeps a case that is there as another one.
type appending struct{ ticketing.Tx }

func (a appending) PutVerificationCase(ctx context.Context, record ticketing.VerificationCaseRecord) error {
	known, err := a.ListVerificationCases(ctx, record.CompanyID, 1)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		record.Number = known[0].Number + 1
	}
	return a.Tx.PutVerificationCase(ctx, record)
}

type halfErasing struct{ ticketing.Tx }

func (h halfErasing) UpdateOrderBuyers(ctx context.Context, orders []ticketing.OrderRecord) error {
	orders = slices.Clone(orders)
	for i, order := range orders {
		kept, err := h.Orders(ctx, []ticketing.OrderRef{{CompanyID: order.CompanyID, ID: order.ID}})
		if err != nil {
			return err
		}
		orders[i].BuyerPhone = kept[0].BuyerPhone
	}
	return h.Tx.UpdateOrderBuyers(ctx, orders)
}

// doubling keeps the old record of a buyer.
type doubling struct{ ticketing.Tx }

func (d doubling) ReplaceBuyer(ctx context.Context, ref ticketing.BuyerRef, buyer ticketing.BuyerRecord) error {
	old, err := d.Buyers(ctx, []ticketing.BuyerRef{ref})
	if err != nil {
		return err
	}
	if err := d.Tx.ReplaceBuyer(ctx, ref, buyer); err != nil {
		return err
	}
	return d.PutBuyers(ctx, old)
}

type forgetsActs struct{ ticketing.Tx }

func (f forgetsActs) AppendAudit(ctx context.Context, acts []ticketing.AuditRecord) error {
	return f.Tx.AppendAudit(ctx, acts[:min(1, len(acts))])
}

type latestBuyer struct{ ticketing.Tx }

// PutBuyers takes the time of creation of a known buyer for the time of the change.
func (l latestBuyer) PutBuyers(ctx context.Context, buyers []ticketing.BuyerRecord) error {
	buyers = slices.Clone(buyers)
	for i, buyer := range buyers {
		known, err := l.Buyers(ctx, []ticketing.BuyerRef{{CompanyID: buyer.CompanyID, Email: buyer.Email}})
		if err != nil {
			return err
		}
		if known[0].CompanyID != uuid.Nil {
			buyers[i].UpdatedAt = buyer.CreatedAt
		}
	}
	return l.Tx.PutBuyers(ctx, buyers)
}

type unreasoned struct{ ticketing.Tx }

func (u unreasoned) AppendOrderEnding(ctx context.Context, ending ticketing.OrderEndingRecord) error {
	ending.Restocked = false
	return u.Tx.AppendOrderEnding(ctx, ending)
}

type steadfast struct{ ticketing.Tx }

func (s steadfast) UpdateOrderStatus(
	ctx context.Context, order ticketing.OrderNumber, _ ticketing.OrderStatus,
) error {
	return s.Tx.UpdateOrderStatus(ctx, order, ticketing.OrderConfirmed)
}

// lavish takes the time of the request for that of the decision.
type lavish struct{ ticketing.Tx }

func (l lavish) UpdateSettlement(ctx context.Context, settlement ticketing.SettlementRecord) error {
	settlement.DecidedAt = settlement.RequestedAt
	return l.Tx.UpdateSettlement(ctx, settlement)
}

// overpaid moves what was given back behind its debit.
type overpaid struct{ ticketing.Tx }

func (o overpaid) UpdateSettlement(ctx context.Context, settlement ticketing.SettlementRecord) error {
	settlement.RefundSequence = 1 << 40
	return o.Tx.UpdateSettlement(ctx, settlement)
}

type unsealing struct{ ticketing.Tx }

func (u unsealing) UpdateBankAccount(ctx context.Context, account ticketing.BankAccountRecord) error {
	account.Number = "s1"
	return u.Tx.UpdateBankAccount(ctx, account)
}

// unlockedSettlements answers with a settlement as it was when it was first asked for.
type unlockedSettlements struct {
	ticketing.Tx

	seen map[ticketing.SettlementRef]ticketing.SettlementRecord
}

func staleSettlement(s ticketing.Store) ticketing.Store {
	seen := make(map[ticketing.SettlementRef]ticketing.SettlementRecord)
	return writing(func(tx ticketing.Tx) ticketing.Tx { return unlockedSettlements{tx, seen} })(s)
}

func (u unlockedSettlements) LockSettlement(
	ctx context.Context, ref ticketing.SettlementRef,
) (ticketing.SettlementRecord, error) {
	if seen, ok := u.seen[ref]; ok {
		return seen, nil
	}
	found, err := u.Tx.LockSettlement(ctx, ref)
	u.seen[ref] = found
	return found, err
}
