package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

const nobody = "e4ae5fd6-4d3c-4e3a-8a9a-6d8d0e6c0a11"

// A usage error has exit status 2 and refers to the help. A bad value or a refusal has exit status 1. Both are reported
// on standard error only, as JSON if requested.
func TestExitStatus(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	sh := newShell(t)
	for _, test := range []struct {
		name   string
		args   string
		status int
		code   string
		want   string
	}{
		{"unknown command", "sell", 2, "INVALID_REQUEST", `unexpected argument sell`},
		{"unknown subcommand", "company crate", 2, "INVALID_REQUEST", `did you mean "create"?`},
		{"no subcommand", "company", 2, "INVALID_REQUEST", `expected one of`},
		{"unknown flag", "company list --colour", 2, "INVALID_REQUEST", "unknown flag --colour"},
		{"flag without a value", "company create --name", 2, "INVALID_REQUEST", "--name needs a value"},
		{"flag in the place of a value", "company create --name --database x", 2, "INVALID_REQUEST", "--name needs a value"},
		{"help in the place of a value", "company create --name -h", 2, "INVALID_REQUEST", "--name needs a value"},
		{"missing flag", "company create", 2, "INVALID_REQUEST", "missing flags: --name"},
		{"missing argument", "company show", 2, "INVALID_REQUEST", "COMPANY"},
		{"argument too many", "company list now", 2, "INVALID_REQUEST", "unexpected argument now"},
		{
			"both kinds of grants", "key issue " + nobody + " --name ab --grants a --all-grants",
			2, "INVALID_REQUEST", "together",
		},
		{"command of a later version", "mail list", 2, "INVALID_REQUEST", "unexpected argument mail"},

		{"bad id", "order show lagos", 1, "INVALID_REQUEST", "must be a UUID of version 4"},
		{"bad name", "company create --name L", 1, "INVALID_REQUEST", "name"},
		{
			"bad amount", "float credit " + nobody + " --amount 1e3 --reference settlement-1",
			1, "INVALID_REQUEST", "--amount: must be a plain decimal",
		},
		{
			"negative amount", "float credit " + nobody + " --amount -5 --reference settlement-1",
			1, "INVALID_REQUEST", "--amount: must be",
		},
		{
			"negative rate", "commission schedule " + nobody + " --unit PERCENT --value -1",
			1, "INVALID_REQUEST", "--value: must",
		},
		{"hyphen before an id", "company show -5", 2, "INVALID_REQUEST", "unknown flag -5"},
		{
			"argument that is no text", "company create --name Lagos\xff",
			1, "INVALID_REQUEST", "argument 4 is not valid UTF-8",
		},
		{"bad time", "kyb grace " + nobody + " --until tomorrow", 1, "INVALID_REQUEST", "--until: must be a time"},
		{
			"approval until the zero time", "kyb approve " + nobody + " --expires 0001-01-01",
			1, "INVALID_REQUEST", "--expires: must be after the year 1",
		},
		{
			"grace before all years", "kyb grace " + nobody + " --until 0001-01-01T00:30:00+01:00",
			1, "INVALID_REQUEST", "--until: must be after the year 1",
		},
		{
			"rate from the zero time",
			"commission schedule " + nobody + " --value 1 --unit PERCENT --effective-from 0001-01-01T00:00:00Z",
			1, "INVALID_REQUEST", "--effective-from: must be after the year 1",
		},
		{
			"bad unit", "commission schedule " + nobody + " --value 1 --unit percent",
			1, "INVALID_REQUEST", "--unit: must be BASIS_POINTS",
		},
		{
			"bad rate", "commission schedule " + nobody + " --value 101 --unit PERCENT",
			1, "INVALID_REQUEST", "--value: must not exceed",
		},
		{
			"bad wallet", "wallet suspend " + nobody + " --wallet CASH",
			1, "INVALID_REQUEST", "--wallet: must be FLOAT or EARNINGS",
		},
		{"bad boolean", "version --yes=maybe --json=maybe", 2, "INVALID_REQUEST", "unknown flag"},
		{
			"bad status of an order", "order list " + nobody + " --status PAID",
			1, "INVALID_REQUEST", "--status: must be CONFIRMED, CANCELLED or REFUNDED",
		},
		{"bad email", "order list COMPANY --email ada", 1, "INVALID_REQUEST", "email: must be one email address"},
		{"no reason", "order refund " + nobody, 2, "INVALID_REQUEST", "missing flags: --reason"},
		{"bad grant", "key issue COMPANY --name ab --grants COMPANY:all", 1, "INVALID_REQUEST", "rant"},
		{"bad address", "serve --addr 8080", 1, "INVALID_REQUEST", "--addr: must be HOST:PORT"},
		{
			"bad web origin", "serve --web-origin https://a.example/app",
			1, "INVALID_REQUEST", "--web-origin: must be an origin",
		},
		{"bad rate limit", "serve --rate-limit -1", 1, "INVALID_REQUEST", "--rate-limit: must be a whole number"},
		{"bad rate limit in one word", "serve --rate-limit=-1", 1, "INVALID_REQUEST", "--rate-limit: must be a whole number"},
		{"bad proxies", "serve --trusted-proxies 10.0.0.0/33", 1, "INVALID_REQUEST", "--trusted-proxies: must be ranges"},
		{"bad CA file", "serve --webhook-ca-file /does/not/exist", 1, "INVALID_REQUEST", "--webhook-ca-file: "},
		{"bad log format", "serve --log-format xml", 1, "INVALID_REQUEST", "--log-format: must be text or json"},
		{"bad log level", "serve --log-level loud", 1, "INVALID_REQUEST", "--log-level: must be debug"},
		{"check of no proxy", "proxy check --listen 127.0.0.1:0", 2, "INVALID_REQUEST", "missing flags: --proxy"},
		{
			"check of a proxy without a scheme", "proxy check --listen 127.0.0.1:0 --proxy 127.0.0.1:3000/tickets",
			1, "INVALID_REQUEST", "--proxy: must be an address such as http://127.0.0.1:3000/tickets",
		},
		{
			"bad header", "proxy check --listen 127.0.0.1:0 --proxy http://127.0.0.1:3000 --header session=a",
			1, "INVALID_REQUEST", "--header: must be a header such as 'Cookie: session=VALUE'",
		},
		{
			"bad patience", "proxy check --listen 127.0.0.1:0 --proxy http://127.0.0.1:3000 --slow 20",
			1, "INVALID_REQUEST", "--slow: must be a duration such as 20s",
		},
		{
			"check at no address", "proxy check --listen 9090 --proxy http://127.0.0.1:3000",
			1, "INVALID_REQUEST", "--listen: must be HOST:PORT",
		},
		{"memory has no yesterday", "company list --database memory:", 1, "INVALID_REQUEST", "demo, serve and bench only"},
		{
			"unknown operation", "bench --op sell",
			1, "INVALID_REQUEST",
			"--op: must be checkout, validate, quote, read, order, orders, dispatch, webhook, mail or pages",
		},
		{"bench without clients", "bench --clients 0", 1, "INVALID_REQUEST", "--clients: must be from 1 to 10000"},
		{
			"bench of too many companies", "bench --companies 10001",
			1, "INVALID_REQUEST", "--companies: must be from 1 to 10000",
		},
		{"bench of too many admissions", "bench --qty 51", 1, "INVALID_REQUEST", "--qty: must be from 1 to 50"},
		{"bench without runs", "bench --runs 0", 1, "INVALID_REQUEST", "--runs: must be from 1 to 100"},
		{
			"bench without connections", "bench --connections 0",
			1, "INVALID_REQUEST", "--connections: must be a whole number from 1 to 1000",
		},
		{
			"bench of too many orders", "bench --preload 10000001",
			1, "INVALID_REQUEST", "--preload: must be from 0 to 10000000",
		},
		{"bench in no time", "bench --duration 1ms", 1, "INVALID_REQUEST", "--duration: must be a duration such as 10s"},
		{"bench without end", "bench --duration 2h", 1, "INVALID_REQUEST", "--duration: must be a duration such as 10s"},
		{
			"bench of idle processes", "bench --processes 3 --clients 2",
			1, "INVALID_REQUEST", "--processes: must not be more than --clients",
		},
		{
			"processes share no memory", "bench --processes 2 --database memory:",
			1, "INVALID_REQUEST", "--processes: processes cannot share",
		},
		{
			"bench of webhooks over HTTP", "bench --op webhook --http",
			1, "INVALID_REQUEST", "--op: webhook is measured in one process",
		},
		{"bench of mails over HTTP", "bench --op mail --http", 1, "INVALID_REQUEST", "--op: mail is measured in one process"},
		{"bench of mails alone", "bench --mails", 1, "INVALID_REQUEST", "--mails: is measured with checkouts beside"},
		{
			"bench of no rate", "bench --op mail --rate 0",
			1, "INVALID_REQUEST", "--rate: must be a whole number from 1 to 10000",
		},
		{
			"bench of too many mails", "bench --background --mails --mail-queue 10000001",
			1, "INVALID_REQUEST", "--mail-queue: must be from 0 to 10000000",
		},
		{
			"bench of too many endpoints", "bench --op webhook --endpoints 11",
			1, "INVALID_REQUEST", "--endpoints: must be from 1 to 10",
		},
		{"unknown type", "webhook trigger " + nobody + " order.sold", 1, "INVALID_REQUEST", "must be order.created"},
		{"no type", "webhook trigger " + nobody, 2, "INVALID_REQUEST", "missing argument TYPE"},
		{
			"unknown delivery status", "webhook deliveries " + nobody + " --status DEAD",
			1, "INVALID_REQUEST", "--status: must be PENDING",
		},
		{"relay to nowhere", "webhook listen " + nobody, 2, "INVALID_REQUEST", "--forward-to"},
		{
			"relay to no address", "webhook listen " + nobody + " --forward-to ftp://u:hush@h",
			1, "INVALID_REQUEST", "--forward-to: must be an address",
		},
		{
			"relay with credentials", "webhook listen " + nobody + " --forward-to http://u:hush@h/",
			1, "INVALID_REQUEST", "--forward-to: must be an address",
		},
		{
			"relay with no secret", "webhook listen " + nobody + " --forward-to http://h/ --secret short",
			1, "INVALID_REQUEST", "--secret: must be 8 to 256",
		},
		{"replay of nothing", "webhook replay", 2, "INVALID_REQUEST", "give DELIVERY, or --company to replay many"},
		{
			"replay of one and many", "webhook replay " + nobody + " --company " + nobody,
			2, "INVALID_REQUEST", "DELIVERY takes no other flags",
		},
		{
			"replay of everything", "webhook replay --company " + nobody,
			2, "INVALID_REQUEST", "refusing to replay everything: add --since or --status",
		},
		{"change of nothing", "webhook update " + nobody, 1, "INVALID_REQUEST", "nothing to change"},
		{"endpoint without types", "webhook create " + nobody + " --url https://h.example", 2, "INVALID_REQUEST", "--events"},
		{
			"retention of a moment", "serve --webhook-retention 1s",
			1, "INVALID_REQUEST", "--webhook-retention: must be a time such as 30d",
		},
		{
			"retention of no time", "serve --fact-retention long",
			1, "INVALID_REQUEST", "--fact-retention: must be a time such as 30d",
		},
		{"ceiling of SQLite", "bench --ceiling", 1, "INVALID_REQUEST", "--ceiling: measures PostgreSQL alone"},
		{"baseline of itself", "bench --baseline", 1, "INVALID_REQUEST", "--baseline: compares calls of several"},
		{
			"baseline of deliveries", "bench --baseline --companies 2 --op webhook",
			1, "INVALID_REQUEST", "--baseline: compares calls of several",
		},
		{
			"baseline of a dispatch", "bench --baseline --companies 2 --op dispatch",
			1, "INVALID_REQUEST", "--baseline: compares calls of several",
		},
		{
			"baseline beside mails", "bench --baseline --companies 2 --background --mails",
			1, "INVALID_REQUEST", "--baseline: compares calls of several",
		},
		{"baseline and stale", "bench --baseline --stale", 1, "INVALID_REQUEST", "--baseline: compares calls of several"},
		{"coarse timers", "serve --timer-slack 11ms", 1, "INVALID_REQUEST", "--timer-slack: must be a duration such as"},
		{"bench of no file", "bench --database sqlite:", 1, "INVALID_REQUEST", "SQLite needs the path of a file"},
		{"bench of an unknown store", "bench --database mysql://u:hush@h/d", 1, "INVALID_REQUEST", "--database: must be"},
		{"bench of no database", "bench --database postgres://u:hush@127.0.0.1:1/d", 1, "UNAVAILABLE", "cannot be used"},
		{"argument of a bench", "bench now", 2, "INVALID_REQUEST", "unexpected argument now"},
		{"no connections", "serve --connections 0", 1, "INVALID_REQUEST", "--connections: must be a whole number from 1"},
		{"empty groups", "serve --group-calls 0", 1, "INVALID_REQUEST", "--group-calls: must be a whole number from 1"},
		{
			"too many connections", "serve --connections 1001",
			1, "INVALID_REQUEST", "--connections: must be a whole number from 1 to 1000",
		},
		{
			"too many connections of a demo", "demo --connections 1001",
			1, "INVALID_REQUEST", "--connections: must be a whole number from 1 to 1000",
		},
		{
			"too large groups", "serve --group-calls 1001",
			1, "INVALID_REQUEST", "--group-calls: must be a whole number from 1 to 1000",
		},
		{
			"too many lanes", "serve --group-lanes 65",
			1, "INVALID_REQUEST", "--group-lanes: must be a whole number from 0 to 64",
		},
		{
			"too long queues", "serve --group-queue 1000001",
			1, "INVALID_REQUEST", "--group-queue: must be a whole number from 1 to 1000000",
		},
		{
			"too many lanes of a bench", "bench --group-lanes 65",
			1, "INVALID_REQUEST", "--group-lanes: must be a whole number from 0 to 64",
		},
		{"memory has no tables", "migrate --database memory:", 1, "INVALID_REQUEST", "no tables"},
		{"unknown store", "company list --database mysql://x", 1, "INVALID_REQUEST", "--database: "},
		{"no secret key", "company list --database postgres://u:hush@h/d", 1, "SECRET_KEY", "must be given"},
		{"SQLite on a cluster", "migrate --distribute citus", 1, "INVALID_REQUEST", "SQLite database is one file"},
		{"memory is no cluster", "cluster status --database memory:", 1, "NOT_A_CLUSTER", "it is in memory"},
		{"SQLite is no cluster", "cluster status", 1, "NOT_A_CLUSTER", "not a cluster: it is a file on one machine"},
		{"unknown cluster", "migrate --distribute spanner", 1, "INVALID_REQUEST", "must be citus"},
		{"short secret key", "company list --secret-key abcd", 1, "INVALID_REQUEST", "--secret-key: must be 32 to"},
		{"unknown company", "company show " + nobody, 1, "NOT_FOUND", "not found"},
		{
			"unverified company", "float credit COMPANY --amount 1 --reference settlement-1",
			1, "CONFLICT", "Current company verification is required",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh := *sh
			sh.t, sh.env = t, map[string]string{"TICKETING_DATABASE": "sqlite:" + filepath.Join(t.TempDir(), "t.db")}
			args := strings.Fields(test.args)
			if test.code == "NOT_FOUND" {
				sh.object("migrate") // The NOT_FOUND needs an existing database.
			}
			for i := range args {
				if args[i] == "COMPANY" {
					args[i] = sh.object("company", "create", "--name", "Lagos Live")["id"].(string)
				}
			}
			did := sh.run(args...)
			is.Equal(did.status, test.status)
			is.Equal(did.stdout, "")
			is.True(strings.HasPrefix(did.stderr, "ticketing: "))
			is.True(strings.Contains(did.stderr, test.want))
			is.Equal(strings.Contains(did.stderr, ` --help" for how it is used.`), test.status == 2)
			is.True(!strings.Contains(did.stderr, "hush")) // No password is repeated.

			did = sh.run(append(args, "--json")...)
			is.Equal(did.status, test.status)
			is.Equal(did.stdout, "")
			code, message := refused(t, did.stderr)
			is.Equal(code, test.code)
			is.True(strings.Contains(message, test.want))
		})
	}
}

// Without a command, the help is printed on standard error, with the exit status of a usage error.
func TestHelp(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShellWithoutFile(t)
	did := sh.run()
	is.Equal(did.status, 2)
	is.Equal(did.stdout, "")
	is.True(strings.HasPrefix(did.stderr, "Usage: ticketing COMMAND"))
	asked := sh.run("--help")
	is.Equal(asked.status, 0)
	is.Equal(asked.stderr, "")
	is.Equal(asked.stdout, did.stderr)
	for line := range strings.SplitSeq(asked.stdout, "\n") {
		is.True(len(line) <= 100)
	}
	for _, args := range [][]string{
		{"demo"},
		{"serve"},
		{"migrate"},
		{"bench"},
		{"version"},
		{"company", "create"},
		{"kyb", "approve"},
		{"branding", "set"},
		{"commission", "schedule"},
		{"float", "credit"},
		{"wallet", "suspend"},
		{"ledger", "verify"},
		{"key", "issue"},
		{"category", "create"},
		{"event", "end"},
		{"webhook", "create"},
		{"webhook", "listen"},
		{"mail-sender", "set"},
		{"notification", "resend"},
		{"proxy", "check"},
	} {
		did := sh.run(append(args, "--help")...)
		is.Equal(did.status, 0)
		is.True(strings.HasPrefix(did.stdout, "Usage: ticketing "+strings.Join(args, " ")))
	}
	_, err := os.Stat(filepath.Join(sh.dir, "t.db"))
	is.True(os.IsNotExist(err)) // Help and usage errors touch no database.
}

// Every flag can be set by its environment variable. The command line takes precedence. An empty variable counts as
// unset.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	did := sh.with("TICKETING_NAME", "From Afar", "TICKETING_JSON", "1").run("company", "create")
	is.Equal(did.status, 0)
	is.True(strings.Contains(did.stdout, `"name":"From Afar"`))
	is.Equal(sh.with("TICKETING_NAME", "From Afar").object("company", "create", "--name", "Near")["name"], "Near")
	is.Equal(sh.with("TICKETING_NAME", "").run("company", "create").status, 2)
	id := sh.array("company", "list")[0]["id"].(string)
	key := sh.with("TICKETING_ALL_GRANTS", "true").run("key", "issue", id, "--name", "ab", "--json")
	code, _ := refused(t, key.stderr)
	is.Equal(code, "CONFLICT") // The parser accepted it; the company is not verified.
	did = sh.with("TICKETING_EXPIRES", "soon").run("kyb", "approve", id)
	is.Equal(did.status, 1)
	is.True(strings.Contains(did.stderr, "--expires: must be a time"))
	is.Equal(sh.with("TICKETING_JSON", "maybe").run("version").status, 1)
	did = sh.with("TICKETING_NAME", "Lagos\xff").run("company", "create")
	is.Equal(did.status, 1)
	is.True(strings.Contains(did.stderr, "the variable TICKETING_NAME is not valid UTF-8"))
	// A flag takes precedence over the variable of a flag that excludes it.
	sh.object("kyb", "approve", id)
	issued := sh.with("TICKETING_ALL_GRANTS", "1").object("key", "issue", id, "--name", "gate", "--grants",
		"COMPANY:ticket:validate")
	is.Equal(issued["grants"], []any{"COMPANY:ticket:validate"})
	issued = sh.with("TICKETING_GRANTS", "COMPANY:ticket:validate").object("key", "issue", id, "--name", "shop",
		"--all-grants")
	is.Equal(len(issued["grants"].([]any)), 7)
	// A variable of one command does not affect another.
	is.Equal(sh.with("TICKETING_EXPIRES", "soon").run("company", "list").status, 0)
}

// A value may begin with a hyphen.
func TestValueWithHyphen(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	is.Equal(sh.object("company", "create", "--name", "-dash")["name"], "-dash")
	is.Equal(sh.object("company", "create", "--name=--dash")["name"], "--dash")
}

// The usage names arguments as in the examples, and shows which flags exclude each other.
func TestUsage(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	sh := newShell(t)
	for _, test := range []struct{ args, want string }{
		{"company show --help", "Usage: ticketing company show COMPANY"},
		{"key revoke --help", "Usage: ticketing key revoke KEY [flags]"},
		{"event end --help", "Usage: ticketing event end EVENT [flags]"},
		{"ledger verify --help", "Usage: ticketing ledger verify [COMPANY]"},
		{"key issue --help", "Usage: ticketing key issue --name=NAME (--grants=GRANT,...|--all-grants) COMPANY"},
		{"category create --help", "words of a-z and 0-9, joined by single hyphens"},
		{"kyb reject --help", "A grace stays in force:"},
		{"kyb submit --help", "A current approval stays valid until staff decide"},
		{"member update --help", "Usage: ticketing member update --role=ROLE COMPANY USER"},
		{"audit list --help", "Usage: ticketing audit list [COMPANY]"},
		{"buyer erase --help", "the tickets stay as they are"},
		{"serve --help", "It also delivers webhooks, and sends ticket mails if --smtp names a mail server."},
		{"webhook create --help", "Usage: ticketing webhook create --url=URL --events=TYPE,... COMPANY [flags]"},
		{"webhook replay --help", "Usage: ticketing webhook replay [DELIVERY] [flags]"},
		{"webhook trigger --help", "Usage: ticketing webhook trigger COMPANY TYPE"},
		{"webhook rotate --help", "Usage: ticketing webhook rotate ENDPOINT"},
		{"mail-sender set --help", "Usage: ticketing mail-sender set --from=ADDRESS --name=NAME [flags]"},
		{"mail-sender check --help", "Give a URL with a password as TICKETING_SMTP: others can see a command line."},
		{"serve --help", "Give a URL with a password as TICKETING_SMTP: others can see a command line."},
		{"mail-sender remove --help", "Required without a terminal, and with --json."},
		{"notification resend --help", "Usage: ticketing notification resend [ORDER] [flags]"},
		{"notification preview --help", "Usage: ticketing notification preview --out=FILE ORDER"},
		{"bench --help", "It works in a schema (PostgreSQL) or a file"},
		{"migrate --help", "spread the tables over a cluster, by company"},
	} {
		did := sh.run(strings.Fields(test.args)...)
		if unwrapped := strings.Join(strings.Fields(did.stdout), " "); !strings.Contains(unwrapped, test.want) {
			t.Errorf("ticketing %s: %q is missing in\n%s", test.args, test.want, did.stdout)
		}
	}
}

// The default database is in the working directory of the program.
func TestDefaultDatabase(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	leftOut(t)
	is := is.New(t)
	sh := newShell(t).with("TICKETING_DATABASE", "")
	is.Equal(sh.start("company", "create", "--name", "Lagos Live").wait(), 0)
	_, err := os.Stat(filepath.Join(sh.dir, "ticketing.db"))
	is.NoErr(err)
}

// A migration names what it applied. A second one has nothing to do.
func TestMigrate(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newEmptyShell(t)
	is.True(len(sh.object("migrate")["applied"].([]any)) > 0)
	is.Equal(sh.object("migrate")["applied"], []any{})
}

// Of several concurrent migrations, each names only what it applied itself. Together they name each migration once.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	alone := newEmptyShell(t).object("migrate")["applied"].([]any)
	sh := newEmptyShell(t)
	migrating := []*process{}
	for range 6 {
		migrating = append(migrating, sh.start("migrate", "--json", "--secret-key", strings.Repeat("MDEy", 16)))
	}
	var together []string
	for _, p := range migrating {
		var did struct{ Applied []string }
		is.NoErr(json.NewDecoder(p.stdout).Decode(&did))
		is.Equal(p.wait(), 0)
		together = append(together, did.Applied...)
	}
	slices.Sort(together)
	is.Equal(fmt.Sprint(together), fmt.Sprint(alone))
}
