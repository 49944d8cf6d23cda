package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// ErrNobody is returned by [Config.Identify] for a request of somebody who is not signed in.
var ErrNobody = errors.New("console: nobody is signed in")

// Config holds the options of a console. Every zero field means its default. The functions are called from many
// goroutines at once.
type Config struct {
	// Title is the name of the service wherever a person sees one: titles of pages, the navigation, the sign-in page, its
	// mails, and the question of a browser for a passkey. It has at most 60 characters on one line. Defaults to
	// "Ticketing".
	Title string
	// WebOrigin is the scheme and host that browsers use, such as "https://tickets.example.com". Requests for another
	// host are refused. Its scheme is https, or http on localhost or a loopback address. Defaults to http on localhost
	// and 127.0.0.1, at any port.
	WebOrigin string
	// Identify returns who a request is from, for a host that already has users. [ErrNobody] means that nobody is
	// signed in. With Identify the console has no sessions and no sign-in pages of its own. It is called for each
	// request, and again every few seconds while a download is sent. Defaults to the sessions of the service.
	Identify func(*http.Request) (Person, error)
	// OIDC lets people sign in at an issuer of OpenID Connect, too. [New] refuses it together with Identify. Defaults to
	// none.
	OIDC *OIDC
	// Mailer sends the links and codes of the sign-in page. Defaults to none: the page then says who can make a link.
	Mailer ticketing.Mailer
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted. The client's address is then the rightmost
	// address in it that is none of these. Defaults to none: the header is not read.
	TrustedProxies []netip.Prefix
	// Logger logs each request and each failure of the console, by request id. It gets no name, no address of a person
	// and no secret. Defaults to no log.
	Logger *slog.Logger
	// Clock returns the time. Defaults to time.Now.
	Clock func() time.Time
	// OnRequest is called with each response after it was sent, for metrics. It must return quickly. Defaults to none.
	OnRequest func(context.Context, Answer)
}

// Person is who a request is from, as a host knows them. One of UserID and Email is enough.
type Person struct {
	// UserID is the user's id in this service. Defaults to the user with the email.
	UserID uuid.UUID
	// Email is an address that the host has verified. It is ignored if UserID is set.
	Email string
	// ProvedAt is when the person last proved who they are, by a password or a key. Acts that need a recent sign-in
	// require it within the last ten minutes. The zero time means never.
	ProvedAt time.Time
}

// Answer is a response that was sent.
type Answer struct {
	Method   string
	Route    string // the pattern, such as "/business/{companyId}"; empty: no page has the path
	Status   int
	Code     ticketing.Code // empty for a success
	Duration time.Duration
}

// Paths returns the patterns of the handler's paths for an [http.ServeMux].
func Paths() []string {
	return []string{
		"/business", "/business/", "/platform", "/platform/", "/account", "/account/", "/sign-in", "/sign-in/", "/console/",
		"/api/v2/",
	}
}
