package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/ratewindow"
)

// signInRoutes are the pages of those who are not signed in. A console whose host identifies people has none.
func (c *console) signInRoutes() []*route {
	if c.config.Identify != nil {
		return nil
	}
	return append([]*route{
		{pattern: "/sign-in", get: signInPage, post: requestCode},
		{pattern: "/sign-in/code", get: codePage, post: useCode},
		{pattern: "/sign-in/link", get: linkPage, post: openLink},
	}, slices.Concat(passkeyRoutes(), personRoutes(), c.issuerRoutes())...)
}

// signInFrame is the dot of a sign-in page.
type signInFrame struct {
	Title, Next, Email, RequestID, Accent, Here string
	Issuer                                      string // of OpenID Connect; empty: none
	Nav                                         []navItem
	Plain, CanMail, Offer                       bool
	Refusal                                     *ticketing.Error
	Done                                        string
	Typed                                       url.Values
	Chosen                                      appearance
}

func (x *exchange) renderSignIn(status int, name string, f *signInFrame) (answer, error) {
	f.Plain, f.RequestID, f.Here, f.Issuer = true, x.id, x.r.URL.Path, x.issuerName()
	f.Chosen = x.appearance()
	text, err := x.execute(name, f)
	return answer{status: status, contentType: htmlType, body: text}, err
}

// signInPath returns the address of the sign-in page, which leads back to this page.
func (x *exchange) signInPath() string {
	next := ""
	switch {
	case isSafe(x.r.Method):
		next = ownPath(x.r.URL.RequestURI())
	case x.route != nil && x.route.act != nil:
		next = (&call{r: x.r}).expand(x.route.act.page)
	}
	return "/sign-in" + nextQuery(next)
}

func nextQuery(next string) string {
	if next == "" {
		return ""
	}
	return "?" + url.Values{"next": {next}}.Encode()
}

// nextOf returns the path to go to after the sign-in, if it is one of ours.
func (x *exchange) nextOf(values url.Values) string { return ownPath(values.Get("next")) }

// signInQuery reads the query of a sign-in page.
func (x *exchange) signInQuery() (url.Values, error) {
	query, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return nil, invalid("query: is malformed")
	}
	for name := range query {
		if name != "next" {
			return nil, invalid(shortened(name) + ": is not a known query parameter")
		}
	}
	return query, nil
}

func signInPage(ctx context.Context, x *exchange) (answer, error) {
	query, err := x.signInQuery()
	if err != nil {
		return answer{}, err
	}
	// A person who is already signed in is redirected.
	err = x.identify(ctx, ticketing.VisitParams{})
	if err == nil {
		return x.goOn(ctx, x.visitor.userID, x.nextOf(query))
	}
	if refusalOf(err) == nil {
		return answer{}, err
	}
	canMail, err := x.canMail(ctx)
	if err != nil {
		return answer{}, err
	}
	return x.renderSignIn(http.StatusOK, "sign-in.html", &signInFrame{
		Title: "Sign in", Next: x.nextOf(query), CanMail: canMail, Done: x.takeDone(),
	})
}

// goOn redirects a person who has signed in to the path that they wanted. Without one it leads to their only company,
// the platform, or the list of their companies.
func (x *exchange) goOn(ctx context.Context, userID uuid.UUID, next string) (answer, error) {
	if next != "" {
		return redirect(next), nil
	}
	_, err := x.accounts.Staff(ctx, userID)
	if err == nil {
		return redirect("/platform"), nil
	}
	if refusalOf(err) == nil {
		return answer{}, err
	}
	companies, err := x.accounts.Companies(ctx, userID)
	if err == nil && len(companies) == 1 {
		return redirect("/business/" + companies[0].CompanyID.String()), nil
	}
	if errors.Is(err, ticketing.ErrIncomplete) {
		err = nil // The list says so.
	}
	return redirect("/business"), err
}

// try counts an attempt of the client to sign in.
func (x *exchange) try(ctx context.Context) error {
	client, _ := x.proxies.Keys(x.r)
	return limited(ctx, x.tries, client, x.began)
}

func limited(ctx context.Context, limit ratewindow.Limit, key string, now time.Time) error {
	wait, err := limit.Take(ctx, key, "", now)
	if wait == 0 || err != nil {
		return err
	}
	return &limitError{&ticketing.Error{
		Code: ticketing.CodeRateLimited, Message: "Too many attempts. Try again later.",
	}, wait}
}

// wasUsed reports whether this process has seen a challenge before, and records it.
func (x *exchange) wasUsed(ctx context.Context, challenge string) bool {
	wait, err := x.used.Take(ctx, challenge, "", x.began)
	return wait > 0 || err != nil
}

// client returns what a session keeps of the request that began it.
func (x *exchange) client() ticketing.Client {
	return ticketing.Client{Browser: x.r.UserAgent(), Address: x.proxies.Client(x.r).String()}
}

// browserSecret returns the secret that binds codes to this browser, and the address that the code was requested for.
func (x *exchange) browserSecret() (secret, email string) {
	secret, encoded, _ := strings.Cut(x.cookie(browserCookie), ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || len(secret) != browserSecretLength {
		return "", ""
	}
	return secret, string(text)
}

const browserSecretLength = 43 // 32 bytes in base64

// bindBrowser gives the browser a new secret.
func (x *exchange) bindBrowser(email string) string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // It never fails.
	text := base64.RawURLEncoding.EncodeToString(secret)
	x.setCookie(browserCookie, text+"."+base64.RawURLEncoding.EncodeToString([]byte(email)), x.began.Add(codeLife))
	return text
}

// codeLife is how long links and codes work.
const codeLife = 30 * time.Minute

const maxEmail = 320

// requestCode mails a code and a link to an address. The response and its timing are the same for every address:
// whether it has a user is read after the response was made.
func requestCode(ctx context.Context, x *exchange) (answer, error) {
	form, err := x.readForm()
	if err != nil {
		return answer{}, err
	}
	email, next := strings.ToLower(strings.TrimSpace(form.Get("email"))), x.nextOf(form)
	again := func(err error) (answer, error) {
		canMail, mailErr := x.canMail(ctx)
		if shown := refusalOf(err); shown != nil && mailErr == nil {
			return x.refuseSignIn("sign-in.html", &signInFrame{
				Title: "Sign in", Next: next, CanMail: canMail, Email: email,
			}, err)
		}
		return answer{}, cmp.Or(mailErr, err)
	}
	if !strings.Contains(email, "@") || len(email) > maxEmail || strings.ContainsFunc(email, isControl) {
		return again(invalid("email: must be one email address, such as ada@example.com"))
	}
	if canMail, err := x.canMail(ctx); err != nil || !canMail {
		return again(cmp.Or(err, error(errNoMail)))
	}
	if err := x.try(ctx); err != nil {
		return again(err)
	}
	if err := limited(ctx, x.codes, email, x.began); err != nil {
		return again(err)
	}
	x.mailCode(ctx, email, x.bindBrowser(email))
	return redirect("/sign-in/code" + nextQuery(next)), nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

var errNoMail = &ticketing.Error{
	Code: ticketing.CodeConflict, Message: "This service sends no mail. Ask its operators for a sign-in link.",
}

// refuseSignIn shows a sign-in page with a refusal.
func (x *exchange) refuseSignIn(name string, f *signInFrame, err error) (answer, error) {
	f.Refusal = refusalOf(err)
	if f.Refusal == nil {
		return answer{}, err
	}
	a, renderErr := x.renderSignIn(statusOf(f.Refusal.Code), name, f)
	a.code = f.Refusal.Code
	if wait, ok := errors.AsType[*limitError](err); ok {
		a.retryAfter = wait.seconds
	}
	return a, renderErr
}

func codePage(_ context.Context, x *exchange) (answer, error) {
	query, err := x.signInQuery()
	if err != nil {
		return answer{}, err
	}
	_, email := x.browserSecret()
	if email == "" {
		return redirect("/sign-in" + nextQuery(x.nextOf(query))), nil
	}
	return x.renderSignIn(http.StatusOK, "sign-in-code.html", &signInFrame{
		Title: "Enter your code", Next: x.nextOf(query), Email: email,
	})
}

func useCode(ctx context.Context, x *exchange) (answer, error) {
	form, err := x.readForm()
	if err != nil {
		return answer{}, err
	}
	next := x.nextOf(form)
	secret, email := x.browserSecret()
	if email == "" {
		return redirect("/sign-in" + nextQuery(next)), nil
	}
	var in ticketing.SignedIn
	if err = x.try(ctx); err == nil {
		in, err = x.accounts.UseCode(ctx, email, secret, plainCode(form.Get("code")), x.client())
	}
	if err != nil {
		return x.refuseSignIn("sign-in-code.html", &signInFrame{Title: "Enter your code", Next: next, Email: email}, err)
	}
	x.removeCookie(browserCookie)
	return x.beginAndOffer(ctx, in, next)
}

// plainCode removes what people type between the halves of a code.
func plainCode(text string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "\u2013", "").Replace(strings.TrimSpace(text)))
}

func linkPage(_ context.Context, x *exchange) (answer, error) {
	if _, err := x.signInQuery(); err != nil {
		return answer{}, err
	}
	return x.renderSignIn(http.StatusOK, "sign-in-link.html", &signInFrame{Title: "Sign in"})
}

// openLink uses a link up. Its secret follows the # of the address, so no server and no log gets it. The script of the
// page, or the person, puts it into the form.
func openLink(ctx context.Context, x *exchange) (answer, error) {
	form, err := x.readForm()
	if err != nil {
		return answer{}, err
	}
	token := strings.TrimSpace(form.Get("token"))
	if _, after, ok := strings.Cut(token, "#"); ok {
		token = after // The person has pasted the whole address.
	}
	var in ticketing.SignedIn
	if err = x.try(ctx); err == nil {
		in, err = x.accounts.OpenLink(ctx, token, x.client())
	}
	if err != nil {
		return x.refuseSignIn("sign-in-link.html", &signInFrame{Title: "Sign in"}, err)
	}
	next := ""
	if in.CompanyID != uuid.Nil {
		next = "/business/" + in.CompanyID.String()
	}
	return x.beginAndOffer(ctx, in, next)
}

// begin gives the browser its session. A previous session ends, so that a secret which somebody planted or left is
// worthless.
func (x *exchange) begin(ctx context.Context, in ticketing.SignedIn, next string) (answer, error) {
	if before := x.cookie(sessionCookie); before != "" {
		if session, err := x.accounts.Session(ctx, before); err == nil {
			if err := x.accounts.EndSession(ctx, session.UserID, session.ID); err != nil && refusalOf(err) == nil {
				return answer{}, err
			}
		}
	}
	x.setSession(in)
	return x.goOn(ctx, in.Session.UserID, next)
}
