package main_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
	"golang.org/x/sys/unix"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/race"
)

// On a full disk an existing file is unchanged, and no part of the new file is left.
func TestLedgerExportToAFullDisk(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	company := sh.funded(3)
	disk := t.TempDir()
	if err := unix.Mount("ticketing", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small disk cannot be mounted (the test must run as root): %v", err)
	}
	t.Cleanup(func() { is.NoErr(unix.Unmount(disk, 0)) })
	out, ballast := filepath.Join(disk, "books"), filepath.Join(disk, "ballast")
	is.NoErr(os.WriteFile(out, []byte("before"), 0o600))
	is.True(os.WriteFile(ballast, make([]byte, 1<<20), 0o600) != nil) // It takes up all the space.
	for _, args := range [][]string{{"export"}, {"statement"}} {
		code, message := sh.refusal(append([]string{"ledger", args[0], company}, "--out", out)...)
		is.Equal(code, "OUTPUT")
		is.True(strings.Contains(message, "no space left"))
		entries, err := os.ReadDir(disk)
		is.NoErr(err)
		is.Equal(len(entries), 2)
		text, err := os.ReadFile(out)
		is.NoErr(err)
		is.Equal(string(text), "before")
	}
	is.NoErr(os.Remove(ballast))
	sh.object("ledger", "export", company, "--out", out)
}

// A terminal shows the progress, and the line is erased at the end. Scripts see no progress.
func TestProgressOfTheLedger(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t)
	company := sh.funded(3)
	out := filepath.Join(sh.dir, "books")
	key := sh.object("ledger", "public-key")["publicKey"].(string)
	getenv := func(name string) string { return sh.env[name] }
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"ledger", "verify"}, "verifying the books [##############################] 100 %  3 of 3"},
		{
			[]string{"ledger", "export", company, "--out", out},
			"exporting the ledger [##############################] 100 %  3 of 3",
		},
		{
			[]string{"ledger", "verify", "--file", out, "--public-key", key},
			"verifying the bundle [##############################] 100 %",
		},
	} {
		person, err := terminal(t)
		var stdout bytes.Buffer
		is.Equal(program.Run(t.Context(), test.args, getenv, strings.NewReader(""), &stdout, err), 0)
		is.True(!strings.Contains(stdout.String(), "100 %"))
		is.NoErr(err.Close())
		seen, _ := io.ReadAll(person) // It ends with an error, as a terminal does.
		is.True(strings.Contains(string(seen), test.want))
		is.True(strings.HasSuffix(string(seen), "\r\x1b[K"))

		did := sh.run(test.args...)
		is.Equal(did.stderr, "")
	}
}
