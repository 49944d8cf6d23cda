package main_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

// Every command takes a company by its id, the beginning of its id, or its exact name. A name of several companies is
// refused with their ids. What a short list shows is taken by the beginning of its id, too.
func TestCompanyByName(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	id := sh.object("company", "create", "--name", "Lagos Live")["id"].(string)
	for _, text := range []string{id, strings.ToUpper(id), id[:35], "Lagos Live"} {
		is.Equal(sh.object("company", "show", text)["id"], id)
		is.Equal(len(sh.array("ledger", "list", text)), 0)
		is.Equal(sh.object("stats", "rebuild", "--company", text)["companies"], float64(1))
	}
	code, message := sh.refusal("company", "suspend", "lagos live", "--yes")
	is.Equal(code, "NOT_FOUND")
	is.Equal(message, `no company has this id or name: "ticketing company list" lists them`)
	code, _ = sh.refusal("company", "show", " ")
	is.Equal(code, "INVALID_REQUEST")

	other := sh.object("company", "create", "--name", "Lagos Live")["id"].(string)
	code, message = sh.refusal("company", "suspend", "Lagos Live", "--yes")
	is.Equal(code, "CONFLICT")
	is.True(strings.Contains(message, id) && strings.Contains(message, other))
	is.Equal(sh.object("company", "show", id)["status"], "ACTIVE")

	category := sh.object("category", "create", "--name", "Live music", "--slug", "live-music")["id"].(string)
	is.Equal(sh.object("category", "deactivate", category[:8])["id"], category)
	is.Equal(sh.object("category", "deactivate", "live-music")["id"], category)
	member := sh.object("member", "add", id, "--email", "ada@example.com", "--name", "Ada", "--role", "OWNER")
	user := member["userId"].(string)
	for _, text := range []string{user[:8], "ada@example.com", user} {
		is.Equal(sh.object("member", "update", id, text, "--role", "OWNER")["userId"], user)
	}
}

// What waits for staff, and the events of a company, are listed with their ids.
func TestListsOfIds(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	is.Equal(sh.array("event", "list", shop.companyID)[0]["id"], shop.eventID)
	is.Equal(len(sh.array("event", "list", shop.companyID, "--status", "DRAFT")), 0)
	code, _ := sh.refusal("event", "list", nobody)
	is.Equal(code, "NOT_FOUND")

	sh.bank(shop.companyID)
	settlement := sh.object("settlement", "request", shop.companyID)["id"].(string)
	is.Equal(sh.array("settlement", "list", "--status", "PENDING")[0]["companyName"], "Lagos Live (demo)")
	is.Equal(sh.object("settlement", "approve", settlement[:8], "--yes")["id"], settlement)
	is.Equal(len(sh.array("settlement", "list", "--status", "PENDING")), 0)
	is.Equal(sh.array("settlement", "list")[0]["id"], settlement)
	is.Equal(len(sh.array("settlement", "list", shop.companyID, "--status", "REJECTED")), 0)

	other := sh.object("company", "create", "--name", "Ibadan Live")["id"].(string)
	is.Equal(len(sh.array("kyb", "list")), 2)
	is.Equal(sh.array("kyb", "list", "--status", "UNVERIFIED")[0]["id"], other)
	is.Equal(len(sh.array("kyb", "list", "--status", "SUBMITTED")), 0)
	sh.object("kyb", "edit", other, "--legal-name", "Ibadan Live Ltd", "--registration-number", "RC 1", "--country", "NG",
		"--address", "1 Ring Road", "--contact-name", "Ada Obi", "--contact-email", "ada@example.com", "--contact-phone",
		"+2348000000000")
	sh.object("kyb", "submit", other)
	waiting := sh.array("kyb", "list", "--status", "SUBMITTED")
	is.Equal(len(waiting), 1)
	is.Equal(waiting[0]["id"], other)
	is.True(waiting[0]["submittedAt"] != nil)
}
