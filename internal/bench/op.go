package bench

// Op is the operation that a bench measures.
type Op string

// The operations.
const (
	OpCheckout Op = "checkout"
	OpValidate Op = "validate"
	OpQuote    Op = "quote"
	OpRead     Op = "read" // orders and events, mixed
	OpOrder    Op = "order"
	OpOrders   Op = "orders"
	OpDispatch Op = "dispatch" // of facts
	OpWebhook  Op = "webhook"  // deliveries
	OpMail     Op = "mail"     // ticket mails
	OpPages    Op = "pages"    // of the console
)

// reads reports whether the operation reads orders.
func (v Op) reads() bool { return v == OpRead || v == OpOrder || v == OpOrders || v == OpPages }

// grouping returns the operation whose groups are counted, as [ticketing.GroupRun] names it, or "" if nothing is
// grouped.
func (v Op) grouping(http bool) string {
	switch {
	case v == OpCheckout:
		return "checkouts.create"
	case v == OpValidate:
		return "admissions.validate"
	case http:
		return "authenticate" // The only part of the request that is grouped.
	default:
		return ""
	}
}
