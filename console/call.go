package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// call is one request for a page or of an act, after its person and their permissions are known.
type call struct {
	console   *console
	exchange  *exchange
	r         *http.Request
	visitor   *visitor
	companyID uuid.UUID // of the path; zero elsewhere
	// company is the company of the path. It is zero where the person may not read companies.
	company  ticketing.Company
	actor    ticketing.Actor
	operator ticketing.Operator // of the actor; unusable in the scope of the person alone
	caller   ticketing.Caller   // on the data plane of the company; the zero one has no grant
	ids      map[string]uuid.UUID
	now      time.Time
	values   map[string]string // of the query
	// states are those of what changes on the page, read before its content. They are empty if they were not read.
	states map[ticketing.Watched]ticketing.WatchedState
}

// pathID returns a path variable whose name ends in "Id".
func (c *call) pathID(name string) uuid.UUID { return c.ids[name] }

// path returns a path variable.
func (c *call) path(name string) string { return c.r.PathValue(name) }

// query returns a member of the query that the page names. It is empty if it was not sent.
func (c *call) query(name string) string { return c.values[name] }

// paging reads the members limit and cursor of the query.
func (c *call) paging() ticketing.PageParams {
	params := ticketing.PageParams{Cursor: c.query("cursor")}
	if text := c.query("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil {
			limit = -1 // The service refuses it.
		}
		params.Limit = cmp.Or(limit, -1)
	}
	return params
}

// queryID reads a member of the query that is a UUID, and the zero id if it was not sent.
func (c *call) queryID(name string) (uuid.UUID, error) {
	text := c.query(name)
	if text == "" {
		return uuid.Nil, nil
	}
	id, err := ticketing.ParseID(text)
	if err != nil {
		return uuid.Nil, ticketing.Invalid(ticketing.Violation{Message: name + ": " + err.Error()})
	}
	return id, nil
}

// may reports whether the person may do an act here. The service checks it again.
func (c *call) may(a *act) bool { return c.allow(a) == nil }

// allow returns what the person lacks for an act.
func (c *call) allow(a *act) error {
	switch {
	case a.scope == scopeSelf:
		return nil
	case a.grant != "":
		return c.require(a.grant)
	case !holds(c.actor, a.permission):
		return errMissing(a.permission)
	}
	return nil
}

// require checks a grant on the data plane.
func (c *call) require(grant ticketing.Grant) error {
	if c.caller.Require(grant) != nil {
		return errMissing(grant)
	}
	return nil
}

// holds reports whether an actor has a permission.
func holds(actor ticketing.Actor, permission ticketing.Permission) bool {
	return slices.Contains(actor.Permissions, permission)
}
