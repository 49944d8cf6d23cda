package main_test

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
)

// Who waits at a terminal sees how far it is, and a line that is gone when it is done. Scripts see nothing of it.
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
		{[]string{"ledger", "export", company, "--out", out}, "exporting the ledger [##############################] 100 %  3 of 3"},
		{[]string{"ledger", "verify", "--file", out, "--public-key", key}, "verifying the bundle [##############################] 100 %"},
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
