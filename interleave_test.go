package ticketing_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// betweenStore is a store that runs another function once in the middle of a transaction, between its reads and what
// follows.
type betweenStore struct {
	driver.Store

	one bool // whether it runs each transaction once

	mu    sync.Mutex
	other func()
	ended chan struct{}
}

// meanwhile runs other in the next transaction that reaches one of the places below. It returns a function that waits
// for the end of other.
func (s *betweenStore) meanwhile(other func()) (wait func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := make(chan struct{})
	s.other, s.ended = other, ended
	return func() { <-ended }
}

// happen runs other and waits for it, but no longer than 300 ms, since other may have to wait for this transaction.
func (s *betweenStore) happen() {
	s.mu.Lock()
	other, ended := s.other, s.ended
	s.other = nil
	s.mu.Unlock()
	if other == nil {
		return
	}
	go func() {
		defer close(ended)
		other()
	}()
	select {
	case <-ended:
	case <-time.After(300 * time.Millisecond):
	}
}

func (s *betweenStore) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return s.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		return fn(ctx, betweenReads{tx, s})
	})
}

func (s *betweenStore) Snapshot(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return s.Store.Snapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		return fn(ctx, betweenReads{tx, s})
	})
}

func (s *betweenStore) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error { return fn(ctx, betweenWrites{tx, s}) })
}

type betweenReads struct {
	driver.ReadTx

	store *betweenStore
}

// OrderEndings reads what an order read loads after the order itself.
func (r betweenReads) OrderEndings(
	ctx context.Context, orders []driver.OrderNumber,
) ([]driver.OrderEnding, error) {
	r.store.happen()
	return r.ReadTx.OrderEndings(ctx, orders)
}

// ListVerificationCases reads what a verification read loads after the company.
func (r betweenReads) ListVerificationCases(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.VerificationCase, error) {
	r.store.happen()
	return r.ReadTx.ListVerificationCases(ctx, companyID, limit)
}

type betweenWrites struct {
	driver.Tx

	store *betweenStore
}

// ReplaceBuyer is the last step of an erasure, after it has found the last order.
func (w betweenWrites) ReplaceBuyer(ctx context.Context, ref driver.BuyerRef, b driver.Buyer) error {
	w.store.happen()
	return w.Tx.ReplaceBuyer(ctx, ref, b)
}

// AppendBankAccount appends the version after the one that was read.
func (w betweenWrites) AppendBankAccount(ctx context.Context, account driver.BankAccount) error {
	w.store.happen()
	return w.Tx.AppendBankAccount(ctx, account)
}

func onBetween(t *testing.T, test func(t *testing.T, store *betweenStore, shop *ticketingtest.Shop)) {
	t.Helper()
	for _, store := range stores() {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			between := &betweenStore{Store: store.Open(t), one: store.Name != "rerun"}
			test(t, between, ticketingtest.New(t, &ticketingtest.Config{Store: between}))
		})
	}
}

// TestOrdersAreShownAsOfOneMoment checks that an order is read as of one moment: confirmed and without an ending, or
// refunded and with one.
func TestOrdersAreShownAsOfOneMoment(t *testing.T) {
	t.Parallel()
	onBetween(t, func(t *testing.T, store *betweenStore, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 10)
		for _, read := range []func(id uuid.UUID) (ticketing.OrderDetail, error){
			func(id uuid.UUID) (ticketing.OrderDetail, error) { return shop.Staff.GetOrder(t.Context(), id) },
			func(uuid.UUID) (ticketing.OrderDetail, error) {
				page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, ticketing.OrderSearch{})
				if err != nil {
					return ticketing.OrderDetail{}, err
				}
				return page.Items[0], nil
			},
		} {
			order := shop.Sell(t, event.ID, "VIP", 1)
			var refused error
			wait := store.meanwhile(func() {
				refused = second(shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: ill}))
			})
			shown, err := read(order.ID)
			wait()
			is.NoErr(errors.Join(err, refused))
			is.Equal(shown.ID, order.ID)
			is.Equal(shown.Status, ticketing.OrderConfirmed)
			is.Equal(shown.Ending, nil)
			is.True(!shown.Lines[0].Voided)
			after, err := read(order.ID)
			is.NoErr(err)
			is.Equal(after.Status, ticketing.OrderRefunded)
			is.True(after.Ending != nil && after.Lines[0].Voided)
		}
	})
}

// TestAVerificationIsShownAsOfOneMoment checks that a verification is read as of one moment: the company's status and
// its cases agree.
func TestAVerificationIsShownAsOfOneMoment(t *testing.T) {
	t.Parallel()
	onBetween(t, func(t *testing.T, store *betweenStore, shop *ticketingtest.Shop) {
		is := is.New(t)
		_, err := shop.Staff.UpdateVerification(t.Context(), shop.Company.ID, facts())
		is.NoErr(err)
		_, err = shop.Staff.SubmitVerification(t.Context(), shop.Company.ID)
		is.NoErr(err)
		var refused error
		wait := store.meanwhile(func() {
			refused = second(shop.Staff.RejectVerification(t.Context(), shop.Company.ID, "Unreadable"))
		})
		shown, err := shop.Staff.GetVerification(t.Context(), shop.Company.ID)
		wait()
		is.NoErr(errors.Join(err, refused))
		is.Equal(shown.Status, ticketing.VerificationApproved)
		is.Equal(shown.Cases[0].Status, ticketing.VerificationSubmitted)
	})
}

// TestACheckoutWaitsForAnErasure checks that a checkout that arrives at the end of an erasure runs after it, as the
// buyer's first checkout. So its order keeps its buyer.
func TestACheckoutWaitsForAnErasure(t *testing.T) {
	t.Parallel()
	onBetween(t, func(t *testing.T, store *betweenStore, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 10)
		shop.Sell(t, event.ID, "VIP", 1)
		basket := ticketingtest.Basket(event.ID, "VIP", 10_00, 1)
		var order ticketing.Order
		var refused error
		wait := store.meanwhile(func() {
			order, refused = shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
		})
		erasure, err := shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, basket.Buyer.Email)
		wait()
		is.NoErr(errors.Join(err, refused))
		is.Equal(erasure, ticketing.BuyerErasure{Erased: true, Orders: 1})
		is.Equal(order.Buyer.Email, basket.Buyer.Email)
		_, err = shop.Staff.GetBuyer(t.Context(), shop.Company.ID, basket.Buyer.Email)
		is.NoErr(err)
		erasure, err = shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, basket.Buyer.Email)
		is.NoErr(err)
		is.Equal(erasure, ticketing.BuyerErasure{Erased: true, Orders: 1})
	})
}

// TestBankAccountsAreSetOneAfterTheOther checks that two concurrent calls that set a bank account both succeed, one
// after the other.
func TestBankAccountsAreSetOneAfterTheOther(t *testing.T) {
	t.Parallel()
	onBetween(t, func(t *testing.T, store *betweenStore, shop *ticketingtest.Shop) {
		is := is.New(t)
		one, other := accountParams(), accountParams()
		one.AccountNumber, other.AccountNumber = "1111111111", "2222222222"
		var refused error
		wait := store.meanwhile(func() {
			refused = second(shop.Staff.SetBankAccount(t.Context(), shop.Company.ID, other))
		})
		_, err := shop.Staff.SetBankAccount(t.Context(), shop.Company.ID, one)
		wait()
		is.NoErr(errors.Join(err, refused))
		var versions []driver.BankAccount
		is.NoErr(store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			versions, err = tx.BankAccounts(ctx, []driver.BankAccountRef{
				{CompanyID: shop.Company.ID, Version: 1}, {CompanyID: shop.Company.ID, Version: 2},
			})
			return err
		}))
		kept := []string{versions[0].Last4, versions[1].Last4}
		if !store.one { // A transaction that ran again may have come second.
			slices.Sort(kept)
		}
		is.Equal(kept, []string{"1111", "2222"})
	})
}
