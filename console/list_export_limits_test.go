package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// TestFilesOfListsAreWhole takes away lists that have more than one page, more than is listed, and nothing.
func TestFilesOfListsAreWhole(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	event := events + "/" + s.event.ID.String()

	fundings := "/platform/companies/" + s.company.String() + "/float"
	before := len(readCSV(t, s.postJSON(t, chief, fundings+"/export", "{}")))
	const credits = ticketing.MaxPageLimit + 1
	for n := range credits {
		_, err := s.staff.CreditFloat(t.Context(), s.company, money.Amount(1_00), fmt.Sprintf("transfer-%04d", n))
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
	ok.True(s.get(t, owner, event).has("Only the first 1,000 batches are listed."))

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
