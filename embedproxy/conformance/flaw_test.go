package conformance_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/embedproxy/conformance"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/search"
)

// checkReference runs the suite over a reference proxy without a network.
func checkReference(t *testing.T, proxy *reference, config conformance.Config) conformance.Report {
	t.Helper()
	config.Upstream = conformance.NewUpstream()
	proxy.upstream, proxy.base = inMemory{config.Upstream}, referenceHost+conformance.Prefix
	config.Proxy = "http://shop.test/proxy"
	config.Client = &http.Client{Transport: inMemory{proxy}}
	config.Header = http.Header{"Cookie": {sessionCookie}}
	report, err := conformance.Run(t.Context(), config)
	is.New(t).NoErr(err)
	return report
}

// The reference proxy without a flaw passes over a network, with every check that can be asked for.
func TestReference(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	listener := listen(t)
	server := httptest.NewServer(&reference{
		upstream: http.DefaultTransport, base: "http://" + listener.Addr().String() + conformance.Prefix,
	})
	t.Cleanup(server.Close)
	report, err := conformance.Run(t.Context(), conformance.Config{
		Proxy: server.URL + "/proxy", Listener: listener, Header: http.Header{"Cookie": {sessionCookie}},
	})
	is.NoErr(err)
	expectOK(t, report)
	is.Equal(report.Count(conformance.Failed), 0)
}

// A proxy that is broken on purpose fails the checks of the broken rule, and no other.
func TestFlaws(t *testing.T) {
	t.Parallel()
	race.Leave(t, "requests that are sent one after the other")
	n := 12
	if testing.Short() {
		n = 20
	}
	for _, test := range search.Every(n, 0, flaws) {
		t.Run(test.flaw, func(t *testing.T) {
			t.Parallel()
			if search.Everywhere() && search.Over() {
				return
			}
			synctest.Test(t, func(t *testing.T) {
				expectFailures(t, checkReference(t, &reference{flaw: test.flaw}, conformance.Config{}), test.fails)
			})
		})
	}
}

// expectFailures fails the test if other checks failed than these, each a rule and a part of the check's name. A rule
// alone stands for any number of its checks.
func expectFailures(t *testing.T, report conformance.Report, fails []string) {
	t.Helper()
	failed := map[string]bool{}
	for _, check := range report.Checks {
		if check.Status != conformance.Failed {
			continue
		}
		at := slices.IndexFunc(fails, func(want string) bool { return isOf(check, want) })
		if at < 0 {
			t.Errorf("rule %s failed: %s\n%s", check.Rule, check.Name, check.Got)
			continue
		}
		failed[fails[at]] = true
		for line := range strings.SplitSeq(check.Got, "\n") {
			if len(line) > 600 || strings.Contains(line, referenceKey) {
				t.Errorf("rule %s: a line of %d characters, or one with the key: %s", check.Rule, len(line), line)
			}
		}
	}
	for _, want := range fails {
		if !failed[want] {
			t.Errorf("rule %s did not fail", want)
		}
	}
}

// isOf reports whether a check has the given rule and part of a name.
func isOf(check conformance.Check, want string) bool {
	rule, name, _ := strings.Cut(want, " ")
	return check.Rule == rule && strings.Contains(check.Name, name)
}

// Some flaw fails each check, except for those that only a setting or a person can fail.
func TestEveryCheckHasItsFlaw(t *testing.T) {
	t.Parallel()
	race.Leave(t, "requests that are sent one after the other")
	others := []string{"2 limits requests by itself", "8 Retry-After", "9 given up", "9 logged"}
	synctest.Test(t, func(t *testing.T) {
		for _, check := range checkReference(t, &reference{}, conformance.Config{}).Checks {
			is := func(want string) bool { return strings.Contains(want, " ") && isOf(check, want) }
			if !slices.ContainsFunc(others, is) && !slices.ContainsFunc(flaws, func(of flaw) bool {
				return slices.ContainsFunc(of.fails, is)
			}) {
				t.Errorf("no flaw fails rule %s: %s", check.Rule, check.Name)
			}
		}
	})
}

// flaw is a way to break the reference proxy, and the checks that fail then.
type flaw struct {
	flaw  string
	fails []string
}

var flaws = []flaw{
	{"key in the body", []string{"operations and posts the checkout", "operations moves idempotencyKey"}},
	{"no cursor", []string{"operations list of published"}},
	{"no key in the header", []string{"operations moves idempotencyKey"}},
	{"no proof before a checkout", []string{
		"operations and posts the checkout", "4 not published", "4 not found", "4 another id",
	}},
	{"no proof before a quote", []string{
		"operations pricing.quote", "4 not published", "4 not found", "4 another id",
	}},
	{"no status", []string{"operations list of published", "operations without fields"}},
	{"one proof around the inventory", []string{"operations events.inventory", "4 discarded"}},
	{"overlapping reads", []string{"operations events.inventory", "4 discarded"}},
	{"proof after a checkout", []string{"operations and posts the checkout", "4 no check follows"}},
	{"a fifth operation", []string{"1 other than the four"}},
	{"a payload of any form", []string{"1 another form"}},
	{"any buyer", []string{"1 checkout: money"}},
	{"any content type", []string{"1 methods and content types"}},
	{"any cursor", []string{"1 no URL", "1 limit and cursor"}},
	{"any id", []string{"1 no URL", "1 UUIDs"}},
	{"any key", []string{"1 no URL", "1 checkout: money"}},
	{"any limit", []string{"1 limit and cursor"}},
	{"any method", []string{"1 methods and content types"}},
	{"any number of admissions", []string{"1 unique tiers"}},
	{"any price", []string{"1 checkout: money"}},
	{"any size", []string{"1 no JSON"}},
	{"data after the body", []string{"1 no JSON"}},
	{"headers of the browser", []string{"1 headers and query"}},
	{"limits as texts", []string{"1 no URL", "1 missing or of another type", "1 limit and cursor"}},
	{"names twice", []string{"1 twice"}},
	{"null for what is missing", []string{"1 missing or of another type"}},
	{"query of the browser", []string{"1 headers and query"}},
	{"tiers twice", []string{"1 unique tiers"}},
	{"unknown members", []string{"1 unknown member", "1 no URL"}},
	{"any session", []string{"2 made-up"}},
	{"cors for anybody", []string{"2 CORS"}},
	{"no look at Origin", []string{"2 another site"}},
	{"no session needed", []string{"2 without a session", "2 made-up"}},
	{"other sites", []string{"2 another site"}},
	{"same site", []string{"2 another site"}},
	{"a key of another form", []string{"3 Authorization"}},
	{"key in the answer", []string{"3 in no answer"}},
	{"no key with proofs", []string{"3 Authorization"}},
	{"no request id", []string{"3 forwarded"}},
	{"request id always its own", []string{"3 forwarded"}},
	{"request id taken as it is", []string{"3 malformed or missing"}},
	{"bodies of any form", []string{"4 discarded", "5", "6", "7", "9", "10"}},
	{"events that ended", []string{"4 not published", "4 discarded"}},
	{"proof of any event", []string{"4 another id", "4 discarded"}},
	{"second proof not looked at", []string{"4 discarded"}},
	{"unknown upstream members", []string{
		"4 discarded", "5 member of a page", "5 member of the event", "5 member of a tier",
		"5 member of a quote", "5 member of an order",
	}},
	{"an answer with more", []string{
		"5 events.list gives", "5 events.inventory gives", "5 pricing.quote gives", "6 checkout.create gives",
	}},
	{"any upstream word", []string{"5 list of values"}},
	{"missing upstream members", []string{
		"5 member of a page", "5 member of the event", "5 member of a tier", "5 member of a quote",
		"5 member of an order", "9 is 502",
	}},
	{"null upstream members", []string{
		"5 member of a page", "5 member of the event", "5 member of a tier", "5 member of a quote",
		"5 member of an order", "9 is 502",
	}},
	{"page of any form", []string{"5 member of a page", "5 hasMore"}},
	{"the whole event", []string{"5 events.list gives"}},
	{"upstream names twice", []string{"5 twice"}},
	{"createdAt of an order", []string{"6 checkout.create gives", "6 nothing private"}},
	{"the whole branding", []string{"6 checkout.create gives", "6 nothing private"}},
	{"the whole order", []string{"6 checkout.create gives", "6 nothing private", "10 repeated"}},
	{"any error code", []string{"7 error codes"}},
	{"any event in the list", []string{"7 event in the list"}},
	{"any gross", []string{"7 gross"}},
	{"any number of quote lines", []string{"7 quotes"}},
	{"any upstream URL", []string{"7 URLs"}},
	{"any upstream currency", []string{"7 currency"}},
	{"any upstream cursor", []string{"7 cursors"}},
	{"any upstream id", []string{"7 request ids"}},
	{"any upstream money", []string{"7 money"}},
	{"any upstream quantity", []string{"7 quantities"}},
	{"any upstream timestamp", []string{"7 timestamps"}},
	{"failures of any form", []string{"7 request ids", "7 error codes", "9 without the error envelope"}},
	{"lists of any length", []string{"7 lists"}},
	{"a refusal of another form", []string{"8 proxy's own"}},
	{"another message of failures", []string{"8 keeps its status", "8 details", "8 longest"}},
	{"another status of failures", []string{"8 keeps its status", "8 not sent once more"}},
	{"checkout twice", []string{"8 not sent once more"}},
	{"details of failures", []string{"8 details"}},
	{"cut bodies count as empty", []string{"9 10 MB", "9 cut off"}},
	{"long bodies count as empty", []string{"9 10 MB"}},
	{"no JSON counts as empty", []string{"5 twice", "9 no JSON envelope"}},
	{"a rejection with more", []string{"9 envelope alone", "9 without a reply"}},
	{"redirects as answers", []string{"9 redirect"}},
	{"redirects followed", []string{"9 redirect", "9 is 502"}},
	{"rejection with the body", []string{"9 without a reply", "9 is returned"}},
	{"rejection with the id of the browser", []string{"9 request id"}},
	{"rejections may be stored", []string{"9 no-store"}},
	{"upstream failures as 500", []string{"9 without the error envelope", "9 without a reply", "9 is 502"}},
	{"a key is used once", []string{"10 repeated"}},
	{"no Retry-After", nil},
}
