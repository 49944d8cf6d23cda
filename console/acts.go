package console

import (
	"context"
	"slices"

	"github.com/floatgate/ticketing"
)

// scope is who or what a page or an act is about.
type scope int

const (
	scopeCompany  scope = iota // one company, which {companyId} in the path names; for its members and for staff
	scopePlatform              // the platform, for staff
	scopeSelf                  // the person who is signed in
)

// act is one thing that a person can do. It is a POST at path from a form, and at /api/v2 and path from a program.
type act struct {
	name  string // such as "api_key.revoke"
	scope scope
	path  string // begins with the path of the page, and ends with the verb
	page  string // the path of the page that the form is on; a redirect leads there, and a refused form is shown there
	// permission is what the person must hold. It is empty for an act of the data plane, which needs the grant instead,
	// and in the scope of the person alone.
	permission ticketing.Permission
	grant      ticketing.Grant
	recent     bool   // needs a sign-in within the last ten minutes
	file       bool   // its response is a file, which leaves the page in the browser as it is
	done       string // what the page says afterwards, unless the outcome says it

	prepare func(c *call, m *members) func(context.Context) (outcome, error)
}

// outcome is what an act did.
type outcome struct {
	data any    // the data of the JSON response
	done string // what the page says; defaults to that of the act
	next string // the path that the redirect leads to; defaults to the page of the act
	show string // a template that is rendered instead of a redirect, such as for a secret that is shown once

	download *download // a file that is the response, to a program, too

	signedOut bool // removes the cookie
}

// none is the type of no members.
type none struct{}

func noMembers(*members) none { return none{} }

// newAct returns an act with the function that reads its members and the one that calls the service. The call is made
// only if no member was refused.
func newAct[P any](a act, read func(*members) P, run func(context.Context, *call, P) (outcome, error)) act {
	a.prepare = func(c *call, m *members) func(context.Context) (outcome, error) {
		params := read(m)
		return func(ctx context.Context) (outcome, error) { return run(ctx, c, params) }
	}
	return a
}

// acts returns the one table of acts.
func acts() []act {
	return slices.Concat(accountActs(), companyActs(), platformActs())
}
