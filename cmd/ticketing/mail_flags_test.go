package main_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/client"
	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/race"
)

// dkimFile returns the path of a file with a new private key.
func dkimFile(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	path := filepath.Join(t.TempDir(), "dkim.pem")
	must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return path
}

// A server sends the mail of a checkout over HTTP: encrypted, signed in and signed, from the platform's sender to the
// buyer. Neither its output nor its metrics have the password or an address.
func TestServerMailsTickets(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	sh.object("mail-sender", "set", "--from", "tickets@lagos.example", "--name", "Lagos Tickets", "--bounces",
		"bounces@lagos.example")
	server := newSecureMailServer(t)
	sh = sh.with("TICKETING_SMTP", server.url)
	p, origin := sh.serve("--smtp-ca-file", server.caFile, "--smtp-hello", "tickets.lagos.example", "--dkim-key",
		dkimFile(t), "--dkim-selector", "mail2030", "--log-level", "debug")
	order := shop.sells(t, origin, 1)[0]
	got := server.wait(1)[0]
	is.Equal(got.to, "ada@example.com")
	is.Equal(got.from, "bounces@lagos.example")
	is.True(strings.Contains(got.message.Header.Get("Message-Id"), order))
	signature := got.message.Header.Get("Dkim-Signature")
	is.True(strings.Contains(signature, "s=mail2030") && strings.Contains(signature, "d=lagos.example"))
	is.Equal(sh.mailed(order)[0]["status"], "SENT")
	for _, line := range []string{
		`ticketing_mail_attempts_total{outcome="sent"} 1`, `ticketing_mail_attempts_total{outcome="server"} 0`,
		"ticketing_mail_attempt_duration_seconds_count 1", "ticketing_mail_failed_total 0",
		"ticketing_mail_backlog_age_seconds 0", "ticketing_mail_server_waiting 0",
	} {
		until(t, origin, line)
	}
	_, metrics := get(t, origin+"/metrics")
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
	is.True(!strings.Contains(p.errors(), "cannot send mails"))
	for _, secret := range []string{"hush", "ada@example.com", "lagos.example", shop.companyID, order} {
		is.True(!strings.Contains(metrics, secret))
	}
	for _, secret := range []string{"hush", "ada@example.com"} {
		is.True(!strings.Contains(p.errors(), secret))
	}
}

// A server that is stopped finishes the mail that it is sending, and gives back the others. No mail is sent twice.
func TestServerThatStopsFinishesItsMails(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	server := newMailServer(t)
	server.stall()
	p, origin := sh.serve("--smtp", server.url, "--rate-limit", "0")
	const orders = 12
	sold := shop.sells(t, origin, orders)
	server.stalled()
	eventually(t, "all notifications are made", func() bool {
		return len(sh.array("notification", "list", shop.companyID)) == orders+1 // And the demo's.
	})
	p.signal(syscall.SIGTERM)
	p.tellsNow("draining")
	server.release()
	is.Equal(p.wait(), 0)
	tried := len(server.all())
	is.True(tried >= 1 && tried < orders)
	for _, n := range sh.array("notification", "list", shop.companyID, "--status", "PENDING") {
		is.Equal(n["attempts"], 0.0)
		is.True(n["nextAttemptAt"] != nil) // It is not leased.
		tried++
	}
	is.Equal(tried, orders)
	sh.serve("--smtp", server.url)
	server.wait(orders)
	for _, order := range sold {
		is.Equal(len(sh.mailed(order)), 1)
	}
	is.Equal(len(server.all()), orders)
}

// A server that is killed while it sends loses no mail: another one sends it, if necessary a second time with the same
// message id.
func TestKilledServerLosesNoMail(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "servers that are killed: those that stop by themselves run under it")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	server := newMailServer(t)
	server.stall()
	p, origin := sh.serve("--smtp", server.url, "--rate-limit", "0")
	const orders = 12
	sold := shop.sells(t, origin, orders)
	server.stalled()
	must(t, p.cmd.Process.Kill())
	is.Equal(p.wait(), -1)
	server.release()
	// The leases of the server that died have a minute to run.
	sh.sql("UPDATE ticketing_notifications SET due_at = created_at, leased_until = NULL WHERE status = 'PENDING'")
	sh.serve("--smtp", server.url)
	for _, order := range sold {
		copies := sh.mailed(order)
		is.Equal(len(copies), 1)
		is.Equal(copies[0]["status"], "SENT")
	}
	ids := map[string]bool{}
	for _, got := range server.all() {
		ids[got.message.Header.Get("Message-Id")] = true
	}
	is.Equal(len(ids), orders)
}

// An outage of the mail server counts against no mail. Sales go on, the metrics show that mails wait, and afterwards
// every mail is sent.
func TestServerWaitsForItsMailServer(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.serve("--smtp", nowhere(t))
	order := shop.sells(t, origin, 1)[0]
	until(t, origin, "ticketing_mail_server_waiting 1")
	_, metrics := get(t, origin+"/metrics")
	is.True(!strings.Contains(metrics, `ticketing_mail_attempts_total{outcome="server"} 0`))
	pending := sh.array("notification", "show", order)[0]
	is.Equal(pending["status"], "PENDING")
	is.Equal(pending["attempts"], 0.0)
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
	is.True(strings.Contains(p.errors(), "the mail server cannot be used"))
	server := newMailServer(t)
	sh.serve("--smtp", server.url)
	server.wait(1)
	is.Equal(sh.mailed(order)[0]["attempts"], 1.0)
}

// Two servers share the mails of a company, and each mail is sent once. One that lacks a mail server swallows none.
func TestTwoServersShareTheMails(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t).with("TICKETING_DATABASE", pgtest.Database(t), "TICKETING_SECRET_KEY", strings.Repeat("MDEy", 16))
	shop := sh.openShop()
	mails := newMailServer(t)
	_, first := sh.serve("--smtp", mails.url, "--rate-limit", "0")
	_, second := sh.serve("--smtp", mails.url, "--rate-limit", "0")
	_, third := sh.serve("--no-mail", "--rate-limit", "0")
	servers := []*client.Client{shop.api(t, first), shop.api(t, second), shop.api(t, third)}
	const orders = 30
	var all sync.WaitGroup
	for n := range orders {
		all.Go(func() {
			if _, err := servers[n%3].Checkout(t.Context(), fmt.Sprintf("cart-%04d", n), shop.basket()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	mails.wait(orders)
	eventually(t, "all mails are recorded", func() bool {
		return len(sh.array("notification", "list", shop.companyID, "--status", "SENT")) == orders+1 // And the demo's.
	})
	is.Equal(len(mails.all()), orders)
}

// A server that was given no mail server makes the notifications of its sales and sends none. If a sender is set it
// says so as it starts, unless --no-mail says that another server sends.
func TestServerWithoutMail(t *testing.T) {
	t.Parallel()
	const warning = "a mail sender is set and this server cannot send mails"
	for _, test := range []struct {
		name   string
		sender bool
		flags  []string
		env    []string
		warned bool
	}{
		{"nothing given", true, nil, nil, true},
		{"no sender", false, nil, nil, false},
		{"--no-mail", true, []string{"--no-mail"}, nil, false},
		{"--no-mail before the environment", true, []string{"--no-mail"}, []string{
			"TICKETING_SMTP", "smtp://127.0.0.1:1", "TICKETING_SMTP_HELLO", "h", "TICKETING_MAIL_RATE", "5",
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh := newShell(t)
			shop := sh.openShop()
			if !test.sender {
				sh.object("mail-sender", "remove")
			}
			p, origin := sh.with(test.env...).serve(test.flags...)
			order := shop.sells(t, origin, 1)[0]
			if test.sender {
				eventually(t, "the notification is made", func() bool {
					return len(sh.array("notification", "show", order)) == 1
				})
			}
			_, metrics := get(t, origin+"/metrics")
			p.signal(syscall.SIGTERM)
			is.Equal(p.wait(), 0)
			is.Equal(strings.Count(p.errors(), warning) == 1, test.warned)
			is.Equal(strings.Contains(p.errors(), "WARN"), test.warned)
			// What this server cannot know it does not report.
			is.True(!strings.Contains(metrics, "ticketing_mail_backlog_age_seconds"))
			is.True(strings.Contains(metrics, `ticketing_mail_attempts_total{outcome="sent"} 0`))
			if test.sender {
				is.Equal(sh.array("notification", "show", order)[0]["status"], "PENDING")
			}
		})
	}
}

// A server writes mails to a folder instead of sending them.
func TestServerWritesMailsToAFolder(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	folder := filepath.Join(sh.dir, "mails", "of", "today")
	_, origin := sh.serve("--mail-folder", folder)
	order := shop.sells(t, origin, 1)[0]
	is.Equal(sh.mailed(order)[0]["status"], "SENT")
	entries, err := os.ReadDir(folder)
	is.NoErr(err)
	is.Equal(len(entries), 1)
	is.True(strings.HasPrefix(entries[0].Name(), order))
}

// --mail-rate spaces the mails of a server.
func TestMailRate(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	server := newMailServer(t)
	p, origin := sh.serve("--smtp", server.url, "--mail-rate", "1", "--rate-limit", "0")
	shop.sells(t, origin, 8)
	server.wait(2)
	is.True(len(server.all()) < 8)
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
}

// Flags about mails that contradict each other, or lack what they need, are usage errors. Bad values are refused
// without being repeated.
func TestMailFlagsThatContradict(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	key := dkimFile(t)
	notAKey := filepath.Join(t.TempDir(), "key.pem")
	must(t, os.WriteFile(notAKey, []byte("hush"), 0o600))
	server := "--smtp smtp://u:hush@mail.example"
	for _, test := range []struct {
		args   string
		status int
		want   string
	}{
		{"serve " + server + " --mail-folder x", 2, "--smtp and --mail-folder can't be used together"},
		{"serve " + server + " --no-mail", 2, "--smtp and --no-mail can't be used together"},
		{"serve --mail-folder x --no-mail", 2, "can't be used together"},
		{"serve --mail-folder x --mail-rate 5", 2, "can't be used together"},
		{"serve --no-mail --mail-rate 5", 2, "can't be used together"},
		{"serve --mail-folder x --smtp-hello h", 2, "can't be used together"},
		{"serve --mail-rate 5", 2, "--mail-rate needs --smtp"},
		{"serve --smtp-hello h", 2, "--smtp-hello needs --smtp"},
		{"serve --dkim-key " + key + " --dkim-selector s", 2, "--dkim-key needs --smtp"},
		{"serve " + server + " --dkim-key " + key, 2, "--dkim-key needs --dkim-selector"},
		{"serve " + server + " --dkim-selector s", 2, "--dkim-selector needs --dkim-key"},
		{"mail-sender check --smtp-hello h", 2, "--smtp-hello needs --smtp"},
		{"mail-sender test --to a@example.com --smtp-hello h", 2, "--smtp-hello needs --smtp"},
		{"mail-sender test --to a@example.com " + server + " --mail-folder x", 2, "can't be used together"},
		{"mail-sender check --no-mail", 2, "unknown flag --no-mail"},
		{"mail-sender set --from a@example.com", 2, "missing flags: --name"},
		{"demo --smtp smtp://mail.example", 2, "unknown flag --smtp"},

		{"serve --smtp mail.example", 1, "--smtp: "},
		{"serve --smtp http://u:hush@mail.example", 1, "--smtp: the SMTP URL has another scheme"},
		{"serve --smtp smtp://u:hush@mail.example/in?x=hush", 1, "--smtp: the SMTP URL has a path"},
		{"serve --smtp smtp://u@mail.example", 1, "--smtp: the SMTP URL has a user without a password"},
		{"serve " + server + " --smtp-ca-file /does/not/exist", 1, "--smtp-ca-file: "},
		{"serve " + server + " --smtp-hello two,names", 1, "--smtp-hello: must be the name of a machine"},
		{"serve " + server + " --dkim-selector s --dkim-key /not/there", 1, "--dkim-key: /not/there cannot be read"},
		{"serve " + server + " --dkim-selector s --dkim-key " + notAKey, 1, "--dkim-key: the DKIM key is not a PEM file"},
		{"serve " + server + " --dkim-selector a..b! --dkim-key " + key, 1, "the DKIM selector is not a name"},
		{"serve --mail-retention 1s", 1, "--mail-retention: must be a time such as 30d"},
		{"serve --mail-rate many", 1, "--mail-rate: must be a whole number"},
		{"mail-sender test --to ada --mail-folder x", 1, "--to: must be one email address"},
		{"mail-sender test --to a@b.example,c@d.example --mail-folder x", 1, "--to: must be one email address"},
		{"notification list " + nobody + " --status DONE", 1, "--status: must be PENDING, SENT, FAILED or CANCELLED"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh := newShell(t)
			sh.object("migrate")
			args := strings.Fields(test.args)
			if args[0] == "serve" {
				args = append(args, "--addr", "127.0.0.1:0")
			}
			did := sh.run(args...)
			is.Equal(did.status, test.status)
			is.Equal(did.stdout, "")
			if !strings.Contains(did.stderr, test.want) {
				t.Errorf("%q is missing in %q", test.want, did.stderr)
			}
			is.True(!strings.Contains(did.stderr, "hush"))
			_, err := os.Stat("x")
			is.True(os.IsNotExist(err))
		})
	}
}

// Only servers that send report the age of the backlog of mails, and whether they wait for their mail server. One that
// does not would always report 0. Whatever the outcome of an attempt, it is counted under one of the labels.
func TestMailMetricsAreReportedByWhoSends(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	cfg, scrape, closeMailer, err := program.Mailing(t.TempDir())
	is.NoErr(err)
	t.Cleanup(closeMailer)
	meter := cfg.MeterProvider.Meter("")
	backlog, err := meter.Float64Gauge("ticketing.mail.backlog.age")
	is.NoErr(err)
	waiting, err := meter.Int64Gauge("ticketing.mail.server.waiting")
	is.NoErr(err)
	failed, err := meter.Int64Counter("ticketing.mail.failed")
	is.NoErr(err)
	backlog.Record(t.Context(), 12.5)
	waiting.Record(t.Context(), 1)
	failed.Add(t.Context(), 3)
	metrics := scrape(t.Context())
	for _, line := range []string{
		"ticketing_mail_backlog_age_seconds 12.5", "ticketing_mail_server_waiting 1", "ticketing_mail_failed_total 3",
	} {
		is.True(strings.Contains(metrics, "\n"+line+"\n"))
	}
	for _, outcome := range []string{"sent", "failed", "refused", "server"} {
		is.True(strings.Contains(metrics, `ticketing_mail_attempts_total{outcome="`+outcome+`"} 0`))
	}
	_, silent, _, err := program.Mailing("")
	is.NoErr(err)
	metrics = silent(t.Context())
	for _, name := range []string{"ticketing_mail_backlog_age_seconds", "ticketing_mail_server_waiting"} {
		is.True(!strings.Contains(metrics, name))
	}
}
