package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

func (x *exchange) list(payload map[string]any) (int, any, error) {
	query := url.Values{"status": {"PUBLISHED"}}
	if x.has("no status") {
		query.Del("status")
	}
	for name, value := range payload {
		if name == "limit" || (name == "cursor" && !x.has("no cursor")) {
			query.Set(name, fmt.Sprint(value))
		}
	}
	if x.has("query of the browser") {
		maps.Copy(query, x.browser.URL.Query())
	}
	page := record(membersOf("hasMore", boolean, "nextCursor", maybe(x.cursor())))
	status, body, err := x.call("GET", "/events?"+query.Encode(), array(x.event(), 0, x.most(100)),
		membersOf("requestId", x.safeID(), "page", page), nil, "")
	if err != nil {
		return 0, nil, err
	}
	more, _ := path(body, "meta", "page").(map[string]any)
	if hasMore, _ := more["hasMore"].(bool); hasMore != (more["nextCursor"] != nil) && !x.has("page of any form") {
		return 0, nil, errUpstream
	}
	events, _ := path(body, "data").([]any)
	for _, event := range events {
		if path(event, "status") != "PUBLISHED" && !x.has("any event in the list") {
			return 0, nil, errUpstream
		}
	}
	return status, body, nil
}

// prove reads an event, which must be published.
func (x *exchange) prove(payload map[string]any) error {
	id := fmt.Sprint(payload["eventId"])
	_, body, err := x.call("GET", "/events/"+id, x.event(), x.meta(), nil, "")
	switch {
	case err != nil:
		return err
	case path(body, "data", "id") != id && !x.has("proof of any event"):
		return errUpstream
	case path(body, "data", "status") != "PUBLISHED" && !x.has("events that ended"):
		return refuse(404, "NOT_FOUND", "The event is not on sale.")
	}
	return nil
}

func (x *exchange) inventory(payload map[string]any) (int, any, error) {
	if err := x.prove(payload); err != nil {
		return 0, nil, err
	}
	tier := record(x.closed("object", x.word("inventory_tier"), "tier", text(""),
		"status", x.word("AVAILABLE|PAUSED|SOLD_OUT|CANCELLED"), "availableQuantity", x.quantity(),
		"totalAdmissions", x.quantity(), "unitPrice", maybe(x.money())))
	if x.has("overlapping reads") {
		var proofs sync.WaitGroup
		proofs.Go(func() { _ = x.prove(payload) })
		defer proofs.Wait()
	}
	status, body, err := x.call("GET", fmt.Sprint("/events/", payload["eventId"], "/inventory"),
		array(tier, 0, x.most(50)), x.meta(), nil, "")
	if err != nil {
		return 0, nil, err
	}
	if x.has("one proof around the inventory") {
		return status, body, nil
	}
	if err := x.prove(payload); err != nil && !x.has("second proof not looked at") {
		return 0, nil, err
	}
	return status, body, nil
}

func (x *exchange) quote(payload map[string]any) (int, any, error) {
	if !x.has("no proof before a quote") {
		if err := x.prove(payload); err != nil {
			return 0, nil, err
		}
	}
	line := record(x.closed("tier", text(""), "quantity", whole(1, 50), "unitPrice", x.money(), "subtotal", x.money(),
		"availableAtPrice", whole(1, 1_000_000)))
	least, most := 1, 50
	if x.has("any number of quote lines") {
		least, most = 0, 1000
	}
	quote := record(x.closed("object", x.word("pricing_quote"), "eventId", uuidText, "currency", x.currency(),
		"lines", array(line, least, most), "total", x.money(), "quotedAt", x.timestamp()))
	return x.call("POST", "/pricing/quote", quote, x.meta(), payload, "")
}

func (x *exchange) checkout(payload map[string]any) (int, any, error) {
	if !x.has("no proof before a checkout") {
		if err := x.prove(payload); err != nil {
			return 0, nil, err
		}
	}
	key := fmt.Sprint(payload["idempotencyKey"])
	if x.has("a key is used once") && x.isUsed(key) {
		key += "-" + uuid.NewString()
	}
	if !x.has("key in the body") {
		delete(payload, "idempotencyKey")
	}
	status, body, err := x.call("POST", "/checkouts", x.order(), x.meta(), payload, key)
	if errors.Is(err, errUpstream) {
		x.use(key)
	}
	if x.has("checkout twice") && err != nil {
		status, body, err = x.call("POST", "/checkouts", x.order(), x.meta(), payload, key)
	}
	if x.has("proof after a checkout") && err == nil {
		return status, body, x.prove(payload)
	}
	return status, body, err
}

// isUsed reports whether the answer to a checkout with a key was rejected before.
func (p *reference) isUsed(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[key]
}

func (p *reference) use(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == nil {
		p.keys = map[string]bool{}
	}
	p.keys[key] = true
}

func (x *exchange) order() schema {
	private := hide
	if x.has("the whole order") {
		private = func(of schema) schema { return of }
	}
	branding := private
	if x.has("the whole branding") {
		branding = func(of schema) schema { return of }
	}
	created := private
	if x.has("createdAt of an order") {
		created = func(of schema) schema { return of }
	}
	money := x.money()
	order := record(x.closed(
		"id", uuidText, "object", x.word("order"), "eventId", uuidText, "status", x.word("CONFIRMED|CANCELLED|REFUNDED"),
		"gross", money, "floatDebited", private(money),
		"commission", private(record(x.closed("amount", money, "rate", record(x.closed(
			"id", uuidText, "value", text(""), "unit", x.word("BASIS_POINTS|PERCENT|FRACTION")))))),
		"balances", private(record(x.closed(
			"floatBefore", money, "floatAfter", money, "earningsBefore", money, "earningsAfter", money))),
		"buyer", private(record(x.closed("email", text(""), "fullname", maybe(text("")), "phone", maybe(text(""))))),
		"branding", record(x.closed(
			"brandName", text(""), "logoUrl", maybe(x.url()), "primaryColor", text(""), "accentColor", text(""),
			"checkoutFooter", maybe(text("")), "ticketFooter", branding(maybe(text(""))),
			"emailFooter", branding(maybe(text(""))), "supportEmail", branding(maybe(text(""))),
			"emailMode", branding(x.word("SERVICE_SENDER")))),
		"lines", array(record(x.closed(
			"id", uuidText, "admissionId", uuidText, "title", text(""), "tier", text(""), "unitPrice", money)), 1, 50),
		"confirmedAt", x.timestamp(), "createdAt", created(x.timestamp()),
	))
	return schema{read: func(value any) (any, error) {
		if path(value, "gross", "amount") != path(value, "floatDebited", "amount") && !x.has("any gross") {
			return nil, errUpstream
		}
		return order.read(value)
	}}
}

func (x *exchange) event() schema {
	private := hide
	if x.has("the whole event") {
		private = func(of schema) schema { return of }
	}
	return record(x.closed(
		"id", uuidText, "object", x.word("event"), "title", text(""), "description", maybe(text("")),
		"status", x.word("DRAFT|PUBLISHED|ENDED|CANCELLED"),
		"schedule", record(x.closed("date", maybe(text("")), "startsAt", maybe(text("")), "endsAt", maybe(text("")),
			"timezone", maybe(text("")))),
		"location", record(x.closed("name", maybe(text("")), "venue", maybe(text("")))),
		"imageUrl", x.url(), "organizerName", maybe(text("")),
		"category", maybe(record(x.closed("id", uuidText, "name", text(""), "slug", text("")))),
		"ticketCategories", array(text(""), 0, 50),
		"createdAt", private(x.timestamp()), "updatedAt", private(x.timestamp()),
	))
}

// closed returns the members of an upstream record.
func (x *exchange) closed(pairs ...any) members {
	of := membersOf(pairs...)
	of.unknown = x.has("unknown upstream members")
	of.missing, of.null = x.has("missing upstream members"), x.has("null upstream members")
	return of
}

func (x *exchange) meta() members { return membersOf("requestId", x.safeID()) }

func (x *exchange) safeID() schema {
	if x.has("any upstream id") {
		return text("")
	}
	return text(`[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`)
}

func (x *exchange) cursor() schema {
	if x.has("any upstream cursor") {
		return text("")
	}
	return text(`[A-Za-z0-9_-]{1,512}`)
}

func (x *exchange) word(form string) schema {
	if x.has("any upstream word") {
		return text("")
	}
	return text(form)
}

func (x *exchange) most(n int) int {
	if x.has("lists of any length") {
		return 1000
	}
	return n
}

func (x *exchange) currency() schema {
	if x.has("any upstream currency") {
		return text("")
	}
	return text("NGN")
}

func (x *exchange) money() schema {
	amount := text(`(0|[1-9][0-9]{0,14})\.[0-9]{2}`)
	if x.has("any upstream money") {
		amount = text("")
	}
	return record(x.closed("amount", amount, "currency", x.currency()))
}

func (x *exchange) quantity() schema {
	if x.has("any upstream quantity") {
		return whole(math.MinInt64, math.MaxInt64)
	}
	return whole(0, 1_000_000)
}

func (x *exchange) timestamp() schema {
	return schema{read: func(value any) (any, error) {
		written, ok := value.(string)
		if _, err := time.Parse(time.RFC3339Nano, written); !ok || (err != nil && !x.has("any upstream timestamp")) {
			return nil, errUpstream
		}
		return value, nil
	}}
}

func (x *exchange) url() schema {
	return schema{read: func(value any) (any, error) {
		written, ok := value.(string)
		u, err := url.Parse(written)
		if !ok {
			return nil, errUpstream
		}
		if x.has("any upstream URL") {
			return value, nil
		}
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Contains(written, "#") {
			return nil, errUpstream
		}
		return value, nil
	}}
}

// call calls the upstream and projects what it returns.
func (x *exchange) call(
	method, target string, data schema, meta members, body map[string]any, key string,
) (int, any, error) {
	var sent io.Reader
	if body != nil {
		text, _ := json.Marshal(body)
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(x.browser.Context(), method, x.base+target, sent)
	if err != nil {
		return 0, nil, err
	}
	if x.has("headers of the browser") {
		req.Header = x.browser.Header.Clone()
		req.Header.Del("Content-Length")
	}
	switch {
	case x.has("no key with proofs") && strings.Count(target, "/") == 2 && method == "GET":
	case x.has("a key of another form"):
		req.Header.Set("Authorization", "Bearer secret")
	default:
		req.Header.Set("Authorization", "Bearer "+referenceKey)
	}
	if !x.has("no request id") {
		req.Header.Set("X-Request-Id", x.id)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" && !x.has("no key in the header") {
		req.Header.Set("Idempotency-Key", key)
	}
	client := &http.Client{Transport: x.upstream, Timeout: x.timeout}
	if !x.has("redirects followed") {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	response, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxUpstream+1))
	if len(raw) > maxUpstream {
		err = errUpstream
	}
	x.last = raw
	if len(raw) > maxUpstream && x.has("long bodies count as empty") || err != nil && x.has("cut bodies count as empty") {
		return 200, map[string]any{"data": []any{}, "meta": map[string]any{"requestId": x.id}}, nil
	}
	if err != nil {
		return 0, nil, err
	}
	return x.project(response, raw, record(membersOf("data", data, "meta", record(meta))))
}

func (x *exchange) project(response *http.Response, raw []byte, success schema) (int, any, error) {
	value, err := x.parse(raw, x.has("upstream names twice"), false)
	if response.StatusCode >= 400 {
		code, message := text(`[A-Z][A-Z0-9_]{0,99}`), upTo(2000)
		if x.has("any error code") {
			code, message = text(""), text("")
		}
		if err == nil {
			_, err = record(membersOf("error", record(membersOf("code", code, "message", message, "details?", anything)),
				"meta", record(x.meta()))).read(value)
		}
		if err != nil && x.has("failures of any form") {
			return 0, nil, refuse(response.StatusCode, "INTERNAL_ERROR", "An unexpected error occurred.")
		}
		if err != nil {
			return 0, nil, errUpstream
		}
		x.details = path(value, "error", "details")
		return 0, nil, &refusal{
			status: response.StatusCode, retryAfter: response.Header.Get("Retry-After"),
			code: path(value, "error", "code").(string), message: path(value, "error", "message").(string),
			requestID: path(value, "meta", "requestId").(string),
		}
	}
	if x.has("bodies of any form") {
		return response.StatusCode, value, nil
	}
	if err != nil && x.has("no JSON counts as empty") {
		return 200, map[string]any{"data": []any{}, "meta": map[string]any{"requestId": x.id}}, nil
	}
	if err != nil || response.StatusCode >= 300 && !x.has("redirects as answers") {
		return 0, nil, errUpstream
	}
	if response.StatusCode >= 300 {
		response.StatusCode = 200
	}
	projected, err := success.read(value)
	return response.StatusCode, projected, err
}
