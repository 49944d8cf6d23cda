package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/delivery"
)

type prefix = netip.Prefix

// script is a resolver that returns one response after the other, and then always the last one.
type script struct {
	lookups []lookup
	asked   atomic.Int64
}

type lookup struct {
	Answer []string
	Error  string
}

func (s *script) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	at := min(int(s.asked.Add(1)), len(s.lookups)) - 1
	if s.lookups[at].Error != "" {
		return nil, &net.DNSError{Err: "secret", Name: host, IsNotFound: s.lookups[at].Error == "no such host"}
	}
	var addrs []netip.Addr
	for _, addr := range s.lookups[at].Answer {
		addrs = append(addrs, netip.MustParseAddr(addr))
	}
	return addrs, nil
}

// Sections 6.2 and 6.5: the sender checks every DNS response before it opens a connection. A name with a private
// address is a failed attempt that names the address, even if the name resolved to a public one before. The test runs
// the corpus of package safedial over real receivers.
func TestCorpusOfAnswersIsNotConnectedTo(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../internal/safedial/testdata/dns.json")
	is.New(t).NoErr(err)
	var scenarios []struct {
		Name, Host  string
		Lookups     []lookup
		Connects    map[string]string
		Development bool
		Denied      []netip.Prefix
		Dials       []struct{ Connected, Refused, Failed string }
	}
	is.New(t).NoErr(json.Unmarshal(data, &scenarios))
	for _, s := range scenarios {
		if len(s.Connects) > 0 || len(s.Lookups) == 0 || s.Host != host && s.Host != "localhost" ||
			slices.Contains([]string{"silent", "deaf", "panic"}, s.Lookups[0].Error) {
			continue // Connection failures and timeouts have their own tests.
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			r := receive(t, false, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
			sender := newSender(t, r.wires, func(config *delivery.Config) {
				config.Resolver = &script{lookups: s.Lookups}
				config.AllowPrivate, config.Denied = s.Development, s.Denied
			})
			for _, want := range s.Dials {
				before := r.wires.dialed.Load()
				_, err := sender.Post(t.Context(), attempt())
				switch {
				case want.Connected != "":
					is.NoErr(err)
					is.Equal(r.wires.got[len(r.wires.got)-1], "tcp "+net.JoinHostPort(want.Connected, "443"))
					continue
				case want.Refused != "":
					isReason(t, err, delivery.ReasonAddress, "the address "+want.Refused+" is not public")
				case s.Lookups[0].Error == "server failure":
					isReason(t, err, delivery.ReasonDNS, "DNS: the look-up failed")
				default:
					isReason(t, err, delivery.ReasonDNS, "DNS: no such host")
				}
				is.Equal(r.wires.dialed.Load(), before) // no connection was opened
			}
		})
	}
}

// The error of a failed connection names the cause.
func TestConnecting(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		dial       func() (net.Conn, error)
	}{
		{"refused", "connection refused", func() (net.Conn, error) { return nil, syscall.ECONNREFUSED }},
		{"reset", "connection reset", func() (net.Conn, error) { return nil, syscall.ECONNRESET }},
		{"no route", "no route to the host", func() (net.Conn, error) { return nil, syscall.EHOSTUNREACH }},
		{"no network", "no route to the host", func() (net.Conn, error) { return nil, syscall.ENETUNREACH }},
		{"time-out", "timeout while connecting", func() (net.Conn, error) { return nil, syscall.ETIMEDOUT }},
		{"other", "the connection failed", func() (net.Conn, error) { return nil, errors.New("secret\r\nsecret") }},
		{"panic", "the connection failed", func() (net.Conn, error) { panic("secret") }},
		{"nothing", "the connection failed", func() (net.Conn, error) { return nil, nil }}, //nolint:nilnil // On purpose.
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sender := newSender(t, nil, func(config *delivery.Config) {
				config.Dial = func(context.Context, string, string) (net.Conn, error) { return test.dial() }
			})
			_, err := sender.Post(t.Context(), attempt())
			isReason(t, err, delivery.ReasonConnect, test.text)
		})
	}
}

// A URL that registration would refuse gets no request, even if it is in the record.
func TestURLIsCheckedAgain(t *testing.T) {
	t.Parallel()
	r := receive(t, false, func(http.ResponseWriter, *http.Request) { t.Error("it was sent to") })
	for url, want := range map[string]string{
		"http://" + host + "/":               "the URL must begin with https://",
		"https://user:secret@" + host + "/":  "the URL must not contain credentials",
		"https://127.0.0.1/":                 "the URL must have a host name, not an IP address",
		"https://localhost/":                 "the URL must have a public host name, not one of a machine or a local network",
		"":                                   "the URL must not be empty",
		"https://" + host + "/\r\nX-Evil: 1": "the URL must not contain spaces or control characters",
		"https://" + strings.Repeat("\u00fc", 45) + "." + strings.Repeat("\u00e4", 45) + "." + strings.Repeat("\u00f6",
			40) + ".example/": "",
	} {
		_, err := r.sender.Post(t.Context(), to(url))
		if want == "" {
			want = err.Error()
			is.New(t).Equal(len(want), 200) // the text is cut
		}
		isReason(t, err, delivery.ReasonURL, want)
	}
}

// In development, a receiver on this machine gets webhooks by address and by name. The built-in dialer and resolver are
// used, and the certificate is verified. Without AllowPrivate it gets none.
func TestDevelopment(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for _, name := range []string{"127.0.0.1", "localhost"} {
		local := receiveAs(t, name, true, func(http.ResponseWriter, *http.Request) {})
		_, port, err := net.SplitHostPort(local.Listener.Addr().String())
		is.NoErr(err)
		post := func(config *delivery.Config) (int, error) {
			sender, err := delivery.New(config)
			is.NoErr(err)
			defer sender.Close()
			return sender.Post(t.Context(), to("https://"+name+":"+port+"/"))
		}
		status, err := post(&delivery.Config{RootCAs: trusted.pool(), AllowPrivate: true})
		is.NoErr(err)
		is.Equal(status, 200)
		_, err = post(&delivery.Config{AllowPrivate: true})
		isReason(t, err, delivery.ReasonTLS, "TLS: certificate signed by unknown authority")
		_, err = post(&delivery.Config{RootCAs: trusted.pool()})
		var known *delivery.Error
		is.True(errors.As(err, &known))
		is.Equal(known.Reason, delivery.ReasonURL)
	}
}
