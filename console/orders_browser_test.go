package console_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// TestFilledPagesOfOrdersAreAccessible looks at the pages of orders, buyers and events with something on each, as an
// owner and as staff see them, with every box open.
func TestFilledPagesOfOrdersAreAccessible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newShop(t)
	browser := browsertest.New(t)
	_, _, failed := s.fillShop(t)
	refunded := s.sellTo(t, strings.Repeat("n", 60)+"@example.com", 3)
	s.books.Scan(t, refunded.EventID, refunded.Lines[0].AdmissionID)
	_, err := s.staff.RefundOrder(t.Context(), refunded.ID, ticketing.RefundParams{Reason: longName, Restock: true})
	ok.NoErr(err)
	s.count(t)
	company := "/business/" + s.company.String()
	names := strings.NewReplacer(company, "", failed, "one", refunded.ID.String(), "refunded",
		s.event.ID.String(), "sold", "/", "-", "?", "-",
		"=", "-", "@example.com", "")
	for who, paths := range map[string][]string{
		owner: {
			"/orders", "/orders?q=nothing", "/orders?status=CANCELLED", "/orders/" + refunded.ID.String(), "/buyers",
			"/buyers/erase", "/events", "/events/" + s.event.ID.String(),
		},
		chief: {"/orders/" + failed},
	} {
		p := s.open(t, browser, who, "/account", browsertest.Desktop)
		for _, path := range paths {
			path = company + path
			p.Text(`location.assign("` + path + `")`)
			p.Wait(`location.pathname + location.search === "` + path + `" && document.readyState === "complete"`)
			p.Text(`document.querySelectorAll("details").forEach(d => d.open = true)`)
			look(t, p, "filled-company"+names.Replace(path)+"-"+who)
		}
		p.IsClean()
	}
}

// TestPrintedListIsItsTable holds that a list on paper is its whole table, without the navigation, the filters and what
// one can press.
func TestPrintedListIsItsTable(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newShop(t)
	s.sell(t)
	p := s.open(t, browsertest.New(t), owner, "/business/"+s.company.String()+"/orders", browsertest.Desktop)
	const shown = `[".side", ".filters", "main .button", ".copy", "main table"].map(
		name => [...document.querySelectorAll(name)].some(e => e.checkVisibility()))`
	ok.Equal(p.Text(shown), "true,true,true,true,true")
	p.Media(browsertest.Media{Print: true})
	ok.Equal(p.Text(shown), "false,false,false,false,true")
	ok.Equal(p.Text(`getComputedStyle(document.querySelector("main .table")).overflowX`), "visible") // Nothing is cut off.
}
