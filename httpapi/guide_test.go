package httpapi_test

import (
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/webhook"
)

// A stranger sells a ticket from the guide alone: its commands, all of them, in order and in one shell, do what it says.
func TestGuideIsFollowed(t *testing.T) {
	t.Parallel()
	for _, needed := range []string{"bash", "curl", "openssl"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip("the guide is for a shell with " + needed + ": apt-get install bash curl openssl, or the like")
		}
	}
	is := is.New(t)
	d := deploy(t, nil)
	guide, err := os.ReadFile("guide/guide.md")
	is.NoErr(err)
	script := "set -euo pipefail\n"
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindAllStringSubmatch(string(guide), -1)
	is.Equal(len(blocks), strings.Count(string(guide), "\n```")/2) // No block is of another language, or left out.
	is.True(len(blocks) >= 10)
	for _, block := range blocks {
		script += block[1] + "\n"
	}
	script += `printf 'reader: %s\n' "$EVENT" "$(echo "$ORDER" | field id)" "$T" "$SECRET" "$BODY"`
	shell := exec.CommandContext(t.Context(), "bash", "-c", script)
	shell.Env = append(os.Environ(), "BASE_URL="+d.server.URL+httpapi.DefaultPrefix, "API_KEY="+d.key)
	output, err := shell.CombinedOutput()
	told := string(output)
	if err != nil {
		t.Fatalf("%v\n%s", err, told)
	}
	var reader []string
	for _, line := range regexp.MustCompile(`(?m)^reader: (.*)$`).FindAllStringSubmatch(told, -1) {
		reader = append(reader, line[1])
	}
	is.Equal(len(reader), 5)
	event, order, at, secret, body := reader[0], reader[1], reader[2], reader[3], reader[4]

	// One sale, of two tickets, of the event that the reader made.
	orders := d.call(t, "GET", "/orders?eventId="+url.QueryEscape(event), d.key, nil, "")
	is.Equal(orders.status, 200)
	is.Equal(strings.Count(orders.body, `"object":"order"`), 1)
	is.Equal(orders.text(t, "data", "id"), order)
	is.Equal(orders.text(t, "data", "status"), "CONFIRMED")
	is.Equal(orders.text(t, "data", "gross", "amount"), "30000.00")
	is.Equal(strings.Count(orders.body, `"admissionId"`), 2)

	// One of them was let in, once.
	is.Equal(strings.Count(told, `"outcome":"ADMITTED"`), 1)
	is.Equal(strings.Count(told, `"outcome":"ALREADY_VALIDATED"`), 1)

	// The reader counted one order, and one request was refused, as the guide has it.
	is.True(strings.Contains(told, "\n1\n"))
	is.Equal(strings.Count(told, `{"error":`), 1)

	// The signature by hand is the one that webhooks carry.
	seconds, err := strconv.ParseInt(at, 10, 64)
	is.NoErr(err)
	is.True(strings.Contains(told, "\n"+webhook.Sign(secret, time.Unix(seconds, 0), []byte(body))+"\n"))
}
