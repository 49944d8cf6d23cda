package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/race"
)

// makers are the commands that create a database, or need none.
var makers = []string{
	"demo", "serve", "migrate", "company create", "bench", "embed snippet", "proxy check", "version", "help", "completion",
	"health", "cluster status",
}

// calls are valid arguments of the commands that need an existing database.
var calls = map[string]string{
	"company list": "", "company show": nobody, "company rename": "--name ab " + nobody, "company suspend": nobody,
	"company activate": nobody,
	"member add":       nobody + " --role OWNER --email ada@example.com --name Ada", "member list": nobody,
	"member update": nobody + " " + nobody + " --role OWNER", "member remove": nobody + " " + nobody,
	"kyb list": "", "kyb show": nobody, "kyb edit": nobody + " --country NG", "kyb submit": nobody, "kyb approve": nobody,
	"kyb reject": nobody + " --reason r", "kyb grace": nobody + " --until 2999-01-01", "kyb end-grace": nobody,
	"kyb revoke":   nobody,
	"branding set": nobody + " --brand-name ab", "branding show": nobody,
	"commission schedule": nobody + " --value 3 --unit PERCENT", "commission list": nobody,
	"float credit": nobody + " --amount 1 --reference settlement-1",
	"wallet show":  nobody, "wallet suspend": nobody + " --wallet FLOAT", "wallet activate": nobody + " --wallet FLOAT",
	"ledger list": nobody, "ledger verify": "", "ledger export": nobody + " --out FILE",
	"ledger statement":  nobody + " --from 2026-01-01 --to 2026-02-01",
	"ledger public-key": "",
	"key issue":         nobody + " --name ab --all-grants",
	"key rotate":        nobody, "key revoke": nobody, "key list": nobody,
	"webhook create": nobody + " --url https://h.example --events order.created", "webhook list": nobody,
	"webhook show": nobody, "webhook update": nobody + " --url https://h.example", "webhook enable": nobody,
	"webhook disable": nobody, "webhook delete": nobody, "webhook rotate": nobody, "webhook activate": nobody,
	"webhook reseal": "", "webhook deliveries": nobody, "webhook delivery": nobody, "webhook replay": nobody,
	"webhook listen":  nobody + " --forward-to http://127.0.0.1:1/",
	"webhook trigger": nobody + " order.created",
	"mail-sender set": "--from a@b.example --name ab", "mail-sender show": "", "mail-sender remove": "",
	"mail-sender check": "", "mail-sender test": "--to a@b.example --mail-folder /does/not/exist",
	"notification list": nobody, "notification show": nobody, "notification resend": nobody,
	"notification preview": nobody + " --out FILE.txt",
	"bank-account set":     nobody + " --bank ab --account-number 0123456789 --account-name ab",
	"bank-account show":    nobody,
	"bank-account reseal":  "",
	"settlement request":   nobody, "settlement approve": nobody, "settlement reject": nobody + " --reason r",
	"settlement list": "",
	"order list":      nobody, "order show": nobody,
	"order refund": nobody + " --reason r", "order cancel": nobody + " --reason r",
	"category create": "--name ab --slug ab", "category list": "", "category deactivate": nobody,
	"buyer show": nobody + " --email ada@example.com", "buyer erase": nobody + " --email ada@example.com",
	"event list": nobody, "event end": nobody,
	"audit list": nobody, "stats rebuild": "",
	"staff add": "--email ada@example.com --name Ada --role AUDITOR", "staff list": "",
	"staff update": "ada@example.com --role AUDITOR", "staff remove": "ada@example.com",
	"user link": "ada@example.com", "user show": "ada@example.com", "user sign-out": "ada@example.com",
}

// A mistyped path is reported. Only the commands in makers create a database there, or a file beside it. A new command
// must be added to makers or calls.
func TestMistypedPathIsNoNewDatabase(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	commands, err := program.Commands()
	is.NoErr(err)
	for command := range commands {
		_, needs := calls[command]
		if needs == slices.Contains(makers, command) {
			t.Errorf("%s: whether it makes a database is not decided", command)
		}
	}
	for command, args := range calls {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			folder := t.TempDir()
			for _, env := range [][]string{nil, {"TICKETING_SECRET_KEY", strings.Repeat("ab", 32)}} {
				sh := (&shell{t: t, dir: folder, env: map[string]string{
					"TICKETING_DATABASE": "sqlite:" + filepath.Join(folder, "none.db"), "TICKETING_YES": "true",
				}}).with(env...)
				code, message := sh.refusal(append(strings.Fields(command), strings.Fields(args)...)...)
				is.Equal(code, "NO_DATABASE")
				is.Equal(message, "there is no database in "+filepath.Join(folder, "none.db")+": check the path in --database, or "+
					`make one with "ticketing migrate" or "ticketing company create"`)
				left, err := os.ReadDir(folder)
				is.NoErr(err)
				is.Equal(len(left), 0)
			}
		})
	}
}

// No database is created from an empty file, at the end of a dangling link, or beside a leftover key file.
func TestNoDatabaseInItsPlace(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	must(t, os.WriteFile(at("empty.db"), nil, 0o600))
	must(t, os.Symlink(at("gone.db"), at("link.db")))
	must(t, os.WriteFile(at("key.db.key"), []byte(strings.Repeat("ab", 32)), 0o600))
	before, err := os.ReadDir(folder)
	is.NoErr(err)
	for _, path := range []string{"empty.db", "link.db", "key.db", "no-folder/t.db"} {
		sh := &shell{t: t, env: map[string]string{"TICKETING_DATABASE": "sqlite:" + at(path)}}
		code, _ := sh.refusal("company", "list")
		is.Equal(code, "NO_DATABASE")
		code, _ = sh.refusal("serve", "--no-migrate", "--addr", "127.0.0.1:0")
		is.Equal(code, "NOT_MIGRATED")
	}
	after, err := os.ReadDir(folder)
	is.NoErr(err)
	is.Equal(len(after), len(before))
	info, err := os.Stat(at("empty.db"))
	is.NoErr(err)
	is.Equal(info.Size(), int64(0))
}

// The commands in makers create a missing database, and the other commands then find it.
func TestCommandsThatBegin(t *testing.T) {
	t.Parallel()
	leftOut(t)
	for _, args := range [][]string{
		{"demo", "--once", "--addr", "127.0.0.1:0"},
		{"migrate"},
		{"company", "create", "--name", "Lagos Live"},
	} {
		is := is.New(t)
		sh := newShell(t)
		is.Equal(sh.run(args...).status, 0)
		is.Equal(sh.run("company", "list").status, 0)
	}
	sh := newShell(t)
	sh.serve()
	is.New(t).Equal(sh.run("company", "list").status, 0)
}
