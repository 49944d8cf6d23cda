package ticketing_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// history is a company with every kind of record in its books: a confirmed order, one of whose admissions was scanned,
// an order that was refunded, one that was refunded and restocked, one that was cancelled, a settlement that was paid
// out and one that was rejected.
type history struct {
	*ticketingtest.Shop

	company, event                       uuid.UUID
	float, earnings                      driver.WalletRef
	sold, refunded, restocked, cancelled ticketing.Order
	paid, rejected                       ticketing.Settlement
	refundedAt                           int64 // the sequence of refunded's refund in FLOAT
	reversedAt, paidAt                   int64 // the sequences of refunded's reversal and of paid's payout in EARNINGS
}

func newHistory(t *testing.T, shop *ticketingtest.Shop) *history {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	h := &history{Shop: shop, company: shop.Company.ID}
	h.float = driver.WalletRef{CompanyID: h.company, Wallet: ledger.Float}
	h.earnings = driver.WalletRef{CompanyID: h.company, Wallet: ledger.Earnings}
	h.event = shop.Event(t).ID
	shop.Inventory(t, h.event, "VIP", 10_000_00, 100)
	shop.Inventory(t, h.event, "GENERAL_ADMISSION", 0, 100)
	sell := func(quantity int) ticketing.Order {
		shop.Clock.Advance(time.Second)
		return shop.Sell(t, h.event, "VIP", quantity)
	}
	_, err := shop.Staff.SetBankAccount(ctx, h.company, ticketing.BankAccountParams{
		Bank: "Wema Bank", AccountNumber: "0123456789", AccountName: "Adire Concerts",
	})
	is.NoErr(err)

	h.sold, h.refunded = sell(2), sell(1)
	shop.Sell(t, h.event, "GENERAL_ADMISSION", 1)
	shop.Scan(t, h.event, h.sold.Lines[0].AdmissionID)
	shop.Scan(t, h.event, h.sold.Lines[0].AdmissionID) // ALREADY_VALIDATED
	h.rejected, err = shop.Staff.RequestSettlement(ctx, h.company)
	is.NoErr(err)
	h.restocked, h.cancelled = sell(3), sell(1)
	_, err = shop.Staff.RejectSettlement(ctx, h.rejected.ID, "the account is closed")
	is.NoErr(err)
	_, err = shop.Staff.RefundOrder(ctx, h.refunded.ID, ticketing.RefundParams{Reason: "the buyer is ill"})
	is.NoErr(err)
	_, err = shop.Staff.RefundOrder(ctx, h.restocked.ID, ticketing.RefundParams{Reason: "bought twice", Restock: true})
	is.NoErr(err)
	_, err = shop.Staff.CancelOrder(ctx, h.cancelled.ID, "stolen card")
	is.NoErr(err)
	h.paid, err = shop.Staff.RequestSettlement(ctx, h.company)
	is.NoErr(err)
	_, err = shop.Staff.ApproveSettlement(ctx, h.paid.ID)
	is.NoErr(err)
	sell(1)
	is.NoErr(shop.Staff.Ledger(ctx, h.company, "", func(e ticketing.LedgerEntry) error {
		switch {
		case e.Kind == ledger.CheckoutRefund && e.Reference == h.refunded.ID.String():
			h.refundedAt = e.Sequence
		case e.Kind == ledger.CommissionReversal && e.Reference == h.refunded.ID.String():
			h.reversedAt = e.Sequence
		case e.Kind == ledger.SettlementDebit && e.Reference == h.paid.ID.String():
			h.paidAt = e.Sequence
		}
		return nil
	}))
	return h
}

// alter writes into the books by hand, without the service.
func (h *history) alter(t *testing.T, fn func(ctx context.Context, tx driver.Tx) error) {
	t.Helper()
	is.New(t).NoErr(h.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{h.company}}); err != nil {
			return err
		}
		return fn(ctx, tx)
	}))
}

// move appends a movement by hand, correctly linked into the chain.
func (h *history) move(
	ref driver.WalletRef, kind ledger.Kind, amount money.Amount, reference string,
) func(context.Context, driver.Tx) error {
	return func(ctx context.Context, tx driver.Tx) error {
		wallets, err := tx.LockWallets(ctx, []driver.WalletRef{ref})
		if err != nil {
			return err
		}
		w := wallets[0].Wallet
		head := ledger.Head{
			CompanyID: w.CompanyID, Wallet: w.Kind, Sequence: w.Sequence, Balance: w.Balance, Hash: w.Hash, At: w.LastAt,
		}
		entry, head, err := head.Append(kind, amount, reference, h.Clock.Now())
		if err != nil {
			return err
		}
		w.Balance, w.Sequence, w.Hash, w.LastAt = head.Balance, head.Sequence, head.Hash, head.At
		return errors.Join(tx.AppendEntries(ctx, []ledger.Entry{entry}), tx.UpdateWallets(ctx, []driver.Wallet{w}))
	}
}

// number returns the number of an order.
func number(ctx context.Context, tx driver.Tx, company, id uuid.UUID) (driver.OrderNumber, error) {
	orders, err := tx.Orders(ctx, []driver.OrderRef{{CompanyID: company, ID: id}})
	if err != nil {
		return driver.OrderNumber{}, err
	}
	return driver.OrderNumber{CompanyID: company, Number: orders[0].Number}, nil
}

// wantTold checks that the problems of a report contain the given texts and no others.
func wantTold(t *testing.T, report ticketing.LedgerReport, want ...string) {
	t.Helper()
	is.New(t).Equal(report.OK, len(want) == 0)
	told := strings.Join(report.Problems, "\n")
	for _, text := range want {
		if !strings.Contains(told, text) {
			t.Errorf("no problem tells %q:\n%s", text, told)
		}
	}
	for _, problem := range report.Problems {
		known := false
		for _, text := range want {
			known = known || strings.Contains(problem, text)
		}
		if !known {
			t.Errorf("a problem too many: %q", problem)
		}
	}
}

func TestBooksThatHoldEverythingAreInOrder(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		h := newHistory(t, shop)
		var told [][2]int64
		report, err := shop.Staff.VerifyLedger(t.Context(), h.company, func(done, total int64) {
			told = append(told, [2]int64{done, total})
		})
		is.NoErr(err)
		wantTold(t, report)
		is.Equal(report.Wallets, 2)
		is.Equal(told[len(told)-1], [2]int64{report.Entries, report.Entries})
	})
}

// TestBooksOfAnyShapeAreReadWhole checks that books are read to their end. A read takes a limited number of movements,
// orders and lines at a time, so the books contain long stretches without an order, and orders with more lines than one
// read takes.
func TestBooksOfAnyShapeAreReadWhole(t *testing.T) {
	t.Parallel()
	race.Leave(t, "books that one goroutine writes")
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t).ID
		for range 3 {
			shop.Inventory(t, event, "VIP", 100, 1000)
		}
		h := &history{Shop: shop, company: shop.Company.ID}
		h.float = driver.WalletRef{CompanyID: h.company, Wallet: ledger.Float}
		fund := func(first, count int) {
			h.alter(t, func(ctx context.Context, tx driver.Tx) error { return fundByHand(ctx, tx, h, first, count) })
		}
		fund(0, 1201)
		for range 45 {
			shop.Sell(t, event, "VIP", 50)
		}
		fund(1201, 1100)
		shop.Sell(t, event, "VIP", 1)
		report, err := shop.Staff.VerifyLedger(t.Context(), h.company)
		is.NoErr(err)
		wantTold(t, report)
		is.Equal(report.Entries, int64(1+1201+45+1100+1+46))

		// Records that no movement leads to are found after the last movement, too.
		shop.BooksAreBroken()
		h.alter(t, func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendAdmissions(ctx, []driver.Admission{{
				CompanyID: h.company, OrderNumber: 1 << 40, Line: 1, ID: uuid.New(), LineID: uuid.New(), OrderID: uuid.New(),
				EventID: event, Tier: "VIP", Batch: 1, Title: "VIP", UnitPrice: 100,
			}})
		})
		report, err = shop.Staff.VerifyLedger(t.Context(), h.company)
		is.NoErr(err)
		wantTold(t, report, "there is no order 1099511627776", "2251 admissions count as sold, there are 2252")
	})
}

// fundByHand writes credits of one kobo to FLOAT.
func fundByHand(ctx context.Context, tx driver.Tx, h *history, first, count int) error {
	wallets, err := tx.LockWallets(ctx, []driver.WalletRef{h.float})
	if err != nil {
		return err
	}
	w := wallets[0].Wallet
	head := ledger.Head{
		CompanyID: w.CompanyID, Wallet: w.Kind, Sequence: w.Sequence, Balance: w.Balance, Hash: w.Hash, At: w.LastAt,
	}
	var entries []ledger.Entry
	for i := range count {
		reference := fmt.Sprintf("by-hand-%06d", first+i)
		entry, next, err := head.Append(ledger.FloatCredit, 1, reference, h.Clock.Now())
		if err != nil {
			return err
		}
		err = tx.AppendFloatCredit(ctx, driver.FloatCredit{
			CompanyID: h.company, Reference: reference, Amount: 1, Sequence: entry.Sequence,
		})
		if err != nil {
			return err
		}
		entries, head = append(entries, entry), next
	}
	w.Balance, w.Sequence, w.Hash, w.LastAt = head.Balance, head.Sequence, head.Hash, head.At
	return errors.Join(tx.AppendEntries(ctx, entries), tx.UpdateWallets(ctx, []driver.Wallet{w}))
}

// TestVerificationFindsWhatWasAlteredByHand checks that books that were altered by hand fail the verification (2.9,
// items 2 to 6).
func TestVerificationFindsWhatWasAlteredByHand(t *testing.T) {
	t.Parallel()
	type altered func(ctx context.Context, tx driver.Tx) error
	tests := []struct {
		name  string
		alter func(h *history) altered
		want  func(h *history) []string
	}{
		{
			name: "a refund twice",
			alter: func(h *history) altered {
				return h.move(h.float, ledger.CheckoutRefund, h.refunded.Gross, h.refunded.ID.String())
			},
			want: func(*history) []string {
				return []string{"no refund of an order of this gross has its reference"}
			},
		},
		{
			name: "a refund of an order that stands",
			alter: func(h *history) altered {
				return h.move(h.float, ledger.CheckoutRefund, h.sold.Gross, h.sold.ID.String())
			},
			want: func(*history) []string {
				return []string{"no refund of an order of this gross has its reference"}
			},
		},
		{
			name:  "a refund of nothing",
			alter: func(h *history) altered { return h.move(h.float, ledger.CheckoutRefund, 1, "nothing") },
			want: func(*history) []string {
				return []string{"no refund of an order of this gross has its reference"}
			},
		},
		{
			name: "a reversal of an order that stands",
			alter: func(h *history) altered {
				return h.move(h.earnings, ledger.CommissionReversal, 0, h.sold.ID.String())
			},
			want: func(*history) []string {
				return []string{"no refund of an order of this commission has its reference"}
			},
		},
		{
			name: "a refunded order without its movements",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					n, err := number(ctx, tx, h.company, h.sold.ID)
					if err != nil {
						return err
					}
					lines, err := tx.OrderLines(ctx, []driver.OrderNumber{n})
					if err != nil {
						return err
					}
					for i := range lines {
						lines[i].Voided = true
					}
					return errors.Join(
						tx.UpdateAdmissions(ctx, lines),
						tx.UpdateOrderStatus(ctx, n, ticketing.OrderRefunded),
						tx.AppendOrderEnding(ctx, driver.OrderEnding{
							CompanyID: h.company, Number: n.Number, OrderID: h.sold.ID, Status: ticketing.OrderRefunded,
							Reason: "by hand", FloatSequence: h.refundedAt, EarningsSequence: h.reversedAt, At: h.Clock.Now(),
						}),
					)
				}
			},
			want: func(h *history) []string {
				return []string{
					fmt.Sprintf("order %s: FLOAT has no CHECKOUT_REFUND %d of it", h.sold.ID, h.refundedAt),
					fmt.Sprintf("order %s: EARNINGS has no COMMISSION_REVERSAL %d of it", h.sold.ID, h.reversedAt),
				}
			},
		},
		{
			name: "a status that nothing led to",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					n, err := number(ctx, tx, h.company, h.cancelled.ID)
					if err != nil {
						return err
					}
					return tx.UpdateOrderStatus(ctx, n, ticketing.OrderRefunded)
				}
			},
			want: func(h *history) []string {
				return []string{fmt.Sprintf("order %s: it is REFUNDED, but its record says CANCELLED, of order %s",
					h.cancelled.ID, h.cancelled.ID)}
			},
		},
		{
			name: "an order that was ended and stands",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					n, err := number(ctx, tx, h.company, h.cancelled.ID)
					if err != nil {
						return err
					}
					return tx.UpdateOrderStatus(ctx, n, ticketing.OrderConfirmed)
				}
			},
			want: func(*history) []string {
				return []string{
					"it is CONFIRMED, but its record says CANCELLED", "it is CONFIRMED, but 1 of its admissions are void",
				}
			},
		},
		{
			name: "an ending without its order",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					return tx.AppendOrderEnding(ctx, driver.OrderEnding{
						CompanyID: h.company, Number: 1, OrderID: h.event, Status: ticketing.OrderCancelled, Reason: "by hand",
						At: h.Clock.Now(),
					})
				}
			},
			want: func(*history) []string { return []string{"it was cancelled or refunded, but there is no order 1"} },
		},
		{
			name: "an admission of a refunded order that validates again",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					locked, err := tx.LockAdmissions(ctx, []driver.AdmissionRef{
						{CompanyID: h.company, ID: h.refunded.Lines[0].AdmissionID},
					})
					if err != nil {
						return err
					}
					locked[0].Voided = false
					return tx.UpdateAdmissions(ctx, locked)
				}
			},
			want: func(h *history) []string {
				return []string{fmt.Sprintf("order %s: it is REFUNDED, but 1 of its admissions are not void", h.refunded.ID)}
			},
		},
		{
			name: "what was put back on sale twice",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					batches, err := tx.LockBatches(ctx, []driver.BatchRef{
						{CompanyID: h.company, EventID: h.event, Tier: "VIP", Position: 1},
					})
					if err != nil {
						return err
					}
					batches[0].Sold -= 3
					return tx.UpdateBatches(ctx, batches)
				}
			},
			want: func(*history) []string { return []string{`tier "VIP": 2 admissions count as sold, there are 5`} },
		},
		{
			name: "a settlement without its debit",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					return tx.CreateSettlement(ctx, driver.Settlement{
						CompanyID: h.company, Number: 99, ID: h.event, Amount: 1, Status: ticketing.SettlementPending, BankAccount: 1,
						RequestedAt: h.Clock.Now(),
					})
				}
			},
			want: func(h *history) []string {
				return []string{fmt.Sprintf("settlement %s: EARNINGS has no debit 99", h.event)}
			},
		},
		{
			name: "a debit without its settlement",
			alter: func(h *history) altered {
				return h.move(h.earnings, ledger.SettlementDebit, -250_00, h.event.String())
			},
			want: func(*history) []string { return []string{"there is no settlement of this number"} },
		},
		{
			name: "a debit of a part",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					wallets, err := tx.Wallets(ctx, []driver.WalletRef{h.earnings})
					if err != nil {
						return err
					}
					err = tx.CreateSettlement(ctx, driver.Settlement{
						CompanyID: h.company, Number: wallets[0].Sequence + 1, ID: h.event, Amount: 1, BankAccount: 1,
						Status: ticketing.SettlementPending, RequestedAt: h.Clock.Now(),
					})
					if err != nil {
						return err
					}
					return h.move(h.earnings, ledger.SettlementDebit, -1, h.event.String())(ctx, tx)
				}
			},
			want: func(*history) []string { return []string{"does not take all that EARNINGS held"} },
		},
		{
			name: "a rejected settlement that was given back twice",
			alter: func(h *history) altered {
				return h.move(h.earnings, ledger.SettlementRefund, h.rejected.Amount, h.rejected.ID.String())
			},
			want: func(*history) []string {
				return []string{"no rejected settlement of this amount has its reference"}
			},
		},
		{
			name: "a settlement that was decided at another time than it was given back",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					of, err := tx.LockSettlement(ctx, driver.SettlementRef{CompanyID: h.company, ID: h.rejected.ID})
					if err != nil {
						return err
					}
					of.DecidedAt = of.DecidedAt.Add(time.Second)
					return tx.UpdateSettlement(ctx, of)
				}
			},
			want: func(*history) []string {
				return []string{"no rejected settlement of this amount has its reference"}
			},
		},
		{
			name: "a settlement that was requested at another time than its debit",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					wallets, err := tx.Wallets(ctx, []driver.WalletRef{h.earnings})
					if err != nil {
						return err
					}
					amount := wallets[0].Balance
					err = tx.CreateSettlement(ctx, driver.Settlement{
						CompanyID: h.company, Number: wallets[0].Sequence + 1, ID: h.event, Amount: amount, BankAccount: 1,
						Status: ticketing.SettlementPending, RequestedAt: h.Clock.Now().Add(time.Second),
					})
					if err != nil {
						return err
					}
					return h.move(h.earnings, ledger.SettlementDebit, -amount, h.event.String())(ctx, tx)
				}
			},
			want: func(*history) []string { return []string{"differs in settlement, amount or time"} },
		},
		{
			name: "a rate that was not in force",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					rates, err := tx.ListRates(ctx, h.company, 1)
					if err != nil {
						return err
					}
					later := rates[0]
					later.ID, later.Position, later.Rate = uuid.New(), later.Position+1, money.Rate{}
					later.EffectiveFrom = later.EffectiveFrom.Add(time.Hour)
					later.CreatedAt = later.CreatedAt.Add(-48 * time.Hour)
					return tx.AppendRate(ctx, later)
				}
			},
			want: func(*history) []string { return []string{"its rate of 2.5 PERCENT was not in force"} },
		},
		{
			name: "a paid settlement that was given back",
			alter: func(h *history) altered {
				return h.move(h.earnings, ledger.SettlementRefund, h.paid.Amount, h.paid.ID.String())
			},
			want: func(*history) []string {
				return []string{"no rejected settlement of this amount has its reference"}
			},
		},
		{
			name: "a rejected settlement that was not given back",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					of, err := tx.LockSettlement(ctx, driver.SettlementRef{CompanyID: h.company, ID: h.paid.ID})
					if err != nil {
						return err
					}
					of.Status, of.RefundSequence = ticketing.SettlementRejected, h.paidAt+1
					return tx.UpdateSettlement(ctx, of)
				}
			},
			want: func(h *history) []string {
				return []string{fmt.Sprintf("settlement %s: EARNINGS has no SETTLEMENT_REFUND %d of it", h.paid.ID, h.paidAt+1)}
			},
		},
		{
			name: "a rejected settlement that tells it was paid",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					of, err := tx.LockSettlement(ctx, driver.SettlementRef{CompanyID: h.company, ID: h.rejected.ID})
					if err != nil {
						return err
					}
					of.Status, of.RefundSequence = ticketing.SettlementCompleted, 0
					return tx.UpdateSettlement(ctx, of)
				}
			},
			want: func(*history) []string {
				return []string{"no rejected settlement of this amount has its reference"}
			},
		},
		{
			name: "an admission that two validations admitted",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					return tx.AppendResults(ctx, []driver.IdempotencyResult{{
						IdempotencyKey: driver.IdempotencyKey{
							CompanyID: h.company, Operation: "admissions.validate", Key: "by-hand-0001",
						},
						Digest: "v1.abc", Outcome: string(ticketing.OutcomeAdmitted), Subject: h.sold.Lines[0].AdmissionID,
						CreatedAt: h.Clock.Now(),
					}})
				}
			},
			want: func(h *history) []string {
				return []string{fmt.Sprintf("admission %s: more than one validation admitted it", h.sold.Lines[0].AdmissionID)}
			},
		},
		{
			name: "a validation that was forgotten",
			alter: func(h *history) altered {
				return func(ctx context.Context, tx driver.Tx) error {
					locked, err := tx.LockAdmissions(ctx, []driver.AdmissionRef{
						{CompanyID: h.company, ID: h.sold.Lines[0].AdmissionID},
					})
					if err != nil {
						return err
					}
					locked[0].ValidationID, locked[0].ValidatedAt, locked[0].Location = uuid.Nil, time.Time{}, ""
					return tx.UpdateAdmissions(ctx, locked)
				}
			},
			want: func(*history) []string {
				return []string{
					"a validation admitted it, but it is not validated",
					"the outbox has a fact of its validation, but it is not validated",
				}
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
				is := is.New(t)
				shop.BooksAreBroken()
				h := newHistory(t, shop)
				h.alter(t, test.alter(h))
				report, err := shop.Staff.VerifyLedger(t.Context(), h.company)
				is.NoErr(err)
				wantTold(t, report, test.want(h)...)
			})
		})
	}
}

// TestVerificationComparesOrdersWithTheirKeys checks that an order that was removed by hand, with all its movements,
// leaves the idempotency key of its checkout, and that an order that was written by hand has none.
func TestVerificationComparesOrdersWithTheirKeys(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		e.broken = true
		company, other := e.verified(t), e.verified(t)
		order := uuid.New()
		spend := func(company uuid.UUID, key string, order uuid.UUID) {
			e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
				spent := spentOn(driver.Order{CompanyID: company, ID: order, CreatedAt: opening})
				spent.Key = key
				return tx.AppendResults(ctx, []driver.IdempotencyResult{spent})
			})
		}
		spend(company, "by-hand-0001", order)
		wantProblems(t, e, company, []string{
			fmt.Sprintf("order %s: the key of its checkout is spent, but the order does not exist", order),
		})
		e.credit(t, other, 1000_00, "PSK-0001")
		var sold uuid.UUID
		e.sell(t, other, func(r *records) { sold = r.orders[0].ID })
		spend(other, "by-hand-0001", sold)
		wantProblems(t, e, other, []string{fmt.Sprintf("order %s: 2 spent keys of checkouts name it", sold)})
		third := e.verified(t)
		e.credit(t, third, 1000_00, "PSK-0001")
		e.sell(t, third, func(r *records) {
			sold = uuid.New()
			r.orders[0].ID, r.admissions[0].OrderID = sold, sold
			for _, e := range []*ledger.Entry{&r.debits[0], &r.accruals[0]} {
				e.Reference = sold.String()
				e.Hash = e.Sum()
			}
		})
		wantProblems(t, e, third, []string{
			fmt.Sprintf("order %s: no spent key of a checkout names it", sold),
			"the key of its checkout is spent, but the order does not exist",
		})
	})
}

func TestVerificationFindsRecordsOfNoCompany(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		e.broken = true
		company, stray := e.verified(t), uuid.New()
		e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendOrders(ctx, []driver.Order{{
				CompanyID: stray, Number: 1, ID: uuid.New(), EventID: uuid.New(), Status: ticketing.OrderConfirmed,
				ConfirmedAt: opening, CreatedAt: opening,
			}})
		})
		wantProblems(t, e, uuid.Nil, []string{fmt.Sprintf("company %s has records, but does not exist", stray)})
		wantProblems(t, e, company, nil)
	})
}

// TestVerificationHoldsLittleMemory checks that books of any length are verified in the same memory, measured by the
// live heap after a collection during the verification. No other test runs in parallel, so the live heap is that of
// this verification.
func TestVerificationHoldsLittleMemory(t *testing.T) { //nolint:paralleltest // See above.
	race.Leave(t, "long books: it needs memory itself")
	if testing.Short() {
		t.Skip("-short leaves long books out")
	}
	const most, movements = 4 << 20, 30_000 // The movements alone would take twice as much.
	is := is.New(t)
	for _, store := range stores() {
		if store.Name != "sqlite" {
			continue
		}
		shop := openShop(t, store, &ticketingtest.Config{Float: money.MaxInput})
		fillBooks(t, shop, movements)
		living := func() uint64 {
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			return stats.HeapAlloc
		}
		before, peak, calls := living(), uint64(0), 0
		report, err := shop.Staff.VerifyLedger(t.Context(), shop.Company.ID, func(int64, int64) {
			if calls++; calls%20 == 0 {
				peak = max(peak, living())
			}
		})
		is.NoErr(err)
		is.Equal(report.Problems, []string{})
		is.True(report.Entries >= int64(movements-1))
		is.True(calls >= movements/500)
		if peak > before+most {
			t.Errorf("%d bytes live, %d before", peak, before)
		}
		t.Logf("%d bytes more at most", int64(peak)-int64(before))
	}
}

func TestTheLedgerIsExportedAndVerifiedWithoutTheStore(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		var none, first, again, later bytes.Buffer
		_, err := shop.Neighbour(t).Staff.ExportLedger(t.Context(), shop.Company.ID, &none)
		is.NoErr(err)
		h := newHistory(t, shop)
		told := int64(0)
		signed, err := shop.Staff.ExportLedger(t.Context(), h.company, &first, func(done, total int64) {
			is.True(done <= total)
			told = done
		})
		is.NoErr(err)
		is.Equal(told, signed.Entries)
		_, err = shop.Reopen(t).Staff.ExportLedger(t.Context(), h.company, &again)
		is.NoErr(err)
		is.Equal(again.String(), first.String()) // The same books give the same bytes.
		shop.Sell(t, h.event, "VIP", 1)
		_, err = shop.Staff.ExportLedger(t.Context(), h.company, &later)
		is.NoErr(err)

		keys := shop.LedgerKeys()
		is.Equal(len(keys), 1)
		verify := func(text string, against *ledger.SignedHeads) ledger.BundleReport {
			report, err := ledger.BundleCheck{Keys: keys, Against: against}.Verify(strings.NewReader(text))
			is.NoErr(err)
			is.Equal(report.Problems, []string{})
			return report
		}
		before, now := verify(none.String(), nil), verify(first.String(), nil)
		is.Equal(before.Entries, int64(1))
		books, err := shop.Staff.VerifyLedger(t.Context(), h.company)
		is.NoErr(err)
		is.Equal(verify(later.String(), nil).Entries, books.Entries)
		is.Equal(*now.Signed, signed)
		verify(first.String(), before.Signed)
		verify(later.String(), now.Signed)
		for _, secret := range []string{"ada@example.com", "0123456789"} {
			is.True(!strings.Contains(later.String(), secret))
		}

		_, err = shop.Staff.ExportLedger(t.Context(), uuid.New(), &none)
		is.Equal(code(err), ticketing.CodeNotFound)
		full := errors.New("no space left")
		_, err = shop.Staff.ExportLedger(t.Context(), h.company, failing{full})
		is.True(errors.Is(err, full))
	})
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestABrokenLedgerIsNotExported checks that books that are not in order are not signed.
func TestABrokenLedgerIsNotExported(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		shop.BooksAreBroken()
		h := newHistory(t, shop)
		h.alter(t, func(ctx context.Context, tx driver.Tx) error {
			wallets, err := tx.LockWallets(ctx, []driver.WalletRef{h.earnings})
			if err != nil {
				return err
			}
			wallets[0].Balance++
			return tx.UpdateWallets(ctx, []driver.Wallet{wallets[0].Wallet})
		})
		var out bytes.Buffer
		_, err := shop.Staff.ExportLedger(t.Context(), h.company, &out)
		is.True(errors.Is(err, ticketing.ErrLedgerBroken))
		report, err := ledger.BundleCheck{Keys: shop.LedgerKeys()}.Verify(&out)
		is.NoErr(err)
		is.True(!report.OK())
	})
}

// TestTheFirstSecretSigns checks that the first of several master secrets signs. The keys of the others are still
// listed, for what they have signed.
func TestTheFirstSecretSigns(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	e := newEnv(t, stores()[0].Open(t))
	company := e.verified(t)
	both := e.service(t, secretKey('b'), secretKey('a'))
	keys := both.LedgerKeys()
	is.Equal(keys[1:], e.LedgerKeys())
	is.True(!keys[0].Equal(keys[1]))
	var out bytes.Buffer
	_, err := both.As(ticketing.Staff("test")).ExportLedger(t.Context(), company, &out)
	is.NoErr(err)
	for i, ok := range []bool{true, false} {
		report, err := ledger.BundleCheck{Keys: []ed25519.PublicKey{keys[i]}}.Verify(bytes.NewReader(out.Bytes()))
		is.NoErr(err)
		is.Equal(report.OK(), ok)
	}
	is.True(!strings.Contains(fmt.Sprintf("%#v %+v", both, both), string(secretKey('b')))) // Package fmt prints no secret.
}

func TestStatementShowsAPeriod(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		h := newHistory(t, shop)
		begun := ticketingtest.Opening
		statement := func(from, to time.Time) []ticketing.StatementLine {
			var lines []ticketing.StatementLine
			is.NoErr(shop.Staff.Statement(t.Context(), h.company, ticketing.Period{
				From: from, To: to,
			}, func(line ticketing.StatementLine) error {
				lines = append(lines, line)
				return nil
			}))
			return lines
		}
		tell := func(lines []ticketing.StatementLine) []string {
			var told []string
			for _, l := range lines {
				text := fmt.Sprintf("%s %s %s %s", l.Type, l.Wallet, l.At.Sub(begun), l.Balance)
				if l.Type == ticketing.StatementMovement {
					text += fmt.Sprintf(" %d %s %s %s", *l.Sequence, *l.Kind, *l.Amount, *l.BalanceBefore)
				}
				told = append(told, text)
			}
			return told
		}
		// The first order is at second 1. The second order and the free one are at second 2.
		is.Equal(tell(statement(begun.Add(time.Second), begun.Add(2*time.Second))), []string{
			"OPENING FLOAT 1s 1000000.00",
			"MOVEMENT FLOAT 1s 980000.00 2 CHECKOUT_DEBIT -20000.00 1000000.00",
			"CLOSING FLOAT 2s 980000.00",
			"OPENING EARNINGS 1s 0.00",
			"MOVEMENT EARNINGS 1s 500.00 1 COMMISSION_ACCRUAL 500.00 0.00",
			"CLOSING EARNINGS 2s 500.00",
		})
		is.Equal(tell(statement(begun.Add(time.Second+time.Millisecond), begun.Add(2*time.Second))), []string{
			"OPENING FLOAT 1.001s 980000.00", "CLOSING FLOAT 2s 980000.00",
			"OPENING EARNINGS 1.001s 500.00", "CLOSING EARNINGS 2s 500.00",
		})
		all := statement(time.Time{}, time.Time{})
		is.Equal(all[0].At.Time, begun)
		report, err := shop.Staff.VerifyLedger(t.Context(), h.company)
		is.NoErr(err)
		is.Equal(int64(len(all)), report.Entries+4)
		wallets := shop.Wallets(t)
		is.Equal(all[len(all)-1].Balance, wallets.Earnings)
		for i, line := range all { // Each balance follows from the one before.
			if line.Type == ticketing.StatementMovement {
				is.Equal(*line.BalanceBefore, all[i-1].Balance)
				is.Equal(line.Balance, all[i-1].Balance+*line.Amount)
			}
		}
		// Consecutive periods contain every movement exactly once.
		var parts []string
		for from := begun; from.Before(begun.Add(10 * time.Second)); from = from.Add(700 * time.Millisecond) {
			for _, line := range statement(from, from.Add(700*time.Millisecond)) {
				if line.Type == ticketing.StatementMovement {
					parts = append(parts, fmt.Sprint(line.Wallet, *line.Sequence))
				}
			}
		}
		is.Equal(int64(len(parts)), report.Entries)

		text, err := json.Marshal(all[:2])
		is.NoErr(err)
		is.Equal(string(text), `[{"type":"OPENING","wallet":"FLOAT","at":"2026-11-21T09:30:00.000Z","seq":null,"kind":null,`+
			`"amount":null,"balanceBefore":null,"balance":{"amount":"0.00","currency":"NGN"},"reference":null},`+
			`{"type":"MOVEMENT","wallet":"FLOAT","at":"2026-11-21T09:30:00.000Z","seq":1,"kind":"FLOAT_CREDIT",`+
			`"amount":{"amount":"1000000.00","currency":"NGN"},"balanceBefore":{"amount":"0.00","currency":"NGN"},`+
			`"balance":{"amount":"1000000.00","currency":"NGN"},"reference":"`+*all[1].Reference+`"}]`)
		enough := errors.New("enough")
		none := func(ticketing.StatementLine) error { return enough }
		is.Equal(shop.Staff.Statement(t.Context(), h.company, ticketing.Period{}, none), enough)
		err = shop.Staff.Statement(t.Context(), h.company, ticketing.Period{From: begun, To: begun}, none)
		is.Equal(said(err), "from: must be before the end of the period")
		err = shop.Staff.Statement(t.Context(), h.company, ticketing.Period{To: begun.Add(-time.Hour)}, none)
		is.Equal(said(err), "to: must be after the creation of the company")
		is.Equal(code(shop.Staff.Statement(t.Context(), uuid.New(), ticketing.Period{
			From: begun, To: begun,
		}, none)), ticketing.CodeNotFound)
	})
}

// TestTheDashboardShowsALowBalance checks that the dashboard's flag is true only while FLOAT is strictly below 1000.00
// (2.9, item 4).
func TestTheDashboardShowsALowBalance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		price money.Amount
		low   bool
	}{{999_99, false}, {1000_00, false}, {1000_01, true}} {
		t.Run(test.price.String(), func(t *testing.T) {
			t.Parallel()
			onShops(t, &ticketingtest.Config{Float: 2000_00}, func(t *testing.T, shop *ticketingtest.Shop) {
				is := is.New(t)
				event := shop.Event(t).ID
				shop.Inventory(t, event, "VIP", test.price, 1)
				order := shop.Sell(t, event, "VIP", 1)
				shown, err := shop.Staff.Dashboard(t.Context(), shop.Company.ID)
				is.NoErr(err)
				is.Equal(shown.Wallets, shop.Wallets(t))
				is.Equal(shown.LowBalance, test.low)
				is.Equal(shown.Float, 2000_00-test.price)
				var told []string
				for _, m := range shown.Movements {
					told = append(told, fmt.Sprintf("%s %d %s", m.Wallet, m.Sequence, m.Kind))
				}
				is.Equal(told, []string{"EARNINGS 1 COMMISSION_ACCRUAL", "FLOAT 2 CHECKOUT_DEBIT", "FLOAT 1 FLOAT_CREDIT"})
				is.Equal(shown.Movements[1].Reference, order.ID.String())
				if test.low {
					shop.Credit(t, 1)
					shown, err = shop.Staff.Dashboard(t.Context(), shop.Company.ID)
					is.NoErr(err)
					is.True(!shown.LowBalance) // It was credited up to the threshold.
				}
			})
		})
	}
}

func TestTheDashboardShowsTheLatestMovements(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t).ID
		shop.Inventory(t, event, "VIP", 100, 100)
		for range 25 {
			shop.Clock.Advance(time.Second)
			shop.Sell(t, event, "VIP", 1)
		}
		shown, err := shop.Staff.Dashboard(t.Context(), shop.Company.ID)
		is.NoErr(err)
		is.Equal(len(shown.Movements), 20)
		for i, m := range shown.Movements {
			is.Equal(m.Wallet, []ledger.Wallet{ledger.Earnings, ledger.Float}[i%2])
			is.Equal(m.CreatedAt.Time, shop.Clock.Now().Add(-time.Duration(i/2)*time.Second))
		}
		fresh, err := shop.Staff.CreateCompany(t.Context(), "Bogolan Nights")
		is.NoErr(err)
		shown, err = shop.Staff.Dashboard(t.Context(), fresh.ID)
		is.NoErr(err)
		is.Equal(shown.Movements, []ticketing.LedgerEntry{})
	})
}
