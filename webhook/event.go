// Package webhook is what a receiver of the service's webhooks needs: their signature, the events with their types, and
// an [http.Handler] (section 6 of the contract). It imports only the standard library.
//
// # Receive
//
// [Handler] does all that the contract requires of a receiver, except one thing: accept has to store the event.
//
//	http.Handle("/webhooks", webhook.Handler(webhook.FixedSecrets(secret), accept, nil))
//
// where accept writes the event's id under a uniqueness constraint and the work that follows from it, both in one
// durable transaction, and returns. An event is delivered at least once, in any order, and a duplicate is a success. A
// program that serves requests in another way calls [Receive]. One that already has the raw bytes calls [Verify] and
// then [ParseEvent].
//
// # What is sent
//
// A delivery is a POST over TLS whose body is the JSON of an [Event]. It has these headers besides those of HTTP:
//
//	Content-Type           application/json; charset=utf-8
//	User-Agent             Service-Webhooks/1.0
//	X-Service-Event-Id     the id of the event, the same in every delivery of it
//	X-Service-Event        the type of the event
//	X-Service-Delivery-Id  the id of the delivery: its attempts share it, a replay has another
//	X-Service-Signature    the signature of this attempt, see Sign
//
// Ids, amounts and times are the text of the wire: a UUID in lower case, major units with exactly two decimals
// ("1234.50"), and UTC with milliseconds ("2026-01-31T17:05:00.000Z"), which [time.RFC3339] parses.
package webhook

// The four types of events (section 6.1).
const (
	TypeOrderCreated      = "order.created"
	TypeCommissionAccrued = "commission.accrued"
	TypeBalanceLow        = "balance.low"
	TypeTicketValidated   = "ticket.validated"
)

// OrderCreated is the data of order.created.
type OrderCreated struct {
	Order Order `json:"order"`
}

// Order is a sale in order.created.
type Order struct {
	ID                 string     `json:"id"`
	EventID            string     `json:"event_id"`
	Status             string     `json:"status"`
	Currency           string     `json:"currency"`
	GrossAmount        string     `json:"gross_amount"`
	FloatDebitedAmount string     `json:"float_debited_amount"`
	Commission         Commission `json:"commission"`
	Balances           Balances   `json:"balances"`
	Buyer              Buyer      `json:"buyer"`
	Lines              []Line     `json:"lines"`
	ConfirmedAt        string     `json:"confirmed_at"`
}

// Commission is the commission of a sale, and the rate that it was computed with.
type Commission struct {
	Amount string `json:"amount"`
	Rate   Rate   `json:"rate"`
}

// Rate is a commission rate. Always read its unit: BASIS_POINTS, PERCENT or FRACTION.
type Rate struct {
	ID    string `json:"id"`
	Value string `json:"value"`
	Unit  string `json:"unit"`
}

// Balances are the balances of both wallets before and after a sale.
type Balances struct {
	FloatBefore    string `json:"float_before"`
	FloatAfter     string `json:"float_after"`
	EarningsBefore string `json:"earnings_before"`
	EarningsAfter  string `json:"earnings_after"`
}

// Buyer is the buyer of a sale.
type Buyer struct {
	Email string  `json:"email"`
	Name  *string `json:"name"`
	Phone *string `json:"phone"`
}

// Line is one admission of a sale.
type Line struct {
	AdmissionID      string `json:"admission_id"`
	TicketPurchaseID string `json:"ticket_purchase_id"`
	Title            string `json:"title"`
	Tier             string `json:"tier"`
	UnitPrice        string `json:"unit_price"`
	Currency         string `json:"currency"`
}

// CommissionAccrued is the data of commission.accrued.
type CommissionAccrued struct {
	OrderID               string `json:"order_id"`
	EventID               string `json:"event_id"`
	Currency              string `json:"currency"`
	Amount                string `json:"amount"`
	Rate                  Rate   `json:"rate"`
	EarningsBalanceBefore string `json:"earnings_balance_before"`
	EarningsBalanceAfter  string `json:"earnings_balance_after"`
	AccruedAt             string `json:"accrued_at"`
}

// BalanceLow is the data of balance.low: a sale took FLOAT below the threshold.
type BalanceLow struct {
	OrderID         string `json:"order_id"`
	Currency        string `json:"currency"`
	BalanceBefore   string `json:"balance_before"`
	BalanceAfter    string `json:"balance_after"`
	ThresholdAmount string `json:"threshold_amount"`
}

// TicketValidated is the data of ticket.validated: an admission was used for the first time.
type TicketValidated struct {
	AdmissionID string `json:"admission_id"`
	EventID     string `json:"event_id"`
	OrderID     string `json:"order_id"`
	ValidatedAt string `json:"validated_at"`
}
