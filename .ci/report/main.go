// Command report reads the output of "go test -json" and says what a person wants to know: a line for each package,
// all that failed, and what was skipped, which counts as failed. Its last line counts.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
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
	output := map[key]*strings.Builder{}
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
			}
			output[k].WriteString(e.Output)
		case "build-output":
			fmt.Print(e.Output)
		case "pass", "fail", "skip":
			switch {
			case e.Action == "fail":
				failed = append(failed, k)
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
	for _, k := range failed {
		// A package has something to add only where no test of it failed.
		if k.test == "" && slices.ContainsFunc(failed, func(f key) bool { return f.pkg == k.pkg && f.test != "" }) {
			continue
		}
		fmt.Printf("\nFAILED %s %s\n", k.pkg, k.test)
		if text := output[k]; text != nil {
			fmt.Print(text)
		}
	}
	for _, k := range skipped {
		fmt.Printf("\nSKIPPED, which counts as failed: %s %s\n%s", k.pkg, k.test, output[k])
	}
	fmt.Printf("%d tests passed, %d failed, %d skipped in %d packages\n",
		passed, countTests(failed), len(skipped), packages)
	if len(failed)+len(skipped) > 0 || passed == 0 {
		os.Exit(1)
	}
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
