package publicurl_test

import (
	"encoding/json"
	"math"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/publicurl"
)

type entry struct {
	Group, URL, Normalized, Hint, Why string
	PadTo                             int
	Public, Development               bool
}

func corpus(tb testing.TB) []entry {
	tb.Helper()
	data, err := os.ReadFile("testdata/urls.json")
	if err != nil {
		tb.Fatal(err)
	}
	var entries []entry
	if err := json.Unmarshal(data, &entries); err != nil {
		tb.Fatal(err)
	}
	for i, e := range entries {
		entries[i].URL += strings.Repeat("a", max(0, e.PadTo-len(e.URL)))
	}
	return entries
}

// Section 6.2: a public HTTPS URL with no credentials and no fragment. Every URL of the corpus is accepted or refused
// as it says, with and without allowPrivate.
func TestCorpusOfURLs(t *testing.T) {
	t.Parallel()
	entries := corpus(t)
	if len(entries) < 150 {
		t.Fatalf("the corpus has only %d URLs", len(entries))
	}
	for _, e := range entries {
		for _, check := range []struct{ private, want bool }{{false, e.Public}, {true, e.Development}} {
			normalized, err := publicurl.Check(e.URL, check.private)
			if (err == nil) != check.want {
				t.Errorf("%q (%s), private %v: accepted %v, error %v", e.URL, e.Why, check.private, err == nil, err)
				continue
			}
			if err != nil {
				checkMessage(t, e, err)
				continue
			}
			want := e.Normalized
			if want == "" {
				want = e.URL
				if !e.Public { // The normal form of URLs for development is checked by its properties only.
					want = normalized
				}
			}
			if normalized != want {
				t.Errorf("%q (%s): kept as %q, want %q", e.URL, e.Why, normalized, want)
			}
			checkAccepted(t, normalized, check.private)
		}
	}
}

// An error is short, on one line, says what is required, and repeats no secret.
func checkMessage(t *testing.T, e entry, err error) {
	t.Helper()
	message := err.Error()
	if !strings.HasPrefix(message, "must ") || len(message) > 200 || strings.ContainsAny(message, "\r\n\x00") ||
		strings.Contains(message, "secret") {
		t.Errorf("%q (%s): bad message %q", e.URL, e.Why, message)
	}
	if e.Hint != "" && !strings.HasSuffix(message, " "+e.Hint) {
		t.Errorf("%q (%s): the message %q does not propose %q", e.URL, e.Why, message, e.Hint)
	}
}

// An error says what the user must change.
func TestRefusalSaysWhatToChange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ url, want string }{
		{"", "must not be empty"},
		{"https://" + strings.Repeat("a", publicurl.MaxLength), "must be at most 2048 characters"},
		{"https://h.example\xff/", "must be valid UTF-8"},
		{"https://h.example/ ", "must not contain spaces or control characters"},
		{`https://h.example\`, "must not contain backslashes"},
		{"https://h.example/#a", "must not have a fragment"},
		{"http://h.example/", "must begin with https://"},
		{"https://u:p@h.example/", "must not contain credentials"},
		{"https:///a", "must have a host"},
		{"https://h.example:0/", "must have a port from 1 to 65535, or none"},
		{"https://h.example:x/", "must be a URL such as https://hooks.example.com/tickets, with a valid host and port"},
		{"https://127.1/", "must have a host name, not an IP address"},
		{"https://[::1]/", "must have a host name, not an IP address"},
		{"https://h.example./", "must not have a dot at the end of its host"},
		{"https://localhost/", "must have a public host name, not one of a machine or a local network"},
		{"https://a.localhost/", "must have a public host name, not one of a machine or a local network"},
		{"https://h_1.example/", "must have a host of letters, digits, hyphens and dots, such as hooks.example.com"},
		{"https://b\u00fccher.example/", "must be written in ASCII, its host as xn--bcher-kva.example"},
		{
			"https://\u24db\u24deca\u24dbhost/",
			"must be written in ASCII: a host with other letters as xn--…, the rest percent-encoded",
		},
		{"https://xn--a.example/", "must have a host that can be looked up"},
	} {
		is := is.New(t)
		_, err := publicurl.Check(test.url, false)
		is.True(err != nil) // it is refused
		is.Equal(err.Error(), test.want)
	}
}

// An accepted URL has no credentials and no fragment, and no host that any resolver or parser reads as an address. Its
// normal form is accepted again, unchanged.
func FuzzCheck(f *testing.F) {
	for _, e := range corpus(f) {
		f.Add(e.URL)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, private := range []bool{false, true} {
			normalized, err := publicurl.Check(raw, private)
			if err != nil {
				if normalized != "" {
					t.Errorf("%q: refused with a URL", raw)
				}
				checkMessage(t, entry{URL: raw}, maskSecret(err))
				continue
			}
			checkAccepted(t, normalized, private)
			if len(normalized) != len(raw) || !strings.EqualFold(normalized, raw) {
				t.Errorf("%q was changed to %q", raw, normalized)
			}
		}
	})
}

type masked string

func (m masked) Error() string { return string(m) }

// maskSecret allows a fuzzer to use hosts with the word that checkMessage searches for.
func maskSecret(err error) error { return masked(strings.ReplaceAll(err.Error(), "secret", "s")) }

func checkAccepted(t *testing.T, accepted string, private bool) {
	t.Helper()
	if again, err := publicurl.Check(accepted, private); err != nil || again != accepted {
		t.Errorf("%q does not pass again: %q, %v", accepted, again, err)
	}
	u, err := url.Parse(accepted)
	if err != nil {
		t.Errorf("%q: %v", accepted, err)
		return
	}
	host := u.Hostname()
	if u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Opaque != "" || host == "" ||
		strings.ContainsAny(accepted, "#\\ \t\r\n\x00") || utf8.RuneCountInString(accepted) > publicurl.MaxLength {
		t.Errorf("%q was accepted", accepted)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > math.MaxUint16 {
			t.Errorf("%q has port %s", accepted, port)
		}
	}
	// A separate parser extracts the same host: no two readers of the URL connect to different hosts.
	rest := strings.TrimPrefix(accepted, "https://")
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	if rest != u.Host || rest != strings.ToLower(rest) || strings.ContainsAny(rest, "@%") {
		t.Errorf("%q: its host is %q or %q", accepted, rest, u.Host)
	}
	if private {
		return
	}
	if _, err := netip.ParseAddr(host); err == nil || isInetAton(host) || strings.ContainsAny(host, ":[]") {
		t.Errorf("%q has an address for a host", accepted)
	}
	if !strings.Contains(host, ".") || strings.HasSuffix(host, ".") || host == "localhost" ||
		strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") {
		t.Errorf("%q has a local host", accepted)
	}
}

// isInetAton reports whether inet_aton or a browser reads a host as an address: one to four numbers in decimal, octal
// or hexadecimal, of which the last fills the remaining bytes. It accepts more than either: an empty number is 0, and
// overflows are ignored.
func isInetAton(host string) bool {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	for _, part := range parts {
		digits, base := part, 10
		if lower := strings.ToLower(part); strings.HasPrefix(lower, "0x") {
			digits, base = lower[2:], 16
		} else if strings.HasPrefix(part, "0") {
			base = 8
		}
		if _, err := strconv.ParseUint("0"+digits, base, 64); err != nil && !strings.Contains(err.Error(), "range") {
			return false
		}
	}
	return len(parts) <= 4
}
