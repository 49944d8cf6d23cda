package ticketing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
)

// TestFloatIsCreditedOncePerReference checks 2.9, item 3: "same reference and amount credit once"; "a replay returns
// applied: false with the original balance movement"; "the same reference with a different amount is 409 and moves no
// money"; "tenant-scoped".
func TestFloatIsCreditedOncePerReference(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.verified(t), e.verified(t)
		first := e.credit(t, company, 1000_00, "PSK-0001")
		told, err := json.Marshal(first)
		is.NoErr(err)
		is.Equal(string(told), `{"applied":true,"amount":{"amount":"1000.00","currency":"NGN"},`+
			`"balanceBefore":{"amount":"0.00","currency":"NGN"},"balanceAfter":{"amount":"1000.00","currency":"NGN"}}`)
		second := e.credit(t, company, 5, "PSK-0002")
		is.Equal(second, ticketing.FloatCredit{Applied: true, Amount: 5, BalanceBefore: 1000_00, BalanceAfter: 1000_05})

		// A replay returns the original movement.
		first.Applied = false
		is.Equal(e.credit(t, company, 1000_00, "PSK-0001"), first)
		_, err = e.staff.CreditFloat(t.Context(), company, "PSK-0001", 1000_01)
		is.Equal(code(err), ticketing.CodeConflict)
		wallets, err := e.staff.GetWallets(t.Context(), company)
		is.NoErr(err)
		is.Equal(wallets.Float, money.Amount(1000_05))

		// References are scoped to the company.
		is.True(e.credit(t, other, 1, "PSK-0001").Applied)
	})
}

// TestTwentyCreditsAtOnceWithOneReferenceCreditOnce checks 2.9, item 3: "credit once (also under concurrency)".
func TestTwentyCreditsAtOnceWithOneReferenceCreditOnce(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		const calls = 20
		credits, errs := make([]ticketing.FloatCredit, calls), make([]error, calls)
		var done sync.WaitGroup
		for i := range calls {
			done.Go(func() { credits[i], errs[i] = e.staff.CreditFloat(t.Context(), company, "PSK-0001", 700) })
		}
		done.Wait()
		applied := 0
		for i, credit := range credits {
			is.NoErr(errs[i])
			if credit.Applied {
				applied++
			}
			credit.Applied = false
			is.Equal(credit, ticketing.FloatCredit{Amount: 700, BalanceBefore: 0, BalanceAfter: 700})
		}
		is.Equal(applied, 1)
		wallets, err := e.staff.GetWallets(t.Context(), company)
		is.NoErr(err)
		is.Equal(wallets.Float, money.Amount(700))
	})
}

// TestFloatCreditsHaveAmountAndReference checks 2.9, item 2: "Amount: positive, at most two decimals. Provider
// reference: 8 to 128 characters, first an ASCII letter or digit, then only letters, digits, ., _, :, -".
func TestFloatCreditsHaveAmountAndReference(t *testing.T) {
	t.Parallel()
	const (
		amount    = "amount: must be above 0.00 and at most 999999999999.99"
		reference = "reference: must be 8 to 128 characters of A-Z a-z 0-9 . _ : - that begin with a letter or digit"
	)
	tests := []struct {
		name      string
		amount    money.Amount
		reference string
		want      string
	}{
		{name: "smallest", amount: 1, reference: "PSK-0001"},
		{name: "largest", amount: money.MaxInput, reference: "PSK-0002"},
		{name: "zero", amount: 0, reference: "PSK-0003", want: amount},
		{name: "debit", amount: -1, reference: "PSK-0003", want: amount},
		{name: "too large", amount: money.MaxInput + 1, reference: "PSK-0003", want: amount},
		{name: "8 characters", amount: 1, reference: "0._:-abZ"},
		{name: "128 characters", amount: 1, reference: strings.Repeat("a", 128)},
		{name: "none", amount: 1, reference: "", want: reference},
		{name: "7 characters", amount: 1, reference: "PSK-001", want: reference},
		{name: "129 characters", amount: 1, reference: strings.Repeat("a", 129), want: reference},
		{name: "hyphen first", amount: 1, reference: "-PSK-0001", want: reference},
		{name: "space", amount: 1, reference: "PSK 0001", want: reference},
		{name: "space behind", amount: 1, reference: "PSK-0001 ", want: reference},
		{name: "slash", amount: 1, reference: "PSK/0001", want: reference},
		{name: "other letters", amount: 1, reference: "PSK-000é", want: reference},
		{name: "both", amount: 0, reference: "PSK", want: amount + "; " + reference},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.verified(t)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				_, err := e.staff.CreditFloat(t.Context(), company, test.reference, test.amount)
				is.New(t).Equal(said(err), test.want)
			})
		}
	})
}

// TestFloatIsCreditedToTheActiveAndVerifiedOnly checks 2.9, item 2: "Target: an active company with an active NGN FLOAT
// wallet"; "A current KYB approval or rollout grace is required; otherwise … 409 with message Current company
// verification is required before any wallet or ledger change".
func TestFloatIsCreditedToTheActiveAndVerifiedOnly(t *testing.T) {
	t.Parallel()
	const unverified = "Current company verification is required"
	tests := []struct {
		name string
		fail func(t *testing.T, e *env, company uuid.UUID) error
		mend func(t *testing.T, e *env, company uuid.UUID) error
		want string
	}{
		{
			name: "suspended company",
			fail: func(t *testing.T, e *env, company uuid.UUID) error {
				_, err := e.staff.SuspendCompany(t.Context(), company)
				return err
			},
			mend: func(t *testing.T, e *env, company uuid.UUID) error {
				_, err := e.staff.ActivateCompany(t.Context(), company)
				return err
			},
			want: "The company is not active.",
		},
		{
			name: "verification revoked",
			fail: func(t *testing.T, e *env, company uuid.UUID) error {
				_, err := e.staff.RevokeVerification(t.Context(), company)
				return err
			},
			mend: func(t *testing.T, e *env, company uuid.UUID) error {
				_, err := e.staff.GrantGrace(t.Context(), company, opening.Add(time.Hour))
				return err
			},
			want: unverified,
		},
		{
			name: "suspended wallet",
			fail: func(t *testing.T, e *env, company uuid.UUID) error {
				_, err := e.staff.SuspendWallet(t.Context(), company, ledger.Float)
				return err
			},
			mend: func(t *testing.T, e *env, company uuid.UUID) error {
				_, err := e.staff.ActivateWallet(t.Context(), company, ledger.Float)
				return err
			},
			want: "The FLOAT wallet is not active.",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				is := is.New(t)
				company := e.verified(t)
				e.credit(t, company, 100, "PSK-0001")
				is.NoErr(test.fail(t, e, company))
				for _, reference := range []string{"PSK-0001", "PSK-0002"} { // also a replay
					_, err := e.staff.CreditFloat(t.Context(), company, reference, 100)
					is.Equal(code(err), ticketing.CodeConflict)
					is.Equal(said(err), test.want)
				}
				is.NoErr(test.mend(t, e, company))
				is.True(!e.credit(t, company, 100, "PSK-0001").Applied)
				is.True(e.credit(t, company, 100, "PSK-0002").Applied)
			})
		})
	}
}

func TestAWalletThatContradictsItsLedgerIsNotFunded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		wrong func(w *driver.Wallet)
	}{
		{"balance", func(w *driver.Wallet) { w.Balance++ }},
		{"sequence", func(w *driver.Wallet) { w.Sequence++ }},
		{"hash", func(w *driver.Wallet) { w.Hash[0]++ }},
		{"currency", func(w *driver.Wallet) { w.Currency = "USD" }},
	}
	for _, test := range tests {
		for _, moved := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s moved=%t", test.name, moved), func(t *testing.T) {
				t.Parallel()
				onEnvs(t, func(t *testing.T, e *env) {
					is := is.New(t)
					e.broken = true
					company := e.verified(t)
					if moved {
						e.credit(t, company, 100, "PSK-0001")
					}
					e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
						wallets, err := tx.Wallets(ctx, []driver.WalletRef{{CompanyID: company, Wallet: ledger.Float}})
						if err != nil {
							return err
						}
						test.wrong(&wallets[0])
						return tx.UpdateWallets(ctx, wallets)
					})
					_, err := e.staff.CreditFloat(t.Context(), company, "PSK-0002", 100)
					is.Equal(code(err), ticketing.CodeConflict)
				})
			})
		}
	}
}

func TestFloatStopsAtItsMaximum(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		const room = money.Amount(700)
		e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
			wallets, err := tx.LockWallets(ctx, []driver.WalletRef{{CompanyID: company, Wallet: ledger.Float}})
			if err != nil {
				return err
			}
			const amount = money.MaxBalance - room
			entry := entryAfter(t, wallets[0], ledger.FloatCredit, amount, "PSK-0001", opening)
			w := wallets[0].Wallet
			w.Sequence, w.Balance, w.Hash, w.LastAt = entry.Sequence, entry.After, entry.Hash, entry.At
			return errors.Join(
				tx.AppendEntries(ctx, []ledger.Entry{entry}),
				tx.UpdateWallets(ctx, []driver.Wallet{w}),
				tx.AppendFloatCredit(ctx, driver.FloatCredit{
					CompanyID: company, Reference: entry.Reference, Amount: amount, Sequence: entry.Sequence,
				}),
			)
		})
		_, err := e.staff.CreditFloat(t.Context(), company, "PSK-last", room+1)
		is.Equal(code(err), ticketing.CodeConflict)
		is.Equal(said(err), "The balance would pass its maximum of 999999999999999.99.")
		is.Equal(e.credit(t, company, room, "PSK-last").BalanceAfter, money.MaxBalance)
	})
}

// TestTheLedgerKeepsItsOrderInTime checks that a clock that is set back does not set the times of the ledger back.
func TestTheLedgerKeepsItsOrderInTime(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		e.credit(t, company, 1, "PSK-0001")
		e.clock.advance(-time.Hour)
		e.credit(t, company, 1, "PSK-0002")
		e.clock.advance(2 * time.Hour)
		e.credit(t, company, 1, "PSK-0003")
		var times []time.Time
		is.NoErr(e.staff.Ledger(t.Context(), company, ledger.Float, func(entry ticketing.LedgerEntry) error {
			times = append(times, entry.CreatedAt.Time)
			return nil
		}))
		is.Equal(times, []time.Time{opening, opening, opening.Add(time.Hour)})
	})
}

// TestRandomCreditsAddUp checks that the balance is the sum of the first amounts of all references, and that the books
// are in order, whatever is credited, in any order and any number of times.
func TestRandomCreditsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		clock := &standingClock{at: opening}
		svc, err := ticketing.New(memory.New(), &ticketing.Config{Clock: clock.now})
		if err != nil {
			t.Fatal(err)
		}
		staff := svc.As(ticketing.Staff("property"))
		company, err := staff.CreateCompany(ctx, "Adire Concerts")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := staff.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{}); err != nil {
			t.Fatal(err)
		}
		model := make(map[string]money.Amount)
		var balance money.Amount
		for range rapid.IntRange(0, 30).Draw(t, "credits") {
			clock.advance(time.Duration(rapid.IntRange(-5, 5).Draw(t, "seconds")) * time.Second)
			reference := fmt.Sprintf("reference-%d", rapid.IntRange(0, 9).Draw(t, "reference"))
			amount := money.Amount(rapid.Int64Range(1, int64(money.MaxInput)).Draw(t, "amount"))
			credit, err := staff.CreditFloat(ctx, company.ID, reference, amount)
			switch first, known := model[reference]; {
			case known && first != amount:
				if !errors.Is(err, ticketing.CodeConflict) {
					t.Fatalf("another amount: %v", err)
				}
			case err != nil || credit.Applied == known:
				t.Fatalf("known %t: %+v, %v", known, credit, err)
			case !known:
				model[reference] = amount
				balance += amount
			}
		}
		wallets, err := staff.GetWallets(ctx, company.ID)
		if err != nil || wallets.Float != balance {
			t.Fatalf("balance %s, want %s, %v", wallets.Float, balance, err)
		}
		report, err := staff.VerifyLedger(ctx, company.ID)
		if err != nil || !report.OK || report.Entries != int64(len(model)) {
			t.Fatalf("%+v, %v", report, err)
		}
	})
}

func FuzzFloatReference(f *testing.F) {
	svc, err := ticketing.New(memory.New(), nil)
	if err != nil {
		f.Fatal(err)
	}
	staff := svc.As(ticketing.Staff("fuzz"))
	company, err := staff.CreateCompany(f.Context(), "Adire Concerts")
	if err != nil {
		f.Fatal(err)
	}
	if _, err := staff.ApproveVerification(f.Context(), company.ID, ticketing.ApprovalParams{}); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		"", "PSK-0001", "-PSK-0001", "PSK-000", strings.Repeat("a", 129), "PSK-0001\n", "PSK-000é",
	} {
		f.Add(seed)
	}
	grammar := regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._:-]{7,127}\z`)
	f.Fuzz(func(t *testing.T, reference string) {
		_, err := staff.CreditFloat(t.Context(), company.ID, reference, 1)
		want := ticketing.Code("")
		if !grammar.MatchString(reference) {
			want = ticketing.CodeInvalidRequest
		}
		is.New(t).Equal(code(err), want)
	})
}
