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
	var began []key         // all tests, in the order of their first output
	ended := map[key]bool{} // those that passed, failed or were skipped
	ran := map[string]int{} // tests by package
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
				began = append(began, k)
			}
			output[k].WriteString(e.Output)
		case "build-output":
			fmt.Print(e.Output)
		case "pass", "fail", "skip":
			ended[k] = true
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
		// A package has something to add only where no test of it failed.
		if k.test == "" && slices.ContainsFunc(failed, func(f key) bool { return f.pkg == k.pkg && f.test != "" }) {
			continue
		}
		fmt.Printf("\nFAILED %s %s\n", k.pkg, k.test)
		if text := output[k]; text != nil {
			fmt.Print(text)
		}
		if k.test == "" { // A panic, or whatever else ended the process, is in the output of a test that was under way.
			for _, u := range began {
				if u.pkg == k.pkg && !ended[u] {
					fmt.Printf("UNDER WAY %s\n%s", u.test, output[u])
				}
			}
		}
		if k.test != "" && !children[k] {
			fmt.Printf("    alone: go test %s-count=1 -run %s %s\n", *flags, quoted(k.test), k.pkg)
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

// quoted is a regular expression of exactly this test, for a shell.
func quoted(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return "'" + strings.ReplaceAll(strings.Join(parts, "/"), "'", `'\''`) + "'"
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
