package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/race"
)

// The mail sender is set, shown and removed with commands alone. Each prints the members that scripts rely on, and each
// change is in the audit log.
func TestMailSenderCommands(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	sh.object("migrate")
	code, _ := sh.refusal("mail-sender", "show")
	is.Equal(code, "NOT_FOUND")
	code, _ = sh.refusal("mail-sender", "remove")
	is.Equal(code, "NOT_FOUND")

	set := sh.object("mail-sender", "set", "--from", "Tickets@Lagos.Example", "--name", " Lagos Tickets ")
	hasMembers(t, set, "from", "name", "bounces", "since")
	is.Equal(set["from"], "tickets@lagos.example")
	is.Equal(set["name"], "Lagos Tickets")
	is.Equal(set["bounces"], nil)
	is.Equal(sh.object("mail-sender", "show"), set)
	changed := sh.object("mail-sender", "set", "--from", "tickets@lagos.example", "--name", "Lagos Tickets",
		"--bounces", "bounces@lagos.example")
	is.Equal(changed["bounces"], "bounces@lagos.example")
	is.Equal(sh.run("mail-sender", "show").stdout, "From     tickets@lagos.example\nName     Lagos Tickets\n"+
		"Bounces  bounces@lagos.example\nSince    "+changed["since"].(string)+"\n")
	for _, flags := range [][]string{
		{"--from", "tickets", "--name", "n"},
		{"--from", "a@b.example\r\nBcc: c@d.example", "--name", "n"},
		{"--from", "a@b.example", "--name", "two\nlines"},
		{"--from", "a@b.example", "--name", "n", "--bounces", "b"},
	} {
		code, _ := sh.refusal(append([]string{"mail-sender", "set"}, flags...)...)
		is.Equal(code, "INVALID_REQUEST")
	}
	is.Equal(sh.object("mail-sender", "remove"), changed)
	code, _ = sh.refusal("mail-sender", "show")
	is.Equal(code, "NOT_FOUND")
	var actions []string
	for _, act := range sh.array("audit", "list") {
		actions = append(actions, act["action"].(string))
	}
	is.Equal(actions, []string{"mail_sender.remove", "mail_sender.set", "mail_sender.set"})
}

// A check looks at the sender, the records of its domain and the mail server, and sends nothing. Its exit status is 1
// if anything is missing, which it names.
func TestMailSenderCheck(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	server := newSecureMailServer(t)
	gone := nowhere(t)
	good := records{
		"lagos.example": "v=spf1 mx -all\nsite-verification=1", "_dmarc.lagos.example": "v=DMARC1; p=reject",
	}
	secure := []string{"--smtp", server.url, "--smtp-ca-file", server.caFile}
	for _, test := range []struct {
		name    string
		sender  bool
		records records
		flags   []string
		failing string // the names of the checks that fail
		want    string // a line for a person
	}{
		{"everything", true, good, secure, "", "SPF          ok: v=spf1 mx -all\n"},
		{"a folder", true, good, []string{"--mail-folder", "FOLDER"}, "", "Mail server  ok: none is used: mails are "},
		{
			"no sender", false, good, secure, "sender",
			"Sender       NOT ok: none is set: \"ticketing mail-sender set\" sets one\n",
		},
		{
			"no mail server", true, good, nil, "smtp",
			"Mail server  NOT ok: no mail server is given: give it as TICKETING_SMTP\n",
		},
		{"nothing", false, nil, nil, "sender smtp", "Sender       NOT ok: "},
		{"no records", true, records{}, secure, "spf dmarc", "DMARC        NOT ok: lagos.example has no DMARC record\n"},
		{
			"two records", true,
			records{"lagos.example": "v=spf1 -all\nv=spf1 mx -all", "_dmarc.lagos.example": "v=DMARC1; p=none"},
			secure, "spf", "SPF          NOT ok: lagos.example has 2 SPF records, which count as none\n",
		},
		{
			"no answer", true,
			records{"lagos.example": ""},
			secure, "spf dmarc",
			"SPF          NOT ok: cannot be looked up: server misbehaving\n",
		},
		{
			"a server that is away", true, good,
			[]string{"--smtp", gone},
			"smtp",
			"Mail server  NOT ok: connecting to the mail server failed: connection refused\n",
		},
		{
			"no encryption", true, good,
			[]string{"--smtp", server.url},
			"smtp",
			"Mail server  NOT ok: the mail server offers no way to sign in that can be used\n",
		},
		{
			"a wrong password", true, good,
			[]string{"--smtp", strings.Replace(server.url, "hush%2Fhush", "hush", 1), "--smtp-ca-file", server.caFile},
			"smtp", "Mail server  NOT ok: the mail server refused user and password (535",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh := newShell(t)
			sh.object("migrate")
			if test.sender {
				sh.setSender()
			}
			flags := append([]string(nil), test.flags...)
			for i := range flags {
				flags[i] = strings.Replace(flags[i], "FOLDER", filepath.Join(sh.dir, "mails"), 1)
			}
			var did outcome
			check := func(more ...string) {
				var stdout, stderr strings.Builder
				getenv := func(name string) string { return sh.env[name] }
				args := append(append([]string{"mail-sender", "check"}, flags...), more...)
				did.status = program.RunWith(t.Context(), test.records, args, getenv, &stdout, &stderr)
				did.stdout, did.stderr = stdout.String(), stderr.String()
			}
			check()
			is.Equal(did.status == 0, test.failing == "")
			if !strings.Contains(did.stdout, test.want) {
				t.Errorf("%q is missing in\n%s", test.want, did.stdout)
			}
			for line := range strings.Lines(did.stdout) {
				is.True(utf8.RuneCountInString(line) <= 81 || strings.Contains(line, sh.dir))
			}
			is.True(!strings.Contains(did.stdout+did.stderr, "hush"))

			check("--json")
			var report struct {
				OK     bool
				From   *string
				Checks []struct {
					Name, Text string
					OK         bool
				}
			}
			decodeJSON(t, did.stdout, &report)
			var failing []string
			for _, check := range report.Checks {
				if !check.OK {
					failing = append(failing, check.Name)
				}
			}
			is.Equal(strings.Join(failing, " "), test.failing)
			is.Equal(report.OK, test.failing == "")
			is.Equal(report.From != nil, test.sender)
			if test.failing != "" {
				is.Equal(did.status, 1)
				code, message := refused(t, did.stderr)
				is.Equal(code, "MAIL_NOT_READY")
				is.True(strings.HasPrefix(message, "not ready to send mails: "))
			}
			is.True(!strings.Contains(did.stdout+did.stderr, "hush"))
			is.Equal(len(server.all()), 0)
		})
	}
}

// A sample is sent to the mail server, or written to the folder, by the command itself. It is of no order.
func TestMailSenderTest(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	sh.object("branding", "set", company, "--brand-name", "Highlife Nights")
	sh.setSender()
	server := newSecureMailServer(t)
	send := []string{"mail-sender", "test", "--to", "ada@example.com"}
	secure := sh.with("TICKETING_SMTP", server.url, "TICKETING_SMTP_CA_FILE", server.caFile)

	sent := secure.object(append(send, "--company", company)...)
	hasMembers(t, sent, "to", "from", "subject", "server", "file")
	is.Equal(sent["server"], strings.Replace(server.url, "tickets:hush%2Fhush@", "", 1))
	is.Equal(sent["file"], nil)
	arrived := server.wait(1)[0]
	is.Equal(arrived.to, "ada@example.com")
	is.Equal(arrived.from, "tickets@lagos.example")
	is.True(strings.Contains(arrived.message.Header.Get("From"), "Highlife Nights via Lagos Tickets"))
	is.True(strings.HasPrefix(sent["subject"].(string), "Sample"))
	is.Equal(strings.Count(arrived.body, "Content-Type: image/png"), 2)

	did := secure.run(send...)
	is.Equal(did.status, 0)
	is.True(strings.Contains(did.stdout, "To           ada@example.com\n"))
	is.True(strings.Contains(did.stdout, "Accepted by  smtp://127.0.0.1:"))
	is.True(!strings.Contains(did.stdout+did.stderr, "hush"))
	server.wait(2)

	folder := filepath.Join(sh.dir, "mails")
	written := sh.object(append(send, "--mail-folder", folder)...)
	is.Equal(written["server"], nil)
	text, err := os.ReadFile(written["file"].(string))
	is.NoErr(err)
	is.True(strings.Contains(string(text), "To: <ada@example.com>"))
	is.Equal(len(server.all()), 2)

	server.refuse(nobodyThere)
	code, message := secure.refusal(send...)
	is.Equal(code, "MAIL_REFUSED")
	is.Equal(message, "the mail server refused the recipient (550 5.1.1)")
	code, message = sh.refusal(append(send, "--smtp", nowhere(t))...)
	is.Equal(code, "MAIL_SERVER")
	is.Equal(message, "connecting to the mail server failed: connection refused")
	code, _ = secure.refusal(append(send, "--company", nobody)...)
	is.Equal(code, "NOT_FOUND")
	did = sh.run(send...)
	is.Equal(did.status, 2)
	is.True(strings.Contains(did.stderr, "no mail server is given: give it as TICKETING_SMTP, or a folder"))
	sh.object("mail-sender", "remove")
	code, message = secure.refusal(send...)
	is.Equal(code+" "+message, "NOT_FOUND The mail sender was not found.")
}
