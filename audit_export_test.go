package ticketing_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestExportOfTheLogIsInTheLog checks that who takes a log away is in it with what they asked for, and that a filter
// that the log refuses leaves nothing.
func TestExportOfTheLogIsInTheLog(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		before := len(e.acts(t, uuid.Nil))
		for _, refused := range []ticketing.AuditFilter{
			{Since: opening, Until: opening}, {Action: string(make([]byte, 101))},
		} {
			is.True(errors.Is(e.staff.RecordAuditExport(t.Context(), company, refused), ticketing.CodeInvalidRequest))
		}
		is.True(errors.Is(e.staff.RecordAuditExport(t.Context(), uuid.New(), ticketing.AuditFilter{}),
			ticketing.CodeNotFound))
		is.Equal(len(e.acts(t, uuid.Nil)), before)

		e.clock.advance(time.Second) // The entries of one millisecond have no order.
		is.NoErr(e.staff.RecordAuditExport(t.Context(), company, ticketing.AuditFilter{
			Actor: " user 1 ", Action: "key.issue", Since: opening, Until: opening.Add(time.Hour),
		}))
		latest := e.acts(t, company)[0]
		is.Equal(latest.Action, "audit.export")
		is.Equal(latest.Subject, "company "+company.String())
		is.Equal(exportFilter(t, latest), map[string]string{
			"actor": "user 1", "action": "key.issue", "since": opening.Format("2006-01-02T15:04:05.000Z"),
			"until": opening.Add(time.Hour).Format("2006-01-02T15:04:05.000Z"),
		})

		e.clock.advance(time.Second)
		// The address of a buyer would outlive their erasure here.
		is.NoErr(e.staff.RecordAuditExport(t.Context(), uuid.Nil, ticketing.AuditFilter{Actor: "Buyer@example.com"}))
		latest = e.acts(t, uuid.Nil)[0]
		is.Equal(latest.Subject, "platform")
		is.Equal(latest.CompanyID, nil)
		is.Equal(exportFilter(t, latest), map[string]string{"actor": "an address"})
	})
}

// exportFilter returns the filter of an export as its entry has it.
func exportFilter(t *testing.T, act ticketing.AuditEntry) map[string]string {
	t.Helper()
	var changed map[string]struct{ After string }
	is.New(t).NoErr(json.Unmarshal(act.Changes, &changed))
	kept := map[string]string{}
	for name, one := range changed {
		kept[name] = one.After
	}
	return kept
}
