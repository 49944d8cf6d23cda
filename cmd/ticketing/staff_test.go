package main_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

// Staff are added with a link, listed, given another role and removed, by id or by email.
func TestStaff(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	ok := is.New(t)
	sh := newShell(t)
	sh.object("migrate")
	ada := sh.object("staff", "add", "--email", "Ada@Example.com", "--name", "Ada Obi", "--role", "ADMINISTRATOR",
		"--web-origin", "https://tickets.example/")
	hasMembers(t, ada, "userId", "email", "name", "role", "createdAt", "link", "linkExpiresAt")
	ok.Equal(ada["email"], "ada@example.com")
	ok.Equal(ada["role"], "ADMINISTRATOR")
	ok.True(strings.HasPrefix(ada["link"].(string), "https://tickets.example/sign-in/link#"))
	again := sh.object("staff", "add", "--email", "ada@example.com", "--name", "Ada Obi", "--role", "ADMINISTRATOR")
	ok.Equal(again["userId"], ada["userId"])
	ok.True(strings.HasPrefix(again["link"].(string), "http://localhost:8080/sign-in/link#"))
	bisi := sh.object("staff", "add", "--email", "bisi@example.com", "--name", "Bisi", "--role", "SUPPORT")

	ok.Equal(sh.object("staff", "update", bisi["userId"].(string), "--role", "FINANCE")["role"], "FINANCE")
	listed := sh.array("staff", "list")
	ok.Equal(len(listed), 2)
	for _, member := range listed {
		hasMembers(t, member, "userId", "email", "name", "role", "createdAt")
		ok.True(member["email"] != "bisi@example.com" || member["role"] == "FINANCE")
	}
	for _, args := range [][]string{{"update", "ada@example.com", "--role", "AUDITOR"}, {"remove", "ada@example.com"}} {
		code, message := sh.refusal(append([]string{"staff"}, args...)...)
		ok.Equal(code, "CONFLICT")
		ok.True(strings.Contains(message, "keeps one"))
	}
	ok.Equal(sh.object("staff", "remove", "bisi@example.com")["role"], "FINANCE")
	ok.Equal(len(sh.array("staff", "list")), 1)

	for _, test := range []struct {
		args          []string
		code, message string
	}{
		{[]string{"add", "--email", "x", "--name", "X", "--role", "SUPPORT"}, "INVALID_REQUEST", "email"},
		{[]string{"add", "--email", "x@example.com", "--name", "X", "--role", "OWNER"}, "INVALID_REQUEST", "AUDITOR"},
		{[]string{
			"add", "--email", "x@example.com", "--name", "X", "--role", "SUPPORT", "--web-origin", "http://tickets.example",
		}, "INVALID_REQUEST", "https://"},
		{[]string{"update", "bisi@example.com", "--role", "SUPPORT"}, "NOT_FOUND", "member of staff"},
		{[]string{"remove", "nobody@example.com"}, "NOT_FOUND", "user"},
		{[]string{"remove", "bisi"}, "INVALID_REQUEST", "id or the email"},
	} {
		code, message := sh.refusal(append([]string{"staff"}, test.args...)...)
		ok.Equal(code, test.code) // test.args
		ok.True(strings.Contains(message, test.message))
	}
	ok.Equal(len(sh.array("staff", "list")), 1) // A refused origin adds nobody.

	did := sh.run("staff", "add", "--email", "ada@example.com", "--name", "Ada Obi", "--role", "ADMINISTRATOR")
	ok.True(strings.Contains(did.stdout, "\nLink          http://localhost:8080/sign-in/link#"))
}

// A user gets links, is shown with what they are, and is signed out. The audit log has the operator's name.
func TestUser(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	ok := is.New(t)
	sh := newShell(t)
	company := sh.object("company", "create", "--name", "Lagos Live")["id"].(string)
	other := sh.object("company", "create", "--name", "Oja Nights")["id"].(string)
	sh.object("member", "add", company, "--email", "ada@lagos.example", "--name", "Ada Obi", "--role", "OWNER")
	_, origin := sh.serve()

	link := sh.object("user", "link", "Ada@Lagos.Example", "--company", company, "--web-origin", origin)
	hasMembers(t, link, "userId", "email", "companyId", "link", "linkExpiresAt")
	ok.Equal(link["companyId"], company)
	_, path, _ := newVisitor(t).signIn(link["link"].(string))
	ok.Equal(path, "/business/"+company)
	ok.Equal(sh.object("user", "link", "ada@lagos.example")["companyId"], nil)
	code, _ := sh.refusal("user", "link", "ada@lagos.example", "--company", other)
	ok.Equal(code, "NOT_FOUND")
	code, _ = sh.refusal("user", "link", "bisi@lagos.example")
	ok.Equal(code, "NOT_FOUND")

	shown := sh.object("user", "show", "ada@lagos.example")
	hasMembers(t, shown, "userId", "email", "role", "companies", "sessions", "passkeys", "createdAt")
	ok.Equal(shown["role"], nil)
	ok.Equal(shown["companies"].([]any)[0].(map[string]any)["companyName"], "Lagos Live")
	ok.Equal(shown["sessions"].([]any)[0].(map[string]any)["method"], "LINK")
	ok.Equal(shown["passkeys"], []any{})
	text := sh.run("user", "show", "ada@lagos.example").stdout
	ok.True(strings.Contains(text, "Lagos Live ("+company+"), OWNER"))
	ok.True(strings.Contains(text, "by LINK at "))

	out := sh.object("user", "sign-out", "ada@lagos.example", "--actor", "Tunde")
	hasMembers(t, out, "userId", "email", "sessions")
	ok.Equal(out["sessions"], 1.0)
	ok.Equal(sh.object("user", "show", "ada@lagos.example")["sessions"], []any{})
	entry := sh.array("audit", "list")[0]
	ok.Equal(entry["action"], "sign_out")
	ok.True(strings.HasSuffix(entry["actor"].(string), ", claimed: Tunde"))
	ok.Equal(sh.object("user", "sign-out", "ada@lagos.example")["sessions"], 0.0)
}
