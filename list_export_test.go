package ticketing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestExportOfAListIsInTheLog checks that the entry has what was asked for, but nothing of a buyer, and that a list or
// a filter that is refused leaves nothing.
func TestExportOfAListIsInTheLog(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		before := len(e.acts(t, uuid.Nil))
		for _, refused := range []struct {
			company uuid.UUID
			list    ticketing.ExportedList
			filter  map[string]string
		}{
			{company: company, list: "order"},
			{company: company, list: ticketing.ExportedStaff},
			{company: uuid.Nil, list: ticketing.ExportedBuyers},
			{company: company, list: ticketing.ExportedMails, filter: map[string]string{"status": strings.Repeat("x", 500)}},
			{company: company, list: ticketing.ExportedMails, filter: map[string]string{"status": "\xff"}},
		} {
			err := e.staff.RecordListExport(t.Context(), refused.company, refused.list, refused.filter)
			is.Equal(code(err), ticketing.CodeInvalidRequest)
		}
		err := e.staff.RecordListExport(t.Context(), uuid.New(), ticketing.ExportedMails, nil)
		is.Equal(code(err), ticketing.CodeNotFound)
		is.Equal(len(e.acts(t, uuid.Nil)), before)

		e.clock.advance(time.Second) // The entries of one millisecond have no order.
		is.NoErr(e.staff.RecordListExport(t.Context(), company, ticketing.ExportedBuyers, map[string]string{
			"email": "ada", "prefix": "ada", "q": "ada", "sort": "name",
		}))
		latest := e.acts(t, company)[0]
		is.Equal(latest.Action, "buyer.export")
		is.Equal(exportFilter(t, latest), map[string]string{
			"email": "an address", "prefix": "an address", "q": "an address", "sort": "name",
		})

		e.clock.advance(time.Second)
		is.NoErr(e.staff.RecordListExport(t.Context(), uuid.Nil, ticketing.ExportedCompanies,
			map[string]string{"prefix": "Lag", "status": "", "order": "a@b"}))
		latest = e.acts(t, uuid.Nil)[0]
		is.Equal(latest.Action, "company.export")
		is.Equal(latest.Subject, "platform")
		is.Equal(exportFilter(t, latest), map[string]string{"prefix": "Lag", "order": "an address"})
	})
}
