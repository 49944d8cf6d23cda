package testdb

import (
	"regexp"
	"slices"
	"strings"
)

var (
	turned = regexp.MustCompile(`^=== (?:RUN|PAUSE|CONT|NAME) +(\S+)$`)
	ended  = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$`)
)

// failures returns what the output of "go test -v" says of the tests that failed or had not ended, a panic included, and
// their names. The output of the others is left out: there are thousands of lines of it.
func failures(verbose string) (text string, names []string) {
	output := map[string]*strings.Builder{"": {}} // of each test, and of none
	began := []string{""}
	result := map[string]string{}
	current := ""
	for line := range strings.Lines(verbose) {
		switch bare := strings.TrimRight(line, "\n"); {
		case turned.MatchString(bare):
			current = turned.FindStringSubmatch(bare)[1]
			if output[current] == nil {
				output[current] = &strings.Builder{}
				began = append(began, current)
			}
		case ended.MatchString(bare):
			of := ended.FindStringSubmatch(bare)
			result[of[2]], current = of[1], ""
			if of[1] == "FAIL" {
				current = of[2] // A panic follows.
			}
		default:
			if output[current] == nil {
				current = ""
			}
			output[current].WriteString(line)
		}
	}
	var all strings.Builder
	for _, name := range began {
		switch {
		case name == "":
		case result[name] == "FAIL":
			all.WriteString("FAILED " + name + "\n")
			if !slices.ContainsFunc(began, func(sub string) bool {
				return strings.HasPrefix(sub, name+"/") && result[sub] == "FAIL"
			}) {
				names = append(names, name)
			}
		case result[name] == "":
			all.WriteString("UNDER WAY " + name + "\n")
		default:
			continue
		}
		all.WriteString(output[name].String())
	}
	return all.String(), names
}
