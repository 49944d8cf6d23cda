package console

import (
	"net/url"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
)

// frame is the dot of a template.
type frame struct {
	*call

	Title     string
	Email     string // of the person
	Company   string // its name; empty outside a company
	Suspended bool   // the company
	Nav       []navGroup
	Here      string // the path of the page
	Next      string // the cursor of the next page of a list
	Data      any
	Done      string           // what was just done
	Offer     bool             // the page offers to add a passkey
	OtherWays bool             // a person without a passkey can sign in again by themselves; known where Offer is
	Refusal   *ticketing.Error // why an act was refused
	RequestID string
	Accent    string // six hexadecimal digits; empty: the console's own
	Chosen    appearance
	Plain     bool // without navigation
	IsStaff   bool // the person may go to the platform
	Self      bool // a page about the person alone
	// OnPlatform is set on the pages of the platform.
	OnPlatform bool
	Sessions   bool   // the console has sessions of its own
	Live       string // the path of the page's stream; empty: the page does not update by itself

	refused *refused
	zone    *time.Location // of times; nil until it is known
}

func (f *frame) nameCompany() {
	f.Company = f.company.Name
	f.Suspended = f.company.Status == ticketing.CompanySuspended
}

// Now returns the time of the request. The script computes from it how long ago something was.
func (f *frame) Now() string { return f.now.UTC().Format(time.RFC3339) }

// CompanyID returns the id of the company as a text.
func (f *frame) CompanyID() string { return f.companyID.String() }

// May reports whether the person may do an act here.
func (f *frame) May(name string) bool {
	a := f.console.acts[name]
	return a != nil && f.may(a)
}

// Can reports whether the person has a permission here.
func (f *frame) Can(permission string) bool {
	return holds(f.actor, ticketing.Permission(permission))
}

// Path returns the path of a page by its pattern, with the variables of the pair list and of this page.
func (f *frame) Path(pattern string, pairs ...any) string { return f.fill(pattern, pairs) }

// Query returns a member of this page's query.
func (f *frame) Query(name string) string { return f.values[name] }

// With returns this page's path with its query. The pairs replace members, and an empty value removes one. The list
// starts at its first page again.
func (f *frame) With(pairs ...any) string {
	query := url.Values{}
	for name, value := range f.values {
		if value != "" && name != "cursor" {
			query.Set(name, value)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := textOf(pairs[i+1]); value != "" {
			query.Set(textOf(pairs[i]), value)
		} else {
			query.Del(textOf(pairs[i]))
		}
	}
	if len(query) == 0 {
		return f.Here
	}
	return f.Here + "?" + query.Encode()
}

// NextPage returns the address of the next page of the list.
func (f *frame) NextPage() string { return f.With("cursor", f.Next) }

// Form returns the form of an act, and nil if the person may not do it. The pairs are variables of its path.
func (f *frame) Form(name string, pairs ...any) *form {
	a := f.console.acts[name]
	if a == nil {
		panic("console: a template names the unknown act " + name)
	}
	if !f.may(a) {
		return nil
	}
	shown := &form{Action: f.fill(a.path, pairs), Recent: a.recent && !f.visitor.confirmed(f.now)}
	if f.refused != nil && f.refused.action == shown.Action {
		shown.refused = f.refused
	}
	return shown
}

// fill returns a pattern with the variables of the pairs and of the request's path.
func (c *call) fill(pattern string, pairs []any) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		name, ok := strings.CutPrefix(strings.TrimSuffix(part, "}"), "{")
		if !ok {
			continue
		}
		value := c.r.PathValue(name)
		for j := 0; j+1 < len(pairs); j += 2 {
			if pairs[j] == name {
				value = textOf(pairs[j+1])
			}
		}
		parts[i] = url.PathEscape(value)
	}
	return strings.Join(parts, "/")
}
