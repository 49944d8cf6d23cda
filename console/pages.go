package console

import (
	"context"
	"slices"

	"github.com/floatgate/ticketing"
)

// page is something that a person can look at. It is a GET at path for a browser, and at /api/v2 and path for a
// program.
type page struct {
	path  string
	scope scope
	title string
	nav   string // its name in the navigation; empty: it is not there
	icon  string // of the navigation: the id of a symbol in icons.svg
	group string // its heading in the navigation; empty: it comes first, without one
	bar   bool   // it is one of the four on the bar of a phone
	// permissions are what the person must hold, all of them.
	permissions []ticketing.Permission
	grants      []ticketing.Grant // on the data plane, all of them, too
	template    string            // a file of templates; empty for a document
	document    bool              // its views are whole documents, under a policy of their own
	query       []string          // the members of the query; any other is refused
	load        func(context.Context, *call) (view, error)
	// live is the changing content of the page. It makes the page update by itself: its template has that content in an
	// element with the id "live", which is fetched again after a change. Empty: the page does not update.
	live []ticketing.WatchTopic
}

// view is what a page shows.
type view struct {
	title  string // defaults to that of the page
	data   any    // the data of the JSON, and .Data of the template
	paged  bool   // it is one page of a list, which goes on at next unless that is empty
	next   string
	still  bool     // it does not update by itself, although its page does: such as a later page of a list
	accent string   // a colour such as "#2563EB" for the page; ignored where its contrast is too low
	images []string // the origins of pictures that the person asked to see, such as "https://cdn.example.com"
	// refused is why the query is refused, where the page itself says so to a person.
	refused error
	// location is a path to redirect a browser to, such as that of the only search result.
	location string
	// document is the HTML of a page that is a whole document. It runs no script, cannot be framed, and loads nothing.
	document string
}

// listed returns the view of a page of a list.
func listed[T any](items ticketing.Page[T], err error) (view, error) {
	return view{data: items.Items, paged: true, next: items.NextCursor}, err
}

// pages returns the one table of pages. Those of a scope are in the order of the navigation.
func pages() []page {
	return slices.Concat(accountPages(), companyPages(), platformPages())
}
