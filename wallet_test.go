package ticketing_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// TestFloatIsLowStrictlyBelowAThousand checks 2.9, item 4: "The dashboard low-balance flag is true only while current
// FLOAT is strictly below 1000.00".
func TestFloatIsLowStrictlyBelowAThousand(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		for amount, low := range map[money.Amount]bool{1: true, 999_99: true, 1000_00: false, 1000_01: false} {
			is := is.New(t)
			company := e.verified(t)
			e.credit(t, company, amount, "PSK-0001")
			wallets, err := e.staff.GetWallets(t.Context(), company)
			is.NoErr(err)
			is.Equal(wallets.Float, amount)
			is.Equal(wallets.LowBalance, low)
		}
	})
}

func TestAWalletIsSuspendedByItself(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		e.credit(t, company, 2000_00, "PSK-0001")
		want := ticketing.Wallets{
			Float: 2000_00, FloatStatus: ticketing.WalletActive, EarningsStatus: ticketing.WalletSuspended,
		}
		for range 2 {
			got, err := e.staff.SuspendWallet(t.Context(), company, ledger.Earnings)
			is.NoErr(err)
			is.Equal(got, want)
		}
		e.credit(t, company, 1, "PSK-0002") // FLOAT is still active
		want.Float++
		want.FloatStatus = ticketing.WalletSuspended
		got, err := e.staff.SuspendWallet(t.Context(), company, ledger.Float)
		is.NoErr(err)
		is.Equal(got, want)
		want.EarningsStatus = ticketing.WalletActive
		for range 2 {
			got, err = e.staff.ActivateWallet(t.Context(), company, ledger.Earnings)
			is.NoErr(err)
			is.Equal(got, want)
		}
		got, err = e.staff.GetWallets(t.Context(), company)
		is.NoErr(err)
		is.Equal(got, want)
		for _, wallet := range []ledger.Wallet{"", "float", "SAVINGS"} {
			_, err = e.staff.SuspendWallet(t.Context(), company, wallet)
			is.Equal(said(err), "wallet: must be FLOAT or EARNINGS")
		}
	})
}
