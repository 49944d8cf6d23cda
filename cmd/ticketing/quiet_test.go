package main_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

// With --quiet a command prints an id alone, and a list one id on each line. A secret that is shown only once takes the
// place of its id, except that of a new endpoint, whose id the next commands need.
func TestQuiet(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	quiet := func(args ...string) string {
		t.Helper()
		did := sh.run(append(args, "-q")...)
		is.Equal(did.status, 0)
		is.Equal(did.stderr, "")
		return strings.TrimSuffix(did.stdout, "\n")
	}
	company := quiet("company", "create", "--name", "Lagos Live")
	is.Equal(quiet("company", "show", company), company)
	is.Equal(quiet("kyb", "approve", company), company)
	other := sh.with("TICKETING_QUIET", "1").run("company", "create", "--name", "Ibadan Live").stdout
	is.Equal(quiet("company", "list"), company+"\n"+strings.TrimSpace(other))
	key := quiet("key", "issue", company, "--name", "gate", "--grants", "COMPANY:ticket:validate")
	is.True(strings.HasPrefix(key, "svc_live."))
	is.Equal(quiet("key", "list", company), strings.Split(key, ".")[1])
	is.True(strings.HasPrefix(quiet("key", "rotate", strings.Split(key, ".")[1]), "svc_live."))
	did := sh.run("webhook", "create", company, "--url", "https://lagos.example/hooks", "--events", "order.created", "-q")
	endpoint := strings.TrimSpace(did.stdout)
	is.Equal(quiet("webhook", "list", company), endpoint)
	is.True(strings.Contains(did.stderr, "The signing secret was not shown."))
	is.True(strings.Contains(did.stderr, `"ticketing webhook rotate `+endpoint+`"`))
	is.True(strings.HasPrefix(quiet("webhook", "rotate", endpoint), "svc_whsec_"))
	link := quiet("staff", "add", "--email", "ada@example.com", "--name", "Ada", "--role", "AUDITOR")
	is.True(strings.HasPrefix(link, "http://localhost:8080/"))
	is.Equal(quiet("staff", "list"), sh.array("staff", "list")[0]["userId"])
	is.Equal(quiet("wallet", "show", company), "") // Wallets have no id.
	is.Equal(quiet("audit", "list"), "")

	// Either is the output for a script. The command line takes precedence over the environment.
	is.Equal(sh.run("company", "list", "-q", "--json").status, 2)
	is.Equal(sh.with("TICKETING_JSON", "1", "TICKETING_QUIET", "1").run("company", "list").status, 2)
	is.Equal(len(sh.with("TICKETING_QUIET", "1").array("company", "list")), 2)
}
