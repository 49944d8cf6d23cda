package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

// A server whose issuer does not answer starts all the same, with its button on the sign-in page.
func TestServeWithAnIssuerThatIsDown(t *testing.T) {
	t.Parallel()
	leftOut(t)
	ok := is.New(t)
	sh := newShell(t).with("TICKETING_OIDC_CLIENT_SECRET", "hush")
	p, origin := sh.serve("--oidc-issuer", "http://127.0.0.1:1", "--oidc-client-id", "console")
	status, _, text := newVisitor(t).visit(origin + "/sign-in")
	ok.Equal(status, http.StatusOK)
	ok.True(strings.Contains(text, "Sign in with 127.0.0.1"))
	status, _, _ = newVisitor(t).visit(origin + "/sign-in/oidc/begin")
	ok.Equal(status, http.StatusServiceUnavailable)
	ok.True(!strings.Contains(p.errors(), "hush"))
}

func TestIssuerFlagsThatAreRefused(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	for args, want := range map[string]string{
		"serve --oidc-issuer https://a.example":    "--oidc-issuer needs --oidc-client-id, which is missing",
		"serve --oidc-client-id console":           "--oidc-client-id needs --oidc-issuer, which is missing",
		"serve --no-console --oidc-client-id c":    "--oidc-client-id needs --oidc-issuer, which is missing",
		"serve --oidc-client-secret hush":          "unknown flag --oidc-client-secret", // others can see it
		"serve --oidc-issuer a --oidc-client-id c": "--oidc-issuer: must be an https address",
	} {
		sh := newShell(t).with("TICKETING_DATABASE", "memory:")
		did := sh.run(append(strings.Fields(args), "--addr", "127.0.0.1:0")...)
		is.New(t).True(strings.Contains(did.stderr, want)) // args
		is.New(t).True(!strings.Contains(did.stderr, "hush"))
	}
	sh := newShell(t).with("TICKETING_DATABASE", "memory:").with("TICKETING_OIDC_CLIENT_SECRET", "hush")
	did := sh.run("serve", "--addr", "127.0.0.1:0")
	is.New(t).True(strings.Contains(did.stderr, "TICKETING_OIDC_CLIENT_SECRET needs --oidc-issuer, which is missing"))
}
