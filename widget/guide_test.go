package widget_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
	"github.com/floatgate/ticketing/widget"
)

// The lines for a page that the integration guide and docs/embed.md print sell a ticket as they are pasted, with a real
// proxy at the path that they name. Only the web origin is another.
func TestDocumentedPageSells(t *testing.T) {
	t.Parallel()
	authority := browsertest.Trusted(t)
	browser := browsertest.New(t)
	sdk := authority.Server(t, widget.New(nil))
	for name, test := range map[string]struct{ document, section, script string }{
		"guide":    {"../httpapi/guide/guide.md", "\n## From a browser\n", "/shop.js"},
		"embed.md": {"../docs/embed.md", "\n## The widget\n", "/tickets.js"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			html := documented(t, test.document, test.section, "html")
			script := documented(t, test.document, test.section, "js")
			is.True(strings.Contains(html, `src="`+test.script+`"`))
			is.True(strings.Contains(script, `'/tickets'`))
			company := ticketingtest.New(t, nil)
			event := company.Event(t)
			company.Inventory(t, event.ID, "VIP", 5_000_00, 4)
			mux := http.NewServeMux()
			const page = `<!doctype html><html lang="en"><title>Shop</title><main>`
			mux.Handle("/tickets", companyProxy(t, company))
			for path, file := range map[string][2]string{
				"/{$}":         {"text/html; charset=utf-8", page + html},
				test.script:    {"text/javascript; charset=utf-8", script},
				"/favicon.ico": {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"/>`},
			} {
				mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", file[0])
					_, _ = io.WriteString(w, strings.ReplaceAll(file[1], "https://tickets.example", sdk))
				})
			}
			p := browser.Open(t, authority.Server(t, mux), browsertest.Desktop)
			p.OwnOrigins(sdk)
			p.Role("button", event.Title).Click()
			p.Role("button", "^Add one ticket").Click()
			p.Role("button", "^Continue$").Click()
			p.Role("textbox", "Email").Type("ada@example.com")
			p.Role("button", "^Buy for ₦5,000$").Click()
			p.Role("heading", "^Your order is confirmed$")
			orders, err := company.ListOrders(t.Context(), company.Caller, ticketing.OrderFilter{})
			is.NoErr(err)
			is.Equal(len(orders.Items), 1)
			is.Equal(orders.Items[0].Gross, money.Amount(5_000_00))
			is.Equal(orders.Items[0].Buyer.Email, "ada@example.com")
		})
	}
}

// documented returns the first block in a language within a section of a document.
func documented(t *testing.T, document, section, language string) string {
	t.Helper()
	is := is.New(t)
	text, err := os.ReadFile(document)
	is.NoErr(err)
	_, rest, ok := strings.Cut(string(text), section)
	is.True(ok)
	rest, _, _ = strings.Cut(rest, "\n## ")
	_, rest, ok = strings.Cut(rest, "\n```"+language+"\n")
	is.True(ok)
	block, _, ok := strings.Cut(rest, "\n```\n")
	is.True(ok)
	return block + "\n"
}

// companyProxy returns the proxy of a company's shop, at which every visitor is one session and has paid.
func companyProxy(t *testing.T, company *ticketingtest.Shop) http.Handler {
	t.Helper()
	api := contracttest.New(t.Error, company.Service, &httpapi.Config{
		RateLimit: -1,
		Caller: func(*http.Request) (ticketing.Caller, error) {
			return company.With(embedproxy.Grants()...), nil
		},
	})
	proxy, err := embedproxy.New(embedproxy.Local(api), &embedproxy.Config{
		Session: func(*http.Request) (string, error) { return "visitor", nil },
		MayBuy:  func(context.Context, embedproxy.Purchase) error { return nil },
		Clock:   company.Clock.Now,
	})
	is.New(t).NoErr(err)
	return proxy
}
