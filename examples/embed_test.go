package examples_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/httpapi"
)

// storefront is what a shop has already.
type storefront struct {
	session func(*http.Request) (string, error)
	hasPaid func(context.Context, embedproxy.Purchase) error
}

// mountRemote holds the first Go block of docs/embed.md.
func mountRemote(ctx context.Context, apiKey string, shop storefront, mux *http.ServeMux) error {
	upstream, err := embedproxy.Remote(ctx, "https://tickets.example/api/public/v1", apiKey, nil)
	if err != nil {
		return err
	}
	proxy, err := embedproxy.New(upstream, &embedproxy.Config{
		Session: shop.session, // whose storefront session is this
		MayBuy:  shop.hasPaid, // may this session buy this basket now
	})
	if err != nil {
		return err
	}
	mux.Handle("/tickets", proxy)
	return nil
}

// newLocal holds the second Go block of docs/embed.md.
func newLocal(svc *ticketing.Service, companyID uuid.UUID, config *embedproxy.Config) (http.Handler, error) {
	api := httpapi.New(svc, &httpapi.Config{
		RateLimit: -1, // The proxy has limits of its own.
		Caller: func(*http.Request) (ticketing.Caller, error) {
			return ticketing.TrustedCaller(companyID, embedproxy.Grants()...), nil
		},
	})
	proxy, err := embedproxy.New(embedproxy.Local(api), config)
	return proxy, err
}

// Every Go block of docs/embed.md is in a function above, line for line.
func TestEmbedDocumentShowsCodeThatCompiles(t *testing.T) {
	t.Parallel()
	source := read(t, "embed_test.go")
	blocks := strings.Split(read(t, "../docs/embed.md"), "\n```go\n")[1:]
	if len(blocks) != 2 {
		t.Errorf("docs/embed.md has %d Go blocks, there are 2 functions", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		var indented strings.Builder
		for line := range strings.Lines(code) {
			indented.WriteString("\t" + line)
		}
		if !strings.Contains(source, " {\n"+indented.String()) {
			t.Errorf("this block of docs/embed.md is in no function of examples/embed_test.go:\n%s", code)
		}
	}
}

// The code of docs/embed.md does what the document says.
func TestEmbedDocumentsCode(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // It asks no other host.
	shop := storefront{
		session: func(*http.Request) (string, error) { return "visitor", nil }, hasPaid: embedproxy.AnyoneMayBuy,
	}
	is.True(mountRemote(ctx, "svc_live.id.secret", shop, http.NewServeMux()) != nil) // It checks the API at the start.

	_, _, svc, caller, _ := openHost(t.Context())
	proxy, err := newLocal(svc, caller.CompanyID(), &embedproxy.Config{Session: shop.session, MayBuy: shop.hasPaid})
	is.NoErr(err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/tickets",
		strings.NewReader(`{"operation": "events.list", "payload": {}}`))
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	proxy.ServeHTTP(answer, request)
	is.Equal(answer.Code, http.StatusOK)
	is.True(strings.Contains(answer.Body.String(), `"title":"Highlife Night"`))
}
