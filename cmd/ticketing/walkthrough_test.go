package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// The auditor's walk-through of docs/operating.md does what it says: a company is taken on, funded, sells, refunds and
// is paid out, its books are exported, and whoever has the bundles and the public key finds them whole, and what was
// forged.
func TestAuditorsWalkThrough(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t)
	for _, needed := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip("the walk-through is for a shell with " + needed)
		}
	}
	self, err := os.Executable()
	is.NoErr(err)
	bin, folder := t.TempDir(), t.TempDir()
	program := "#!/bin/sh\n" + asProgram + "=1 exec '" + self + "' \"$@\"\n"
	is.NoErr(os.WriteFile(filepath.Join(bin, "ticketing"), []byte(program), 0o700))

	text := marked(t, "../../docs/operating.md", "<!-- smoke books -->")
	is.True(strings.Count(text, "\n") > 30)
	// The server takes a port that is free, and is ended with the shell.
	begin := `set -euo pipefail
trap 'kill $(jobs -p); wait' EXIT
`
	serve := `ticketing serve --addr 127.0.0.1:0 2>serve.log &
until grep -q 'listening on' serve.log; do sleep 0.05; done
ORIGIN=$(sed -n 's/.*listening on //p' serve.log | head -n 1)`
	is.Equal(strings.Count(text, "ticketing serve &"), 1)
	text = strings.Replace(text, "ticketing serve &", serve, 1)
	text = strings.ReplaceAll(text, "http://127.0.0.1:8080", "$ORIGIN")

	cmd := exec.CommandContext(t.Context(), "bash", "-c", begin+text)
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + folder}
	for name, value := range sh.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	told, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the walk-through failed: %v\n%s", err, told)
	}
	for _, said := range []string{"the kobo was found", "the cut was found"} {
		is.True(strings.Contains(string(told), said))
	}
}

// marked are the shell blocks of a document that stand under a mark, in their order.
func marked(t *testing.T, path, mark string) string {
	t.Helper()
	document, err := os.ReadFile(path)
	is.New(t).NoErr(err)
	var blocks strings.Builder
	for _, part := range strings.Split(string(document), mark+"\n```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "```\n")
		blocks.WriteString(block + "\n")
	}
	return blocks.String()
}
