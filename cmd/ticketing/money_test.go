package main_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

const (
	accountNumber = "3141592653"
	ill           = "The headliner fell ill"
)

// bank sets the bank account of a shop's company.
func (s *shell) bank(company string) map[string]any {
	s.t.Helper()
	return s.with("TICKETING_ACCOUNT_NUMBER", accountNumber).
		object("bank-account", "set", company, "--bank", "First Bank", "--account-name", "Lagos Live Ltd")
}

// Earnings can be paid out with commands alone. Each prints at least the members that scripts rely on.
func TestSettlementCommands(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop() // It has sold one ticket: 125.00 of commission.
	code, message := sh.refusal("settlement", "request", shop.companyID)
	is.Equal(code+" "+message, "CONFLICT The company has no bank account.")
	is.Equal(sh.bank(shop.companyID)["bankAccountLast4"], "2653")
	is.Equal(sh.object("bank-account", "show", shop.companyID)["bankAccountLast4"], "2653")
	is.Equal(len(sh.array("settlement", "list", shop.companyID)), 0)

	members := []string{"id", "amount", "status", "bankAccountLast4"}
	first := sh.object("settlement", "request", shop.companyID)
	hasMembers(t, first, members...)
	is.Equal(first["amount"], naira("125.00"))
	is.Equal(first["status"], "PENDING")
	is.Equal(sh.object("wallet", "show", shop.companyID)["earnings"], naira("0.00"))
	code, message = sh.refusal("settlement", "request", shop.companyID)
	is.Equal(code+" "+message, "CONFLICT The company has a settlement that is PENDING.")

	id := first["id"].(string)
	rejected := sh.object("settlement", "reject", id, "--reason", "No such account")
	hasMembers(t, rejected, members...)
	is.Equal(rejected["status"], "REJECTED")
	is.Equal(rejected["reason"], "No such account")
	_, message = sh.refusal("settlement", "approve", id)
	is.Equal(message, "The settlement is REJECTED.")
	second := sh.object("settlement", "request", shop.companyID)
	approved := sh.object("settlement", "approve", second["id"].(string))
	hasMembers(t, approved, members...)
	is.Equal(approved["status"], "COMPLETED")
	listed := sh.array("settlement", "list", shop.companyID)
	is.Equal(listed, []map[string]any{approved, rejected})
	is.Equal(sh.object("ledger", "verify")["ok"], true)

	table := sh.run("settlement", "list", shop.companyID)
	is.True(strings.Contains(table.stdout, "ID  "))
	is.True(strings.Contains(table.stdout, "  125.00  COMPLETED  …2653  "))
	code, _ = sh.refusal("settlement", "approve", nobody)
	is.Equal(code, "NOT_FOUND")
}

// An order can be found by its buyer, shown, refunded or cancelled with commands.
func TestOrderCommands(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	members := []string{
		"id", "object", "eventId", "status", "gross", "floatDebited", "commission", "balances", "buyer", "branding", "lines",
		"confirmedAt", "createdAt", "companyId", "ending",
	}
	listed := sh.array("order", "list", shop.companyID)
	is.Equal(len(listed), 1)
	hasMembers(t, listed[0], members...)
	id, email := listed[0]["id"].(string), listed[0]["buyer"].(map[string]any)["email"].(string)
	is.Equal(sh.array("order", "list", shop.companyID, "--email", strings.ToUpper(email)), listed)
	is.Equal(len(sh.array("order", "list", shop.companyID, "--email", "nobody@example.com")), 0)
	is.Equal(sh.array("order", "list", shop.companyID, "--event", shop.eventID, "--status", "CONFIRMED"), listed)
	is.Equal(len(sh.array("order", "list", shop.companyID, "--status", "REFUNDED")), 0)
	is.Equal(len(sh.array("order", "list", shop.companyID, "--event", nobody)), 0)
	shown := sh.object("order", "show", id)
	is.Equal(shown, listed[0])
	line := shown["lines"].([]any)[0].(map[string]any)
	hasMembers(t, line, "id", "admissionId", "title", "tier", "unitPrice", "voided", "validation")
	person := sh.run("order", "show", id).stdout
	is.True(strings.Contains(person, "Status      CONFIRMED\n"))
	is.True(strings.Contains(person, "  not scanned\n"))

	refunded := sh.object("order", "refund", id, "--reason", ill, "--restock")
	hasMembers(t, refunded, members...)
	is.Equal(refunded["status"], "REFUNDED")
	is.Equal(refunded["ending"].(map[string]any)["restocked"], true)
	is.Equal(sh.object("wallet", "show", shop.companyID)["earnings"], naira("0.00"))
	is.Equal(sh.object("order", "refund", id, "--reason", ill), refunded)
	code, message := sh.refusal("order", "cancel", id, "--reason", ill)
	is.Equal(code+" "+message, "CONFLICT The order is REFUNDED.")
	is.True(strings.Contains(sh.run("order", "show", id).stdout, "Reason      "+ill+"\n"))
	is.Equal(sh.object("ledger", "verify")["ok"], true)
	acts := sh.array("audit", "list", shop.companyID)
	is.Equal(acts[0]["action"], "order.refund")
	for _, args := range [][]string{
		{"show", nobody}, {"refund", nobody, "--reason", "r"}, {"cancel", nobody, "--reason", "r"},
	} {
		code, _ := sh.refusal(append([]string{"order"}, args...)...)
		is.Equal(code, "NOT_FOUND")
	}
}

// No output and no error of a command shows an account number, even if it was typed in the wrong place.
func TestCommandsShowNoAccountNumber(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	hyphened := accountNumber[:4] + "-" + accountNumber[4:7] + "-" + accountNumber[7:]
	spaced := strings.ReplaceAll(hyphened, "-", " ")
	set := []string{"bank-account", "set", shop.companyID, "--bank", "First Bank", "--account-name", "Lagos Live Ltd"}
	for _, args := range [][]string{
		append(set, "--account-number", accountNumber),
		append(set, "--account-number", accountNumber, accountNumber),
		append(set, accountNumber),
		append(set, hyphened),
		append(set, spaced),
		append(set, "--account-number", accountNumber, hyphened),
		append(set, "--account-number", accountNumber, spaced),
		append(set, "--account-number", hyphened),
		append(set, "-"+hyphened),
		{"bank-account", hyphened},
		{
			"bank-account", "set", hyphened, "--bank", "First Bank", "--account-name", "Lagos Live Ltd",
			"--account-number", "1234567",
		},
		append(set, "--account-number", accountNumber+"x"),
		append(set, "--account-nubmer", accountNumber),
		append(set, "--account-nubmer="+accountNumber),
		append(set, "-"+accountNumber),
		append(set, "--account-number", "-"+accountNumber),
		append(set, "--account-number", accountNumber, "--bank", ""),
		{
			"bank-account", "set", accountNumber, "--bank", "First Bank", "--account-name", "Lagos Live Ltd",
			"--account-number", "1234567",
		},
		{"bank-account", accountNumber},
		{"bank-account", "show", shop.companyID},
		{"settlement", "request", shop.companyID},
		{"settlement", "list", shop.companyID},
		{"audit", "list"},
		{"audit", "list", shop.companyID, "--json"},
	} {
		for _, flag := range [][]string{nil, {"--json"}} {
			did := sh.run(append(args, flag...)...)
			for _, text := range []string{did.stdout, did.stderr} {
				for part, spelling := range map[int]string{5: accountNumber, 6: spaced, 7: hyphened} {
					for i := range len(spelling) - part + 1 {
						if strings.Contains(text, spelling[i:i+part]) {
							t.Errorf("ticketing %s: %s", strings.Join(args, " "), text)
							break
						}
					}
				}
			}
		}
	}
	is.Equal(sh.object("bank-account", "show", shop.companyID)["bankAccountLast4"], "2653")
}
