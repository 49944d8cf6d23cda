package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// TestFilesOfListsAreWhole downloads lists that have more than one page, more than is listed, and nothing.
func TestFilesOfListsAreWhole(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	event := events + "/" + s.event.ID.String()

	fundings := "/platform/companies/" + s.company.String() + "/float"
	before := len(readCSV(t, s.postJSON(t, chief, fundings+"/export", "{}")))
	const credits = ticketing.MaxPageLimit + 1
	for n := range credits {
		_, err := s.staff.CreditFloat(t.Context(), s.company, fmt.Sprintf("transfer-%04d", n), money.Amount(1_00))
		ok.NoErr(err)
	}
	ok.Equal(len(readCSV(t, s.postJSON(t, chief, fundings+"/export", "{}"))), before+credits)

	ok.True(!s.get(t, owner, event).has("Only the first 1,000 batches are listed."))
	listed := len(readCSV(t, s.postJSON(t, owner, event+"/export", "{}")))
	for n := range ticketing.MaxListedBatches {
		s.books.Inventory(t, s.event.ID, "VIP", 150_00, 1, func(p *ticketing.CreateInventoryParams) {
			p.Title = fmt.Sprintf("Row %04d", n)
		})
	}
	ok.True(listed > 1) // so that now there is one more than is listed
	rows := readCSV(t, s.postJSON(t, owner, event+"/export", "{}"))
	ok.Equal(len(rows), 1+ticketing.MaxListedBatches+1)
	ok.True(strings.HasPrefix(rows[len(rows)-1][0], "AND MORE"))
	s.books.Sell(t, s.event.ID, "VIP", 1)
	page := s.get(t, owner, event)
	ok.True(page.has("Only the first 1,000 batches are listed."))
	ok.True(page.has(`data-label="Sold">1<`))

	fresh, err := s.staff.CreateCompany(t.Context(), "Fresh")
	ok.NoErr(err)
	rows = readCSV(t, s.postJSON(t, chief, "/business/"+fresh.ID.String()+"/commission/export", "{}"))
	ok.Equal(rows, [][]string{{"id", "effectiveFrom", "state", "value", "unit", "createdAt"}})

	for _, path := range []string{
		"/platform/companies/" + uuid.NewString() + "/float", "/business/" + uuid.NewString() + "/commission",
		events + "/" + uuid.NewString(),
	} {
		ok.Equal(s.postJSON(t, chief, path+"/export", "{}").StatusCode, http.StatusNotFound) // path
	}
}

// TestFileOfMoneySaysWhatItLacks checks that the file of the companies that sold most says which of them are not yet
// counted, and that others sold less.
func TestFileOfMoneySaysWhatItLacks(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	const path = "/platform/money/export"
	ok.Equal(len(readCSV(t, s.postJSON(t, chief, path, "{}"))), 1)
	for n := range ticketing.MaxPageLimit + 1 {
		company, err := s.staff.CreateCompany(t.Context(), fmt.Sprintf("Company %03d", n))
		ok.NoErr(err)
		uncounted := int64(0)
		if n == ticketing.MaxPageLimit {
			uncounted = 1
		}
		ok.NoErr(s.books.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			_, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company.ID}})
			return errors.Join(err, tx.AddSales(ctx, []driver.SalesSum{{
				SalesSumRef: driver.SalesSumRef{
					CompanyID: company.ID, At: s.books.Clock.Now().Truncate(driver.SalesInterval),
				},
				Orders: 1, Admissions: 1, Gross: money.Amount(1 + n),
			}}), tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: company.ID, Uncounted: uncounted}))
		}))
	}
	s.books.BooksAreBroken()
	rows := readCSV(t, s.postJSON(t, chief, path, "{}"))
	ok.Equal(len(rows), 1+ticketing.MaxPageLimit+2)
	counting := len(rows[0]) - 1
	ok.Equal([]string{rows[1][3], rows[1][counting]}, []string{"Company 100", "true"})
	ok.Equal([]string{rows[100][3], rows[100][counting]}, []string{"Company 001", "false"})
	ok.True(strings.HasPrefix(rows[101][0], "NOT COMPLETE"))
	ok.True(strings.HasPrefix(rows[102][0], "AND MORE"))
}
