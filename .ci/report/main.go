// Command report reads the output of "go test -json" and says what a person wants to know: a line for each package, all
// that failed, each with the command that runs it alone, and what was skipped, which counts as failed. Its last line
// counts.
//
//	report [-allow REGEXP] [-flags FLAGS]
//
// What is skipped with a reason that -allow matches does not count as failed. FLAGS are those of the command that runs
// a test alone.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/floatgate/ticketing/internal/testname"
)

type event struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Output     string
	Elapsed    float64
}

type key struct{ pkg, test string }

func main() {
	allow := flag.String("allow", "^$", "the reasons to skip a test that do not count as failed")
	flags := flag.String("flags", "", "the flags of go test")
	flag.Parse()
	allowed := regexp.MustCompile(*allow)
	left := 0
	output := map[key]*strings.Builder{}
	var all []key               // all tests, in the order of their first output
	inactive := map[key]bool{}  // those that ended, or wait for their turn
	last := map[string]string{} // of a package: the test that printed last
	ran := map[string]int{}     // tests by package
	var passed, packages int
	var failed, skipped []key
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text())
			continue
		}
		k := key{e.Package, e.Test}
		switch e.Action {
		case "output":
			if output[k] == nil {
				output[k] = &strings.Builder{}
				all = append(all, k)
			}
			output[k].WriteString(e.Output)
			if e.Test != "" {
				last[e.Package] = e.Test
			}
		case "pause", "cont":
			inactive[k] = e.Action == "pause"
		case "build-output":
			fmt.Print(e.Output)
		case "pass", "fail", "skip":
			inactive[k] = true
			switch {
			case e.Action == "fail":
				failed = append(failed, k)
			case e.Action == "skip" && e.Test != "" && output[k] != nil && allowed.MatchString(output[k].String()):
				left++
			case e.Action == "skip" && e.Test != "":
				skipped = append(skipped, k)
			case e.Test != "":
				passed++
			}
			if e.Test != "" {
				ran[e.Package]++
			} else if ran[e.Package] > 0 || e.Action == "fail" {
				packages++
				fmt.Printf("%-6s%-58s%6d tests%8.1fs\n", e.Action, e.Package, ran[e.Package], e.Elapsed)
			}
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Println("report:", err)
		os.Exit(1)
	}
	children := make(map[key]bool) // tests of which a subtest failed
	for _, k := range failed {
		for test := k.test; strings.Contains(test, "/"); {
			test = test[:strings.LastIndex(test, "/")]
			children[key{k.pkg, test}] = true
		}
	}
	for _, k := range failed {
		testFailed := slices.ContainsFunc(failed, func(f key) bool { return f.pkg == k.pkg && f.test != "" })
		if k.test != "" || !testFailed { // A test says more than its package.
			fmt.Printf("\nFAILED %s %s\n", k.pkg, k.test)
			if text := output[k]; text != nil {
				fmt.Print(text)
			}
		}
		// What ended the process, such as a panic, is in the output of a test under way or of the one that printed last.
		active := func(u key) bool { return u.pkg == k.pkg && u.test != "" && !inactive[u] }
		if k.test == "" && (!testFailed || slices.ContainsFunc(all, active)) {
			for _, u := range all {
				if !speaks(output[u].String()) {
					continue
				}
				if active(u) || u.test != "" && u == (key{k.pkg, last[k.pkg]}) && !slices.Contains(failed, u) {
					fmt.Printf("\nat the end of %s: %s\n%s", u.pkg, u.test, output[u])
				}
			}
		}
		if k.test != "" && !children[k] {
			fmt.Printf("    alone: go test %s-count=1 -run %s %s\n", *flags, testname.Pattern(k.test), k.pkg)
		}
	}
	for _, k := range skipped {
		fmt.Printf("\nSKIPPED, which counts as failed: %s %s\n%s", k.pkg, k.test, output[k])
	}
	fmt.Printf("%d tests passed, %d failed, %d skipped in %d packages", passed, countTests(failed), len(skipped), packages)
	if left > 0 {
		fmt.Printf(", %d left out", left)
	}
	fmt.Println()
	if len(failed)+len(skipped) > 0 || passed == 0 {
		os.Exit(1)
	}
}

// speaks reports whether an output has more than lines about the state of a test.
func speaks(output string) bool {
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "=== ") {
			return true
		}
	}
	return false
}

func countTests(keys []key) int {
	n := 0
	for _, k := range keys {
		if k.test != "" {
			n++
		}
	}
	return n
}
