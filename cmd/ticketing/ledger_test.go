package main_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// funded creates a company whose FLOAT is credited the given number of times, and returns its id.
func (s *shell) funded(times int) string {
	s.t.Helper()
	id := s.object("company", "create", "--name", "Lagos Live")["id"].(string)
	s.object("kyb", "approve", id)
	s.fund(id, 0, times)
	return id
}

func (s *shell) fund(id string, first, times int) {
	s.t.Helper()
	for i := range times {
		reference := "settlement-" + string(rune('a'+first+i))
		s.object("float", "credit", id, "--amount", "1000.00", "--reference", reference)
	}
}

// files returns the names of the files in the shell's folder, without those of the database.
func (s *shell) files() string {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	is.New(s.t).NoErr(err)
	var names []string
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "t.db") {
			names = append(names, entry.Name())
		}
	}
	return strings.Join(names, " ")
}

// A bundle can be verified with the public key alone: without a database, and without a secret.
func TestLedgerBundle(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.funded(2)
	older, newer := filepath.Join(sh.dir, "older"), filepath.Join(sh.dir, "newer")

	exported := sh.object("ledger", "export", company, "--out", older)
	hasMembers(t, exported, "entries", "heads", "file", "publicKey")
	is.Equal(exported["entries"], float64(2))
	heads := exported["heads"].([]any)
	is.Equal(len(heads), 2)
	hasMembers(t, heads[0].(map[string]any), "wallet", "seq", "balance", "hash")
	info, err := os.Stat(older)
	is.NoErr(err)
	is.Equal(info.Mode(), os.FileMode(0o600))
	key := sh.object("ledger", "public-key")["publicKey"].(string)
	is.Equal(exported["publicKey"], key)
	is.Equal(sh.run("ledger", "public-key").stdout, key+"\n")
	sh.fund(company, 2, 1)
	sh.object("ledger", "export", company, "--out", newer)

	auditor := &shell{t: t, dir: t.TempDir(), env: map[string]string{
		"TICKETING_DATABASE": "postgres://nobody:nothing@nowhere.invalid/none",
	}}
	verified := func(args ...string) map[string]any {
		t.Helper()
		report := auditor.object(append([]string{"ledger", "verify", "--public-key", key}, args...)...)
		is.Equal(report["ok"], true)
		is.Equal(report["wallets"], float64(2))
		is.Equal(report["problems"], []any{})
		return report
	}
	is.Equal(verified("--file", older)["entries"], float64(2))
	is.Equal(verified("--file", newer, "--against", older)["entries"], float64(3))
	is.Equal(auditor.files(), "")

	text, err := os.ReadFile(older)
	is.NoErr(err)
	tail := filepath.Join(sh.dir, "tail")
	lines := strings.SplitAfter(string(text), "\n")
	is.NoErr(os.WriteFile(tail, []byte(strings.Join(lines[len(lines)-8:], "")), 0o600))
	verified("--file", newer, "--against", tail)

	// Every problem is reported, and fails the command.
	wrong := func(want string, args ...string) {
		t.Helper()
		did := auditor.run(append([]string{"ledger", "verify", "--json"}, args...)...)
		is.Equal(did.status, 1)
		is.True(strings.Contains(did.stdout, `"ok":false`))
		is.True(strings.Contains(did.stdout, want))
		code, _ := refused(t, did.stderr)
		is.Equal(code, "LEDGER_INVALID")
	}
	wrong("now some of them are missing", "--file", older, "--public-key", key, "--against", newer)
	other := strings.Repeat("0123456789abcdef", 4)
	wrong("the signature does not match the public key", "--file", older, "--public-key", other)
	verified("--file", older, "--public-key", other+","+key)
	text[len(text)/2] ^= 1
	is.NoErr(os.WriteFile(older, text, 0o600))
	wrong("line", "--file", older, "--public-key", key)
	wrong("the older one: ", "--file", newer, "--public-key", key, "--against", older)

	code, _ := auditor.refusal("ledger", "verify", "--file", filepath.Join(sh.dir, "none"), "--public-key", key)
	is.Equal(code, "INPUT")
	code, _ = auditor.refusal("ledger", "verify", "--file", newer, "--public-key", strings.ToUpper(key))
	is.Equal(code, "INVALID_REQUEST")
	for _, args := range [][]string{
		{"--file", newer},
		{company, "--file", newer, "--public-key", key},
	} {
		is.Equal(auditor.run(append([]string{"ledger", "verify"}, args...)...).status, 2)
	}
	// Flags that are set for bundles do not prevent a verification of the database.
	is.Equal(sh.run("ledger", "verify", "--public-key", key, "--against", older).status, 0)
}

func TestLedgerExportFollowsALinkAndKeepsIt(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.funded(1)
	link, long := filepath.Join(sh.dir, "link"), filepath.Join(sh.dir, strings.Repeat("n", 250))
	is.NoErr(os.Symlink(filepath.Base(long), link))
	for range 2 { // The first run creates the file, the second replaces it.
		is.Equal(sh.run("ledger", "export", company, "--out", link).status, 0)
		info, err := os.Lstat(link)
		is.NoErr(err)
		is.True(info.Mode()&os.ModeSymlink != 0)
		info, err = os.Lstat(long)
		is.NoErr(err)
		is.True(info.Mode().IsRegular())
	}
}

// A file is written completely or not at all. If the new one fails, an existing file of that name is unchanged.
func TestLedgerExportLeavesNoPart(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.funded(1)
	out := filepath.Join(sh.dir, "books")
	code, _ := sh.refusal("ledger", "export", company, "--out", filepath.Join(sh.dir, "none", "books"))
	is.Equal(code, "OUTPUT")
	code, _ = sh.refusal("ledger", "export", company, "--out", sh.dir)
	is.Equal(code, "INVALID_REQUEST")
	code, _ = sh.refusal("ledger", "export", "6f1d2c3b-4a59-4e68-8b77-0123456789ab", "--out", out)
	is.Equal(code, "NOT_FOUND")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	is.Equal(sh.runWith(stopped, "ledger", "export", company, "--out", out).status, 1)
	is.Equal(sh.files(), "")

	is.NoErr(os.WriteFile(out, []byte("before"), 0o600))
	full := errors.New("no space left")
	err := program.WriteFile(out, func(w io.Writer) error {
		_, _ = io.WriteString(w, "a part")
		return full
	})
	is.True(errors.Is(err, full))
	is.Equal(sh.files(), "books")
	text, err := os.ReadFile(out)
	is.NoErr(err)
	is.Equal(string(text), "before")
	sh.object("ledger", "export", company, "--out", out)
	is.Equal(sh.files(), "books")
}

func TestLedgerStatement(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.funded(2)
	did := sh.run("ledger", "statement", company, "--from", "2020-01-01", "--to", "2100-01-01")
	is.Equal(did.status, 0)
	lines := strings.Split(did.stdout, "\n")
	is.Equal(len(lines), 8)
	is.Equal(lines[0], "type,wallet,at,seq,kind,amount,balanceBefore,balance,currency,reference")
	is.Equal(lines[1], "OPENING,FLOAT,2020-01-01T00:00:00.000Z,,,,,0.00,NGN,")
	is.True(strings.HasPrefix(lines[3], "MOVEMENT,FLOAT,"))
	is.True(strings.HasSuffix(lines[3], "Z,2,FLOAT_CREDIT,1000.00,1000.00,2000.00,NGN,settlement-b"))
	is.Equal(lines[4], "CLOSING,FLOAT,2100-01-01T00:00:00.000Z,,,,,2000.00,NGN,")
	is.Equal(lines[6], "CLOSING,EARNINGS,2100-01-01T00:00:00.000Z,,,,,0.00,NGN,")

	did = sh.run("ledger", "statement", company, "--format", "jsonl")
	is.Equal(did.status, 0)
	is.Equal(strings.Count(did.stdout, "\n"), 6)
	is.True(strings.HasPrefix(did.stdout, `{"type":"OPENING","wallet":"FLOAT","at":"`))
	is.Equal(len(sh.array("ledger", "statement", company)), 6)
	out := filepath.Join(sh.dir, "books.csv")
	is.Equal(sh.object("ledger", "statement", company, "--out", out)["movements"], float64(2))
	text, err := os.ReadFile(out)
	is.NoErr(err)
	is.True(bytes.HasPrefix(text, []byte(lines[0]+"\n")))
	code, _ := sh.refusal("ledger", "statement", company, "--from", "2026-01-01", "--to", "2026-01-01")
	is.Equal(code, "INVALID_REQUEST")
	code, _ = sh.refusal("ledger", "statement", company, "--format", "xml")
	is.Equal(code, "INVALID_REQUEST")
}

// No text is a formula to a spreadsheet, and every amount remains a number.
func TestStatementsAreSafeInASpreadsheet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reference, want string }{
		{"PSK-1", "PSK-1"},
		{"=HYPERLINK(A1)", "'=HYPERLINK(A1)"},
		{"+1", "'+1"},
		{"-1", "'-1"},
		{"@SUM(1)", "'@SUM(1)"},
		{"|cmd", "'|cmd"},
		{`a"b,c`, `"a""b,c"`},
	} {
		t.Run(test.reference, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sequence, kind, amount := int64(1), ledger.CheckoutDebit, money.Amount(-100)
			var out strings.Builder
			is.NoErr(program.CSV(&out, ticketing.StatementLine{
				Type: ticketing.StatementMovement, Wallet: ledger.Float, At: ticketing.Time{Time: time.Unix(0, 0)},
				Sequence: &sequence, Kind: &kind, Amount: &amount, BalanceBefore: &amount, Reference: &test.reference,
			}))
			_, line, _ := strings.Cut(out.String(), "\n")
			is.Equal(line, "MOVEMENT,FLOAT,1970-01-01T00:00:00.000Z,1,CHECKOUT_DEBIT,-1.00,-1.00,0.00,NGN,"+test.want+"\n")
		})
	}
}
