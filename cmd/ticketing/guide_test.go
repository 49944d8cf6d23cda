package main_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// One command of the guide is not for its reader's shell but for the person who runs the service. It relays to the
// receiver that the guide starts, with the same secret and address.
func TestGuidesRelay(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	text, err := os.ReadFile("../../httpapi/guide/guide.md")
	is.NoErr(err)
	guide := string(text)
	found := regexp.MustCompile("`ticketing (webhook listen [^`]*)`").FindAllStringSubmatch(guide, -1)
	is.Equal(len(found), 1)
	const secret, address = "svc_whsec_test", "http://127.0.0.1:8083/"
	is.True(strings.Contains(guide, "PORT=${PORT:-8083} WEBHOOK_SECRETS="+secret+"\n"))

	sh := newShell(t)
	company := sh.openShop().companyID
	url, deliveries := heard(t, secret)
	command := strings.Fields(strings.NewReplacer("COMPANY", company, address, url+"/").Replace(found[0][1]))
	is.Equal(command[len(command)-1], url+"/")
	sh.listen(command[2:]...)
	event := sh.object("webhook", "trigger", company, "order.created")
	is.Equal(next(t, deliveries).Event.ID, event["id"])
}
