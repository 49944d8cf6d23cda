package mail

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// server is what a URL says about a mail server.
type server struct {
	host     string // a name, or an address without brackets
	port     int
	implicit bool // TLS from the start
	plain    bool // a loopback address, which needs no encryption
	// credentials returns user and password. It is a function so that no way to print a server prints them, and nil if
	// there are none.
	credentials func() (user, password string)
}

// The ports for the submission of mails (RFC 8314).
const portStartTLS, portTLS = 587, 465

var (
	hostForm  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	helloForm = regexp.MustCompile(`^\[(IPv6:)?[0-9A-Fa-f.:]+\]$`)
)

// isHello reports whether the name can be sent in a greeting: the name of a machine, or an address in brackets.
func isHello(s string) bool {
	return len(s) <= 253 && (hostForm.MatchString(s) || helloForm.MatchString(s))
}

// parseURL returns the server that the URL names. Its errors repeat nothing of the URL: in a malformed one the password
// may be anywhere.
func parseURL(raw string) (server, error) {
	const want = "; want smtp://user:password@host:port or smtps://user:password@host:port, " +
		"with user and password percent-encoded"
	malformed := func(text string) (server, error) { return server{}, errors.New("mail: " + text + want) }
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "":
		return malformed("malformed SMTP URL")
	case u.Scheme != "smtp" && u.Scheme != "smtps":
		return malformed("the SMTP URL has another scheme")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || strings.Contains(raw, "#"):
		return malformed("the SMTP URL has a path, a query or a fragment")
	}
	s := server{host: u.Hostname(), port: portStartTLS, implicit: u.Scheme == "smtps"}
	if s.implicit {
		s.port = portTLS
	}
	if port := u.Port(); port != "" {
		if s.port, err = strconv.Atoi(port); err != nil || s.port < 1 || s.port > 65535 {
			return malformed("the port of the SMTP URL is not a number from 1 to 65535")
		}
	}
	address, err := netip.ParseAddr(s.host)
	isAddress := err == nil && address.Zone() == ""
	if !isAddress && (len(s.host) > 253 || !hostForm.MatchString(s.host)) {
		return malformed("the SMTP URL has no host, or a malformed one")
	}
	s.plain = !s.implicit && (isAddress && address.Unmap().IsLoopback() || strings.EqualFold(s.host, "localhost"))
	if u.User != nil {
		user := u.User.Username()
		password, _ := u.User.Password()
		switch {
		case user == "" || password == "":
			return malformed("the SMTP URL has a user without a password, or a password without a user")
		case strings.ContainsFunc(user+password, unicode.IsControl):
			return malformed("user or password in the SMTP URL have control characters")
		}
		s.credentials = func() (string, string) { return user, password }
	}
	return s, nil
}

// String returns the URL without user and password.
func (s server) String() string {
	scheme := "smtp://"
	if s.implicit {
		scheme = "smtps://"
	}
	return scheme + s.address()
}

// address returns the address to dial. The library's own has no brackets around an IPv6 address.
func (s server) address() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }
