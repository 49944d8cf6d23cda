package ticketing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// records are the records that one sale leaves in the books.
type records struct {
	orders     []driver.Order
	admissions []driver.Admission
	debits     []ledger.Entry
	accruals   []ledger.Entry
	facts      func(driver.Order) []driver.Fact // replaces the sale's own facts; nil keeps them
}

// sell writes the records of a sale of 10.00 with a commission of 0.25, after spoil has changed them.
func (e *env) sell(tb testing.TB, companyID uuid.UUID, spoil func(r *records)) {
	tb.Helper()
	e.write(tb, companyID, func(ctx context.Context, tx driver.Tx) error {
		return e.writeSale(ctx, tb, tx, companyID, spoil)
	})
}

func (e *env) writeSale(
	ctx context.Context, tb testing.TB, tx driver.Tx, companyID uuid.UUID, spoil func(r *records),
) error {
	tb.Helper()
	if err := writeStock(ctx, tb, tx, companyID); err != nil {
		return err
	}
	wallets, err := tx.LockWallets(ctx, []driver.WalletRef{
		{CompanyID: companyID, Wallet: ledger.Float}, {CompanyID: companyID, Wallet: ledger.Earnings},
	})
	if err != nil {
		return err
	}
	order := driver.Order{
		CompanyID: companyID, Number: wallets[0].Sequence + 1, ID: uuid.New(), EventID: companyID,
		Status: ticketing.OrderConfirmed, Gross: 1000, Commission: 25, RateID: companyID, Branding: 1,
		FloatBefore: wallets[0].Balance, EarningsBefore: wallets[1].Balance, BuyerEmail: "ada@example.com",
		ConfirmedAt: e.clock.now(), CreatedAt: e.clock.now(),
	}
	admission := driver.Admission{
		CompanyID: companyID, OrderNumber: order.Number, Line: 1, ID: uuid.New(), LineID: uuid.New(), OrderID: order.ID,
		EventID: companyID, Tier: "VIP", Batch: 1, Title: "VIP", UnitPrice: 1000,
	}
	debit := entryAfter(tb, wallets[0], ledger.CheckoutDebit, -1000, order.ID.String(), order.CreatedAt)
	accrual := entryAfter(tb, wallets[1], ledger.CommissionAccrual, 25, order.ID.String(), order.CreatedAt)
	sale := records{
		orders: []driver.Order{order}, admissions: []driver.Admission{admission},
		debits: []ledger.Entry{debit}, accruals: []ledger.Entry{accrual},
	}
	if spoil != nil {
		spoil(&sale)
	}
	for i, entries := range [][]ledger.Entry{sale.debits, sale.accruals} {
		if err := tx.AppendEntries(ctx, entries); err != nil {
			return err
		}
		for _, entry := range entries {
			w := &wallets[i].Wallet
			w.Sequence, w.Balance, w.Hash, w.LastAt = entry.Sequence, entry.After, entry.Hash, entry.At
		}
	}
	if err := tx.UpdateWallets(ctx, []driver.Wallet{wallets[0].Wallet, wallets[1].Wallet}); err != nil {
		return err
	}
	if err := tx.AppendAdmissions(ctx, sale.admissions); err != nil {
		return err
	}
	if err := tx.AppendResults(ctx, []driver.IdempotencyResult{spentOn(order)}); err != nil {
		return err
	}
	facts := factsOf(sale.orders)
	if sale.facts != nil {
		facts = sale.facts(order)
	}
	if err := tx.AppendFacts(ctx, facts); err != nil {
		return err
	}
	return tx.AppendOrders(ctx, sale.orders)
}

// factsOf returns the outbox records of sales.
func factsOf(orders []driver.Order) []driver.Fact {
	facts := make([]driver.Fact, len(orders))
	for i, order := range orders {
		kind := driver.FactSale
		if order.FloatBefore >= ticketing.LowBalance && order.FloatBefore-order.Gross < ticketing.LowBalance {
			kind = driver.FactSaleLow
		}
		facts[i] = driver.Fact{
			CompanyID: order.CompanyID, At: order.ConfirmedAt, ID: uuid.New(), Type: kind, Subject: order.ID,
		}
	}
	return facts
}

// spentOn returns the idempotency key of an order's checkout.
func spentOn(order driver.Order) driver.IdempotencyResult {
	return driver.IdempotencyResult{
		IdempotencyKey: driver.IdempotencyKey{
			CompanyID: order.CompanyID, Operation: "checkouts.create", Key: order.ID.String(),
		},
		Digest: "v1.abc", Subject: order.ID, CreatedAt: order.CreatedAt,
	}
}

// writeStock adds a sold admission to a company's event. It creates the event, its one batch and a rate of 250 basis
// points if they do not exist. The event and the rate have the company's id.
func writeStock(ctx context.Context, tb testing.TB, tx driver.Tx, companyID uuid.UUID) error {
	tb.Helper()
	event := driver.EventRef{CompanyID: companyID, ID: companyID}
	batches, err := tx.LockBatches(ctx, []driver.BatchRef{
		{CompanyID: companyID, EventID: companyID, Tier: "VIP", Position: 1},
	})
	if err != nil {
		return err
	}
	batch := batches[0]
	if batch.Position == 0 {
		batch = driver.Batch{
			CompanyID: companyID, EventID: companyID, Tier: "VIP", Position: 1, Title: "VIP", UnitPrice: 1000,
			Status: ticketing.InventoryAvailable, CreatedAt: opening,
		}
		err = errors.Join(
			tx.CreateEvent(ctx, driver.Event{
				CompanyID: companyID, ID: companyID, Title: "Adire Live", Status: ticketing.EventPublished, Date: "2026-12-24",
				StartsAt: "20:00", EndsAt: "23:00", Timezone: "Africa/Lagos", CreatedAt: opening, UpdatedAt: opening,
			}),
			tx.AppendRate(ctx, driver.Rate{
				CompanyID: companyID, ID: companyID, Position: 1, Rate: basisPoints(tb, "250"),
				EffectiveFrom: opening, CreatedAt: opening,
			}),
		)
		if err != nil {
			return err
		}
	}
	tier, err := tx.LockTier(ctx, event, "VIP")
	if err != nil {
		return err
	}
	created := batch.Quantity == 0
	tier.Batches, tier.Total = 1, tier.Total+1
	batch.Quantity, batch.Sold = batch.Quantity+1, batch.Sold+1
	if err := tx.UpdateTiers(ctx, []driver.Tier{tier}); err != nil {
		return err
	}
	if created {
		return tx.CreateBatch(ctx, batch)
	}
	return tx.UpdateBatches(ctx, []driver.Batch{batch})
}

func basisPoints(tb testing.TB, value string) money.Rate {
	tb.Helper()
	rate, err := money.ParseRate(value, money.BasisPoints)
	is.New(tb).NoErr(err)
	return rate
}

func entryAfter(
	tb testing.TB, w driver.LockedWallet, kind ledger.Kind, amount money.Amount, reference string, at time.Time,
) ledger.Entry {
	tb.Helper()
	head := ledger.Head{
		CompanyID: w.CompanyID, Wallet: w.Kind, Sequence: w.Sequence, Balance: w.Balance, Hash: w.Hash, At: w.LastAt,
	}
	entry, _, err := head.Append(kind, amount, reference, at)
	is.New(tb).NoErr(err)
	return entry
}

func entries(tb testing.TB, e *env, company uuid.UUID, wallet ledger.Wallet) []ticketing.LedgerEntry {
	tb.Helper()
	var all []ticketing.LedgerEntry
	is.New(tb).NoErr(e.staff.Ledger(tb.Context(), company, wallet, func(entry ticketing.LedgerEntry) error {
		all = append(all, entry)
		return nil
	}))
	return all
}

func TestTheLedgerIsReadOldestFirst(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.verified(t), e.verified(t)
		is.Equal(len(entries(t, e, company, "")), 0)
		e.credit(t, company, 100_00, "PSK-0001")
		e.credit(t, other, 100_00, "PSK-0001")
		e.clock.advance(time.Second)
		e.sell(t, company, nil)
		e.sell(t, company, nil)

		all := entries(t, e, company, "")
		var told []string
		for _, entry := range all {
			told = append(told,
				fmt.Sprintf("%s %d %s %s %s", entry.Wallet, entry.Sequence, entry.Kind, entry.Amount, entry.BalanceAfter))
		}
		is.Equal(told, []string{
			"FLOAT 1 FLOAT_CREDIT 100.00 100.00", "FLOAT 2 CHECKOUT_DEBIT -10.00 90.00", "FLOAT 3 CHECKOUT_DEBIT -10.00 80.00",
			"EARNINGS 1 COMMISSION_ACCRUAL 0.25 0.25", "EARNINGS 2 COMMISSION_ACCRUAL 0.25 0.50",
		})
		is.Equal(entries(t, e, company, ledger.Float), all[:3])
		is.Equal(entries(t, e, company, ledger.Earnings), all[3:])
		one, err := json.Marshal(all[1])
		is.NoErr(err)
		is.Equal(string(one), `{"seq":2,"wallet":"FLOAT","kind":"CHECKOUT_DEBIT",`+
			`"amount":{"amount":"-10.00","currency":"NGN"},"balanceBefore":{"amount":"100.00","currency":"NGN"},`+
			`"balanceAfter":{"amount":"90.00","currency":"NGN"},"reference":"`+all[1].Reference+
			`","createdAt":"2026-11-21T09:30:01.000Z"}`)
	})
}

func TestReadingTheLedgerEndsWhereItsReaderEnds(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		e.credit(t, company, 1, "PSK-0001")
		e.credit(t, company, 1, "PSK-0002")
		enough := errors.New("enough")
		seen := 0
		err := e.staff.Ledger(t.Context(), company, "", func(ticketing.LedgerEntry) error {
			seen++
			return enough
		})
		is.Equal(err, enough)
		is.Equal(seen, 1)
		err = e.staff.Ledger(t.Context(), company, "SAVINGS", func(ticketing.LedgerEntry) error { return nil })
		is.Equal(said(err), "wallet: must be FLOAT or EARNINGS")
		err = e.staff.Ledger(t.Context(), uuid.New(), "", func(ticketing.LedgerEntry) error { return nil })
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

// TestLongBooksAreReadWhole checks books of more entries than one read takes, which is 1,000, on both sides of a page's
// border. Each page after the first is read by the same statement, so the SQL stores read one.
func TestLongBooksAreReadWhole(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1000, 1001, 2003} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			read := func(t *testing.T, e *env) {
				t.Helper()
				is := is.New(t)
				company := e.verified(t)
				e.credit(t, company, 1000_000_00, "PSK-0001")
				const together = 250 // On busy cores all of them take longer than a transaction may.
				for sold := 0; sold < count-1; sold += together {
					e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
						for range min(together, count-1-sold) {
							if err := e.writeSale(ctx, t, tx, company, nil); err != nil {
								return err
							}
						}
						return nil
					})
				}
				is.Equal(len(entries(t, e, company, ledger.Float)), count)
				is.Equal(len(entries(t, e, company, ledger.Earnings)), count-1)
				report, err := e.staff.VerifyLedger(t.Context(), company)
				is.NoErr(err)
				is.Equal(report, ticketing.LedgerReport{
					OK: true, Wallets: 2, Entries: int64(2*count - 1), Problems: []string{},
				})
			}
			if count == 1001 {
				onEnvs(t, read)
				return
			}
			for _, store := range inMemory() {
				t.Run(store.Name, func(t *testing.T) {
					t.Parallel()
					read(t, newEnv(t, store.Open(t)))
				})
			}
		})
	}
}

func TestVerificationFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	rehash := func(e *ledger.Entry) { e.Hash = e.Sum() }
	tests := []struct {
		name  string
		spoil func(r *records)
		// want has a text for each problem.
		want []string
	}{
		{name: "nothing wrong"},
		{
			name:  "order missing",
			spoil: func(r *records) { r.orders = nil },
			want: []string{
				"FLOAT 3: there is no order of this number", "EARNINGS 2: no order accrues it in this place",
				"there is no order 3", "the key of its checkout is spent, but the order does not exist",
			},
		},
		{
			name:  "order of another gross",
			spoil: func(r *records) { r.orders[0].Gross++ },
			want: []string{
				"debit 3 in FLOAT differs in order, amount or balance", "its lines add up to 10.00, its gross is 10.01",
			},
		},
		{
			name:  "order of another commission",
			spoil: func(r *records) { r.orders[0].Commission-- },
			want: []string{
				"accrual 2 in EARNINGS differs in amount or balance",
				"its commission is 0.24, but its rate of 250 BASIS_POINTS gives 0.25 for its gross of 10.00",
			},
		},
		{
			name:  "order that tells another FLOAT balance",
			spoil: func(r *records) { r.orders[0].FloatBefore-- },
			want:  []string{"debit 3 in FLOAT differs in order, amount or balance"},
		},
		{
			name:  "order that tells another EARNINGS balance",
			spoil: func(r *records) { r.orders[0].EarningsBefore++ },
			want:  []string{"accrual 2 in EARNINGS differs in amount or balance"},
		},
		{
			name:  "order created at another time",
			spoil: func(r *records) { r.orders[0].CreatedAt = opening.Add(time.Second) },
			want:  []string{"debit 3 in FLOAT was made at another time"},
		},
		{
			name:  "order confirmed at another time",
			spoil: func(r *records) { r.orders[0].ConfirmedAt = opening.Add(time.Second) },
			want:  []string{"debit 3 in FLOAT was made at another time", "accrual 2 in EARNINGS was made at another time"},
		},
		{
			name:  "debit missing",
			spoil: func(r *records) { r.debits = nil; r.orders[0].Number, r.admissions[0].OrderNumber = 9, 9 },
			want: []string{
				"FLOAT has no debit 9", "EARNINGS 2: no order accrues it in this place",
			},
		},
		{
			name:  "debit changed",
			spoil: func(r *records) { r.debits[0].Reference = uuid.NewString() },
			want:  []string{"hash is", "debit 3 in FLOAT differs in order, amount or balance"},
		},
		{
			name:  "debit for another order",
			spoil: func(r *records) { r.debits[0].Reference = uuid.NewString(); rehash(&r.debits[0]) },
			want:  []string{"debit 3 in FLOAT differs in order, amount or balance"},
		},
		{
			name:  "debit of another kind",
			spoil: func(r *records) { r.debits[0].Kind = "GIFT"; rehash(&r.debits[0]) },
			want: []string{
				"FLOAT 3: FLOAT has no movements of its kind", "EARNINGS 2: no order accrues it in this place",
			},
		},
		{
			name: "funding without its reference",
			spoil: func(r *records) {
				r.orders, r.accruals = nil, nil
				r.debits[0].Kind = ledger.FloatCredit
				rehash(&r.debits[0])
			},
			want: []string{
				"FLOAT 3: no funding of this amount has its reference", "there is no order 3",
				"the key of its checkout is spent, but the order does not exist",
			},
		},
		{
			name: "funding twice under one reference",
			spoil: func(r *records) {
				r.orders, r.accruals = nil, nil
				e := &r.debits[0]
				e.Kind, e.Reference, e.Amount, e.After = ledger.FloatCredit, "PSK-0001", 1000_00, e.Before+1000_00
				rehash(e)
			},
			want: []string{
				"FLOAT 3: no funding of this amount has its reference", "there is no order 3",
				"the key of its checkout is spent, but the order does not exist",
			},
		},
		{
			name:  "accrual missing",
			spoil: func(r *records) { r.accruals = nil },
			want:  []string{"EARNINGS has no accrual in its place"},
		},
		{
			name: "accrual twice",
			spoil: func(r *records) {
				first := r.accruals[0]
				head := ledger.Head{
					CompanyID: first.CompanyID, Wallet: first.Wallet, Sequence: first.Sequence, Balance: first.After,
					Hash: first.Hash, At: first.At,
				}
				second, _, err := head.Append(first.Kind, first.Amount, first.Reference, first.At)
				if err != nil {
					panic(err)
				}
				r.accruals = append(r.accruals, second)
			},
			want: []string{"EARNINGS 3: no order accrues it in this place"},
		},
		{
			name:  "accrual of another amount",
			spoil: func(r *records) { r.accruals[0].Amount++; r.accruals[0].After++; rehash(&r.accruals[0]) },
			want:  []string{"accrual 2 in EARNINGS differs in amount or balance"},
		},
		{
			name:  "accrual of another kind",
			spoil: func(r *records) { r.accruals[0].Kind = ledger.FloatCredit; rehash(&r.accruals[0]) },
			want:  []string{"EARNINGS 2: no order accrues it in this place", "EARNINGS has no accrual in its place"},
		},
		{
			name: "commission of another rate",
			spoil: func(r *records) {
				r.orders[0].Commission++
				r.accruals[0].Amount++
				r.accruals[0].After++
				rehash(&r.accruals[0])
			},
			want: []string{"its commission is 0.26, but its rate of 250 BASIS_POINTS gives 0.25 for its gross of 10.00"},
		},
		{
			name:  "rate missing",
			spoil: func(r *records) { r.orders[0].RateID = uuid.Nil },
			want:  []string{"there is no commission rate 00000000-0000-0000-0000-000000000000"},
		},
		{
			name:  "branding missing",
			spoil: func(r *records) { r.orders[0].Branding = 2 },
			want:  []string{"there is no branding 2"},
		},
		{
			name:  "line missing",
			spoil: func(r *records) { r.admissions = nil },
			want: []string{
				"its 0 lines are not numbered from 1 without a gap", "its lines add up to 0.00, its gross is 10.00",
				`tier "VIP": 3 admissions count as sold, there are 2`,
			},
		},
		{
			name: "line too many",
			spoil: func(r *records) {
				r.admissions = append(r.admissions, r.admissions[0])
				r.admissions[1].ID, r.admissions[1].Line = uuid.New(), 2
			},
			want: []string{
				"its lines add up to 20.00, its gross is 10.00", `tier "VIP": 3 admissions count as sold, there are 4`,
			},
		},
		{
			name: "line of an order of a number below 1",
			spoil: func(r *records) {
				r.admissions = append(r.admissions, r.admissions[0])
				r.admissions[1].ID, r.admissions[1].OrderNumber = uuid.New(), -7
			},
			want: []string{"there is no order -7", `tier "VIP": 3 admissions count as sold, there are 4`},
		},
		{
			name:  "line of another price",
			spoil: func(r *records) { r.admissions[0].UnitPrice-- },
			want:  []string{"its lines add up to 9.99, its gross is 10.00"},
		},
		{
			name:  "line of another number",
			spoil: func(r *records) { r.admissions[0].Line = 2 },
			want:  []string{"its 1 lines are not numbered from 1 without a gap"},
		},
		{
			name:  "line of another order",
			spoil: func(r *records) { r.admissions[0].OrderID = uuid.New() },
			want:  []string{"1 of its lines name another order or event"},
		},
		{
			name:  "void admission of an order that stands",
			spoil: func(r *records) { r.admissions[0].Voided = true },
			want:  []string{"it is CONFIRMED, but 1 of its admissions are void"},
		},
		{
			name:  "order ended by nothing",
			spoil: func(r *records) { r.orders[0].Status = ticketing.OrderCancelled; r.admissions[0].Voided = true },
			want:  []string{"it is CANCELLED, but there is no record of that"},
		},
		{
			name:  "valid admission of an order that was ended",
			spoil: func(r *records) { r.orders[0].Status = ticketing.OrderRefunded },
			want: []string{
				"it is REFUNDED, but there is no record of that", "it is REFUNDED, but 1 of its admissions are not void",
			},
		},
		{
			name:  "validated by nothing",
			spoil: func(r *records) { r.admissions[0].ValidationID, r.admissions[0].ValidatedAt = uuid.New(), opening },
			want: []string{
				"it is validated, but no validation admitted it", "it is validated, but the outbox has no fact of that",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				is := is.New(t)
				e.broken = test.want != nil
				company, other := e.verified(t), e.verified(t)
				e.credit(t, company, 1000_00, "PSK-0001")
				e.sell(t, company, nil)
				e.sell(t, company, test.spoil)
				e.sell(t, company, nil) // a later sale is not reported
				wantProblems(t, e, company, test.want)
				wantProblems(t, e, uuid.Nil, test.want)
				wantProblems(t, e, other, nil)
				_, err := e.staff.VerifyLedger(t.Context(), uuid.New())
				is.Equal(code(err), ticketing.CodeNotFound)
			})
		})
	}
}

// TestVerificationFindsAReferenceWithoutItsFunding checks that verification finds a reference that was used without a
// movement, since its real credit could never be made.
func TestVerificationFindsAReferenceWithoutItsFunding(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		e.broken = true
		company := e.verified(t)
		e.credit(t, company, 1000_00, "PSK-0001")
		e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendFloatCredit(ctx, driver.FloatCredit{
				CompanyID: company, Reference: "PSK-0002", Amount: 1, Sequence: 7,
			})
		})
		wantProblems(t, e, company, []string{"FLOAT: 2 references of fundings are spent, but it has 1 fundings"})
	})
}

// wantProblems checks that the problems of a verification contain the given texts and no others.
func wantProblems(t *testing.T, e *env, company uuid.UUID, want []string) {
	t.Helper()
	report, err := e.staff.VerifyLedger(t.Context(), company)
	is.New(t).NoErr(err)
	is.New(t).Equal(report.OK, len(want) == 0)
	for _, text := range want {
		found := false
		for _, problem := range report.Problems {
			found = found || strings.Contains(problem, text)
		}
		if !found {
			t.Errorf("no problem tells %q: %q", text, report.Problems)
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

func TestVerificationHoldsWalletsAgainstTheirLedger(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(w *driver.Wallet)
		want  string
	}{
		{"balance", func(w *driver.Wallet) { w.Balance++ }, "head has balance 0.01, the last entry left 0.00"},
		{"sequence", func(w *driver.Wallet) { w.Sequence++ }, "head has sequence 1, the last entry has 0"},
		{"hash", func(w *driver.Wallet) { w.Hash[31]++ }, "head has hash"},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		e.broken = true
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				company := e.verified(t)
				e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
					wallets, err := tx.Wallets(ctx, []driver.WalletRef{{CompanyID: company, Wallet: ledger.Earnings}})
					if err != nil {
						return err
					}
					test.spoil(&wallets[0])
					return tx.UpdateWallets(ctx, wallets)
				})
				wantProblems(t, e, company, []string{test.want})
			})
		}
		t.Run("missing", func(t *testing.T) {
			is := is.New(t)
			company := uuid.New()
			e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
				return tx.CreateCompany(ctx, driver.Company{
					ID: company, Name: "No wallets", Status: ticketing.CompanyActive, BrandingVersion: 1,
					Verification: driver.Verification{Status: ticketing.VerificationUnverified},
					CreatedAt:    opening, UpdatedAt: opening,
				})
			})
			wantProblems(t, e, company, []string{"wallet FLOAT: it is missing", "wallet EARNINGS: it is missing"})
			report, err := e.staff.VerifyLedger(t.Context(), company)
			is.NoErr(err)
			is.Equal(report.Wallets, 0)
		})
	})
}

func TestVerificationCountsTheStock(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                            string
		total, quantity, sold, admitted int64
		want                            []string
	}{
		{name: "as it should be", total: 10, quantity: 10, sold: 1, admitted: 1},
		{
			name: "more created than in the batches", total: 11, quantity: 10, sold: 1, admitted: 1,
			want: []string{`tier "VIP": 11 admissions were created, its batches hold 10`},
		},
		{
			name: "fewer sold than admissions", total: 10, quantity: 10, sold: 0, admitted: 1,
			want: []string{`tier "VIP": 0 admissions count as sold, there are 1`},
		},
		{
			name: "more sold than admissions", total: 10, quantity: 10, sold: 2, admitted: 1,
			want: []string{`tier "VIP": 2 admissions count as sold, there are 1`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				e.broken = true // The admission has no order.
				own := e.subject(t)
				company, event := own.company, own.event
				e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
					tier, err := tx.LockTier(ctx, driver.EventRef{CompanyID: company, ID: event}, "VIP")
					if err != nil {
						return err
					}
					tier.Total, tier.Batches = test.total, 1
					if err := tx.UpdateTiers(ctx, []driver.Tier{tier}); err != nil {
						return err
					}
					return errors.Join(
						tx.CreateBatch(ctx, driver.Batch{
							CompanyID: company, EventID: event, Tier: "VIP", Position: 1, Title: "VIP",
							Status: ticketing.InventoryAvailable, Quantity: test.quantity, Sold: test.sold, CreatedAt: opening,
						}),
						tx.AppendAdmissions(ctx, []driver.Admission{{
							CompanyID: company, OrderNumber: 1, Line: 1, ID: uuid.New(), LineID: uuid.New(), OrderID: uuid.New(),
							EventID: event, Tier: "VIP", Batch: 1, Title: "VIP",
						}}),
					)
				})
				wantProblems(t, e, company, append(test.want, "there is no order 1"))
			})
		})
	}
}

func TestReportShowsAHundredProblemsAndHowManyMore(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.broken = true
		company := e.verified(t)
		e.credit(t, company, 1000_000_00, "PSK-0001")
		for range 107 {
			e.sell(t, company, func(r *records) { r.orders[0].Branding++ })
		}
		report, err := e.staff.VerifyLedger(t.Context(), uuid.Nil)
		is.NoErr(err)
		is.True(!report.OK)
		is.Equal(len(report.Problems), 101)
		is.Equal(report.Problems[100], "and 7 more")
	})
}
