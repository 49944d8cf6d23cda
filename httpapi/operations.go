package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/julienschmidt/httprouter"

	"github.com/floatgate/ticketing"
)

// operation is one row of the table of section 4.
type operation struct {
	method string
	path   string
	grant  ticketing.Grant
	keyed  bool // Idempotency-Key required
	status int  // of a success
	run    func(context.Context, *ticketing.Service, *request) (result, error)
}

// operations is the table of section 4, row by row.
func operations() []operation {
	const (
		keyed, plain = true, false
		created, ok  = http.StatusCreated, http.StatusOK

		get, post, patch, remove = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete

		eventRead, eventManage         = ticketing.GrantEventRead, ticketing.GrantEventManage
		inventoryRead, inventoryManage = ticketing.GrantInventoryRead, ticketing.GrantInventoryManage
		checkoutCreate, orderRead      = ticketing.GrantCheckoutCreate, ticketing.GrantOrderRead
		ticketValidate                 = ticketing.GrantTicketValidate
	)
	return []operation{
		{post, "/events", eventManage, keyed, created, createEvent},
		{get, "/events", eventRead, plain, ok, listEvents},
		{get, "/events/:eventId", eventRead, plain, ok, getEvent},
		{patch, "/events/:eventId", eventManage, plain, ok, updateEvent},
		{remove, "/events/:eventId", eventManage, plain, ok, cancelEvent},
		{get, "/events/:eventId/inventory", inventoryRead, plain, ok, listInventory},
		{post, "/events/:eventId/inventory", inventoryManage, keyed, created, createInventory},
		{patch, "/events/:eventId/inventory/:tier", inventoryManage, plain, ok, updateInventory},
		{remove, "/events/:eventId/inventory/:tier", inventoryManage, plain, ok, cancelInventory},
		{post, "/pricing/quote", inventoryRead, plain, ok, quote},
		{post, "/checkouts", checkoutCreate, keyed, created, checkout},
		{get, "/orders", orderRead, plain, ok, listOrders},
		{get, "/orders/:orderId", orderRead, plain, ok, getOrder},
		{post, "/events/:eventId/admissions/:admissionId/validate", ticketValidate, keyed, ok, validateAdmission},
	}
}

// newRouter returns a router for lookups only: as a handler it would clean paths, redirect, and send 405. Its handles
// store the operation or document in the exchange that they get.
func newRouter(operations []operation, documents []*document) *httprouter.Router {
	router := httprouter.New()
	for _, op := range operations {
		found := func(w http.ResponseWriter, _ *http.Request, params httprouter.Params) {
			x := w.(*exchange) //nolint:forcetypeassert // Only exchange.find calls a handle.
			x.op, x.params = &op, params
		}
		router.Handle(op.method, op.path, found)
		if op.method == http.MethodGet {
			router.Handle(http.MethodHead, op.path, found)
		}
	}
	routeDocuments(router, documents)
	return router
}

var errUnknownPath = &ticketing.Error{
	Code: ticketing.CodeNotFound, Message: "There is no such path and method.",
}

// find looks up the operation by the path as it was sent, so that an escaped slash stays within its segment. No path
// parameter is empty.
func (x *exchange) find() bool {
	path, under := strings.CutPrefix(sentPath(x.r.URL), x.api.prefix)
	if !under || !strings.HasPrefix(path, "/") {
		return false
	}
	handle, params, _ := x.api.router.Lookup(x.r.Method, path)
	if handle == nil {
		return false
	}
	for _, p := range params {
		if p.Value == "" {
			return false
		}
	}
	handle(x, x.r, params)
	return true
}

// sentPath returns the path with the escapes that it was sent with. URL.EscapedPath loses them if the path holds a
// character that should have been escaped and was not, such as "|". An escaped slash would then look like a plain one.
func sentPath(u *url.URL) string {
	if u.RawPath != "" {
		if path, err := url.PathUnescape(u.RawPath); err == nil && path == u.Path {
			return u.RawPath
		}
	}
	return u.EscapedPath()
}
