package main_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
)

// The demo fills an empty database and sells one ticket of a published future event. The float is 1,000,000.00 less the
// price, and the commission rate is 250 basis points.
func TestDemoOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t)
	did := sh.run("demo", "--once", "--addr", "127.0.0.1:0")
	is.Equal(did.status, 0)
	_, rest, found := strings.Cut(did.stdout, "The order:\n\n")
	is.True(found)
	var order struct {
		ID         string
		Status     string
		Commission struct{ Rate struct{ Value, Unit string } }
		Balances   struct{ FloatBefore, FloatAfter struct{ Amount string } }
		Lines      []any
	}
	is.NoErr(json.NewDecoder(strings.NewReader(rest)).Decode(&order))
	is.Equal(order.Status, "CONFIRMED")
	is.Equal(order.Commission.Rate.Value, "250")
	is.Equal(order.Commission.Rate.Unit, "BASIS_POINTS")
	is.Equal(order.Balances.FloatBefore.Amount, "1000000.00")
	is.Equal(order.Balances.FloatAfter.Amount, "995000.00")
	is.Equal(len(order.Lines), 1)
	_, rest, found = strings.Cut(did.stdout, "\nIts mail  ")
	is.True(found)
	path, _, _ := strings.Cut(rest, "\n")
	text, err := os.ReadFile(path)
	is.NoErr(err)
	is.True(strings.Contains(string(text), "To: <ada@example.com>"))
	is.True(strings.Contains(filepath.Base(path), order.ID))
	is.True(!strings.Contains(did.stdout, "curl") && !strings.Contains(did.stdout, "http://")) // The server has ended.
	is.True(strings.Contains(did.stdout, "The demo has ended."))

	company := sh.array("company", "list")[0]
	is.Equal(company["verification"].(map[string]any)["status"], "APPROVED")
	is.Equal(sh.object("wallet", "show", company["id"].(string))["float"], naira("995000.00"))
	is.Equal(sh.object("ledger", "verify")["ok"], true)
}

// The mail of the demo's ticket is in a folder beside its database, or where a flag says, when the demo prints its
// path. No demo sends a mail, whatever the environment says.
func TestDemoMails(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t).with("TICKETING_SMTP", "smtp://127.0.0.1:1")
	mailOf := func(sh *shell, flags ...string) string {
		t.Helper()
		demo := sh.object(append([]string{"demo", "--once", "--addr", "127.0.0.1:0"}, flags...)...)
		path := demo["mail"].(string)
		_, err := os.Stat(path)
		is.NoErr(err)
		is.True(strings.HasPrefix(filepath.Base(path), demo["order"].(map[string]any)["id"].(string)))
		return filepath.Dir(path)
	}
	if path, ok := strings.CutPrefix(sh.env["TICKETING_DATABASE"], "sqlite:"); ok {
		is.Equal(mailOf(sh), path+".mail")
	} else {
		is.Equal(filepath.Dir(mailOf(sh)), sh.env["TMPDIR"])
	}
	own := filepath.Join(sh.dir, "own")
	is.Equal(mailOf(sh, "--mail-folder", own), own)
	memory := sh.with("TICKETING_DATABASE", "memory:")
	is.Equal(filepath.Dir(mailOf(memory)), sh.env["TMPDIR"])
	// The sender of an operator stays.
	sh.setSender()
	mailOf(sh)
	is.Equal(sh.object("mail-sender", "show")["from"], "tickets@lagos.example")
}

// The demo with --json prints one line for scripts first, and serves until it receives a signal.
func TestDemoForScripts(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	p := sh.start("demo", "--json", "--addr", "127.0.0.1:0")
	origin := p.listening()
	line, err := p.stdout.ReadString('\n')
	is.NoErr(err)
	var demo map[string]any
	is.NoErr(json.Unmarshal([]byte(line), &demo))
	is.Equal(demo["baseUrl"], origin+prefix)
	is.Equal(demo["webOrigin"], origin)
	hasMembers(t, demo, "companyId", "apiKey", "eventId")
	api, err := client.New(demo["baseUrl"].(string), demo["apiKey"].(string), &client.Config{Transport: wire(t)})
	is.NoErr(err)
	event, err := api.GetEvent(t.Context(), uuid.MustParse(demo["eventId"].(string)))
	is.NoErr(err)
	is.Equal(event.Status, ticketing.EventPublished)
	is.True(*event.Schedule.Date > time.Now().Format(time.DateOnly))
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
}

// A demo that listens on all addresses prints an address that clients can connect to, and the given web origin.
func TestDemoOnAllAddresses(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t).with("TICKETING_DATABASE", "memory:")
	demo := sh.object("demo", "--once", "--addr", ":0", "--web-origin", "https://tickets.example/")
	is.True(strings.HasPrefix(demo["baseUrl"].(string), "http://127.0.0.1:"))
	is.Equal(demo["webOrigin"], "https://tickets.example")
}

// The commands that the demo prints work when they are pasted into a shell.
func TestDemoPrintsCommandsThatWork(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Logf("%s is not here to paste into", tool)
			return
		}
	}
	sh := newShell(t).with("TICKETING_DATABASE", "memory:")
	p := sh.start("demo", "--addr", "127.0.0.1:0")
	p.listening()
	var text strings.Builder
	for range 2 {
		command := ""
		for !strings.Contains(command, "-d '") {
			line, err := p.stdout.ReadString('\n')
			is.NoErr(err)
			if command != "" || strings.HasPrefix(line, "curl ") {
				command += line
			}
		}
		answer, err := exec.CommandContext(t.Context(), "sh", "-c", command).Output()
		is.NoErr(err)
		text.Write(answer)
	}
	is.True(strings.Contains(text.String(), `"object":"pricing_quote"`))
	is.True(strings.Contains(text.String(), `"status":"CONFIRMED"`))
}

// A demo reuses the company of an earlier one, with a new key each time. The previous key remains valid.
func TestDemoAgain(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	first, second := sh.openShop(), sh.openShop()
	is.Equal(second.companyID, first.companyID)
	is.Equal(second.eventID, first.eventID)
	is.True(second.key != first.key)
	third := sh.openShop()
	is.Equal(len(sh.array("company", "list")), 1)
	_, origin := sh.serve()
	events := func(shop shop) error {
		_, err := shop.api(t, origin).ListEvents(t.Context(), ticketing.EventFilter{})
		return err
	}
	is.True(errors.Is(events(first), ticketing.CodeAuthenticationFailed))
	is.NoErr(events(second))
	is.NoErr(events(third))
	// Whatever was done to the company since, the next demo sells.
	sh.object("kyb", "revoke", first.companyID)
	sh.object("event", "end", first.eventID)
	sh.object("company", "suspend", first.companyID)
	is.True(sh.openShop().eventID != first.eventID)
	sh.object("wallet", "suspend", first.companyID, "--wallet", "FLOAT")
	sh.object("wallet", "suspend", first.companyID, "--wallet", "EARNINGS")
	sh.openShop()
	// An approval that has expired since.
	sh.sql("UPDATE ticketing_companies SET approval_expires_at = 1000")
	sh.openShop()
	is.Equal(sh.object("ledger", "verify")["ok"], true)
}

// A demo without a shop makes room for its key also where a shop's demo left one, but never with a key of its user's.
func TestDemoMakesRoomForItsKey(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	p, at := sh.demo()
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
	active := func() map[string]any {
		t.Helper()
		ids := map[string]any{}
		for _, key := range sh.array("key", "list", at.CompanyID) {
			if key["status"] == "ACTIVE" {
				ids[key["name"].(string)] = key["id"]
			}
		}
		return ids
	}
	sh.object("key", "revoke", active()["demo"].(string))
	sh.object("key", "issue", at.CompanyID, "--name", "mine", "--all-grants")
	mine := active()["mine"]
	demo := sh.openShop()
	is.Equal(demo.companyID, at.CompanyID)
	left := active()
	is.Equal(len(left), 2)
	is.Equal(left["mine"], mine)
	is.True(left["demo"] != nil)

	sh.object("key", "revoke", left["demo"].(string))
	sh.object("key", "issue", at.CompanyID, "--name", "mine, too", "--all-grants")
	did := sh.run("demo", "--once", "--addr", "127.0.0.1:0")
	is.Equal(did.status, 1)
	is.True(strings.Contains(did.stderr, "at most 2 active API keys. Revoke one first."))
	is.Equal(len(active()), 2)
}

// The demo's own sale does not count against the rate limit, which is entirely left to the user of the API.
func TestDemoWithinItsRateLimit(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t).with("TICKETING_DATABASE", "memory:")
	p := sh.start("demo", "--json", "--addr", "127.0.0.1:0", "--rate-limit", "1")
	origin := p.listening()
	line, err := p.stdout.ReadString('\n')
	is.NoErr(err)
	is.True(strings.Contains(line, `"status":"CONFIRMED"`))
	for _, want := range []int{http.StatusUnauthorized, http.StatusTooManyRequests} {
		status, _ := get(t, origin+prefix+"/events")
		is.Equal(status, want)
	}
}

// A demo refuses a database that is in use for anything else.
func TestDemoRefusesADatabaseInUse(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t)
	sh.object("company", "create", "--name", "Lagos Live")
	did := sh.run("demo", "--once", "--addr", "127.0.0.1:0")
	is.Equal(did.status, 1)
	is.Equal(did.stdout, "")
	is.True(strings.Contains(did.stderr, "--database sqlite:demo.db"))
	is.Equal(len(sh.array("company", "list")), 1)
}
