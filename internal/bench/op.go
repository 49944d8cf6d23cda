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

// comparable reports whether the operation is also measured without shared transactions.
func (v Op) comparable(http bool) bool { return v == OpCheckout || v == OpValidate || http }

// counts reports whether the groups of an operation, as [ticketing.GroupRun] names it, are those of this one. Reads
// have groups of their own if many run, and groups of look-ups of API keys.
func (v Op) counts(operation string) bool {
	switch v {
	case OpCheckout:
		return operation == "checkouts.create"
	case OpValidate:
		return operation == "admissions.validate"
	default:
		return operation == "authenticate" || operation == "orders.get" || operation == "quotes.create"
	}
}
