package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ticketingtest"
	"github.com/floatgate/ticketing/webhook"
)

// hooks is a valid address of an endpoint.
const hooks = "https://lagos.example/hooks"

// hooked creates an endpoint of a company that delivers to a receiver. The receiver verifies with the endpoint's
// secret.
func (s *shell) hooked(company string, to *ticketingtest.Webhooks, types ...string) map[string]any {
	s.t.Helper()
	endpoint := s.object("webhook", "create", company, "--url", to.URL, "--events", strings.Join(types, ","),
		"--webhook-allow-private")
	to.SetSecrets(endpoint["secret"].(string))
	return endpoint
}

// sends starts a server that delivers to receivers on this machine.
func (s *shell) sends(to *ticketingtest.Webhooks) (p *process, origin string) {
	s.t.Helper()
	return s.serve("--rate-limit", "0", "--webhook-allow-private", "--webhook-ca-file", roots(s.t, to))
}

// roots returns the path of a file with the root certificates of a receiver.
func roots(t *testing.T, of *ticketingtest.Webhooks) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "roots.pem")
	must(t, os.WriteFile(path, of.RootsPEM(), 0o600))
	return path
}

// Endpoints can be managed with commands alone, and each prints at least the members that scripts rely on. A secret is
// shown when it is created, and never again.
func TestWebhookEndpointCommands(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	is.Equal(len(sh.array("webhook", "list", company)), 0)

	created := sh.object("webhook", "create", company, "--url", hooks, "--events", "ticket.validated,order.created")
	hasMembers(t, created, "id", "url", "events", "status", "secret")
	is.Equal(created["url"], hooks)
	is.Equal(created["events"], []any{"order.created", "ticket.validated"})
	is.Equal(created["status"], "ENABLED")
	first := created["secret"].(string)
	is.True(strings.HasPrefix(first, webhook.SecretPrefix))
	delete(created, "secret")
	id := created["id"].(string)
	is.Equal(sh.array("webhook", "list", company), []map[string]any{created})
	is.Equal(sh.object("webhook", "show", id), created)

	changed := sh.object("webhook", "update", id, "--url", hooks+"/2", "--events", "balance.low")
	is.Equal(changed["url"], hooks+"/2")
	is.Equal(changed["events"], []any{"balance.low"})
	is.Equal(sh.object("webhook", "update", id, "--events", "commission.accrued")["url"], hooks+"/2")
	is.Equal(sh.object("webhook", "disable", id)["status"], "DISABLED")
	is.Equal(sh.object("webhook", "enable", id)["status"], "ENABLED")

	code, _ := sh.refusal("webhook", "activate", id)
	is.Equal(code, "CONFLICT") // Nothing was prepared.
	prepared := sh.object("webhook", "rotate", id)
	is.Equal(prepared["id"], id)
	second := prepared["secret"].(string)
	is.True(strings.HasPrefix(second, webhook.SecretPrefix) && second != first)
	hasMembers(t, sh.object("webhook", "activate", id), "id", "url", "events", "status")
	hasMembers(t, sh.object("webhook", "reseal"), "resealed", "left")

	deleted := sh.object("webhook", "delete", id)
	is.Equal(deleted["id"], id)
	is.Equal(len(sh.array("webhook", "list", company)), 0)
	for _, args := range [][]string{
		{"show", id},
		{"delete", id},
		{"enable", id},
		{"disable", id},
		{"rotate", id},
		{"activate", id},
		{"update", id, "--url", hooks},
		{"delivery", nobody},
		{"replay", nobody},
		{"trigger", nobody, "order.created"},
		{"create", nobody, "--url", hooks, "--events", "order.created"},
		{"listen", nobody, "--forward-to", "http://127.0.0.1:1/"},
	} {
		code, message := sh.refusal(append([]string{"webhook"}, args...)...)
		is.Equal(code, "NOT_FOUND")
		is.True(!strings.Contains(message, nobody))
	}

	text := fmt.Sprint(sh.array("audit", "list", company))
	for _, action := range []string{"webhook.create", "webhook.delete"} {
		is.True(strings.Contains(text, action))
	}
	for _, secret := range []string{first, second} {
		is.True(!strings.Contains(text, secret[len(webhook.SecretPrefix):]))
	}
}

// A company has at most ten endpoints, and deleting one makes room.
func TestTenWebhookEndpoints(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	create := []string{"webhook", "create", company, "--url", hooks, "--events", "order.created"}
	var last string
	for range 10 {
		last = sh.object(create...)["id"].(string)
	}
	code, _ := sh.refusal(create...)
	is.Equal(code, "CONFLICT")
	sh.object("webhook", "disable", last)
	code, _ = sh.refusal(create...)
	is.Equal(code, "CONFLICT")
	sh.object("webhook", "delete", last)
	sh.object(create...)
	is.Equal(len(sh.array("webhook", "list", company)), 10)
}

// A command that sets a private address logs a warning after it has set it.
func TestPrivateWebhookAddressIsWarnedOf(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	create := []string{"webhook", "create", company, "--events", "order.created", "--url", "https://127.0.0.1/h"}
	const warning = "--webhook-allow-private is for development only: never use it in production"
	for _, flag := range []string{"--webhook-allow-private", "--webhook-allow-private --json"} {
		did := sh.run(append(create, strings.Fields(flag)...)...)
		is.Equal(did.status, 0)
		is.Equal(strings.Count(did.stderr, warning), 1)
		is.True(strings.Contains(did.stderr, "WARN"))
	}
	var line struct{ Level, Msg string }
	id := sh.array("webhook", "list", company)[0]["id"].(string)
	did := sh.run("webhook", "update", id, "--url", "https://127.0.0.1/2", "--webhook-allow-private", "--json")
	is.NoErr(json.Unmarshal([]byte(did.stderr), &line))
	is.Equal(line.Level+" "+line.Msg, "WARN "+warning)
	is.Equal(sh.run("webhook", "update", id, "--url", hooks).stderr, "")
}

// An address that only this machine or its network can resolve is refused, unless a developer allows it with each
// command.
func TestPrivateWebhookAddressNeedsTheFlag(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	create := []string{"webhook", "create", company, "--events", "order.created", "--url"}
	for _, url := range []string{
		"https://127.0.0.1/h", "https://localhost/h", "https://[::1]/h", "https://hooks.internal/h",
	} {
		code, message := sh.refusal(append(create, url)...)
		is.Equal(code, "INVALID_REQUEST")
		is.True(strings.HasPrefix(message, "url: "))
		id := sh.object(append(create, url, "--webhook-allow-private")...)["id"].(string)
		code, _ = sh.refusal("webhook", "update", id, "--url", url+"/2")
		is.Equal(code, "INVALID_REQUEST")
		sh.object("webhook", "update", id, "--url", url+"/2", "--webhook-allow-private")
		sh.object("webhook", "delete", id)
	}
	for _, url := range []string{
		"https://2130706433/h", "http://lagos.example/h", "https://u:hush@lagos.example/h", "https://lagos.example/h#f",
	} {
		for _, args := range [][]string{append(create, url), append(create, url, "--webhook-allow-private")} {
			code, message := sh.refusal(args...)
			is.Equal(code, "INVALID_REQUEST")
			is.True(!strings.Contains(message, "hush"))
		}
	}
}

// The output for people names the endpoint and its types, and never a secret that was shown before.
func TestWebhookOutputForPeople(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	did := sh.run("webhook", "create", company, "--url", hooks, "--events", "order.created")
	is.Equal(did.status, 0)
	_, rest, found := strings.Cut(did.stdout, webhook.SecretPrefix)
	is.True(found)
	secret, _, _ := strings.Cut(rest, "\n")
	is.Equal(len(secret), 43)
	id := sh.array("webhook", "list", company)[0]["id"].(string)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"list", company}, "  ENABLED  " + hooks + "  order.created\n"},
		{[]string{"show", id}, "Next secret  -\n"},
		{[]string{"update", id, "--events", "balance.low"}, "Events       balance.low\n"},
		{[]string{"disable", id}, "Status       DISABLED\n"},
		{[]string{"delete", id}, "URL          " + hooks + "\n"},
	} {
		did := sh.run(append([]string{"webhook"}, test.args...)...)
		is.Equal(did.status, 0)
		if !strings.Contains(did.stdout, test.want) {
			t.Errorf("ticketing webhook %s: %q is missing in\n%s", test.args[0], test.want, did.stdout)
		}
		is.True(!strings.Contains(did.stdout, secret))
	}
}

// A sale reaches the receiver once, signed with the endpoint's secret, and is listed as a delivery. A delivery that
// failed for good, or succeeded, can be replayed: as another delivery of the same event with the same body.
func TestDeliveriesAndReplay(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	receiver := ticketingtest.NewWebhooks(t)
	endpoint := sh.hooked(shop.companyID, receiver, "order.created")
	p, origin := sh.sends(receiver)
	order, err := shop.api(t, origin).Checkout(t.Context(), "cart-0001", shop.basket())
	is.NoErr(err)
	got, err := receiver.Wait(soon(t), 1)
	is.NoErr(err)
	is.NoErr(got[0].Err)
	is.Equal(got[0].Delivery.Event.Data.(webhook.OrderCreated).Order.ID, order.ID.String())

	id := got[0].DeliveryID
	delivery := sh.delivered(id)
	hasMembers(t, delivery, "id", "eventId", "eventType", "endpointId", "url", "status", "attempts", "lastHttpStatus",
		"lastError", "nextAttemptAt", "createdAt")
	is.Equal(delivery["eventId"], got[0].EventID)
	is.Equal(delivery["eventType"], "order.created")
	is.Equal(delivery["endpointId"], endpoint["id"])
	is.Equal(delivery["url"], receiver.URL)
	is.Equal(delivery["status"], "SUCCEEDED")
	is.Equal(delivery["attempts"], 1.0)
	is.Equal(delivery["lastHttpStatus"], 204.0)
	is.Equal(delivery["lastError"], nil)
	is.Equal(delivery["nextAttemptAt"], nil)

	replayed := sh.object("webhook", "replay", id)
	hasMembers(t, replayed, "id", "eventId", "status")
	is.True(replayed["id"] != id)
	is.Equal(replayed["eventId"], delivery["eventId"])
	got, err = receiver.Wait(soon(t), 2)
	is.NoErr(err)
	is.NoErr(got[1].Err)
	is.Equal(got[1].DeliveryID, replayed["id"])
	is.Equal(string(got[1].Body), string(got[0].Body))
	sh.delivered(got[1].DeliveryID)

	listed := sh.array("webhook", "deliveries", shop.companyID)
	is.Equal(len(listed), 2)
	is.Equal(listed[0]["id"], replayed["id"]) // Newest first.
	hasMembers(t, listed[0], "id", "eventId", "eventType", "endpointId", "url", "status", "attempts", "lastHttpStatus",
		"lastError", "nextAttemptAt", "createdAt")
	for _, test := range []struct {
		flags string
		want  int
	}{
		{"--status SUCCEEDED", 2},
		{"--status FAILED", 0},
		{"--type order.created --endpoint " + endpoint["id"].(string), 2},
		{"--type balance.low", 0},
		{"--since 2020-01-01 --until 2999-01-01", 2},
		{"--until 2020-01-01", 0},
		{"--limit 1", 1},
	} {
		found := sh.array(append([]string{"webhook", "deliveries", shop.companyID}, strings.Fields(test.flags)...)...)
		if len(found) != test.want {
			t.Errorf("%s: %d deliveries, not %d", test.flags, len(found), test.want)
		}
	}
	code, _ := sh.refusal("webhook", "deliveries", shop.companyID, "--endpoint", nobody)
	is.Equal(code, "NOT_FOUND")
	table := sh.run("webhook", "deliveries", shop.companyID)
	is.Equal(strings.Count(table.stdout, "\n"), 3)
	is.True(strings.Contains(sh.run("webhook", "delivery", id).stdout, "Attempt 1"))

	window := []string{"webhook", "replay", "--company", shop.companyID, "--since", "2020-01-01"}
	did := sh.object(append(window, "--status", "SUCCEEDED", "--rate", "1000")...)
	is.Equal(did, map[string]any{"replayed": 1.0, "skipped": 1.0}) // Both are of one event.
	got, err = receiver.Wait(soon(t), 3)
	is.NoErr(err)
	ids := map[string]bool{}
	for _, delivery := range got {
		is.Equal(delivery.EventID, got[0].EventID)
		ids[delivery.DeliveryID] = true
	}
	is.Equal(len(ids), 3)
	is.Equal(sh.object(append(window, "--until", "2020-01-02")...), map[string]any{"replayed": 0.0, "skipped": 0.0})

	attempt := delivery["log"].([]any)[0].(map[string]any)
	is.Equal(attempt["httpStatus"], 204.0)
	text, has := attempt["error"]
	is.True(has && text == nil) // null, as for every missing value

	sh.object("webhook", "disable", endpoint["id"].(string))
	code, _ = sh.refusal("webhook", "replay", id)
	is.Equal(code, "CONFLICT")
	code, _ = sh.refusal(append(window, "--endpoint", endpoint["id"].(string))...)
	is.Equal(code, "CONFLICT")
	for _, rate := range []string{"0", "10001", "-1"} {
		code, message := sh.refusal("webhook", "replay", "--company", nobody, "--status", "FAILED", "--rate", rate)
		// Before the company is looked up.
		is.Equal(code+" "+message, "INVALID_REQUEST --rate: must be a whole number from 1 to 10000")
	}
	for _, secret := range []string{endpoint["secret"].(string), "ada@example.com"} {
		is.True(!strings.Contains(p.errors(), secret))
		is.True(!strings.Contains(fmt.Sprint(delivery, listed, table.stdout), secret))
	}
}

// A replay of many replays only what its flags select: one endpoint, one type, or both.
func TestReplayOfAnEndpointAndOfAType(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	receiver := ticketingtest.NewWebhooks(t)
	receiver.Always(ticketingtest.Status(http.StatusNoContent)) // Each endpoint signs with its own secret.
	both := sh.hooked(company, receiver, "order.created", "balance.low")["id"].(string)
	one := sh.hooked(company, receiver, "balance.low")["id"].(string)
	for _, kind := range []string{"order.created", "balance.low", "balance.low"} {
		sh.object("webhook", "trigger", company, kind)
	}
	p, _ := sh.sends(receiver)
	sh.settled(company, 5)
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0) // Replays from now on stay pending.

	type chosen struct{ endpoint, kind any }
	seen := map[any]bool{}
	for _, test := range []struct {
		name  string
		flags []string
		want  map[chosen]int
	}{
		{"all", nil, map[chosen]int{{both, "order.created"}: 1, {both, "balance.low"}: 2, {one, "balance.low"}: 2}},
		{"one endpoint", []string{"--endpoint", both}, map[chosen]int{{both, "order.created"}: 1, {both, "balance.low"}: 2}},
		{"the other", []string{"--endpoint", one}, map[chosen]int{{one, "balance.low"}: 2}},
		{"one type", []string{"--type", "order.created"}, map[chosen]int{{both, "order.created"}: 1}},
		{
			"the other type",
			[]string{"--type", "balance.low"},
			map[chosen]int{{both, "balance.low"}: 2, {one, "balance.low"}: 2},
		},
		{"both", []string{"--endpoint", both, "--type", "balance.low"}, map[chosen]int{{both, "balance.low"}: 2}},
		{"none", []string{"--endpoint", one, "--type", "order.created"}, map[chosen]int{}},
	} {
		replay := []string{"webhook", "replay", "--company", company, "--status", "SUCCEEDED", "--rate", "1000"}
		did := sh.object(append(replay, test.flags...)...)
		made, number := map[chosen]int{}, 0
		for _, delivery := range sh.array("webhook", "deliveries", company, "--status", "PENDING") {
			if !seen[delivery["id"]] {
				seen[delivery["id"]] = true
				made[chosen{delivery["endpointId"], delivery["eventType"]}]++
				number++
			}
		}
		if !maps.Equal(made, test.want) {
			t.Errorf("%s: %v is replayed, not %v", test.name, made, test.want)
		}
		is.Equal(did, map[string]any{"replayed": float64(number), "skipped": 0.0})
	}
}

// delivered waits until a delivery is no longer pending, and returns it.
func (s *shell) delivered(id string) (delivery map[string]any) {
	s.t.Helper()
	eventually(s.t, "the delivery ends", func() bool {
		delivery = s.object("webhook", "delivery", id)
		return delivery["status"] != "PENDING"
	})
	return delivery
}

// The list of deliveries is complete, beyond the size of one page, and has at most --limit entries.
func TestDeliveryListIsWhole(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	receiver := ticketingtest.NewWebhooks(t)
	sh.hooked(company, receiver, "balance.low")
	const events = 102 // A page holds 100.
	op, id := sh.operator(), uuid.MustParse(company)
	for range events {
		_, err := op.TriggerWebhook(t.Context(), id, ticketing.FactBalanceLow)
		is.NoErr(err)
	}
	sh.sends(receiver)
	_, err := receiver.Wait(soon(t), events)
	is.NoErr(err)
	listed := sh.array("webhook", "deliveries", company)
	is.Equal(len(listed), events)
	seen := map[any]bool{}
	for _, delivery := range listed {
		seen[delivery["id"]] = true
	}
	is.Equal(len(seen), events)
	is.Equal(sh.array("webhook", "deliveries", company, "--limit", "101")[100]["id"], listed[100]["id"])
	is.Equal(len(sh.array("webhook", "deliveries", company, "--limit", "101")), 101)
}
