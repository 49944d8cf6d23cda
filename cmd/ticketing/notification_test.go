package main_test

import (
	"fmt"
	"mime"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

// sells sells orders over HTTP and returns their ids.
func (s shop) sells(t *testing.T, origin string, number int) []string {
	t.Helper()
	orders := make([]string, number)
	for i := range orders {
		order, err := s.api(t, origin).Checkout(t.Context(), "cart-"+uuid.NewString(), s.basket())
		must(t, err)
		orders[i] = order.ID.String()
	}
	return orders
}

// What became of the mail of an order is listed and shown: what was accepted, what was refused and why. No output and
// no log has an address.
func TestNotificationCommands(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	server := newMailServer(t)
	p, origin := sh.serve("--smtp", server.url)
	accepted := shop.sells(t, origin, 1)[0]
	server.wait(1)
	shown := sh.mailed(accepted)
	is.Equal(len(shown), 1)
	hasMembers(t, shown[0], "orderId", "copy", "kind", "status", "attempts", "lastError", "nextAttemptAt", "sentAt",
		"createdAt", "log")
	is.Equal(shown[0]["orderId"], accepted)
	is.Equal(shown[0]["copy"], 1.0)
	is.Equal(shown[0]["kind"], "notification.ticket_email")
	is.Equal(shown[0]["status"], "SENT")
	is.Equal(shown[0]["lastError"], nil)
	is.True(shown[0]["sentAt"] != nil)
	attempt := shown[0]["log"].([]any)[0].(map[string]any)
	hasMembers(t, attempt, "at", "code", "error")

	server.refuse(nobodyThere)
	refusedOrder := shop.api(t, origin)
	order, err := refusedOrder.Checkout(t.Context(), "cart-refused", shop.basket())
	is.NoErr(err)
	failed := sh.mailed(order.ID.String())[0]
	is.Equal(failed["status"], "FAILED")
	is.Equal(failed["attempts"], 1.0) // A refusal is final at once.
	is.Equal(failed["lastError"], "the mail server refused the recipient")
	is.Equal(failed["log"].([]any)[0].(map[string]any)["code"], "550 5.1.1")
	is.Equal(failed["nextAttemptAt"], nil)
	is.Equal(failed["sentAt"], nil)
	text := sh.run("notification", "show", order.ID.String()).stdout
	is.True(strings.Contains(text, "Copies  1\n\nCopy          1\nTo            the buyer\nStatus        FAILED\n"))
	is.True(strings.Contains(text, "  the mail server refused the recipient (550 5.1.1)\n"))

	demo := sh.array("notification", "list", shop.companyID, "--limit", "1", "--until", failed["createdAt"].(string))
	is.Equal(demo[0]["orderId"], accepted) // The one before.
	for _, test := range []struct {
		flags string
		want  int
	}{
		{"", 3}, // With the demo's own sale.
		{"--status FAILED", 1},
		{"--status SENT", 2},
		{"--status PENDING", 0},
		{"--order " + accepted, 1},
		{"--event " + shop.eventID, 3},
		{"--event " + nobody, 0},
		{"--since 2020-01-01 --until 2999-01-01", 3},
		{"--until 2020-01-01", 0},
		{"--limit 2", 2},
	} {
		list := append([]string{"notification", "list", shop.companyID}, strings.Fields(test.flags)...)
		found := sh.array(list...)
		if len(found) != test.want {
			t.Errorf("%s: %d notifications, not %d", test.flags, len(found), test.want)
		}
		is.Equal(strings.Count(sh.run(list...).stdout, "\n"), test.want+1)
	}
	listed := sh.array("notification", "list", shop.companyID)
	is.Equal(listed[0]["orderId"], order.ID.String()) // Newest first.
	_, has := listed[0]["log"]
	is.True(!has)
	code, _ := sh.refusal("notification", "list", shop.companyID, "--order", nobody)
	is.Equal(code, "NOT_FOUND")
	for _, args := range [][]string{{"list", nobody}, {"show", nobody}, {"resend", nobody}} {
		code, _ := sh.refusal(append([]string{"notification"}, args...)...)
		is.Equal(code, "NOT_FOUND")
	}
	output := fmt.Sprint(shown, failed, listed, text, p.errors(), sh.run("notification", "list", shop.companyID).stdout)
	for _, secret := range []string{"ada@example.com", "no mailbox"} {
		is.True(!strings.Contains(output, secret))
	}
}

// A mail is sent again as a new copy, to the buyer or to a corrected address. An order has at most ten more in a day,
// and none after its refund.
func TestNotificationResend(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	server := newMailServer(t)
	_, origin := sh.serve("--smtp", server.url)
	order := shop.sells(t, origin, 1)[0]
	first := server.wait(1)[0]
	made := sh.object("notification", "resend", order, "--to", "ada.obi@example.com")
	hasMembers(t, made, "orderId", "copy", "status", "attempts", "log")
	is.Equal(made["copy"], 2.0)
	is.Equal(made["elsewhere"], true)
	second := server.wait(2)[1]
	is.Equal(second.to, "ada.obi@example.com")
	is.Equal(second.message.Header.Get("References"), first.message.Header.Get("Message-Id"))
	is.True(strings.Contains(sh.run("notification", "resend", order).stdout, "Copy          3\n"))
	is.Equal(server.wait(3)[2].to, "ada@example.com")
	is.Equal(len(sh.mailed(order)), 3)
	code, _ := sh.refusal("notification", "resend", order, "--to", "ada")
	is.Equal(code, "INVALID_REQUEST")
	op := sh.operator()
	for range 8 {
		_, err := op.ResendNotification(t.Context(), uuid.MustParse(order), "")
		is.NoErr(err)
	}
	code, message := sh.refusal("notification", "resend", order)
	is.Equal(code+" "+message, "CONFLICT The mail was sent again 10 times in 24 hours.")
	sh.object("order", "refund", order, "--reason", "The headliner fell ill")
	code, message = sh.refusal("notification", "resend", order)
	is.Equal(code+" "+message, "CONFLICT The mail is not sent again: the order was refunded.")
	text := fmt.Sprint(sh.array("audit", "list", shop.companyID))
	is.True(strings.Contains(text, "notification.resend"))
	is.True(!strings.Contains(text, "ada.obi"))
	sh.object("mail-sender", "remove")
	code, _ = sh.refusal("notification", "resend", order)
	is.Equal(code, "CONFLICT")
}

// The mails of many are sent again: of all orders from before there was a sender, and of all whose mail failed. Orders
// that have their mail get no other.
func TestNotificationResendOfMany(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	sh.object("mail-sender", "remove")
	server := newMailServer(t)
	server.refuse(nobodyThere)
	p, origin := sh.serve("--smtp", server.url)
	const orders = 5
	sold := shop.sells(t, origin, orders)
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
	is.Equal(sh.array("notification", "show", sold[0]), []map[string]any{})
	is.True(strings.HasSuffix(sh.run("notification", "show", sold[0]).stdout, "Copies  0\n"))
	resend := []string{"notification", "resend", "--company", shop.companyID}
	code, _ := sh.refusal(append(resend, "--missing")...)
	is.Equal(code, "CONFLICT") // There is no sender.

	sh.setSender()
	other := []string{"--missing", "--event", nobody}
	is.Equal(sh.object(append(resend, other...)...), map[string]any{"made": 0.0, "skipped": 0.0})
	is.Equal(sh.object(append(resend, "--missing", "--rate", "1000")...),
		map[string]any{"made": float64(orders), "skipped": 0.0})
	is.Equal(sh.object(append(resend, "--missing")...), map[string]any{"made": 0.0, "skipped": 0.0})
	is.Equal(sh.object(append(resend, "--status", "FAILED")...)["made"], 0.0) // They are pending.
	sh.serve("--smtp", server.url)
	for _, order := range sold {
		is.Equal(sh.mailed(order)[0]["status"], "FAILED")
	}
	server.refuse(func(string) error { return nil })
	did := sh.run(append(resend, "--status", "FAILED", "--event", shop.eventID)...)
	is.Equal(did.stdout, fmt.Sprintf("Made     %d\nSkipped  0\n", orders))
	server.wait(orders)
	for _, order := range sold {
		copies := sh.mailed(order)
		is.Equal(len(copies), 2)
		is.Equal(copies[1]["status"], "SENT")
	}
	is.Equal(sh.object(append(resend, "--status", "FAILED")...), map[string]any{"made": 0.0, "skipped": 0.0})
}

// What is asked to be sent again is one order or many, and of many those that lack their mail. Anything else is a usage
// error that names what is missing.
func TestNotificationResendRefusesHalfAQuestion(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	sh := newShell(t)
	for _, test := range []struct{ args, want string }{
		{"", "give ORDER, or --company to send many"},
		{"--to ada@example.com", "give ORDER, or --company to send many"},
		{"--missing", "give ORDER, or --company to send many"},
		{nobody + " --company " + nobody, "ORDER takes only --to"},
		{nobody + " --missing", "ORDER takes only --to"},
		{nobody + " --rate 5", "ORDER takes only --to"},
		{"--company " + nobody, "refusing to send all mails again: add --status FAILED or --missing"},
		{"--company " + nobody + " --rate 5", "refusing to send all mails again: add --status FAILED or --missing"},
		{"--company " + nobody + " --missing --to a@example.com", "--to needs ORDER"},
		{"--company " + nobody + " --missing --status FAILED", "--missing"},
	} {
		is := is.New(t)
		did := sh.run(append([]string{"notification", "resend"}, strings.Fields(test.args)...)...)
		is.Equal(did.status, 2)
		if !strings.Contains(did.stderr, test.want) {
			t.Errorf("%s: %q is missing in %q", test.args, test.want, did.stderr)
		}
	}
	for _, test := range []struct{ args, want string }{
		{"--company " + nobody + " --status SENT", "--status: must be FAILED"},
		{"--company " + nobody + " --missing --rate 0", "--rate: must be a whole number from 1 to 10000"},
	} {
		is := is.New(t)
		code, message := sh.refusal(append([]string{"notification", "resend"}, strings.Fields(test.args)...)...)
		is.Equal(code+" "+message, "INVALID_REQUEST "+test.want)
	}
}

// A preview is the mail of an order as a page with its pictures, as text, or as a message. It replaces an older one as
// a whole, and a name that says none of these is refused before anything is read.
func TestNotificationPreview(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	order := sh.array("order", "list", shop.companyID)[0]["id"].(string)
	preview := func(name string) string {
		t.Helper()
		path := filepath.Join(sh.dir, name)
		shown := sh.object("notification", "preview", order, "--out", path)
		hasMembers(t, shown, "file", "to", "subject")
		is.Equal(shown["file"], path)
		is.Equal(shown["to"], "ada@example.com")
		text, err := os.ReadFile(path)
		is.NoErr(err)
		return string(text)
	}
	page := preview("mail.html")
	is.Equal(strings.Count(page, `src="data:image/png;base64,`), 1)
	is.True(!strings.Contains(page, "cid:"))
	is.Equal(preview("mail.HTML"), page)
	is.True(strings.Contains(preview("mail.txt"), "SVC1:"))
	message, err := mail.ReadMessage(strings.NewReader(preview("mail.eml")))
	is.NoErr(err)
	is.Equal(message.Header.Get("To"), "<ada@example.com>")
	must(t, os.WriteFile(filepath.Join(sh.dir, "mail.txt"), []byte("an older one"), 0o600))
	is.True(strings.Contains(preview("mail.txt"), "SVC1:"))

	for _, name := range []string{"mail.pdf", "mail", ".html.exe", ""} {
		code, message := sh.refusal("notification", "preview", order, "--out", filepath.Join(sh.dir, name))
		is.Equal(code+" "+message, "INVALID_REQUEST --out: must end in .html, .txt or .eml")
	}
	code, _ := sh.refusal("notification", "preview", order, "--out", filepath.Join(sh.dir, "none", "mail.txt"))
	is.Equal(code, "OUTPUT")
	code, _ = sh.refusal("notification", "preview", nobody, "--out", filepath.Join(sh.dir, "nobody.txt"))
	is.Equal(code, "NOT_FOUND")
	_, err = os.Stat(filepath.Join(sh.dir, "nobody.txt"))
	is.True(os.IsNotExist(err))
	did := sh.run("notification", "preview", order, "--out", filepath.Join(sh.dir, "mail.txt"))
	subject, err := new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
	is.NoErr(err)
	is.True(strings.HasSuffix(did.stdout, "\nTo       ada@example.com\nSubject  "+subject+"\n"))
	is.Equal(len(sh.array("notification", "show", order)), 1) // Nothing was kept.
}
