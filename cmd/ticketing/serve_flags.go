package main

import (
	"cmp"
	"crypto/x509"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/floatgate/ticketing/internal/webpage"
)

// webOrigin is a scheme and a host, with a port if it is not the scheme's default.
type webOrigin struct{ origin string }

func (v *webOrigin) UnmarshalText(text []byte) error {
	given := strings.TrimSuffix(string(text), "/")
	u, err := url.Parse(given)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" ||
		u.Scheme+"://"+u.Host != given {
		return badValue("must be an origin such as https://tickets.example")
	}
	v.origin = given
	return nil
}

// serviceTitle is the name of the service on its pages. The zero value is the default.
type serviceTitle struct{ text string }

func (v *serviceTitle) UnmarshalText(text []byte) (err error) {
	if v.text, err = webpage.ParseTitle(string(text)); err != nil {
		return badValue("%v", err)
	}
	return nil
}

func (v serviceTitle) String() string { return cmp.Or(v.text, webpage.DefaultTitle) }

// prefixes are address ranges. A single address is a range of one.
type prefixes []netip.Prefix

func (v *prefixes) UnmarshalText(text []byte) error {
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		prefix, err := netip.ParsePrefix(part)
		if address, notOne := netip.ParseAddr(part); err != nil && notOne == nil && address.Zone() == "" {
			prefix, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return badValue("must be ranges of addresses such as 10.0.0.0/8, separated by commas")
		}
		*v = append(*v, prefix.Masked())
	}
	return nil
}

// roots are certificates that are trusted in addition to those of the system.
type roots struct{ pool *x509.CertPool }

func (v *roots) UnmarshalText(text []byte) error {
	pem, err := os.ReadFile(string(text))
	if err != nil {
		return badValue("%v", err)
	}
	v.pool, err = x509.SystemCertPool()
	if err != nil {
		v.pool = x509.NewCertPool()
	}
	if !v.pool.AppendCertsFromPEM(pem) {
		return badValue("%s holds no certificate in PEM", text)
	}
	return nil
}

type logFormat string

func (v *logFormat) UnmarshalText(text []byte) error {
	switch *v = logFormat(text); *v {
	case "text", "json":
		return nil
	default:
		return badValue("must be text or json")
	}
}

// logLevel is the lowest level that is logged.
type logLevel struct {
	slog.Level

	given bool
}

// or returns the level for a log. Without a given level a terminal gets no line for each request: it would mix with
// what a person types there.
func (v logLevel) or(log io.Writer) slog.Level {
	if !v.given && onTerminal(log) {
		return slog.LevelWarn
	}
	return v.Level
}

func (v *logLevel) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*v = logLevel{}
		return nil
	}
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(level.String(), string(text)) {
			*v = logLevel{Level: level, given: true}
			return nil
		}
	}
	return badValue("must be debug, info, warn or error")
}
