package browsertest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// axe is axe-core. See axe/README.md.
//
//go:embed axe/axe.min.js
var axe string

// Violation is a rule of axe-core that a page breaks.
type Violation struct {
	Rule   string `json:"id"`
	Impact string `json:"impact"` // minor, moderate, serious or critical
	Help   string `json:"help"`
	URL    string `json:"helpUrl"`
	Nodes  []struct {
		HTML    string   `json:"html"`
		Target  []string `json:"target"` // selectors of the element; more than one leads into a shadow tree
		Summary string   `json:"failureSummary"`
	} `json:"nodes"`
}

// String returns the rule, where it is explained, and each element that breaks it with the fix.
func (v Violation) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s (%s): %s\n  %s", v.Rule, v.Impact, v.Help, v.URL)
	for _, node := range v.Nodes {
		fmt.Fprintf(&text, "\n  %s\n    %s\n    %s", strings.Join(node.Target, " >>> "), clip(node.HTML),
			strings.ReplaceAll(node.Summary, "\n", "\n    "))
	}
	return text.String()
}

// clip shortens the source of an element to a line or two.
func clip(html string) string {
	letters := []rune(strings.Join(strings.Fields(html), " "))
	if len(letters) > 200 {
		return string(letters[:200]) + "…"
	}
	return string(letters)
}

// Except is an exception from [Axe]: for one rule of axe-core, the elements that a selector finds and all within them.
// With the selector html the rule does not run. Reason says why it stays.
type Except struct{ Rule, Selector, Reason string }

// Axe fails the test with each rule of axe-core that a page or a frame breaks in its current state, size and medium. It
// includes shadow trees, but no frames within. Its rules are those of WCAG 2.2 at the levels A and AA, and what
// axe-core calls best practice. It cannot check everything that WCAG requires, and does not report what it leaves to a
// person, such as text on a picture.
func Axe(tb testing.TB, f interface{ Violations(...Except) []Violation }, except ...Except) {
	tb.Helper()
	for _, violation := range f.Violations(except...) {
		tb.Errorf("axe: %v", violation)
	}
}

// Violations returns the violations that [Axe] reports.
func (f Frame) Violations(except ...Except) []Violation {
	f.page.tb.Helper()
	for _, e := range except {
		if e.Rule == "" || e.Selector == "" || e.Reason == "" {
			f.page.tb.Fatalf("an exception needs a rule, a selector and a reason: %+v", e)
		}
	}
	exceptions, err := json.Marshal(append([]Except{}, except...))
	f.page.must(err)
	if f.Text(`typeof window.axe`) == "undefined" {
		evaluate[any](f, axe+"\n;Promise.resolve(null)")
	}
	// Landmarks and the first heading belong to a whole page. Without preload axe-core makes no style elements, which a
	// policy would refuse. No rule here needs them.
	rules := map[bool]string{
		false: `{}`, true: `{ "landmark-one-main": { enabled: false }, "page-has-heading-one": { enabled: false } }`,
	}[f.id != ""]
	return evaluate[[]Violation](f, `(async () => {
		const except = `+string(exceptions)+`
		const excepted = (rule, node) => {
			const e = document.querySelector(node.target[0])
			return e !== null && except.some(x => x.Rule === rule && e.closest(x.Selector) !== null)
		}
		const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
		const rules = `+rules+`
		for (const x of except) if (x.Selector === "html") rules[x.Rule] = { enabled: false }
		const found = await axe.run(document,
			{ iframes: false, preload: false, resultTypes: ["violations"], runOnly, rules })
		return found.violations.map(({ id, impact, help, helpUrl, nodes }) => ({ id, impact, help, helpUrl,
			nodes: nodes.filter(node => !excepted(id, node))
				.map(({ html, target, failureSummary }) => ({ html, failureSummary, target: target.flat() })),
		})).filter(violation => violation.nodes.length > 0)
	})()`)
}
