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

// identify determines who the request is from, by the session cookie or by the host. It reads what the request needs to
// know of the person together with them.
func (x *exchange) identify(ctx context.Context, asks ticketing.VisitParams) (err error) {
	if x.config.Identify != nil {
		x.visitor, err = x.hostVisitor(ctx, asks)
		return err
	}
	asks.Secret = x.cookie(sessionCookie)
	if asks.Secret == "" {
		return errSignIn
	}
	asks.Passive = x.refreshes() || x.route.live
	visit, err := x.accounts.Visit(ctx, asks)
	if err != nil {
		return err
	}
	x.visitor = &visitor{
		userID: visit.User.ID, email: visit.User.Email, sessionID: visit.Session.ID, secret: asks.Secret,
		provedAt: visit.Session.ConfirmedAt.Time, visit: visit,
	}
	return nil
}

// hostVisitor returns who the request is from, according to the host.
func (x *exchange) hostVisitor(ctx context.Context, asks ticketing.VisitParams) (*visitor, error) {
	person, err := x.config.Identify(x.r)
	if errors.Is(err, ErrNobody) {
		return nil, errSignIn
	}
	if err != nil {
		return nil, err
	}
	asks.UserID = person.UserID
	if asks.UserID == uuid.Nil {
		var user ticketing.User
		user, err = x.accounts.FindUser(ctx, person.Email)
		asks.UserID = user.ID
	}
	var visit ticketing.Visit
	if err == nil {
		visit, err = x.accounts.Visit(ctx, asks)
	}
	if errors.Is(err, ticketing.CodeNotFound) {
		return nil, errSignIn // The host's user is unknown to this service.
	}
	if err != nil {
		return nil, err
	}
	return &visitor{userID: visit.User.ID, email: visit.User.Email, provedAt: person.ProvedAt, visit: visit}, nil
}

// newCall returns the call of a request in a scope, of which only the path is known. It is usable beside the error that
// there is no such page.
func (x *exchange) newCall(in scope) (*call, error) {
	c := &call{console: x.console, exchange: x, r: x.r, now: x.began, ids: map[string]uuid.UUID{}}
	for name := range strings.SplitSeq(x.route.pattern, "/") {
		name, isVariable := strings.CutPrefix(strings.TrimSuffix(name, "}"), "{")
		if !isVariable || !strings.HasSuffix(name, "Id") {
			continue
		}
		id, err := ticketing.ParseID(x.r.PathValue(name))
		if err != nil {
			return c, errNoPage
		}
		c.ids[name] = id
	}
	if in == scopeCompany {
		c.companyID = c.ids["companyId"]
	}
	return c, nil
}

// enter returns the call of the person in the scope of a page or an act: what they may do there by their current role.
// A company that they are not a member of is NOT_FOUND, like one that does not exist. Nobody learns without a session
// which pages there are.
func (x *exchange) enter(ctx context.Context, in scope, shown *page) (*call, error) {
	c, missing := x.newCall(in)
	asks := ticketing.VisitParams{CompanyID: c.companyID}
	watched := c.following(shown)
	// What changes on a page of the platform is read of all companies: only for staff.
	if in == scopeCompany {
		asks.Watched = watched
	}
	if err := x.identify(ctx, asks); err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, missing
	}
	c.visitor = x.visitor
	if err := c.admit(in, x.visitor.visit); err != nil {
		return nil, err
	}
	states := x.visitor.visit.States
	if in == scopePlatform && len(watched) > 0 {
		var err error
		if states, err = x.svc.Watch(ctx, watched); err != nil {
			return nil, err
		}
	}
	c.states = make(map[ticketing.Watched]ticketing.WatchedState, len(states))
	for i, state := range states {
		c.states[watched[i]] = state
	}
	return c, nil
}

// admit sets what the person may do in a scope.
func (c *call) admit(in scope, visit ticketing.Visit) (err error) {
	switch in {
	case scopeSelf:
		return nil
	case scopePlatform:
		if c.actor, err = visit.Staff(); err != nil {
			return errNotStaff
		}
	case scopeCompany:
		if c.actor, err = visit.Actor(); err != nil {
			return errNoCompany
		}
		if c.caller, err = visit.Caller(); err != nil {
			return errNoCompany
		}
		if holds(c.actor, ticketing.PermissionKYBRead) {
			if c.company, err = visit.Company(); err != nil {
				return errNoCompany
			}
		}
	}
	c.operator = c.exchange.svc.As(c.actor)
	return nil
}

// runAct responds to the POST of an act.
func (x *exchange) runAct(ctx context.Context, a *act) (answer, error) {
	c, err := x.enter(ctx, a.scope, nil)
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
	loaded, loadErr := p.load(ctx, c)
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
