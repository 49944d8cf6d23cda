package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
)

func TestOrdersAreExportedWithTheirFilter(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order := s.sellTo(t, "=ngozi@example.com", 2)
	s.books.Scan(t, order.EventID, order.Lines[0].AdmissionID)
	cancelled := s.sell(t)
	_, err := s.staff.CancelOrder(t.Context(), cancelled.ID, "A stolen card")
	ok.NoErr(err)
	ok.True(s.get(t, viewer, orders).has("Download as CSV"))
	rows := readCSV(t, s.post(t, viewer, orders+"/export"))
	ok.Equal(len(rows), 3)
	ok.Equal(rows[0][:3], []string{"id", "status", "confirmedAt"})
	ok.Equal(rows[1][0], cancelled.ID.String()) // the newest first
	ok.Equal(rows[1][14:], []string{"A stolen card", "false"})
	ok.Equal(rows[2][5:13], []string{
		"'=ngozi@example.com", "Ngozi <b>Obi</b>", "", "2", "VIP 2", "1", "300.00", "7.50",
	})
	ok.Equal(rows[2][13:], []string{"", "", ""})

	rows = readCSV(t, s.postJSON(t, owner, orders+"/export", `{"email":"ada@example.com","status":"CANCELLED"}`))
	ok.Equal(len(rows), 2)
	ok.Equal(s.postJSON(t, owner, orders+"/export", `{"status":"SOLD"}`).StatusCode, http.StatusBadRequest)
	ok.Equal(s.postJSON(t, owner, orders+"/export", `{"q":"x"}`).StatusCode, http.StatusBadRequest)
	log := s.get(t, chief, "/api/v2"+auditLog+"?action=order.export").text
	ok.Equal(strings.Count(log, `"action":"order.export"`), 2) // Refused exports left nothing.
	ok.True(strings.Contains(log, "an address") && strings.Contains(log, "CANCELLED") && !strings.Contains(log, "ada@ex"))
}

// TestFileIsOfferedAfterAConfirmation checks that a person who had to confirm who they are gets a button that downloads
// what they asked for, and that none of it is in an address.
func TestFileIsOfferedAfterAConfirmation(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.sell(t)
	s.books.Clock.Advance(11 * time.Minute)
	asked := s.post(t, viewer, orders+"/export", "status", "CONFIRMED")
	ok.Equal(asked.StatusCode, http.StatusForbidden)
	ok.True(asked.has(`name="status" value="CONFIRMED"`) && asked.has(`name="_asked"`))
	s.post(t, viewer, orders+"/export", "status", "CONFIRMED", "_asked", "true", "_confirm", "mail")
	code := mailedCode(t, s.mail(t))
	offered := s.post(t, viewer, orders+"/export", "status", "CONFIRMED", "_asked", "true", "_code", code)
	ok.Equal(offered.StatusCode, http.StatusOK)
	ok.True(offered.has("Download the file now.") && offered.has(`name="status" value="CONFIRMED"`))
	ok.True(!offered.has(`name="_code"`) && !offered.has(`name="_asked"`))
	// A page that is loaded again sends the form again.
	again := s.post(t, viewer, orders+"/export", "status", "CONFIRMED", "_asked", "true", "_code", code)
	ok.True(again.has("Download the file now."))
	ok.Equal(len(readCSV(t, s.post(t, viewer, orders+"/export", "status", "CONFIRMED"))), 2)
}
