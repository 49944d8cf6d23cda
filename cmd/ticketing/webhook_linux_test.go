package main_test

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// A terminal shows the progress of a replay. An interrupted replay reports how many deliveries it replayed, and these
// remain.
func TestReplayOnATerminal(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	company := sh.openShop().companyID
	receiver := ticketingtest.NewWebhooks(t)
	sh.hooked(company, receiver, "order.created")
	const events = 6
	sh.triggered(company, events)
	p, _ := sh.sends(receiver)
	sh.settled(company, events)
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)

	person, err := terminal(t)
	var stdout bytes.Buffer
	args := []string{"webhook", "replay", "--company", company, "--status", "SUCCEEDED", "--yes"}
	getenv := func(name string) string { return sh.env[name] }
	is.Equal(program.Run(t.Context(), args, getenv, strings.NewReader(""), &stdout, err), 0)
	is.Equal(stdout.String(), "Replayed  6\nSkipped   0\n")
	is.NoErr(err.Close())
	seen, _ := io.ReadAll(person) // It ends with an error, as a terminal does.
	is.True(strings.Contains(string(seen), "replaying [##############################] 100 %  6 of 6"))
	is.True(strings.HasSuffix(string(seen), "\r\x1b[K"))

	slow := sh.start("webhook", "replay", "--company", company, "--status", "SUCCEEDED", "--rate", "1", "--json")
	eventually(t, "some are replayed", func() bool {
		return len(sh.array("webhook", "deliveries", company)) >= 2*events+2
	})
	slow.signal(syscall.SIGINT)
	is.Equal(slow.wait(), 1)
	code, message := refused(t, slow.errors())
	is.Equal(code, "INTERRUPTED")
	made := len(sh.array("webhook", "deliveries", company)) - 2*events
	is.True(made < events)
	is.True(strings.HasPrefix(message, "interrupted, after ") && strings.Contains(message, " replay"))
	is.Equal(strings.Fields(message)[2], strconv.Itoa(made))
}
