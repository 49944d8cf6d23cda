package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/ticketingtest"
	"github.com/floatgate/ticketing/webhook"
)

// heard starts a local receiver that verifies with package webhook. It returns the receiver's URL and the deliveries
// that it accepted.
func heard(t *testing.T, secret string) (url string, deliveries chan webhook.Delivery) {
	t.Helper()
	deliveries = make(chan webhook.Delivery, 100)
	handler := webhook.Handler(webhook.FixedSecrets(secret), func(_ context.Context, d webhook.Delivery) error {
		deliveries <- d
		return nil
	}, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, deliveries
}

// next returns the next accepted delivery.
func next(t *testing.T, deliveries <-chan webhook.Delivery) webhook.Delivery {
	t.Helper()
	select {
	case delivery := <-deliveries:
		return delivery
	case <-time.After(patience):
		t.Fatal("nothing is heard")
		return webhook.Delivery{}
	}
}

// listen starts a relay, and waits until it relays.
func (s *shell) listen(args ...string) *process {
	s.t.Helper()
	p := s.start(append([]string{"webhook", "listen"}, args...)...)
	select {
	case <-p.errorLines:
	case <-p.read:
		s.t.Fatalf("it ended:\n%s", p.errors())
	case <-time.After(patience):
		s.t.Fatal("it does not listen")
	}
	return p
}

// line reads the next line of a process's output.
func line(t *testing.T, from *bufio.Reader) string {
	t.Helper()
	text, err := from.ReadString('\n')
	must(t, err)
	return strings.TrimSuffix(text, "\n")
}

const developersSecret = "svc_whsec_" + "developer-0123456789-0123456789-0123456789-01"

// A developer receives every type of event on a local address, each with a signature that package webhook accepts. This
// needs neither an endpoint nor a running server. Each event is also printed on a line. Ctrl-C ends the relay with exit
// status 0.
func TestListenRelaysWhatIsTriggered(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	url, deliveries := heard(t, developersSecret)
	p := sh.listen(company, "--forward-to", url+"/hooks", "--secret", developersSecret)
	is.Equal(p.errors(), "relaying to "+url+"/hooks, signed with "+developersSecret+"\n")
	for _, kind := range []string{"order.created", "commission.accrued", "balance.low", "ticket.validated"} {
		event := sh.object("webhook", "trigger", company, kind)
		hasMembers(t, event, "id", "type")
		is.Equal(event["type"], kind)
		got := next(t, deliveries)
		is.Equal(got.Event.ID, event["id"])
		is.Equal(got.Event.Type, kind)
		words := strings.Fields(line(t, p.stdout))
		is.Equal(words[1:4], []string{kind, event["id"].(string), "204"})
		_, err := time.Parse(time.RFC3339, words[0])
		is.NoErr(err)
		is.Equal(words[5], "ms")
	}
	p.signal(syscall.SIGINT)
	is.Equal(p.wait(), 0)
	is.Equal(len(sh.array("webhook", "deliveries", company)), 0) // No endpoint has a delivery of it.
}

// While it listens, the relay forwards the sales' events of the requested types. With --json it prints an object for
// each, and the secret is a new one each time.
func TestListenForScripts(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	receiver := ticketingtest.NewWebhooks(t)
	p := sh.listen(shop.companyID, "--forward-to", receiver.URL, "--webhook-ca-file", roots(t, receiver), "--events",
		"order.created,ticket.validated", "--json", "--print-json")
	var begun struct{ ForwardTo, Secret string }
	is.NoErr(json.Unmarshal([]byte(p.errors()), &begun))
	is.Equal(begun.ForwardTo, receiver.URL)
	is.True(strings.HasPrefix(begun.Secret, webhook.SecretPrefix))
	receiver.SetSecrets(begun.Secret)

	_, origin := sh.serve("--rate-limit", "0", "--no-webhooks")
	order, err := shop.api(t, origin).Checkout(t.Context(), "cart-0001", shop.basket())
	is.NoErr(err)
	got, err := receiver.Wait(soon(t), 1)
	is.NoErr(err)
	is.NoErr(got[0].Err)
	is.Equal(got[0].Delivery.Event.Data.(webhook.OrderCreated).Order.ID, order.ID.String())
	var printed map[string]any
	is.NoErr(json.Unmarshal([]byte(line(t, p.stdout)), &printed))
	hasMembers(t, printed, "at", "eventId", "eventType", "deliveryId", "httpStatus", "error", "durationMs", "body")
	is.Equal(printed["eventId"], got[0].EventID)
	is.Equal(printed["deliveryId"], got[0].DeliveryID)
	is.Equal(printed["httpStatus"], 204.0)
	is.Equal(printed["error"], nil)
	is.Equal(printed["body"].(map[string]any)["id"], got[0].EventID)
	// Not commission.accrued, which the sale also published.
	sh.object("webhook", "trigger", shop.companyID, "ticket.validated")
	is.True(strings.Contains(line(t, p.stdout), `"eventType":"ticket.validated"`))
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
}

// A delivery that is replayed while a relay runs is relayed again, once. It has the same event and body, a new delivery
// id, a valid signature and its own line of output.
func TestListenRelaysReplays(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	receiver := ticketingtest.NewWebhooks(t)
	sh.hooked(company, receiver, "balance.low")
	sh.sends(receiver)
	url, deliveries := heard(t, developersSecret)
	p := sh.listen(company, "--forward-to", url, "--secret", developersSecret)
	event := sh.object("webhook", "trigger", company, "balance.low")
	first := next(t, deliveries)
	is.Equal(first.Event.ID, event["id"])
	columns := strings.Fields(line(t, p.stdout))
	is.Equal(columns[1:4], []string{"balance.low", first.Event.ID, "204"})

	got, err := receiver.Wait(soon(t), 1)
	is.NoErr(err)
	sh.delivered(got[0].DeliveryID) // A pending delivery cannot be replayed.
	ids := map[string]bool{first.ID: true}
	for range 2 {
		is.Equal(sh.object("webhook", "replay", got[0].DeliveryID)["eventId"], first.Event.ID)
		again := next(t, deliveries)
		is.Equal(again.Event.ID, first.Event.ID)
		is.Equal(string(again.Body), string(first.Body))
		ids[again.ID] = true
		columns = strings.Fields(line(t, p.stdout))
		is.Equal(columns[1:4], []string{"balance.low", first.Event.ID, "204"})
		other := sh.object("webhook", "trigger", company, "balance.low")
		is.Equal(next(t, deliveries).Event.ID, other["id"]) // No replay came twice.
		line(t, p.stdout)
	}
	is.Equal(len(ids), 3)
	p.signal(syscall.SIGINT)
	is.Equal(p.wait(), 0)
}

// The relay's request has the headers of a delivery and no others. The limit of its address's length is that of an
// endpoint's.
func TestListenSendsWhatADeliveryHas(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	headers := make(chan http.Header, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case headers <- r.Header:
		default:
			t.Error("more than one event is relayed")
		}
	}))
	t.Cleanup(server.Close)
	p := sh.listen(company, "--forward-to", server.URL)
	sh.object("webhook", "trigger", company, "balance.low")
	var names []string
	select {
	case header := <-headers:
		names = slices.Sorted(maps.Keys(header))
	case <-soon(t).Done():
		t.Fatal("nothing is relayed")
	}
	is.Equal(names, []string{
		"Content-Length", "Content-Type", "User-Agent", "X-Service-Delivery-Id", "X-Service-Event", "X-Service-Event-Id",
		"X-Service-Signature",
	})
	p.signal(syscall.SIGINT)
	is.Equal(p.wait(), 0)
	code, message := sh.refusal("webhook", "listen", company, "--forward-to", server.URL+"/"+strings.Repeat("a", 2048))
	is.Equal(code+" "+message, "INVALID_REQUEST --forward-to: must have at most 2048 characters")
}

// A redirect or a missing response is reported and not retried. It does not affect the events that follow.
func TestListenReportsWhatFails(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	url, deliveries := heard(t, developersSecret)
	elsewhere := sh.listen(company, "--forward-to", url+"/elsewhere")
	nobodyThere := sh.listen(company, "--forward-to", "http://127.0.0.1:1")
	otherSecret := sh.listen(company, "--forward-to", url, "--json")
	for range 2 {
		sh.object("webhook", "trigger", company, "balance.low")
		is.True(strings.Contains(line(t, elsewhere.stdout), "  302  "))
		is.True(strings.Contains(line(t, nobodyThere.stdout), "connection refused"))
		is.True(strings.Contains(line(t, otherSecret.stdout), `"httpStatus":400,"error":null`))
	}
	is.Equal(len(deliveries), 0)
}

// An unavailable database does not end a relay. The relay reports it once, waits, and continues with the events since.
func TestListenOutlivesItsDatabase(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t, "fsync=off")
	sh := newShell(t).with("TICKETING_DATABASE", server.DSN("postgres"), "TICKETING_SECRET_KEY", strings.Repeat("ab", 32))
	company := sh.openShop().companyID
	url, deliveries := heard(t, developersSecret)
	p := sh.listen(company, "--forward-to", url, "--secret", developersSecret)
	first := sh.object("webhook", "trigger", company, "balance.low")
	is.Equal(next(t, deliveries).Event.ID, first["id"])
	for range 2 {
		server.Stop()
		p.tellsNow("; waiting for it")
		server.Restart()
		more := sh.object("webhook", "trigger", company, "balance.low")
		is.Equal(next(t, deliveries).Event.ID, more["id"])
	}
	p.signal(syscall.SIGINT)
	is.Equal(p.wait(), 0)
	is.Equal(strings.Count(p.errors(), "; waiting for it"), 2)
	is.Equal(len(deliveries), 0)
}
