package ticketing_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestLedgerVerificationOfSeveralPlaces checks that a verification of all companies that reads several at once reports
// what one snapshot of all of them does: the same problems in the same order, wallets and entries. Its progress grows
// to the total, and the result of each company is kept.
func TestLedgerVerificationOfSeveralPlaces(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		h := newHistory(t, shop)
		last := shop
		const companies = 23 // More than two snapshots.
		for range companies - 1 {
			last = shop.Neighbour(t)
		}
		h.alter(t, h.move(h.float, ledger.CheckoutRefund, 1, "nothing"))
		other := &history{Shop: last, company: last.Company.ID}
		earnings := h.earnings
		earnings.CompanyID = other.company
		other.alter(t, other.move(earnings, ledger.CommissionReversal, 0, h.sold.ID.String()))
		shop.BooksAreBroken()
		together, err := shop.Staff.VerifyLedger(t.Context(), uuid.Nil)
		is.NoErr(err)
		is.True(!together.OK)

		service, err := ticketing.New(shop.Store, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, Grouping: ticketing.Grouping{ByCompany: true},
		})
		is.NoErr(err)
		shop.Clock.Advance(1)
		staff := service.As(ticketing.Staff("auditor"))
		var read, all int64
		apart, err := staff.VerifyLedger(t.Context(), uuid.Nil, func(done, total int64) {
			is.True(done >= read && done <= total)
			read, all = done, total
		})
		is.NoErr(err)
		is.Equal(apart, together)
		is.Equal(read, all)
		is.Equal(read, together.Entries)
		checks, err := staff.ListBookChecks(t.Context(), ticketing.PageParams{Limit: 100})
		is.NoErr(err)
		is.Equal(len(checks.Items), companies)
	})
}
