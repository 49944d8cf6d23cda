package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/webhook"
	"github.com/floatgate/ticketing/widget"
)

// guideBlock is a block of the guide: commands, an answer that the commands before it print, or lines for a page.
type guideBlock struct{ language, text string }

func guideBlocks(t *testing.T) []guideBlock {
	t.Helper()
	is := is.New(t)
	if testing.Short() {
		t.Skip("-short leaves the guide's shell out")
	}
	for _, needed := range []string{"bash", "curl", "openssl", "python3"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip("the guide is for a shell with " + needed + ": apt-get install bash curl openssl python3, or the like")
		}
	}
	guide, err := os.ReadFile("guide/guide.md")
	is.NoErr(err)
	var blocks []guideBlock
	form := regexp.MustCompile("(?s)\n```(sh|go|ts|python|json|html|js|text)\n(.*?)\n```\n")
	for _, block := range form.FindAllStringSubmatch(string(guide), -1) {
		blocks = append(blocks, guideBlock{block[1], block[2]})
	}
	is.Equal(len(blocks), strings.Count(string(guide), "\n```")/2) // No block has another language, or is left out.
	is.True(len(blocks) >= 20)
	return blocks
}

// A reader sells a ticket with the guide alone. Its commands, all of them, in order and in one shell, do what it says,
// and print the answers that it shows.
func TestGuideIsFollowed(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	blocks := guideBlocks(t)
	d := deploy(t, nil)
	keys, err := d.staff.ListAPIKeys(t.Context(), d.company)
	is.NoErr(err)
	successor, err := d.staff.RotateAPIKey(t.Context(), keys[0].ID)
	is.NoErr(err)
	careless := &lossy{Handler: d.handler(t), path: httpapi.DefaultPrefix + "/checkouts", nth: 2}
	server := httptest.NewServer(widget.New(&widget.Config{Other: careless}))
	t.Cleanup(server.Close)

	script := "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"
	for i, block := range blocks {
		if block.language == "sh" {
			script += fmt.Sprintf("printf '\\nblock %d\\n'\n%s\n", i, block.text)
		}
	}
	script += `printf 'reader: %s\n' "$EVENT" "$(echo "$ORDER" | field id)" "$SIGNATURE" ` +
		`"$(printf %s "$BODY" | openssl base64 -A)" "$CODE"`
	shell := exec.CommandContext(t.Context(), "bash", "-c", script)
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "BASE_URL="+server.URL+httpapi.DefaultPrefix, "API_KEY="+d.key,
		"NEW_KEY="+successor.Key, "PORT="+freePort(t))
	shell.WaitDelay = time.Minute
	output, err := shell.CombinedOutput()
	told := string(output)
	if err != nil {
		t.Fatalf("%v\n%s", err, told)
	}
	printed := make(map[int]string)
	for _, part := range strings.Split(told, "\nblock ")[1:] {
		number, text, _ := strings.Cut(part, "\n")
		i, err := strconv.Atoi(number)
		is.NoErr(err)
		printed[i] = text
	}
	before := 0 // the commands before a block
	for i, block := range blocks {
		if block.language == "sh" {
			before = i
		}
		if block.language == "json" && !showsAnswer(t, printed[before], block.text) {
			t.Errorf("the guide shows\n%s\nafter what prints\n%s", block.text, printed[before])
		}
	}

	var reader []string
	for _, line := range regexp.MustCompile(`(?m)^reader: (.*)$`).FindAllStringSubmatch(told, -1) {
		reader = append(reader, line[1])
	}
	is.Equal(len(reader), 5)
	event, order, signature := reader[0], reader[1], reader[2]
	body, err := base64.StdEncoding.DecodeString(reader[3])
	is.NoErr(err)

	// One sale, of two tickets, of the event that the reader made, although an answer was lost.
	is.True(careless.lost.Load())
	is.True(strings.Contains(told, "\none order, not two\n"))
	orders := d.call(t, "GET", "/orders?eventId="+url.QueryEscape(event), successor.Key, nil, "")
	is.Equal(orders.status, 200)
	is.Equal(strings.Count(orders.body, `"object":"order"`), 1)
	is.Equal(orders.text(t, "data", "id"), order)
	is.Equal(orders.text(t, "data", "status"), "CONFIRMED")
	is.Equal(orders.text(t, "data", "gross", "amount"), "30000.00")
	is.Equal(strings.Count(orders.body, `"admissionId"`), 2)

	// One of them was admitted, once, by the code that the library makes.
	eventID, admissionID, err := ticketing.ParseAdmissionCode(reader[4])
	is.NoErr(err)
	is.Equal(reader[4], ticketing.FormatAdmissionCode(eventID, admissionID))
	is.Equal(eventID.String(), event)
	is.Equal(orders.text(t, "data", "lines", "admissionId"), admissionID.String())
	is.Equal(strings.Count(told, `"outcome":"ADMITTED"`), 1)
	is.Equal(strings.Count(told, `"outcome":"ALREADY_VALIDATED"`), 1)

	// The successor of the key works, and the predecessor is not used any more (section 5.1).
	is.True(strings.Contains(told, "\nthe key gets 200\n"))
	used, err := d.staff.ListAPIKeys(t.Context(), d.company)
	is.NoErr(err)
	for _, key := range used {
		is.Equal(key.LastUsedAt != nil, key.ID == successor.ID)
	}

	// The contract was read, events were listed before one was made, and one request was refused, as the guide says.
	is.True(strings.Contains(told, "\"title\": \"Service Public API\",\n    \"version\": \"1\",\n"))
	is.Equal(strings.Count(told, `"data":[],`), 1)
	is.Equal(strings.Count(told, `"object":"event"`), 1)
	is.Equal(strings.Count(told, `{"error":`), 1)

	// The receiver accepted the event, and its repetition, and refused the altered one; it agrees with the orders.
	is.Equal(regexp.MustCompile(`(?m)^(204|400|5..)$`).FindAllString(told, -1), []string{"204", "204", "400"})
	is.True(strings.Contains(told, "\norders and webhooks agree: 1\n"))

	// The signature by hand equals the one that webhooks carry.
	at, _, _ := strings.Cut(strings.TrimPrefix(signature, "t="), ",")
	seconds, err := strconv.ParseInt(at, 10, 64)
	is.NoErr(err)
	is.Equal(signature, webhook.Sign("svc_whsec_test", time.Unix(seconds, 0), body))
}

// A reader in another language gets as far: the blocks of each make one program that sells two tickets, once, admits
// one of them, receives a webhook of the sale, and finds that both agree.
func TestGuideInEachLanguage(t *testing.T) {
	t.Parallel()
	blocks := guideBlocks(t)
	for _, language := range []string{"go", "ts", "python"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			d := deploy(t, nil)
			var program string
			for _, block := range blocks {
				const place = "\t// The other blocks go here, in order.\n"
				switch {
				case block.language != language:
				case language == "go" && program != "":
					program = strings.Replace(program, place, block.text+"\n"+place, 1)
				default:
					program += block.text + "\n"
				}
			}
			program = strings.NewReplacer(
				"https://tickets.example/api/public/v1", d.server.URL+httpapi.DefaultPrefix, "svc_live.key-id.secret", d.key,
				"8083", freePort(t),
			).Replace(program)
			printed := runSamples(t, language, []string{"guide"}, map[string]string{"guide": program})
			for _, said := range []string{
				"one order, not two\n", "ADMITTED\nALREADY_VALIDATED\n", "NOT_FOUND", "\norders and webhooks agree: 1\n",
			} {
				is.True(strings.Contains(printed, said)) // said
			}
			is.Equal(regexp.MustCompile(`(?m)^(204|400|5..)$`).FindAllString(printed, -1), []string{"204", "204", "400"})
			orders := d.call(t, "GET", "/orders", d.key, nil, "")
			is.Equal(strings.Count(orders.body, `"object":"order"`), 1)
			is.Equal(orders.text(t, "data", "gross", "amount"), "30000.00")
			is.True(strings.Contains(printed, "sold "+orders.text(t, "data", "id")+"\n"))
		})
	}
}

// The guide's loop over the pages of a listing finds every order, once.
func TestGuidePages(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	d := deploy(t, nil)
	event := d.newEvent(t, "PUBLISHED")
	d.stock(t, event, "VIP", "10.00", 201)
	for i := range 201 { // more than two pages
		r := d.call(t, "POST", "/checkouts", d.key, keyed(fmt.Sprintf("guide-pages-%d", i)), `{"eventId":"`+event+`",
			"buyer":{"email":"ada@example.com"},
			"lines":[{"tier":"VIP","quantity":1,"expectedUnitPrice":"10.00","currency":"NGN"}]}`)
		is.Equal(r.status, 201)
	}
	script := "set -euo pipefail\n"
	for _, block := range guideBlocks(t) {
		if block.language != "sh" {
			continue
		}
		if strings.Contains(block.text, "BASE_URL=") || strings.Contains(block.text, "\nfield() {") ||
			strings.Contains(block.text, "CURSOR=") {
			script += block.text + "\n"
		}
	}
	shell := exec.CommandContext(t.Context(), "bash", "-c", script)
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "BASE_URL="+d.server.URL+httpapi.DefaultPrefix, "API_KEY="+d.key, "EVENT="+event)
	told, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, told)
	}
	sold, err := os.ReadFile(filepath.Join(shell.Dir, "sold"))
	is.NoErr(err)
	ids := strings.Fields(string(sold))
	slices.Sort(ids)
	is.Equal(len(ids), 201)
	is.Equal(len(slices.Compact(ids)), 201)
}

// The guide's receivers and package webhook agree on every signature (section 6.4). The one in Go is the package's.
func TestGuideReceiversVerify(t *testing.T) {
	t.Parallel()
	const vectors = "../webhook/testdata/signatures.json"
	judge := map[string]func(verify string) *exec.Cmd{
		"python3": func(verify string) *exec.Cmd {
			return exec.CommandContext(t.Context(), "python3", "-c", "import hashlib, hmac, json, re, sys, time\n\n"+verify+`

vectors = json.load(open(sys.argv[1], encoding="utf-8"))["verify"]
for v in vectors:
    time.time = lambda: v["now"]
    if verify(v["header"], v["body"].encode(), v["secrets"]) != (v["result"] == "ok"):
        print(v["name"])
print(len(vectors) > 50)
`, vectors)
		},
		"node": func(verify string) *exec.Cmd {
			return exec.CommandContext(t.Context(), "node", "--input-type=module", "-e",
				`import { createHmac, timingSafeEqual } from "node:crypto"; import { readFileSync } from "node:fs";`+"\n"+verify+`
const vectors = JSON.parse(readFileSync(process.argv[1], "utf8")).verify;
for (const v of vectors) {
  Date.now = () => v.now * 1000;
  if (verify(v.header, Buffer.from(v.body), v.secrets) !== (v.result === "ok")) console.log(v.name);
}
console.log(vectors.length > 50 ? "True" : "False");
`, vectors)
		},
	}
	count := 0
	for _, block := range guideBlocks(t) {
		for program, declared := range map[string]struct{ begin, end string }{
			"python3": {"\ndef verify(", "\ndef accept("}, "node": {"\nfunction verify(", "\nfunction accept("},
		} {
			_, after, found := strings.Cut(block.text, declared.begin)
			if !found {
				continue
			}
			count++
			t.Run(block.language, func(t *testing.T) {
				is := is.New(t)
				if _, err := exec.LookPath(program); err != nil {
					t.Skip("the receiver needs " + program + ": apt-get install nodejs python3, or the like")
				}
				verify, _, _ := strings.Cut(declared.begin+after, declared.end)
				found, err := judge[program](verify).CombinedOutput()
				is.Equal(string(found), "True\n")
				is.NoErr(err)
			})
		}
	}
	is.New(t).Equal(count, 3) // for the shell, in TypeScript and in Python
}

// The guide says what to do about every code, what every grant is for, and what each type of event means.
func TestGuideIsComplete(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text, err := os.ReadFile("guide/guide.md")
	is.NoErr(err)
	guide := string(text)
	chapter := func(title string) string {
		_, after, found := strings.Cut(guide, "\n## "+title+"\n")
		is.True(found)
		here, _, _ := strings.Cut(after, "\n## ")
		return here
	}
	for _, code := range ticketing.Codes() {
		is.True(strings.Contains(chapter("Errors, by what to do"), "`"+string(code)+"`"))
	}
	for _, grant := range ticketing.AllGrants() {
		is.True(strings.Contains(chapter("Keys"), "| `"+string(grant)+"` |"))
	}
	for _, event := range ticketing.WebhookEventTypes() {
		is.True(strings.Contains(chapter("Webhooks"), "`"+string(event)+"`"))
	}
}

// The guide's limits are all those of section 8, with the numbers of the document and the code.
func TestGuideLimits(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text, err := os.ReadFile("openapi.json")
	is.NoErr(err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	is.NoErr(decoder.Decode(&document))
	of := func(path ...string) any {
		at := document
		for _, name := range append([]string{"components"}, path...) {
			at = at.(map[string]any)[name]
		}
		return at
	}
	text, err = os.ReadFile("guide/guide.md")
	is.NoErr(err)
	_, after, _ := strings.Cut(string(text), "\n## Limits\n")
	chapter, _, _ := strings.Cut(after, "\n## ")
	number := regexp.MustCompile(`\d+(,\d{3})*(\.\d+)?`)
	told := make(map[string]string)
	for _, row := range regexp.MustCompile(`(?m)^\| (.+) \| (.*\d.*) \|$`).FindAllStringSubmatch(chapter, -1) {
		told[row[1]] = strings.ReplaceAll(strings.Join(number.FindAllString(row[2], -1), " "), ",", "")
	}

	numbers := func(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }
	lengths := func(schema string, members ...string) string {
		var found []any
		for _, name := range members {
			found = append(found, of("schemas", schema, "properties", name, "maxLength"))
		}
		return numbers(found...)
	}
	key, id := []string{"parameters", "IdempotencyKey", "schema"}, []string{"parameters", "XRequestId", "schema"}
	category := []string{"schemas", "TicketCategoryInput"}
	in := func(path []string, name string) any { return of(append(slices.Clone(path), name)...) }
	is.Equal(told, map[string]string{
		"requests": numbers(httpapi.DefaultRateLimit, httpapi.RateWindow.Seconds()),
		"page": numbers(
			1, ticketing.MaxPageLimit, ticketing.DefaultPageLimit, of("parameters", "cursor", "schema", "maxLength"),
		),
		"`Idempotency-Key`":                 numbers(in(key, "minLength"), in(key, "maxLength")),
		"`X-Request-Id`":                    numbers(in(id, "minLength"), in(id, "maxLength")),
		"admissions in a quote or checkout": numbers(ticketing.MaxAdmissions),
		"admissions in one call that adds inventory": numbers(
			of("schemas", "InventoryCreate", "properties", "quantity", "maximum"), ticketing.MaxTierAdmissions,
		),
		"ticket categories of an event": numbers(
			ticketing.MaxTicketCategories, in(category, "minLength"), in(category, "maxLength"),
		),
		"money": numbers(0, money.MaxInput),
		"title, description, location, venue, imageUrl, organizerName": lengths(
			"EventCreate", "title", "description", "location", "venue", "imageUrl", "organizerName",
		),
		"title and description of inventory": lengths("InventoryCreate", "title", "description"),
		"email, fullname, phone of a buyer":  lengths("BuyerInput", "email", "fullname", "phone"),
		"location of a validation":           lengths("ValidationRequest", "location"),
		"body":                               numbers(httpapi.DefaultMaxBodyBytes >> 10),
		"webhook endpoints of a company":     numbers(ticketing.MaxWebhookEndpoints),
		"receiver of webhooks":               numbers(delivery.MaxTimeout.Seconds(), ticketing.MaxDeliveryAttempts, 5),
		"time in a webhook's signature":      numbers(webhook.Tolerance.Seconds()),
		"`balance.low`":                      ticketing.LowBalance.String(),
		"branding: brandName, logoUrl, each footer, supportEmail": lengths(
			"Branding", "brandName", "logoUrl", "checkoutFooter", "supportEmail",
		),
		// Limits that neither the document nor an exported constant has, by section 8.
		"active API keys of a company":              "2 2 80",
		"body of a receiver's response":             "64",
		"commission rate":                           "10000 100 1",
		"provider's reference of a credit of FLOAT": "8 128",
	})
}

// The times between webhook retries, and the receiver's timeout, are given in words: in the guide, and in the
// description of each type (sections 6.3 and 6.5).
func TestWebhookTimesAreShown(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	waits := "5"
	for tried := 1; tried < ticketing.MaxDeliveryAttempts-1; tried++ {
		joint := ", "
		if tried == ticketing.MaxDeliveryAttempts-2 {
			joint = " and "
		}
		waits += joint + strconv.Itoa(5<<tried)
	}
	answer := fmt.Sprintf("within %d seconds", int(delivery.MaxTimeout.Seconds()))
	for file, times := range map[string]int{"guide/guide.md": 1, "openapi.json": len(ticketing.WebhookEventTypes())} {
		text, err := os.ReadFile(file)
		is.NoErr(err)
		told := strings.Join(strings.Fields(string(text)), " ")
		is.Equal(strings.Count(told, waits+" seconds"), times)
		is.True(strings.Count(told, answer) >= times)
	}
}

// lossy sells as the handler does, and loses one answer to it: the client's connection ends.
type lossy struct {
	http.Handler
	path string
	nth  int32
	seen atomic.Int32
	lost atomic.Bool
}

func (h *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == h.path && h.seen.Add(1) == h.nth {
		h.Handler.ServeHTTP(httptest.NewRecorder(), r)
		h.lost.Store(true)
		panic(http.ErrAbortHandler)
	}
	h.Handler.ServeHTTP(w, r)
}

// freePort finds a port below the ephemeral ports of the system, so that it is still free when the reader's receiver
// takes it.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:"+port)
		if err == nil {
			is.New(t).NoErr(listener.Close())
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// showsAnswer reports whether a printed line is the JSON value that is shown. The shown value may leave members out,
// and has its own ids and times.
func showsAnswer(t *testing.T, printed, shown string) bool {
	t.Helper()
	is := is.New(t)
	var want any
	is.NoErr(json.Unmarshal([]byte(shown), &want))
	for line := range strings.Lines(printed) {
		var got any
		if json.Unmarshal([]byte(line), &got) == nil && isPart(want, got) {
			return true
		}
	}
	return false
}

var (
	idPattern   = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	timePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// isPart reports whether all of one JSON value is in another.
func isPart(part, whole any) bool {
	switch part := part.(type) {
	case map[string]any:
		members, ok := whole.(map[string]any)
		for name, value := range part {
			there, found := members[name]
			ok = ok && found && isPart(value, there)
		}
		return ok
	case []any:
		items, ok := whole.([]any)
		ok = ok && len(items) == len(part)
		for i := 0; ok && i < len(part); i++ {
			ok = isPart(part[i], items[i])
		}
		return ok
	case string:
		text, ok := whole.(string)
		for _, pattern := range []*regexp.Regexp{idPattern, timePattern} {
			if ok && pattern.MatchString(part) {
				return pattern.MatchString(text)
			}
		}
		return ok && text == part
	default:
		return reflect.DeepEqual(part, whole)
	}
}
