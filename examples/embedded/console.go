package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

// The host's one user. A host has a table of them, with passwords that are hashed.
const (
	hostUser     = "ada@freedompark.example"
	hostUserName = "Ada Obi"
	hostCookie   = "host"
)

// users are the host's users and who of them is signed in. It stands for the sign-in that a host already has.
type users struct {
	password string
	mu       sync.Mutex
	signedIn map[string]time.Time // when, by the value of the cookie
}

// signIn takes the form values email and password.
func (u *users) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	right := subtle.ConstantTimeCompare([]byte(r.FormValue("password")), []byte(u.password)) == 1
	if r.FormValue("email") != hostUser || !right {
		http.Error(w, "Email or password is wrong.", http.StatusUnauthorized)
		return
	}
	secret := rand.Text()
	u.mu.Lock()
	u.signedIn[secret] = time.Now()
	u.mu.Unlock()
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // A host that is served over HTTPS sets Secure, too.
		Name: hostCookie, Value: secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// identify returns who a request is from. The console calls it for each of its requests.
func (u *users) identify(r *http.Request) (console.Person, error) {
	cookie, err := r.Cookie(hostCookie)
	if err != nil {
		return console.Person{}, console.ErrNobody
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	at, ok := u.signedIn[cookie.Value]
	if !ok {
		return console.Person{}, console.ErrNobody
	}
	return console.Person{Email: hostUser, ProvedAt: at}, nil
}

// manage is the button on the host's own pages that leads its user to the console.
type manage struct {
	svc   *ticketing.Service
	shop  shop
	users *users
	links bool // The console has sessions of its own, which begin with a link.
	log   *slog.Logger
}

func (m *manage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	person, err := m.users.identify(r)
	if err != nil {
		http.Error(w, "Sign in first.", http.StatusUnauthorized)
		return
	}
	if !m.links {
		http.Redirect(w, r, "/business/"+m.shop.companyID.String(), http.StatusSeeOther)
		return
	}
	link, err := m.svc.Accounts().CreateLink(r.Context(), ticketing.LinkParams{
		Email: person.Email, CompanyID: m.shop.companyID, Actor: "embedded",
	})
	if err != nil {
		m.log.ErrorContext(r.Context(), "a link to the console was not made", slog.Any("error", err))
		http.Error(w, "Something went wrong. Try again.", http.StatusInternalServerError)
		return
	}
	http.Redirect(w, r, console.LinkURL("", link.Token), http.StatusSeeOther) // on this host
}

// mountConsole adds the console to the host's pages. The host's user is an owner of the company.
//
// There are two ways to let the host's users in. Without links, the console asks the host who a request is from. With
// links, the console has sessions of its own: the host redirects its user to a link that signs them in once. The second
// way suits a console on another host, where the host's cookies are not sent.
func mountConsole(
	ctx context.Context, mux *http.ServeMux, svc *ticketing.Service, shop shop, password string, links bool,
	logger *slog.Logger,
) error {
	_, err := svc.As(ticketing.Staff("set-up")).AddMember(ctx, shop.companyID, ticketing.AddMemberParams{
		Email: hostUser, Name: hostUserName, Role: ticketing.RoleOwner,
	})
	if err != nil {
		return err
	}
	hosts := &users{password: password, signedIn: map[string]time.Time{}}
	config := &console.Config{Logger: logger} // A public host has its https:// origin as WebOrigin.
	if !links {
		config.Identify = hosts.identify
	}
	pages, err := console.New(svc, config)
	if err != nil {
		return err
	}
	for _, path := range console.Paths() {
		mux.Handle(path, pages)
	}
	sameSite := http.NewCrossOriginProtection()
	mux.Handle("POST /login", sameSite.Handler(http.HandlerFunc(hosts.signIn)))
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, loginPage) })
	mux.Handle("POST /manage", sameSite.Handler(&manage{svc: svc, shop: shop, users: hosts, links: links, log: logger}))
	return nil
}

const loginPage = `<!doctype html><meta charset="utf-8"><title>Freedom Park</title>
<form method="post" action="/login"><input name="email" type="email" aria-label="Email">
<input name="password" type="password" aria-label="Password"><button>Sign in</button></form>
<form method="post" action="/manage"><button>Manage tickets</button></form>
`
