package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/floatgate/ticketing"
)

// confirmation is the data of the page that asks a person to prove again who they are. It holds the form that they
// sent, which is sent again with the proof.
type confirmation struct {
	Action   string
	Fields   []hiddenField
	CanMail  bool
	Sent     bool // a code was mailed
	Passkeys bool
	Issuer   string // of OpenID Connect; empty: none
	Host     bool   // people sign in at the host
}

type hiddenField struct{ Name, Value string }

// hiddenFields returns the fields of a form for another one, without those of the console, except for the path of the
// redirect.
func hiddenFields(form url.Values) []hiddenField {
	var fields []hiddenField
	for _, name := range sortedNames(form) {
		if strings.HasPrefix(name, "_") && name != "_next" {
			continue
		}
		for _, value := range form[name] {
			fields = append(fields, hiddenField{name, value})
		}
	}
	return fields
}

// confirm asks a person to prove who they are before an act, by a code, by a passkey, or at the host that identifies
// people. It reports whether they just did, and otherwise returns the page that asks. What they sent is kept only in
// that page.
func (x *exchange) confirm(ctx context.Context, c *call, a *act, form url.Values) (answer, bool, error) {
	p := x.pages[a.page]
	asked := confirmation{
		Action: c.expand(a.path), Fields: hiddenFields(form), Issuer: x.issuerName(), Host: x.config.Identify != nil,
	}
	after := &refused{template: "confirm.html"}
	ask := func(refusal *ticketing.Error, status int) (answer, bool, error) {
		after.refusal = refusal
		shown, err := x.render(ctx, c, p, view{title: "Confirm your identity", data: asked}, after)
		shown.status, shown.once, shown.code = status, true, errConfirm.Code
		return shown, false, err
	}
	if asked.Host {
		if form.Has("_asked") {
			return ask(errConfirm, http.StatusForbidden) // They continued without having done it.
		}
		return ask(nil, http.StatusForbidden)
	}
	passkeys, err := x.accounts.ListPasskeys(ctx, x.visitor.userID)
	if err != nil {
		return answer{}, false, err
	}
	asked.Passkeys = len(passkeys) > 0
	if asked.CanMail, err = x.canMail(ctx); err != nil {
		return answer{}, false, err
	}
	switch {
	case form.Has("_code"):
		asked.Sent = true
		err := asConfirm(x.confirmByCode(ctx, form.Get("_code")))
		if err == nil {
			return answer{}, true, nil
		}
		if refusal := refusalOf(err); refusal != nil {
			return ask(refusal, statusOf(refusal.Code))
		}
		return answer{}, false, err
	case form.Get("_confirm") == "mail" && asked.CanMail:
		if err := limited(ctx, x.codes, x.visitor.email, x.began); err != nil {
			return ask(refusalOf(err), http.StatusTooManyRequests)
		}
		x.mailCode(ctx, x.visitor.email, x.bindBrowser(x.visitor.email))
		asked.Sent = true
	}
	return ask(nil, http.StatusForbidden)
}

// offerFile shows the button of a download to a person who has just confirmed who they are. If the response were the
// file, the browser would stay at the page that asked them. The fields are not put into the address: an email would
// stay in histories and logs.
func (x *exchange) offerFile(ctx context.Context, c *call, a *act, form url.Values) (answer, error) {
	offered := confirmation{Action: c.expand(a.path), Fields: hiddenFields(form)}
	return x.render(ctx, c, x.pages[a.page], view{title: "Download", data: offered}, &refused{template: "download.html"})
}

// confirmByCode uses a code up and gives the browser a new session that replaces its own.
func (x *exchange) confirmByCode(ctx context.Context, code string) error {
	if err := x.try(ctx); err != nil {
		return err
	}
	secret, email := x.browserSecret()
	if !strings.EqualFold(email, x.visitor.email) {
		return &ticketing.Error{Code: ticketing.CodeConfirmRequired, Message: "Request a code in this browser first."}
	}
	in, err := x.accounts.UseCode(ctx, x.visitor.email, secret, plainCode(code), x.client())
	if err != nil {
		return err
	}
	x.removeCookie(browserCookie)
	if _, err := x.begin(ctx, in, "/account"); err != nil {
		return err
	}
	x.visitor.secret, x.visitor.sessionID = in.Secret, in.Session.ID
	x.visitor.provedAt = in.Session.ConfirmedAt.Time
	return nil
}

// confirmActs are for programs, which get CONFIRM_REQUIRED. A browser gets a page that asks.
func confirmActs() []act {
	return []act{
		newAct(act{
			name: "confirm.mail", scope: scopeSelf, path: "/account/confirm/mail", page: "/account",
			done: "We have sent you a code.",
		}, noMembers, func(ctx context.Context, c *call, _ none) (outcome, error) {
			x := c.exchange
			if canMail, err := x.canMail(ctx); err != nil || !canMail || x.config.Identify != nil {
				return outcome{}, cmp.Or(err, error(errNoMail))
			}
			if err := limited(ctx, x.codes, x.visitor.email, x.began); err != nil {
				return outcome{}, err
			}
			x.mailCode(ctx, x.visitor.email, x.bindBrowser(x.visitor.email))
			return outcome{data: struct{}{}}, nil
		}),
		newAct(act{
			name: "confirm.code", scope: scopeSelf, path: "/account/confirm/code", page: "/account",
			done: "Your identity is confirmed.",
		}, func(m *members) string { return m.text("code") }, func(
			ctx context.Context, c *call, code string,
		) (outcome, error) {
			return outcome{data: struct{}{}}, asConfirm(c.exchange.confirmByCode(ctx, code))
		}),
	}
}

func sortedNames(form url.Values) []string {
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
