package main_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	storefront "github.com/floatgate/ticketing/examples/storefront"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// The program serves the shop with the settings of its environment, over plain HTTP and over HTTPS, and ends with its
// context.
func TestRun(t *testing.T) {
	t.Parallel()
	authority := browsertest.NewAuthority(t)
	cert, certKey := authority.Files(t)
	company := ticketingtest.New(t, nil)
	api := httptest.NewServer(contracttest.New(t.Error, company.Service, nil))
	t.Cleanup(api.Close)
	key, err := company.Staff.IssueAPIKey(t.Context(), company.Company.ID, "shop", []ticketing.Grant{
		ticketing.GrantEventRead, ticketing.GrantInventoryRead, ticketing.GrantCheckoutCreate,
	})
	is.New(t).NoErr(err)
	base := map[string]string{
		"TICKETING_BASE_URL": api.URL + httpapi.DefaultPrefix, "TICKETING_API_KEY": key.Key,
		"TICKETING_WEB_ORIGIN": "https://tickets.example", "SHOP_ADDR": "127.0.0.1:0",
		"SHOP_PICTURES": "https://img.example",
	}
	for name, test := range map[string]struct {
		change map[string]string
		scheme string
		secure bool // browsers reach it over HTTPS
		fails  string
	}{
		"plain": {scheme: "http://"},
		"TLS": {
			change: map[string]string{"SHOP_TLS_CERT": cert, "SHOP_TLS_KEY": certKey}, scheme: "https://", secure: true,
		},
		"behind a load balancer": {
			change: map[string]string{"SHOP_SECURE": "1", "SHOP_TRUSTED_PROXIES": "10.0.0.0/8, 127.0.0.1"}, scheme: "http://",
			secure: true,
		},
		"no answer to secure": {change: map[string]string{"SHOP_SECURE": "maybe"}, fails: "SHOP_SECURE"},
		"malformed proxies":   {change: map[string]string{"SHOP_TRUSTED_PROXIES": "lb"}, fails: "SHOP_TRUSTED_PROXIES"},
		"half of TLS":         {change: map[string]string{"SHOP_TLS_CERT": cert}, fails: "SHOP_TLS_KEY"},
		"no key":              {change: map[string]string{"TICKETING_API_KEY": ""}, fails: "TICKETING_API_KEY"},
		"a key with every grant": {
			change: map[string]string{"TICKETING_API_KEY": company.APIKey}, fails: "COMPANY:event:manage",
		},
		"an origin with a path": {
			change: map[string]string{"TICKETING_WEB_ORIGIN": "https://tickets.example/a"}, fails: "origin",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			getenv := func(name string) string {
				if value, ok := test.change[name]; ok {
					return value
				}
				return base[name]
			}
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			read, write := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				err := storefront.Run(ctx, getenv, write)
				_ = write.Close()
				ended <- err
			}()
			line, _ := bufio.NewReader(read).ReadString('\n')
			if test.fails != "" {
				err := <-ended
				is.True(err != nil)
				is.True(strings.Contains(err.Error(), test.fails)) // err
				is.True(!strings.Contains(err.Error(), "svc_live."))
				return
			}
			go func() { _, _ = io.Copy(io.Discard, read) }()
			origin := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
			is.True(strings.HasPrefix(origin, test.scheme))
			client := &http.Client{Transport: &http.Transport{
				TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}, DisableKeepAlives: true,
			}}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/frame", http.NoBody)
			is.NoErr(err)
			response, err := client.Do(request)
			is.NoErr(err)
			page, err := io.ReadAll(response.Body)
			is.NoErr(err)
			is.NoErr(response.Body.Close())
			is.Equal(strings.Contains(string(page), "data-frame="), test.secure)
			is.Equal(response.Cookies()[0].Secure, test.secure)
			is.True(strings.Contains(response.Header.Get("Content-Security-Policy"), "img-src 'self' https://img.example"))
			end()
			is.NoErr(<-ended)
		})
	}
}
