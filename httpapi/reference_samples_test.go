package httpapi_test

import (
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
)

// sampleOrder is the order in which the samples of the reference make up a sale, from an event to its end.
var sampleOrder = []string{
	"createEvent", "listEvents", "getEvent", "updateEvent", "createInventory", "listInventory", "updateInventory",
	"createQuote", "createCheckout", "listOrders", "getOrder", "validateAdmission", "cancelInventory", "cancelEvent",
}

// samplesOf returns the samples of a page by operation and language, as its reader would copy them.
func samplesOf(t *testing.T, file string) map[string]map[string]string {
	t.Helper()
	page, err := os.ReadFile(file)
	is.New(t).NoErr(err)
	all := make(map[string]map[string]string)
	section := regexp.MustCompile(`(?s)<section class="op" id="(\w+)".*?</section>`)
	block := regexp.MustCompile(`(?s)<pre class="(curl|go|ts|python)"[^>]*><code[^>]*>(.*?)</code></pre>`)
	for _, found := range section.FindAllStringSubmatch(string(page), -1) {
		for _, sample := range block.FindAllStringSubmatch(found[0], -1) {
			if all[found[1]] == nil {
				all[found[1]] = make(map[string]string)
			}
			all[found[1]][sample[1]] = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(sample[2], ""))
		}
	}
	return all
}

// runners run files in order, and fail with the first that fails. Those of Go are one program.
var runners = map[string]struct{ needs, extension string }{
	"curl": {"curl", ".sh"}, "go": {"go", ".go"}, "ts": {"node", ".mjs"}, "python": {"python3", ".py"},
}

// runSamples runs programs in one language, and returns what they print.
func runSamples(t *testing.T, language string, names []string, programs map[string]string) string {
	t.Helper()
	is := is.New(t)
	runner := runners[language]
	if testing.Short() {
		t.Skip("-short leaves the samples out")
	}
	if _, err := exec.LookPath(runner.needs); err != nil {
		t.Skip("the sample is for a shell with " + runner.needs + ": apt-get install curl nodejs python3, or the like")
	}
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name+runner.extension)
		is.NoErr(os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	var files []string
	for _, name := range names {
		text := programs[name]
		if language == "go" { // One program has one main.
			is.Equal(strings.Count(text, "func main() {"), 1)
			text = strings.Replace(text, "func main() {", "func "+name+"() {", 1)
		}
		files = append(files, write(name, text))
	}
	var command *exec.Cmd
	switch language {
	case "curl":
		script := "set -euo pipefail\n"
		for _, file := range files {
			script += "source " + file + "; echo\n"
		}
		command = exec.CommandContext(t.Context(), "bash", "-c", script)
	case "python":
		command = exec.CommandContext(t.Context(), "python3", append([]string{
			"-c", "import runpy, sys\nfor file in sys.argv[1:]: runpy.run_path(file, run_name='__main__')",
		}, files...)...)
	case "ts":
		command = exec.CommandContext(t.Context(), "node", append([]string{
			"--input-type=module", "-e", "for (const file of process.argv.slice(1)) await import(file);",
		}, files...)...)
	case "go":
		program := filepath.Join(folder, "samples")
		files = append(files, write("main", "package main\n\nfunc main() {\n\t"+strings.Join(names, "()\n\t")+"()\n}\n"))
		built, err := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", program}, files...)...).
			CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, built)
		}
		command = exec.CommandContext(t.Context(), program)
	}
	command.Dir = folder // for the files that they write
	printed, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", language, err, printed)
	}
	return string(printed)
}

// Every operation of the reference has a sample in each of four languages, and they do what they say: put together,
// they sell a ticket, admit it and cancel the event. Only the address, the key and the ids are others.
func TestReferenceSamples(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	samples := samplesOf(t, "docs/reference.html")
	is.New(t).Equal(len(samples), len(sampleOrder))
	for language := range runners {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			event := d.newEvent(t, "PUBLISHED")
			d.stock(t, event, "GENERAL_ADMISSION", "5000.00", 10)
			sold := d.call(t, "POST", "/checkouts", d.key, keyed("before-"+language), `{"eventId":"`+event+`",
				"buyer":{"email":"ada@example.com"}, "lines":[{"tier":"GENERAL_ADMISSION","quantity":1,
				"expectedUnitPrice":"5000.00","currency":"NGN"}]}`)
			is.Equal(sold.status, 201)
			mine := strings.NewReplacer(
				"https://tickets.example/api/public/v1", d.server.URL+httpapi.DefaultPrefix, "svc_live.key-id.secret", d.key,
				"8d72c79c-55b2-4673-8bed-81895646bf1c", event, "61278539-2138-402d-bc4f-df02b19210ea", sold.text(t, "data", "id"),
				"59a28c48-7ce4-448f-af36-7192eefea57e", sold.text(t, "data", "lines", "admissionId"),
				"-1001", "-1001-"+language,
			)
			programs := make(map[string]string)
			for _, operation := range sampleOrder {
				is.True(samples[operation][language] != "") // operation
				programs[operation] = mine.Replace(samples[operation][language])
			}
			printed := runSamples(t, language, sampleOrder, programs)
			is.True(!strings.Contains(printed, `"error"`)) // curl succeeds with a refusal, too.

			orders := d.call(t, "GET", "/orders?eventId="+event, d.key, nil, "").body
			is.Equal(strings.Count(orders, `"object":"order"`), 2)
			is.True(strings.Contains(orders, `"gross":{"amount":"40000.00","currency":"NGN"}`))
			ended := d.call(t, "GET", "/events/"+event, d.key, nil, "")
			is.Equal(ended.text(t, "data", "status"), string(ticketing.EventCancelled))
			is.Equal(ended.text(t, "data", "location", "venue"), "Main Hall")
			again := d.call(t, "POST", "/events/"+event+"/admissions/"+sold.text(t, "data", "lines", "admissionId")+"/validate",
				d.key, keyed("after-"+language), `{}`)
			is.Equal(again.text(t, "data", "outcome"), "ALREADY_VALIDATED")
			is.Equal(again.text(t, "data", "location"), "Gate 2")
		})
	}
}
