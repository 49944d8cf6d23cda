package main

import (
	"fmt"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// valueError is an error for a malformed value: INVALID_REQUEST and exit status 1. The parser prefixes its text with
// the flag or the argument.
type valueError struct{ text string }

func (e *valueError) Error() string { return e.text }

func badValue(format string, args ...any) error {
	return &valueError{text: fmt.Sprintf(format, args...)}
}

// id is the id of a resource.
type id struct{ uuid.UUID }

func (v *id) UnmarshalText(text []byte) error {
	parsed, err := ticketing.ParseID(string(text))
	if err != nil {
		return badValue("%v", err)
	}
	v.UUID = parsed
	return nil
}

// amount is an amount of money as a client writes it.
type amount struct{ money.Amount }

func (v *amount) UnmarshalText(text []byte) error {
	parsed, err := money.Parse(string(text))
	if err != nil {
		return badValue("%v", err)
	}
	v.Amount = parsed
	return nil
}

// moment is a time. A date stands for its beginning in UTC.
type moment struct{ time.Time }

// optional returns the time, or nil if the flag was not given.
func (v moment) optional() *time.Time {
	if v.IsZero() {
		return nil
	}
	return &v.Time
}

func (v *moment) UnmarshalText(text []byte) error {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if parsed, err := time.Parse(layout, string(text)); err == nil {
			// The zero time, which is in the year 1, would count as unset.
			if v.Time = parsed.UTC(); v.Year() <= 1 {
				return badValue("must be after the year 1")
			}
			return nil
		}
	}
	return badValue("must be a time such as 2026-12-31T18:00:00Z, or a day such as 2026-12-31")
}

// walletName is one of the two wallets of a company.
type walletName struct{ ledger.Wallet }

func (v *walletName) UnmarshalText(text []byte) error {
	switch wallet := ledger.Wallet(text); wallet {
	case ledger.Float, ledger.Earnings:
		v.Wallet = wallet
		return nil
	default:
		return badValue("must be FLOAT or EARNINGS")
	}
}

// orderStatus is the status of an order.
type orderStatus struct{ ticketing.OrderStatus }

func (v *orderStatus) UnmarshalText(text []byte) error {
	switch status := ticketing.OrderStatus(text); status {
	case ticketing.OrderConfirmed, ticketing.OrderCancelled, ticketing.OrderRefunded:
		v.OrderStatus = status
		return nil
	default:
		return badValue("must be CONFIRMED, CANCELLED or REFUNDED")
	}
}

// webhookType is a type of the events that webhooks publish.
type webhookType struct{ ticketing.FactType }

func (v *webhookType) UnmarshalText(text []byte) error {
	if v.FactType = ticketing.FactType(text); !slices.Contains(ticketing.WebhookEventTypes(), v.FactType) {
		return badValue("must be order.created, commission.accrued, balance.low or ticket.validated")
	}
	return nil
}

// deliveryStatus is the status of a delivery.
type deliveryStatus struct{ ticketing.DeliveryStatus }

func (v *deliveryStatus) UnmarshalText(text []byte) error {
	switch status := ticketing.DeliveryStatus(text); status {
	case ticketing.DeliveryPending, ticketing.DeliverySucceeded, ticketing.DeliveryFailed, ticketing.DeliveryCancelled:
		v.DeliveryStatus = status
		return nil
	default:
		return badValue("must be PENDING, SUCCEEDED, FAILED or CANCELLED")
	}
}

// address is one email address.
type address struct{ text string }

func (v *address) UnmarshalText(text []byte) error {
	parsed, err := mail.ParseAddress(string(text))
	if err != nil || parsed.Name != "" || parsed.Address != string(text) {
		return badValue("must be one email address, such as ada@example.com")
	}
	v.text = parsed.Address
	return nil
}

// forwardURL is the URL that events are relayed to.
type forwardURL struct{ url string }

func (v *forwardURL) UnmarshalText(text []byte) error {
	const longest = 2048 // as for an endpoint
	if len(text) > longest {
		return badValue("must have at most %d characters", longest)
	}
	u, err := url.Parse(string(text))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
		return badValue("must be an address such as http://127.0.0.1:3000/hooks")
	}
	v.url = u.String()
	return nil
}

// unit is the unit of a commission rate.
type unit struct{ money.Unit }

func (v *unit) UnmarshalText(text []byte) error {
	parsed, err := money.ParseUnit(string(text))
	if err != nil {
		return badValue("%v", err)
	}
	v.Unit = parsed
	return nil
}

// boolMapper parses a boolean flag or its environment variable. Unlike the parser's own mapper, it distinguishes a bad
// value from a usage error.
type boolMapper struct{}

func (boolMapper) IsBool() bool { return true }

func (boolMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		target.SetBool(true)
		return nil
	}
	value, err := parseBool(fmt.Sprint(ctx.Scan.Pop().Value))
	if err != nil {
		return err
	}
	target.SetBool(value)
	return nil
}

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "true", "yes", "on":
		return true, nil
	case "0", "false", "no", "off":
		return false, nil
	default:
		return false, badValue("must be true or false")
	}
}

// connectionCount is the number of connections of a pool.
type connectionCount int

func (v *connectionCount) UnmarshalText(text []byte) (err error) {
	*v, err = parseInteger[connectionCount](text, 1, 1_000)
	return err
}

// maxConnections is the maximum number of connected clients; 0 means no limit.
type maxConnections int

func (v *maxConnections) UnmarshalText(text []byte) (err error) {
	*v, err = parseInteger[maxConnections](text, 0, 1_000_000)
	return err
}

// groupCalls is the maximum number of calls that share a transaction.
type groupCalls int

func (v *groupCalls) UnmarshalText(text []byte) (err error) {
	*v, err = parseInteger[groupCalls](text, 1, 1_000)
	return err
}

// groupLanes is how many groups run concurrently; 0 means the default of the database.
type groupLanes int

func (v *groupLanes) UnmarshalText(text []byte) (err error) {
	*v, err = parseInteger[groupLanes](text, 0, 64)
	return err
}

// companySlots is how many calls of a company run concurrently, of those that share no transaction.
type companySlots int

func (v *companySlots) UnmarshalText(text []byte) (err error) {
	*v, err = parseInteger[companySlots](text, 1, 1_000)
	return err
}

// groupQueue is the maximum number of calls of an operation that wait.
type groupQueue int

func (v *groupQueue) UnmarshalText(text []byte) (err error) {
	*v, err = parseInteger[groupQueue](text, 1, 1_000_000)
	return err
}

// count is a whole number, not negative.
type count int

func (v *count) UnmarshalText(text []byte) (err error) {
	*v, err = parseInteger[count](text, 0, 1_000_000_000)
	return err
}

// replayRate is how many deliveries are replayed a second. 0, which cannot be given, means the default.
type replayRate int

func (v *replayRate) UnmarshalText(text []byte) (err error) {
	*v, err = parseInteger[replayRate](text, 1, 10_000)
	return err
}

// parseInteger parses a whole number within limits.
func parseInteger[T ~int](text []byte, least, most T) (T, error) {
	parsed, err := strconv.ParseUint(string(text), 10, 32)
	if err != nil || parsed < uint64(least) || parsed > uint64(most) {
		return 0, badValue("must be a whole number from %d to %d", least, most)
	}
	return T(parsed), nil
}
