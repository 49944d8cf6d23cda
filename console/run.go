package console

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// identify determines who the request is from, by the session cookie or by the host.
func (x *exchange) identify(ctx context.Context) error {
	if x.config.Identify != nil {
		return x.identifyByHost(ctx)
	}
	secret := x.cookie(sessionCookie)
	if secret == "" {
		return errSignIn
	}
	find := x.accounts.Session
	if x.r.Header.Get(refreshHeader) != "" || x.route.live {
		find = x.peek
	}
	session, err := find(ctx, secret)
	if err != nil {
		return err
	}
	user, err := x.accounts.GetUser(ctx, session.UserID)
	if err != nil {
		return err
	}
	x.visitor = &visitor{
		userID: user.ID, email: user.Email, sessionID: session.ID, secret: secret, provedAt: session.ConfirmedAt.Time,
	}
	return nil
}

func (x *exchange) identifyByHost(ctx context.Context) (err error) {
	x.visitor, err = x.hostVisitor(ctx)
	return err
}

// hostVisitor returns who the request is from, according to the host.
func (x *exchange) hostVisitor(ctx context.Context) (*visitor, error) {
	person, err := x.config.Identify(x.r)
	if errors.Is(err, ErrNobody) {
		return nil, errSignIn
	}
	if err != nil {
		return nil, err
	}
	var user ticketing.User
	if person.UserID != uuid.Nil {
		user, err = x.accounts.GetUser(ctx, person.UserID)
	} else {
		user, err = x.accounts.FindUser(ctx, person.Email)
	}
	if errors.Is(err, ticketing.CodeNotFound) {
		return nil, errSignIn // The host's user is unknown to this service.
	}
	if err != nil {
		return nil, err
	}
	return &visitor{userID: user.ID, email: user.Email, provedAt: person.ProvedAt}, nil
}

// enter returns the call of the person in a scope: what they may do there by their current role. A company that they
// are not a member of is NOT_FOUND, like one that does not exist. The functions beside run concurrently, with a call of
// which only the path and the company are known.
func (x *exchange) enter(
	ctx context.Context, in scope, beside ...func(context.Context, *call) error,
) (*call, error) {
	c := &call{console: x.console, exchange: x, r: x.r, visitor: x.visitor, now: x.began, ids: map[string]uuid.UUID{}}
	for name := range strings.SplitSeq(x.route.pattern, "/") {
		name, isVariable := strings.CutPrefix(strings.TrimSuffix(name, "}"), "{")
		if !isVariable || !strings.HasSuffix(name, "Id") {
			continue
		}
		id, err := ticketing.ParseID(x.r.PathValue(name))
		if err != nil {
			return nil, errNoPage
		}
		c.ids[name] = id
	}
	if in == scopeSelf {
		return c, nil
	}
	if in == scopeCompany {
		c.companyID = c.ids["companyId"]
	}
	admit := func(ctx context.Context) error { return c.admit(ctx, in) }
	var reads []func(context.Context) error
	for _, read := range beside {
		reads = append(reads, func(ctx context.Context) error { return read(ctx, c) })
	}
	// What changes on a page of the platform is read of all companies: only for staff.
	if in == scopePlatform {
		if err := admit(ctx); err != nil {
			return nil, err
		}
	} else {
		reads = append(reads, admit)
	}
	return c, together(ctx, reads...)
}

// admit reads what the person may do in a scope.
func (c *call) admit(ctx context.Context, in scope) (err error) {
	x := c.exchange
	switch in {
	case scopeSelf:
	case scopePlatform:
		c.actor, err = x.accounts.Staff(ctx, x.visitor.userID)
		if errors.Is(err, ticketing.CodeNotFound) || errors.Is(err, ticketing.CodePermissionDenied) {
			err = errNotStaff
		}
	case scopeCompany:
		c.actor, err = x.accounts.Actor(ctx, c.companyID, x.visitor.userID)
		if errors.Is(err, ticketing.CodeNotFound) || errors.Is(err, ticketing.CodePermissionDenied) {
			err = errNoCompany
		}
	}
	if err != nil {
		return err
	}
	c.operator = x.svc.As(c.actor)
	if in != scopeCompany {
		return nil
	}
	reads := []func(context.Context) error{func(ctx context.Context) (err error) {
		c.caller, err = x.accounts.Caller(ctx, c.companyID, x.visitor.userID)
		return err
	}}
	if holds(c.actor, ticketing.PermissionKYBRead) {
		reads = append(reads, func(ctx context.Context) (err error) {
			c.company, err = c.operator.GetCompany(ctx, c.companyID)
			return err
		})
	}
	if err = together(ctx, reads...); errors.Is(err, ticketing.CodeNotFound) {
		err = errNoCompany
	}
	return err
}

// runAct responds to the POST of an act.
func (x *exchange) runAct(ctx context.Context, a *act) (answer, error) {
	c, err := x.enter(ctx, a.scope)
	if err != nil {
		return answer{}, err
	}
	if err := c.allow(a); err != nil {
		return answer{}, err
	}
	if err := c.readQuery(nil); err != nil {
		return answer{}, err
	}
	var form url.Values
	m := (*members)(nil)
	if x.api {
		m = jsonMembers(x.w, x.r)
	} else {
		if form, err = x.readForm(); err != nil {
			return answer{}, err
		}
		m = formMembers(form)
	}
	do := a.prepare(c, m)
	if violations := m.violations(); len(violations) > 0 {
		return x.refuse(ctx, c, a, form, ticketing.Invalid(violations...))
	}
	if a.recent && !x.visitor.confirmed(x.began) {
		if x.api {
			return answer{}, errConfirm
		}
		if a, done, err := x.confirm(ctx, c, a, form); !done || err != nil {
			return a, err
		}
	}
	if a.file && form.Has("_asked") {
		return x.offerFile(ctx, c, a, form)
	}
	if a.file {
		end, err := x.downloads.begin(c.companyID, x.visitor.userID)
		if err != nil {
			for _, name := range x.pages[a.page].query { // The page is shown again with the filter of the file.
				c.values[name] = form.Get(name)
			}
			return x.refuse(ctx, c, a, form, err)
		}
		do = x.asDownload(a, do, end)
	}
	done, err := do(ctx)
	if err != nil {
		return x.refuse(ctx, c, a, form, err)
	}
	if done.signedIn != nil {
		x.setCookie(sessionCookie, done.signedIn.secret, done.signedIn.expires)
	}
	if done.signedOut {
		x.removeCookie(sessionCookie)
	}
	switch {
	case done.download != nil:
		return answer{contentType: done.download.mediaType(), download: done.download}, nil
	case x.api:
		return encodeOutcome(done)
	case done.show != "":
		shown, err := x.render(ctx, c, x.pages[a.page], view{data: done.data}, &refused{template: done.show})
		shown.once = true
		return shown, err
	}
	x.sayDone(cmp.Or(done.done, a.done))
	return redirect(cmp.Or(done.next, ownPath(form.Get("_next")), c.expand(a.page))), nil
}

// readForm reads the fields of a form.
func (x *exchange) readForm() (url.Values, error) {
	media, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if x.r.ContentLength != 0 && (err != nil || media != "application/x-www-form-urlencoded") {
		return nil, invalid("body: must be a form")
	}
	x.r.Body = http.MaxBytesReader(x.w, x.r.Body, maxBody)
	if err := x.r.ParseForm(); err != nil {
		return nil, invalid("body: is malformed or too large")
	}
	return x.r.PostForm, nil
}

// refuse shows a refused act: as an error to a program, and to a person as the page with the form and what was typed.
func (x *exchange) refuse(ctx context.Context, c *call, a *act, form url.Values, err error) (answer, error) {
	shown := refusalOf(err)
	p := x.pages[a.page]
	if x.api || shown == nil || shown.Code == ticketing.CodeSignInRequired || c.permit(p) != nil {
		return answer{}, err
	}
	loaded, loadErr := x.load(ctx, c, p)
	if loadErr != nil {
		return answer{}, err // The page itself cannot be shown, so the first error is the response.
	}
	page, renderErr := x.render(ctx, c, p, loaded, newRefused(c.expand(a.path), form, shown))
	page.status, page.code = statusOf(shown.Code), shown.Code
	if limited, ok := errors.AsType[*limitError](err); ok {
		page.retryAfter = limited.seconds
	}
	return page, renderErr
}

// expand returns a pattern with the variables of the request's path.
func (c *call) expand(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(part, "}"), "{"); ok {
			parts[i] = url.PathEscape(c.r.PathValue(name))
		}
	}
	return strings.Join(parts, "/")
}
