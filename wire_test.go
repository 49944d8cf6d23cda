package ticketing_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestRulesOfWebhooks checks the rules of Section 6 that a receiver can see, with the service, package delivery's
// sender and a receiver over TLS, on every store. Other tests check the rules that show only elsewhere:
// TestWebhookEndpointsAreCheckedWhenTheyAreRegistered and TestTenWebhookEndpoints the registration (6.2), package
// internal/safedial hostile DNS responses, package delivery the exact limits of ten seconds and 64 KiB, and package
// webhook and the example webhook-receiver the receiver's side of 6.4.
func TestRulesOfWebhooks(t *testing.T) {
	t.Parallel()
	for _, rule := range []struct {
		section, name string
		holds         func(t *testing.T, w *wired)
	}{
		{"6.1", "a checkout emits order.created and, separately, commission.accrued", emitsSale},
		{"6.1", "balance.low once per crossing", emitsLowBalance},
		{"6.1", "ticket.validated not for retries or ALREADY_VALIDATED", emitsFirstValidation},
		{"6", "changed subscriptions affect only future dispatch", subscribesFromNowOn},
		{"6", "endpoints that existed get what happened then", fansOut},
		{"6", "a suspended company's webhooks go on", goesOnSuspended},
		{"6.2", "redirects are not followed", followsNoRedirect},
		{"6.2", "every answer is validated before a connection", looksAtAnswers},
		{"6.3", "headers exactly", sendsHeaders},
		{"6.3", "the exact stored body, in the envelope", sendsStoredBody},
		{"6.3", "any 2xx", takesAny2xx},
		{"6.4", "t of the attempt, HMAC of t.body", signsEachAttempt},
		{"6.5", "what is a failed attempt", failsAttempts},
		{"6.5", "eight attempts over about ten minutes", triesEightTimes},
		{"6.5", "attempts keep ids, URL, body and secret", keepsItsSnapshot},
		{"6.5", "a replay has a new id, the current URL and the active secret", replays},
		{"6.5", "two-phase rotation", rotates},
		{"3.5", "disabling cancels; what is in flight succeeds or is cancelled", cancels},
	} {
		t.Run(rule.section+" "+rule.name, func(t *testing.T) {
			t.Parallel()
			onWires(t, rule.holds)
		})
	}
}

// came returns the types of the received events, sorted.
func came(r *ticketingtest.Webhooks) (types []string) {
	for _, got := range r.All() {
		types = append(types, got.Event)
	}
	slices.Sort(types)
	return types
}

func emitsSale(t *testing.T, w *wired) {
	is := is.New(t)
	r, _ := w.hook(t)
	key := w.Key()
	order, err := w.Checkout(t.Context(), w.Caller, key, ticketingtest.Basket(w.event.ID, "VIP", 100_00, 2))
	is.NoErr(err)
	_, err = w.Checkout(t.Context(), w.Caller, key, ticketingtest.Basket(w.event.ID, "VIP", 100_00, 2))
	is.NoErr(err) // A replay of the checkout emits nothing.
	is.Equal(send(t, w.svc), 2)
	is.Equal(came(r), []string{"commission.accrued", "order.created"})
	for _, got := range r.All() {
		is.NoErr(got.Err)
		is.True(strings.Contains(string(got.Body), order.ID.String()))
	}
	is.True(r.All()[0].EventID != r.All()[1].EventID)
}

func emitsLowBalance(t *testing.T, w *wired) {
	is := is.New(t)
	r, _ := w.hook(t, ticketing.FactBalanceLow)
	price := w.Wallets(t).Float - 1000_00
	w.Inventory(t, w.event.ID, "REGULAR", price, 1)
	w.Sell(t, w.event.ID, "REGULAR", 1) // This takes FLOAT to the threshold.
	is.Equal(send(t, w.svc), 0)
	w.sell(t)
	is.Equal(send(t, w.svc), 1)
	w.sell(t) // FLOAT is low already.
	is.Equal(send(t, w.svc), 0)
	w.Credit(t, 200_00)
	w.sell(t) // FLOAT was credited to 1000.00, and crosses the threshold again.
	is.Equal(send(t, w.svc), 1)
	is.Equal(came(r), []string{"balance.low", "balance.low"})
	var low struct {
		Data map[string]any `json:"data"`
	}
	is.NoErr(json.Unmarshal(r.All()[0].Body, &low))
	is.Equal(low.Data["balance_before"], "1000.00")
	is.Equal(low.Data["balance_after"], "900.00")
	is.Equal(low.Data["threshold_amount"], "1000.00")
}

func emitsFirstValidation(t *testing.T, w *wired) {
	is := is.New(t)
	r, _ := w.hook(t, ticketing.FactTicketValidated)
	admission := w.sell(t).Lines[0].AdmissionID
	key := w.Key()
	for range 2 { // The second call is a retry.
		got, err := w.ValidateAdmission(t.Context(), w.Caller, w.event.ID, admission, key, ticketing.ValidateParams{})
		is.NoErr(err)
		is.Equal(got.Outcome, ticketing.OutcomeAdmitted)
	}
	is.Equal(w.Scan(t, w.event.ID, admission).Outcome, ticketing.OutcomeAlreadyValidated)
	is.Equal(send(t, w.svc), 1)
	is.Equal(came(r), []string{"ticket.validated"})
}

func subscribesFromNowOn(t *testing.T, w *wired) {
	is := is.New(t)
	r, made := w.hook(t, ticketing.FactOrderCreated)
	r.Always(ticketingtest.Status(http.StatusInternalServerError))
	w.sell(t)
	is.Equal(send(t, w.svc), 1)
	_, err := w.Staff.UpdateWebhookEndpoint(t.Context(), made.ID, ticketing.WebhookEndpointUpdate{
		Events: []ticketing.FactType{ticketing.FactCommissionAccrued},
	})
	is.NoErr(err)
	r.Always(nil)
	w.sell(t)
	w.Clock.Advance(6 * time.Second)
	is.Equal(send(t, w.svc), 2) // These are the retry of the dispatched event, and the event that is dispatched now.
	is.Equal(came(r), []string{"commission.accrued", "order.created", "order.created"})
}

func fansOut(t *testing.T, w *wired) {
	is := is.New(t)
	before, _ := w.hook(t, ticketing.FactOrderCreated)
	disabled, off := w.hook(t, ticketing.FactOrderCreated)
	w.sell(t)
	after, _ := w.hook(t, ticketing.FactOrderCreated)
	_, err := w.Staff.DisableWebhookEndpoint(t.Context(), off.ID)
	is.NoErr(err)
	is.Equal(send(t, w.svc), 1)
	_, err = w.Staff.EnableWebhookEndpoint(t.Context(), off.ID)
	is.NoErr(err)
	is.Equal(send(t, w.svc), 0)
	is.Equal([]int{len(before.All()), len(disabled.All()), len(after.All())}, []int{1, 0, 0})
	w.sell(t)
	is.Equal(send(t, w.svc), 3)
	is.Equal([]int{len(before.All()), len(disabled.All()), len(after.All())}, []int{2, 1, 1})
	is.Equal(after.All()[0].Body, before.All()[1].Body)
	is.True(after.All()[0].DeliveryID != before.All()[1].DeliveryID)
}

func goesOnSuspended(t *testing.T, w *wired) {
	is := is.New(t)
	r, _ := w.hook(t)
	w.sell(t)
	_, err := w.Staff.SuspendCompany(t.Context(), w.Company.ID)
	is.NoErr(err)
	is.Equal(send(t, w.svc), 2)
	is.Equal(len(r.All()), 2)
}

func followsNoRedirect(t *testing.T, w *wired) {
	is := is.New(t)
	r, _ := w.hook(t, ticketing.FactOrderCreated)
	other, url := w.receiver(t)
	for _, code := range []int{301, 302, 303, 307, 308} {
		r.Next(func(rw http.ResponseWriter, req *http.Request) { http.Redirect(rw, req, url, code) })
	}
	w.sell(t)
	for range 5 {
		is.Equal(send(t, w.svc), 1)
		w.Clock.Advance(10 * time.Minute)
	}
	is.Equal(len(other.All()), 0)
	d := deliveries(t, w.Shop)[0]
	is.Equal(d.Status, ticketing.DeliveryPending)
	is.Equal([]int{d.Attempts[0].Status, d.Attempts[4].Status}, []int{301, 308})
}

func looksAtAnswers(t *testing.T, w *wired) {
	is := is.New(t)
	r, _ := w.hook(t, ticketing.FactOrderCreated)
	name := "hooks1.example.com"
	w.sell(t)
	for _, private := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"} {
		w.net.move(name, private)
		is.Equal(send(t, w.svc), 1)
		w.Clock.Advance(time.Minute)
	}
	is.Equal(len(r.All()), 0)
	for _, attempt := range deliveries(t, w.Shop)[0].Attempts {
		is.True(strings.Contains(attempt.Error, "not public"))
	}
	w.net.move(name, "93.184.0.1")
	w.Clock.Advance(10 * time.Minute)
	is.Equal(send(t, w.svc), 1)
	is.Equal(len(r.All()), 1)
}

func sendsHeaders(t *testing.T, w *wired) {
	is := is.New(t)
	r, _ := w.hook(t, ticketing.FactOrderCreated)
	w.sell(t)
	is.Equal(send(t, w.svc), 1)
	d := deliveries(t, w.Shop)[0]
	got := r.All()[0]
	is.Equal(got.Method, http.MethodPost)
	signature := got.Header.Get("X-Service-Signature")
	is.Equal(got.Header, http.Header{
		"Content-Type":          {"application/json; charset=utf-8"},
		"User-Agent":            {"Service-Webhooks/1.0"},
		"X-Service-Event-Id":    {d.MessageID.String()},
		"X-Service-Event":       {"order.created"},
		"X-Service-Delivery-Id": {d.ID.String()},
		"X-Service-Signature":   {signature},
		"Content-Length":        {strconv.Itoa(len(got.Body))}, // from HTTP itself
	})
}

func sendsStoredBody(t *testing.T, w *wired) {
	is := is.New(t)
	r, _ := w.hook(t)
	w.Scan(t, w.event.ID, w.sell(t).Lines[0].AdmissionID)
	is.Equal(send(t, w.svc), 3)
	for _, d := range deliveries(t, w.Shop) {
		var kept []driver.Message
		is.NoErr(w.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			var err error
			kept, err = tx.Messages(ctx, []driver.MessageRef{{CompanyID: d.CompanyID, At: d.MessageAt, ID: d.MessageID}})
			return err
		}))
		got := r.Of(string(d.Type))
		is.Equal(len(got), 1)
		is.Equal(string(got[0].Body), kept[0].Body)
		var envelope map[string]json.RawMessage
		is.NoErr(json.Unmarshal(got[0].Body, &envelope))
		is.Equal(slices.Sorted(maps.Keys(envelope)), []string{"api_version", "created_at", "data", "id", "type"})
		is.Equal(string(envelope["id"]), strconv.Quote(d.MessageID.String()))
		is.Equal(string(envelope["type"]), strconv.Quote(string(d.Type)))
		is.Equal(string(envelope["api_version"]), `"v1"`)
		is.Equal(string(envelope["created_at"]), strconv.Quote(d.MessageAt.UTC().Format("2006-01-02T15:04:05.000Z")))
	}
}

func takesAny2xx(t *testing.T, w *wired) {
	is := is.New(t)
	for _, code := range []int{200, 201, 202, 204, 226, 299, 300, 304, 400, 404, 410, 429, 500, 599} {
		r, made := w.hook(t, ticketing.FactOrderCreated)
		r.Always(func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(code)
			_, _ = rw.Write([]byte(`{"ok":false}`)) // The response body is ignored.
		})
		w.sell(t)
		is.Equal(send(t, w.svc), 1)
		all := deliveries(t, w.Shop)
		last := all[len(all)-1]
		is.Equal(last.Attempts[0].Status, code)
		is.Equal(last.Status == ticketing.DeliverySucceeded, code <= 299)
		if code > 299 {
			is.Equal(last.Status, ticketing.DeliveryPending) // This includes 410: the delivery is retried.
			is.Equal(last.Attempts[0].Error, fmt.Sprint("HTTP ", code))
		}
		is.NoErr(w.Staff.DeleteWebhookEndpoint(t.Context(), made.ID))
		w.Clock.Advance(time.Second) // Deliveries are listed by their time.
	}
}

func signsEachAttempt(t *testing.T, w *wired) {
	is := is.New(t)
	r, made := w.hook(t, ticketing.FactOrderCreated)
	r.Next(slices.Repeat([]http.HandlerFunc{ticketingtest.Status(500)}, 3)...)
	w.sell(t)
	var times []int64
	for range 4 {
		times = append(times, w.Clock.Now().Unix())
		is.Equal(send(t, w.svc), 1)
		w.Clock.Advance(time.Minute)
	}
	for i, got := range r.All() {
		mac := hmac.New(sha256.New, []byte(made.Secret)) // The key is the complete text of the secret.
		fmt.Fprintf(mac, "%d.%s", times[i], got.Body)
		is.Equal(got.Header.Get("X-Service-Signature"),
			fmt.Sprintf("t=%d,v1=%s", times[i], hex.EncodeToString(mac.Sum(nil))))
		is.Equal(got.Body, r.All()[0].Body)
		is.NoErr(got.Err)
	}
}

func failsAttempts(t *testing.T, w *wired) {
	is := is.New(t)
	r, made := w.hook(t, ticketing.FactOrderCreated)
	name := strings.TrimSuffix(strings.TrimPrefix(made.URL, "https://"), "/hooks")
	// Nothing listens at the address of the closed server, and distrustful does not trust the receiver's certificate.
	stranger := httptest.NewUnstartedServer(http.NotFoundHandler())
	stranger.StartTLS()
	gone := stranger.Listener.Addr().String()
	stranger.Close()
	_ = w.net.join(gone) // 93.184.0.2
	impatient := sender(t, w.Shop, w.net.sender(t, func(c *delivery.Config) { c.Timeout = 50 * time.Millisecond }))
	distrustful := sender(t, w.Shop, w.net.sender(t, func(c *delivery.Config) { c.RootCAs = nil }))
	w.sell(t)
	for n, step := range []struct {
		svc    *ticketing.Service
		before func()
		status int
		tells  string
	}{
		{w.svc, func() { r.Next(ticketingtest.Status(503)) }, 503, "HTTP 503"},
		{impatient, func() { r.Always(ticketingtest.Hang) }, 0, "timeout"}, // also if the time ends before the request
		{w.svc, func() { r.Always(ticketingtest.Status(204)); w.net.move(name, "") }, 0, "DNS: no such host"},
		{w.svc, func() { w.net.move(name, "93.184.0.2") }, 0, "connect"},
		{distrustful, func() { w.net.move(name, "93.184.0.1") }, 0, "TLS: certificate"},
	} {
		step.before()
		w.sender.CloseIdleConnections()
		is.Equal(send(t, step.svc), 1)
		d := deliveries(t, w.Shop)[0]
		is.Equal(len(d.Attempts), n+1)
		is.Equal(d.Status, ticketing.DeliveryPending)
		is.Equal(d.Attempts[n].Status, step.status)
		is.True(strings.HasPrefix(d.Attempts[n].Error, step.tells))
		w.Clock.Advance(10 * time.Minute)
	}
	is.Equal(send(t, w.svc), 1)
	is.Equal(deliveries(t, w.Shop)[0].Status, ticketing.DeliverySucceeded)
}

func triesEightTimes(t *testing.T, w *wired) {
	is := is.New(t)
	r, _ := w.hook(t, ticketing.FactOrderCreated)
	r.Always(ticketingtest.Status(http.StatusGone))
	w.sell(t)
	begun := w.Clock.Now()
	for wait := 5 * time.Second; ; wait *= 2 {
		is.Equal(send(t, w.svc), 1)
		d := deliveries(t, w.Shop)[0]
		if d.Status != ticketing.DeliveryPending {
			break
		}
		due := d.DueAt.Sub(w.Clock.Now())
		is.True(due >= wait && due <= wait+wait/10)
		w.Clock.Advance(due - time.Millisecond)
		is.Equal(send(t, w.svc), 0)
		w.Clock.Advance(time.Millisecond)
	}
	span := w.Clock.Now().Sub(begun)
	is.True(span >= 635*time.Second && span < 700*time.Second)
	w.Clock.Advance(24 * time.Hour)
	is.Equal(send(t, w.svc), 0)
	is.Equal(len(r.All()), 8)
	dead, err := w.Staff.ListDeliveries(t.Context(), w.Company.ID,
		ticketing.DeliveryFilter{Status: ticketing.DeliveryFailed}, ticketing.PageParams{})
	is.NoErr(err)
	is.Equal(dead.Items[0].Attempts, 8)
	is.Equal(*dead.Items[0].LastHTTPStatus, http.StatusGone)
	is.Equal(*dead.Items[0].LastError, "HTTP 410")
}

// turned changes an endpoint's URL and secret, and returns the receiver at the new URL.
func (w *wired) turned(t *testing.T, endpoint uuid.UUID) *ticketingtest.Webhooks {
	t.Helper()
	is := is.New(t)
	r, url := w.receiver(t)
	_, err := w.Staff.UpdateWebhookEndpoint(t.Context(), endpoint, ticketing.WebhookEndpointUpdate{URL: of(url + "/new")})
	is.NoErr(err)
	next, err := w.Staff.PrepareWebhookSecret(t.Context(), endpoint)
	is.NoErr(err)
	_, err = w.Staff.ActivateWebhookSecret(t.Context(), endpoint)
	is.NoErr(err)
	r.SetSecrets(string(next.Secret))
	return r
}

func keepsItsSnapshot(t *testing.T, w *wired) {
	is := is.New(t)
	r, made := w.hook(t, ticketing.FactOrderCreated)
	r.Next(slices.Repeat([]http.HandlerFunc{ticketingtest.Status(500)}, 7)...)
	w.sell(t)
	for range 8 {
		is.Equal(send(t, w.svc), 1)
		other := w.turned(t, made.ID)
		is.Equal(len(other.All()), 0)
		w.Clock.Advance(10 * time.Minute)
	}
	got := r.All()
	is.Equal(len(got), 8)
	for _, attempt := range got {
		is.NoErr(attempt.Err) // signed with the first secret
		is.Equal(attempt.EventID, got[0].EventID)
		is.Equal(attempt.DeliveryID, got[0].DeliveryID)
		is.Equal(attempt.Body, got[0].Body)
	}
	is.Equal(deliveries(t, w.Shop)[0].Status, ticketing.DeliverySucceeded)
}

func replays(t *testing.T, w *wired) {
	is := is.New(t)
	r, made := w.hook(t, ticketing.FactOrderCreated)
	w.sell(t)
	is.Equal(send(t, w.svc), 1)
	old := r.All()[0]
	now := w.turned(t, made.ID)
	_, err := w.Staff.DisableWebhookEndpoint(t.Context(), made.ID)
	is.NoErr(err)
	_, err = w.Staff.ReplayDelivery(t.Context(), uuid.MustParse(old.DeliveryID))
	is.Equal(code(err), ticketing.CodeConflict) // Section 3.5: "re-enabling is required before a replay"
	_, err = w.Staff.EnableWebhookEndpoint(t.Context(), made.ID)
	is.NoErr(err)
	replay, err := w.Staff.ReplayDelivery(t.Context(), uuid.MustParse(old.DeliveryID))
	is.NoErr(err)
	is.Equal(send(t, w.svc), 1)
	is.Equal(len(r.All()), 1)
	got := now.All()[0]
	is.NoErr(got.Err)
	is.Equal(got.EventID, old.EventID)
	is.Equal(got.Body, old.Body)
	is.Equal(got.DeliveryID, replay.ID.String())
	is.True(got.DeliveryID != old.DeliveryID)
}

func rotates(t *testing.T, w *wired) {
	is := is.New(t)
	r, made := w.hook(t, ticketing.FactOrderCreated)
	first := string(made.Secret)
	r.Next(ticketingtest.Status(503))
	w.sell(t)
	is.Equal(send(t, w.svc), 1) // The delivery was made under the first secret, and is pending.
	next, err := w.Staff.PrepareWebhookSecret(t.Context(), made.ID)
	is.NoErr(err)
	r.SetSecrets(first, string(next.Secret))
	w.sell(t)
	is.Equal(send(t, w.svc), 1) // The next secret is prepared but not activated.
	_, err = w.Staff.ActivateWebhookSecret(t.Context(), made.ID)
	is.NoErr(err)
	w.sell(t)
	is.Equal(send(t, w.svc), 1)
	w.Clock.Advance(6 * time.Second)
	is.Equal(send(t, w.svc), 1) // This is the first delivery again.
	var under []string
	for _, got := range r.All() {
		is.NoErr(got.Err)
		is.Equal(strings.Count(got.Header.Get("X-Service-Signature"), "="), 2) // The header has no version of the secret.
		mac := hmac.New(sha256.New, []byte(first))
		seconds, digest, _ := strings.Cut(strings.TrimPrefix(got.Header.Get("X-Service-Signature"), "t="), ",v1=")
		fmt.Fprintf(mac, "%s.%s", seconds, got.Body)
		under = append(under, map[bool]string{true: "first", false: "next"}[hex.EncodeToString(mac.Sum(nil)) == digest])
	}
	is.Equal(under, []string{"first", "first", "next", "first"})
}

func cancels(t *testing.T, w *wired) {
	for _, code := range []int{204, 500} {
		is := is.New(t)
		r, made := w.hook(t, ticketing.FactOrderCreated)
		r.Next(ticketingtest.Status(500))
		w.sell(t)
		is.Equal(send(t, w.svc), 1)
		w.Clock.Advance(time.Second)
		var asked atomic.Int64
		r.Always(func(rw http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) == 1 {
				_, err := w.Staff.DisableWebhookEndpoint(t.Context(), made.ID)
				is.NoErr(err)
			}
			rw.WriteHeader(code)
		})
		w.sell(t)
		is.Equal(send(t, w.svc), 1)
		all := deliveries(t, w.Shop)
		is.Equal(all[len(all)-2].Status, ticketing.DeliveryCancelled) // It was waiting for its second attempt.
		is.Equal(len(all[len(all)-2].Attempts), 1)
		want := ticketing.DeliverySucceeded
		if code == 500 {
			want = ticketing.DeliveryCancelled
		}
		is.Equal(all[len(all)-1].Status, want) // It was in flight.
		is.Equal(len(all[len(all)-1].Attempts), 1)
		w.Clock.Advance(time.Hour)
		is.Equal(send(t, w.svc), 0)
		is.NoErr(w.Staff.DeleteWebhookEndpoint(t.Context(), made.ID))
	}
}
