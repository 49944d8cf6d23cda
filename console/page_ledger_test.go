package console_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

const ledgerPage = "/business/{companyId}/ledger"

// TestLedgerShowsMovementsNewestFirst checks the list of each wallet by kind, period and reference.
func TestLedgerShowsMovementsNewestFirst(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	empty := s.get(t, viewer, ledgerPage+"?wallet=EARNINGS")
	ok.True(empty.has("No movements yet"))
	order := s.sell(t)
	s.books.Clock.Advance(48 * time.Hour)
	s.signIn(t, viewer)
	s.sell(t)
	_, err := s.staff.CreditFloat(t.Context(), s.company, "PSK-00000001", 500_00)
	ok.NoErr(err)

	all := s.get(t, viewer, ledgerPage)
	credit, sale := strings.Index(all.text, "PSK-00000001"), strings.LastIndex(all.text, order.ID.String())
	ok.True(credit > 0 && sale > credit) // The newest is first.
	ok.True(all.has("−₦150.00"))
	credits := s.get(t, viewer, ledgerPage+"?kind=FLOAT_CREDIT&reference=PSK-00000001")
	ok.Equal(strings.Count(credits.text, "<tbody><tr>"), 1)
	found := s.get(t, viewer, ledgerPage+"?reference="+order.ID.String())
	ok.True(found.has("Checkout debit"))
	ok.True(!found.has("PSK-"))
	ok.True(s.get(t, viewer, ledgerPage+"?wallet=EARNINGS").has("₦3.75"))

	// Who changes the wallet in the form still sends the kind of the other. A program is refused.
	ok.True(s.get(t, viewer, ledgerPage+"?wallet=EARNINGS&kind=FLOAT_CREDIT").has("₦3.75"))
	ok.Equal(s.get(t, viewer, "/api/v2"+ledgerPage+"?wallet=EARNINGS&kind=FLOAT_CREDIT").StatusCode, http.StatusBadRequest)
	for _, query := range []string{
		"wallet=CASH", "kind=TIP", "since=yesterday", "since=2026-11-20&until=2026-11-18", "cursor=x",
	} {
		ok.Equal(s.get(t, viewer, ledgerPage+"?"+query).StatusCode, http.StatusBadRequest) // query
	}
	var movements []struct {
		Subject string
		Amount  money.Amount
	}
	s.get(t, viewer, "/api/v2"+ledgerPage+"?kind=CHECKOUT_DEBIT&limit=1").data(t, &movements)
	ok.Equal(len(movements), 1)
	ok.Equal(movements[0].Subject, "ORDER")
	ok.Equal(movements[0].Amount, money.Amount(-150_00))
}

// TestStatementIsOfferedAfterAConfirmation checks that the period of a statement outlives the confirmation.
func TestStatementIsOfferedAfterAConfirmation(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.books.Clock.Advance(11 * time.Minute)
	fields := []string{"since", "2026-01-01", "until", "2099-11-20", "_asked", "true"}
	s.post(t, viewer, ledgerPage+"/statement", append(fields, "_confirm", "mail")...)
	code := mailedCode(t, s.mail(t))
	offered := s.post(t, viewer, ledgerPage+"/statement", append(fields, "_code", code)...)
	ok.Equal(offered.StatusCode, http.StatusOK)
	ok.True(offered.has("Download the file now.") && offered.has(`name="since" value="2026-01-01"`))
}

// TestLedgerIsTakenAway checks the three files: what they hold, and that each is noted.
func TestLedgerIsTakenAway(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.sell(t)
	rows := readCSV(t, s.post(t, viewer, ledgerPage+"/export", "wallet", "FLOAT", "kind", "CHECKOUT_DEBIT"))
	ok.Equal(len(rows), 2)
	ok.Equal(rows[0][:5], []string{"at", "wallet", "seq", "kind", "amount"})
	ok.Equal(rows[1][4], "-150.00") // A number, and no text that begins with a sign.

	rows = readCSV(t, s.post(t, viewer, ledgerPage+"/statement"))
	ok.Equal(rows[0][:2], []string{"type", "wallet"})
	ok.Equal(rows[1][:2], []string{"OPENING", "FLOAT"})
	last := rows[len(rows)-1]
	ok.Equal([]string{last[0], last[1], last[7]}, []string{"CLOSING", "EARNINGS", "3.75"})

	file := s.post(t, viewer, ledgerPage+"/bundle")
	ok.Equal(file.StatusCode, http.StatusOK)
	ok.True(strings.Contains(file.Header.Get("Content-Disposition"), "ledger-"+s.company.String()+".bundle"))
	var direct bytes.Buffer
	_, err := s.staff.ExportLedger(t.Context(), s.company, &direct)
	ok.NoErr(err)
	ok.Equal(file.text, direct.String())
	report, err := ledger.BundleCheck{Keys: s.LedgerKeys()}.Verify(strings.NewReader(file.text))
	ok.NoErr(err)
	ok.True(report.OK())

	for _, action := range []string{"movement.export", "statement.export", "ledger.export"} {
		var entries []struct{ Subject string }
		s.get(t, viewer, "/api/v2"+auditLog+"?action="+action).data(t, &entries)
		ok.Equal(len(entries), 1) // action
	}
	refused := s.post(t, viewer, ledgerPage+"/statement", "since", "2026-11-20", "until", "2026-11-18")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`<h1>Ledger</h1>`)) // The page with the form, and what was typed.
	ok.True(refused.has(`value="2026-11-20"`))
	ok.True(refused.has(`aria-invalid="true"`)) // The violation is beside its field.
	for _, path := range []string{ledgerPage + "/statement", ledgerPage + "/export", orders + "/export"} {
		named := s.postJSON(t, viewer, path, `{"since":"2026-11-20","until":"2026-11-18"}`)
		ok.Equal(named.StatusCode, http.StatusBadRequest)                                // path
		ok.True(named.has(`"since: `) || named.has(`"until: must be later than since"`)) // path
		ok.True(!named.has(`"from`) && !named.has(`"to: `) && !named.has("than from"))
	}
	ok.Equal(s.post(t, viewer, ledgerPage+"/statement", "since", "yesterday").StatusCode, http.StatusBadRequest)
	var entries []struct{ Subject string }
	s.get(t, viewer, "/api/v2"+auditLog+"?action=statement.export").data(t, &entries)
	ok.Equal(len(entries), 1) // A refused one leaves no entry.
}
