package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// secure returns a client that trusts an authority alone, with a connection for each request.
func secure(t *testing.T, roots *x509.CertPool) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// fetched returns the status, the body and the header of an answer.
func fetched(t *testing.T, with *http.Client, url string) (status int, body string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	must(t, err)
	response, err := with.Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(text), response.Header
}

// With a certificate the server speaks HTTPS alone, from TLS 1.2 on, and says so. What an operator watches stays plain
// at an address of its own. A client that speaks plain HTTP is refused in words. It drains as any other.
func TestServeOverTLS(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	authority := browsertest.NewAuthority(t)
	cert, key := authority.Files(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.serve("--tls-cert", cert, "--tls-key", key, "--operator-addr", "127.0.0.1:0")
	is.True(strings.HasPrefix(origin, "https://127.0.0.1:"))
	api, err := client.New(origin+prefix, shop.key, &client.Config{
		Attempts: 1, Transport: secure(t, authority.Pool()).Transport,
	})
	is.NoErr(err)
	sold, err := api.Checkout(t.Context(), "over-tls", shop.basket())
	is.NoErr(err)
	is.Equal(sold.Status, ticketing.OrderConfirmed)
	status, body, header := fetched(t, secure(t, authority.Pool()), origin+"/embeds/v1/service.js")
	is.Equal(status, http.StatusOK)
	is.True(strings.Contains(body, "ServiceEmbedsV1"))
	is.Equal(header.Get("Access-Control-Allow-Origin"), "*")
	status, body, _ = fetched(t, secure(t, authority.Pool()), origin+"/?"+strings.Repeat("a", 64<<10))
	is.Equal(status, http.StatusBadRequest)
	is.True(strings.Contains(body, `"code":"INVALID_REQUEST"`))
	status, body = get(t, p.operator()+"/healthz")
	is.Equal(status, http.StatusOK)
	is.Equal(body, "ok\n")
	status, body, _ = fetched(t, http.DefaultClient, strings.Replace(origin, "https", "http", 1)+prefix+"/events")
	is.Equal(status, http.StatusBadRequest)
	is.True(strings.Contains(body, "this port speaks HTTPS alone"))

	old := tls.Dialer{Config: &tls.Config{
		RootCAs: authority.Pool(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
	}}
	_, err = old.DialContext(t.Context(), "tcp", strings.TrimPrefix(origin, "https://"))
	is.True(err != nil)
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
}

// The limit of connections counts those over TLS: a client that has not even shaken hands gives its slot to one that
// asks.
func TestConnectionLimitOverTLS(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	authority := browsertest.NewAuthority(t)
	cert, key := authority.Files(t)
	p, origin := newShell(t).with("TICKETING_DATABASE", "memory:").serve("--tls-cert", cert, "--tls-key", key,
		"--max-connections", "1", "--operator-addr", "127.0.0.1:0")
	silent, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(origin, "https://"))
	is.NoErr(err)
	defer func() { _ = silent.Close() }()
	eventually(t, "the silent client is connected", func() bool { return p.counts("ticketing_http_connections 1") })
	kept := secure(t, authority.Pool())
	kept.Transport.(*http.Transport).DisableKeepAlives = false
	for range 2 {
		status, _, _ := fetched(t, kept, origin+prefix+"/events")
		is.Equal(status, http.StatusUnauthorized)
	}
	status, _, _ := fetched(t, secure(t, authority.Pool()), origin+prefix+"/events") // The idle one makes room.
	is.Equal(status, http.StatusUnauthorized)
	eventually(t, "no client is connected", func() bool { return p.counts("ticketing_http_connections 0") })
}

// A certificate that is not there, or that its key does not fit, is refused before anything is served.
func TestBadCertificates(t *testing.T) {
	t.Parallel()
	authority := browsertest.NewAuthority(t)
	cert, key := authority.Files(t)
	_, otherKey := authority.Files(t)
	missing := filepath.Join(t.TempDir(), "none.pem")
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"no key":         {[]string{"serve", "--tls-cert", cert}, "--tls-cert: needs --tls-key, too"},
		"no certificate": {[]string{"serve", "--tls-key", key}, "--tls-key: needs --tls-cert, too"},
		"missing file": {
			[]string{"serve", "--tls-cert", missing, "--tls-key", key},
			"--tls-cert: open " + missing + ": no such file or directory",
		},
		"missing key": {
			[]string{"demo", "--tls-cert", cert, "--tls-key", missing},
			"--tls-key: open " + missing + ": no such file or directory",
		},
		"exchanged": {[]string{"serve", "--tls-cert", key, "--tls-key", cert}, "PEM"},
		"other key": {[]string{"serve", "--tls-cert", cert, "--tls-key", otherKey}, "does not match"},
		"two of them": {
			[]string{"demo", "--tls", "--tls-cert", cert, "--tls-key", key}, "leave out --tls-cert and --tls-key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh := newShell(t)
			did := sh.run(append(test.args, "--addr", "127.0.0.1:0")...)
			is.Equal(did.status, 1)
			is.True(strings.Contains(did.stderr, test.says)) // did.stderr
		})
	}
}

// With --tls the demo makes a certificate that is valid for localhost, and serves both addresses with it. The next demo
// on the database has the same, so that a browser trusts the authority once. The authority is for localhost alone, and
// nobody has its key.
func TestDemoOverTLS(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	var first *x509.Certificate
	for range 2 {
		p, at := sh.demo("--tls")
		authority := at.authority(t)
		if path, ok := strings.CutPrefix(sh.env["TICKETING_DATABASE"], "sqlite:"); ok {
			is.Equal(at.AuthorityFile, path+".tls/authority.pem")
			is.True(first == nil || first.Equal(authority))
			first = authority
		}
		is.True(authority.PermittedDNSDomainsCritical)
		is.Equal(authority.PermittedDNSDomains, []string{"localhost"})
		pool := x509.NewCertPool()
		pool.AddCert(authority)
		status, body, header := fetched(t, secure(t, pool), at.ShopURL)
		is.Equal(status, http.StatusOK)
		is.True(strings.Contains(body, at.WebOrigin+"/embeds/v1/service.js"))
		is.True(strings.Contains(header.Get("Set-Cookie"), "; HttpOnly; Secure; SameSite=Lax"))
		named := strings.Replace(at.WebOrigin, "127.0.0.1", "localhost", 1)
		status, _, _ = fetched(t, secure(t, pool), named+"/healthz")
		is.Equal(status, http.StatusOK)
		status, body, header = fetched(t, secure(t, pool), at.ShopURL+"/picture.svg")
		is.Equal(status, http.StatusOK)
		is.True(strings.Contains(body, "<svg"))
		is.Equal(header.Get("Content-Type"), "image/svg+xml")
		api, err := client.New(at.WebOrigin+prefix, at.APIKey, &client.Config{Transport: secure(t, pool).Transport})
		is.NoErr(err)
		events, err := api.ListEvents(t.Context(), ticketing.EventFilter{})
		is.NoErr(err)
		is.Equal(events.Items[0].ImageURL, at.ShopURL+"/picture.svg") // of this demo's own address
		folder, err := os.ReadDir(filepath.Dir(at.AuthorityFile))
		is.NoErr(err)
		is.Equal(len(folder), 3) // the authority, the certificate and its key
		p.signal(syscall.SIGTERM)
		is.Equal(p.wait(), 0)
		_, err = os.Stat(at.AuthorityFile)
		is.Equal(err == nil, strings.HasPrefix(sh.env["TICKETING_DATABASE"], "sqlite:")) // A temporary one is removed.
	}
}

// A demo with --tls leaves no key where it is refused, nor, without a database of its own, after its end.
func TestDemoLeavesNoKey(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	keys := func(dir string) []string {
		t.Helper()
		var found []string
		is.NoErr(filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Base(path) == "key.pem" || strings.Contains(filepath.Base(path), "tls") {
				found = append(found, path)
			}
			return err
		}))
		return found
	}
	used := newShell(t)
	used.object("company", "create", "--name", "Lagos Live")
	is.Equal(used.run("demo", "--tls", "--addr", "127.0.0.1:0").status, 1)
	is.Equal(len(keys(used.dir)), 0)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	is.NoErr(err)
	defer func() { _ = taken.Close() }()
	is.Equal(used.run("demo", "--tls", "--addr", taken.Addr().String()).status, 1)
	is.Equal(len(keys(used.dir)), 0)
	memory := newShell(t).with("TICKETING_DATABASE", "memory:")
	is.Equal(memory.run("demo", "--tls", "--once", "--addr", "127.0.0.1:0").status, 0)
	is.Equal(len(keys(memory.dir)), 0)
}

// Without --tls the demo's shop has the widget in its page alone, and says why. Its address is printed, in JSON, too.
// Each demo on a database has a key for its user and an embed key for the shop, and those of the demo before end.
func TestDemoShopAgain(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	for range 3 {
		p, at := sh.demo()
		status, body, header := fetched(t, http.DefaultClient, at.ShopURL)
		is.Equal(status, http.StatusOK)
		is.True(strings.Contains(body, `id="tickets"`))
		is.True(strings.Contains(header.Get("Content-Security-Policy"), "script-src 'self' "+at.WebOrigin+";"))
		status, body, _ = fetched(t, http.DefaultClient, at.ShopURL+"/frame")
		is.Equal(status, http.StatusOK)
		is.True(strings.Contains(body, "over HTTPS alone") && strings.Contains(body, "ticketing demo --tls"))
		is.True(!strings.Contains(body, `id="tickets"`))
		active := map[string]any{}
		for _, key := range sh.array("key", "list", at.CompanyID) {
			if key["status"] == "ACTIVE" {
				active[key["name"].(string)] = key["grants"]
			}
		}
		is.Equal(len(active), 2)
		is.Equal(active["demo-shop"], []any{
			"COMPANY:event:read", "COMPANY:inventory:read", "COMPANY:checkout:create",
		})
		p.signal(syscall.SIGTERM)
		is.Equal(p.wait(), 0)
	}
	p := sh.start("demo", "--addr", "127.0.0.1:0")
	p.listening()
	var text strings.Builder
	for !strings.Contains(text.String(), "until you press") {
		line, err := p.stdout.ReadString('\n')
		is.NoErr(err)
		text.WriteString(line)
	}
	is.True(strings.Contains(text.String(), "Buy a ticket in the shop, in a browser:\n\n    http://127.0.0.1:"))
	is.True(strings.Contains(text.String(), "start the demo with --tls"))
}

// A demo whose company has a key of its user's goes on without a shop, and says why.
func TestDemoWithoutRoomForAShop(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	sh.object("key", "issue", shop.companyID, "--name", "mine", "--all-grants")
	p := sh.start("demo", "--addr", "127.0.0.1:0", "--json")
	p.listening()
	line, err := p.stdout.ReadString('\n')
	is.NoErr(err)
	var at map[string]any
	is.NoErr(json.Unmarshal([]byte(line), &at))
	is.Equal(at["shopUrl"], nil)
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
}

// A shop whose address another program has is refused before anything else is done, and --once needs none.
func TestDemoShopAddress(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	is.NoErr(err)
	defer func() { _ = taken.Close() }()
	sh := newEmptyShell(t).with("TICKETING_SHOP_ADDR", taken.Addr().String())
	code, message := sh.refusal("demo", "--addr", "127.0.0.1:0")
	is.Equal(code, "ADDRESS_IN_USE")
	is.True(strings.Contains(message, taken.Addr().String()) && strings.Contains(message, "--shop-addr"))
	did := sh.run("company", "list")
	is.Equal(did.status, 1) // There is no database yet.
	is.Equal(sh.object("demo", "--once", "--addr", "127.0.0.1:0")["shopUrl"], nil)
}
