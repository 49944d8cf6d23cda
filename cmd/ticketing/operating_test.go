package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/testdb"
)

const all = "COMPANY:event:read,COMPANY:event:manage,COMPANY:inventory:read,COMPANY:inventory:manage," +
	"COMPANY:checkout:create,COMPANY:order:read,COMPANY:ticket:validate"

// A company can be set up with commands alone, from its creation to its first key. Each command prints at least the
// members that scripts rely on.
func TestOperatingCommandsPrintTheirMembers(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	verification := func(company map[string]any) map[string]any {
		t.Helper()
		hasMembers(t, company, "id", "name", "status", "verification")
		verification := company["verification"].(map[string]any)
		hasMembers(t, verification, "status", "approvalExpiresAt", "graceUntil")
		return verification
	}

	sh.object("migrate")
	is.Equal(len(sh.array("company", "list")), 0)
	company := sh.object("company", "create", "--name", "Lagos Live")
	hasMembers(t, company, "id", "name", "status")
	is.Equal(company["status"], "ACTIVE")
	id := company["id"].(string)
	is.Equal(verification(sh.object("company", "show", id))["status"], "UNVERIFIED")
	is.Equal(sh.array("company", "list")[0]["id"], id)
	is.Equal(sh.object("company", "suspend", id)["status"], "SUSPENDED")
	is.Equal(sh.object("company", "activate", id)["status"], "ACTIVE")

	is.Equal(verification(sh.object("kyb", "grace", id, "--until", "2999-01-02"))["graceUntil"],
		"2999-01-02T00:00:00.000Z")
	is.Equal(verification(sh.object("kyb", "reject", id, "--reason", "no papers"))["status"], "REJECTED")
	is.Equal(verification(sh.object("kyb", "revoke", id))["status"], "REVOKED")
	approved := verification(sh.object("kyb", "approve", id, "--expires", "2999-01-02T03:04:05+01:00"))
	is.Equal(approved["status"], "APPROVED")
	is.Equal(approved["approvalExpiresAt"], "2999-01-02T02:04:05.000Z")

	sh.object("kyb", "grace", id, "--until", "2999-01-02")
	is.Equal(verification(sh.object("kyb", "end-grace", id))["graceUntil"], nil)

	edited := sh.object("kyb", "edit", id, "--legal-name", "Lagos Live Ltd", "--registration-number", "RC 1",
		"--country", "ng", "--address", "1 Marina, Lagos",
		"--contact-name", "Ada Obi", "--contact-email", "Ada@Lagos.Example")
	hasMembers(t, edited, "number", "status", "legalName", "registrationNumber", "country", "address", "contactName",
		"contactEmail", "contactPhone", "submittedAt", "decidedAt", "reason", "createdAt", "updatedAt")
	is.Equal(edited["status"], "UNVERIFIED")
	code, message := sh.refusal("kyb", "submit", id)
	is.Equal(code+" "+message, "CONFLICT The verification lacks contactPhone.")
	sh.object("kyb", "edit", id, "--contact-phone", "+234 800")
	is.Equal(sh.object("kyb", "submit", id)["status"], "SUBMITTED")
	file := sh.object("kyb", "show", id)
	hasMembers(t, file, "status", "approvalExpiresAt", "graceUntil", "current", "cases")
	is.Equal(file["status"], "APPROVED") // A renewal leaves the approval as it is.
	is.Equal(file["cases"].([]any)[0].(map[string]any)["country"], "NG")

	is.Equal(sh.object("company", "rename", id, "--name", "Lagos Live Ltd")["name"], "Lagos Live Ltd")
	member := sh.object("member", "add", id, "--email", "Ada@Lagos.Example", "--name", "Ada Obi", "--role", "OWNER")
	hasMembers(t, member, "userId", "email", "name", "role", "createdAt")
	is.Equal(sh.array("member", "list", id), []map[string]any{member})
	user := member["userId"].(string)
	is.Equal(sh.object("member", "update", id, user, "--role", "OWNER")["role"], "OWNER")
	code, _ = sh.refusal("member", "remove", id, user)
	is.Equal(code, "CONFLICT") // the last owner
	viewer := sh.object("member", "add", id, "--email", "bisi@lagos.example", "--name", "Bisi", "--role", "VIEWER")
	is.Equal(sh.object("member", "remove", id, viewer["userId"].(string))["email"], "bisi@lagos.example")

	branding := sh.object("branding", "set", id, "--primary-color", "#aabbcc", "--ticket-footer", "Bring water",
		"--logo-url", "https://cdn.lagos.example/logo.png", "--support-email", "Help@Lagos.Example")
	hasMembers(t, branding, "brandName", "logoUrl", "primaryColor", "accentColor", "checkoutFooter", "ticketFooter",
		"emailFooter", "supportEmail", "emailMode")
	is.Equal(branding["primaryColor"], "#AABBCC")
	is.Equal(branding["ticketFooter"], "Bring water")
	is.Equal(sh.object("branding", "set", id, "--logo-url", "")["logoUrl"], nil)
	is.Equal(sh.object("branding", "show", id)["supportEmail"], "help@lagos.example")

	rate := sh.object("commission", "schedule", id, "--value", "2.50", "--unit", "PERCENT")
	hasMembers(t, rate, "id", "value", "unit", "effectiveFrom")
	is.Equal(rate["value"], "2.5")
	sh.object("commission", "schedule", id, "--value", "300", "--unit", "BASIS_POINTS", "--effective-from", "2999-01-01")
	rates := sh.array("commission", "list", id)
	is.Equal(len(rates), 2)
	hasMembers(t, rates[0], "id", "value", "unit", "effectiveFrom")

	credit := sh.object("float", "credit", id, "--amount", "2500.5", "--reference", "settlement-1")
	is.Equal(credit["applied"], true)
	is.Equal(credit["amount"], naira("2500.50"))
	is.Equal(credit["balanceBefore"], naira("0.00"))
	is.Equal(credit["balanceAfter"], naira("2500.50"))
	is.Equal(sh.object("float", "credit", id, "--amount", "2500.50", "--reference", "settlement-1")["applied"], false)

	wallets := sh.object("wallet", "show", id)
	is.Equal(wallets["float"], naira("2500.50"))
	is.Equal(wallets["earnings"], naira("0.00"))
	is.Equal(wallets["lowBalance"], false)
	is.Equal(wallets["movements"].([]any)[0].(map[string]any)["reference"], "settlement-1")
	hasMembers(t, sh.object("wallet", "suspend", id, "--wallet", "FLOAT"), "float", "earnings", "lowBalance")
	hasMembers(t, sh.object("wallet", "activate", id, "--wallet", "FLOAT"), "float", "earnings", "lowBalance")

	entries := sh.array("ledger", "list", id)
	is.Equal(len(entries), 1)
	hasMembers(t, entries[0], "seq", "wallet", "kind", "amount", "balanceBefore", "balanceAfter", "reference", "createdAt")
	is.Equal(entries[0]["reference"], "settlement-1")
	is.Equal(len(sh.array("ledger", "list", id, "--wallet", "EARNINGS")), 0)
	for _, args := range [][]string{{"ledger", "verify"}, {"ledger", "verify", id}} {
		report := sh.object(args...)
		is.Equal(report["ok"], true)
		hasMembers(t, report, "wallets", "entries")
		is.Equal(report["problems"], []any{})
	}

	key := sh.object("key", "issue", id, "--name", "storefront", "--all-grants")
	hasMembers(t, key, "id", "key", "name", "grants", "status")
	is.True(strings.HasPrefix(key["key"].(string), "svc_live."+key["id"].(string)+"."))
	is.Equal(len(key["grants"].([]any)), 7)
	next := sh.object("key", "rotate", key["id"].(string))
	hasMembers(t, next, "id", "key", "name", "grants", "status")
	revoked := sh.object("key", "revoke", key["id"].(string))
	for _, listed := range append(sh.array("key", "list", id), revoked) {
		hasMembers(t, listed, "id", "name", "grants", "status", "predecessorId", "createdAt", "lastUsedAt", "revokedAt")
		_, shown := listed["key"]
		is.Equal(shown, false) // A key is shown at issue and rotation only.
	}
	is.Equal(revoked["status"], "REVOKED")
	is.Equal(sh.object("key", "issue", id, "--name", "gate", "--grants", all)["grants"], key["grants"])

	category := sh.object("category", "create", "--name", "Music", "--slug", "music")
	hasMembers(t, category, "id", "name", "slug", "status")
	is.Equal(sh.array("category", "list"), []map[string]any{category})
	is.Equal(sh.object("category", "deactivate", category["id"].(string))["status"], "INACTIVE")

	// The audit log keeps who did what, newest first, and never a key.
	acts := sh.array("audit", "list")
	hasMembers(t, acts[0], "at", "actor", "action", "subject", "changes")
	is.Equal(acts[0]["action"], "category.deactivate")
	is.Equal(acts[0]["subject"], "category "+category["id"].(string))
	is.Equal(acts[0]["changes"], map[string]any{"status": map[string]any{"before": "ACTIVE", "after": "INACTIVE"}})
	own := sh.array("audit", "list", id)
	is.Equal(len(own), len(acts)-2)
	is.Equal(own[len(own)-1]["action"], "company.create")
	is.Equal(sh.array("audit", "list", "--action", "category.create"), acts[1:2])
	is.Equal(sh.array("audit", "list", id, "--by", acts[0]["actor"].(string), "--action", "company.create",
		"--since", "2020-01-01"), own[len(own)-1:])
	is.Equal(len(sh.array("audit", "list", "--by", "nobody")), 0)
	is.Equal(len(sh.array("audit", "list", "--until", "2020-01-01")), 0)
	code, _ = sh.refusal("audit", "list", "--since", "2026-12-02", "--until", "2026-12-01")
	is.Equal(code, "INVALID_REQUEST")
	text := fmt.Sprint(acts)
	for _, issued := range []map[string]any{key, next} {
		is.True(!strings.Contains(text, issued["key"].(string)[len("svc_live."):]))
	}
}

// A list is complete, beyond the size of one page, and lists the oldest first.
func TestCompanyListIsWhole(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	const companies = 102 // A page holds 100.
	op := sh.operator()
	for i := range companies - 1 {
		_, err := op.CreateCompany(t.Context(), fmt.Sprintf("Company %d", i))
		is.NoErr(err)
	}
	is.Equal(sh.run("company", "create", "--name", "The latest").status, 0) // The others may share a millisecond.
	listed := sh.array("company", "list")
	is.Equal(len(listed), companies)
	seen := map[any]bool{}
	for _, company := range listed {
		seen[company["id"]] = true
	}
	is.Equal(len(seen), companies)
	is.Equal(listed[companies-1]["name"], "The latest")
	is.Equal(strings.Count(sh.run("company", "list").stdout, "\n"), 1+companies)
}

// An operator ends a published event at once, and the command prints the event as in the contract.
func TestEventEnd(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	event := sh.object("event", "end", shop.eventID)
	is.Equal(event["id"], shop.eventID)
	is.Equal(event["object"], "event")
	is.Equal(event["status"], "ENDED")
	code, _ := sh.refusal("event", "end", shop.eventID)
	is.Equal(code, "CONFLICT")
}

// A buyer of the demo can be shown and erased. What remains names nobody, and a second erasure finds nothing to erase.
func TestBuyerIsErased(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	var email string
	sh.query("SELECT buyer_email FROM ticketing_orders", &email)
	buyer := sh.object("buyer", "show", shop.companyID, "--email", email)
	hasMembers(t, buyer, "email", "fullname", "phone", "userId", "createdAt", "updatedAt")
	is.Equal(buyer["email"], email)
	is.Equal(sh.object("buyer", "erase", shop.companyID, "--email", strings.ToUpper(email)),
		map[string]any{"erased": true, "orders": 1.0})
	is.Equal(sh.object("buyer", "erase", shop.companyID, "--email", email), map[string]any{"erased": false, "orders": 0.0})
	code, _ := sh.refusal("buyer", "show", shop.companyID, "--email", email)
	is.Equal(code, "NOT_FOUND")
	var left string
	sh.query("SELECT buyer_email FROM ticketing_orders", &left)
	is.True(strings.HasPrefix(left, "erased-") && strings.HasSuffix(left, "@erased.invalid"))
	is.Equal(sh.object("ledger", "verify")["ok"], true)
	did := sh.run("audit", "list", shop.companyID)
	is.Equal(did.status, 0)
	is.True(strings.Contains(did.stdout, "buyer.erase"))
	is.True(!strings.Contains(strings.ToLower(did.stdout), strings.ToLower(email)))
}

// A changed ledger is reported, with the problems and exit status 1.
func TestLedgerVerifyFindsAChange(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	unguarded := "DROP TRIGGER ticketing_ledger_entries_no_update"
	if testdb.OnPostgres() {
		unguarded = "DROP TRIGGER ticketing_ledger_entries_no_change ON ticketing_ledger_entries"
	}
	sh.sql(unguarded,
		"UPDATE ticketing_ledger_entries SET reference = 'settlement-1' WHERE wallet = 'FLOAT' AND sequence = 1")
	for _, args := range [][]string{{"ledger", "verify", "--json"}, {"ledger", "verify", shop.companyID, "--json"}} {
		did := sh.run(args...)
		is.Equal(did.status, 1)
		var report struct {
			OK       bool
			Problems []string
		}
		is.NoErr(json.Unmarshal([]byte(did.stdout), &report))
		is.Equal(report.OK, false)
		is.True(len(report.Problems) > 0)
		is.True(strings.Contains(report.Problems[0], shop.companyID))
		code, _ := refused(t, did.stderr)
		is.Equal(code, "LEDGER_INVALID")
	}
	did := sh.run("ledger", "verify")
	is.Equal(did.status, 1)
	is.True(strings.Contains(did.stdout, "Problem"))
}

// Without --json, commands print tables and lines.
func TestOutputForPeople(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	did := sh.run("company", "create", "--name", "Lagos Live")
	is.Equal(did.status, 0)
	is.True(strings.Contains(did.stdout, "Name              Lagos Live\n"))
	id := sh.array("company", "list")[0]["id"].(string)
	sh.run("kyb", "approve", id)
	sh.run("float", "credit", id, "--amount", "12", "--reference", "settlement-1")
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"company", "list"}, []string{"ID ", " NAME ", "VERIFICATION", "Lagos Live  ACTIVE  APPROVED"}},
		{
			[]string{"wallet", "show", id},
			[]string{"FLOAT        NGN 12.00  ACTIVE\n", "Low balance  yes\n", "FLOAT_CREDIT  NGN 12.00  settlement-1\n"},
		},
		{[]string{"ledger", "list", id}, []string{"SEQ  WALLET", "  1  FLOAT", "settlement-1"}},
		{[]string{"ledger", "verify"}, []string{"OK       yes\n"}},
		{[]string{"key", "list", id}, []string{"ID  NAME  STATUS"}},
		{[]string{"version"}, []string{"Version ", "Commit ", "Go "}},
	} {
		did := sh.run(test.args...)
		is.Equal(did.status, 0)
		for _, want := range test.want {
			if !strings.Contains(did.stdout, want) {
				t.Errorf("ticketing %s: %q is missing in\n%s", strings.Join(test.args, " "), want, did.stdout)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	version := newShell(t).object("version")
	hasMembers(t, version, "version", "commit", "go")
}
