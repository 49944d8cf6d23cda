package main_test

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/webhook"
)

// The auditor's walk-through of docs/operating.md works as it is written. A company is created, funded, sells, refunds
// and is paid out, and its books are exported. With the bundles and the public key alone, intact books verify and
// forgeries are found.
func TestAuditorsWalkThrough(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	output := newShell(t).walk("operating.md", t.TempDir(), "<!-- smoke books -->")
	for _, said := range []string{"the kobo was found", "the cut was found"} {
		is.True(strings.Contains(output, said))
	}
}

// The webhook walk-through of docs/operating.md works as it is written, from the registration of an endpoint to its
// rotated secret. It uses a receiver that has the secrets which the commands print, and a developer's local one.
func TestWebhooksWalkThrough(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	folder := t.TempDir()
	accepted, local := make(chan webhook.Delivery, 100), make(chan string, 100)
	secrets := func(context.Context) ([]string, error) {
		text, err := os.ReadFile(filepath.Join(folder, "secrets"))
		return strings.Fields(string(text)), err
	}
	receiver := httptest.NewTLSServer(webhook.Handler(secrets, func(_ context.Context, d webhook.Delivery) error {
		accepted <- d
		return nil
	}, nil))
	t.Cleanup(receiver.Close)
	roots := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	is.NoErr(os.WriteFile(filepath.Join(folder, "receiver.pem"), roots, 0o600))
	developers := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		local <- r.Header.Get(webhook.HeaderEvent)
	}))
	t.Cleanup(developers.Close)

	newShell(t).walk("operating.md", folder, "<!-- smoke hooks -->", "https://127.0.0.1:8443", receiver.URL,
		"http://127.0.0.1:3000", developers.URL)
	is.Equal(<-local, "commission.accrued")
	close(accepted)
	types, runs := map[string]int{}, map[string]bool{}
	for delivery := range accepted {
		types[delivery.Event.Type]++
		runs[delivery.ID] = true
	}
	is.Equal(types["ticket.validated"], 1)
	is.True(types["order.created"] >= 2) // It was replayed.
	is.True(len(runs) >= 4)
}

// The mail walk-through of docs/operating.md works as it is written. The demo writes a mail to a folder. With a mail
// server the sample, the mail of the first order and its copy to another address arrive there, each once.
func TestMailWalkThrough(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	folder, server := t.TempDir(), newMailServer(t)
	newShell(t).walk("operating.md", folder, "<!-- smoke mail -->", "smtp://127.0.0.1:1025", server.url)
	var to []string
	for _, arrived := range server.all() {
		is.Equal(arrived.from, "tickets@lagos.example")
		to = append(to, arrived.to)
	}
	is.Equal(to, []string{"ada@example.com", "ada@example.com", "ada.obi@example.com"})
	written, err := filepath.Glob(filepath.Join(folder, "demo.db.mail", "*.eml"))
	is.NoErr(err)
	is.Equal(len(written), 1)
	preview, err := os.ReadFile(filepath.Join(folder, "ticket.html"))
	is.NoErr(err)
	is.True(strings.Contains(string(preview), "Highlife Night"))
}

// The first sign-in of docs/console.md works as it is written, and so does its use of /api/v2.
func TestConsoleWalkThrough(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	output := newShell(t).walk("console.md", t.TempDir(), "<!-- smoke console -->")
	is.True(strings.Contains(output, `"role":"ADMINISTRATOR"`))
	is.True(strings.Contains(output, `{"data":{"email":"ada@example.com"`))
	is.True(strings.Contains(output, `"code":"SIGN_IN_REQUIRED"`))
}

// walk runs the blocks of a document in docs under a mark in a separate shell, in a folder, with the program on the
// path. It applies the replacements first, and returns what the blocks print.
func (s *shell) walk(document, folder, mark string, replacements ...string) string {
	s.t.Helper()
	leftOut(s.t)
	t, is := s.t, is.New(s.t)
	for _, needed := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip("the walk-through is for a shell with " + needed)
		}
	}
	self, err := os.Executable()
	is.NoErr(err)
	bin := t.TempDir()
	program := "#!/bin/sh\n" + asProgram + "=1 exec '" + self + "' \"$@\"\n"
	is.NoErr(os.WriteFile(filepath.Join(bin, "ticketing"), []byte(program), 0o700))

	text := marked(t, "../../docs/"+document, mark)
	is.True(strings.Count(text, "\n") > 10)
	// The server listens on a free port, and ends with the shell.
	begin := `set -euo pipefail
trap 'kill $(jobs -p); wait' EXIT
`
	serve := regexp.MustCompile(`(?m)^(ticketing serve.*) &$`)
	is.Equal(len(serve.FindAllString(text, -1)), 1)
	text = serve.ReplaceAllString(text, `$1 --addr 127.0.0.1:0 2>serve.log &
until grep -q 'listening on' serve.log; do sleep 0.05; done
ORIGIN=$$(sed -n 's/.*listening on //p' serve.log | head -n 1)`)
	text = strings.NewReplacer(append(replacements, "http://127.0.0.1:8080", "$ORIGIN")...).Replace(text)

	cmd := exec.CommandContext(t.Context(), "bash", "-c", begin+text)
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + folder}
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the walk-through failed: %v\n%s", err, output)
	}
	return string(output)
}

// marked returns the shell blocks of a document that follow a mark, in order.
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
