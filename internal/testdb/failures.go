package testdb

import (
	"regexp"
	"slices"
	"strings"
)

var (
	stateLine  = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) +(\S*)$`)
	resultLine = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$`)
)

// testOutput is the state of a test, and what it printed.
type testOutput struct {
	name   string
	state  string // RUN, PAUSE, or one of the results PASS, FAIL and SKIP
	output strings.Builder
}

// failures returns the part of the output of a test binary (-test.v=test2json) that is about tests which failed, were
// skipped or had not ended, and about none. It also returns the names of the failed ones. The output of the others is
// left out: there are thousands of lines of it.
func failures(verbose string) (text string, failed []string) {
	none := &testOutput{}
	all, current := []*testOutput{none}, none
	byName := map[string]*testOutput{"": none}
	get := func(name string) *testOutput {
		if byName[name] == nil {
			byName[name] = &testOutput{name: name, state: "RUN"}
			all = append(all, byName[name])
		}
		return byName[name]
	}
	for line := range strings.Lines(separated(verbose)) {
		bare := strings.TrimRight(line, "\n")
		if match := stateLine.FindStringSubmatch(bare); match != nil {
			current = get(match[2])
			switch match[1] {
			case "PAUSE":
				current.state = "PAUSE"
			case "CONT":
				current.state = "RUN"
			}
		} else if match := resultLine.FindStringSubmatch(bare); match != nil {
			get(match[2]).state = match[1]
			current = none
			if match[1] == "FAIL" {
				current = get(match[2]) // A panic follows.
			}
		} else {
			current.output.WriteString(line)
		}
	}
	var b strings.Builder
	for _, test := range all {
		output := test.output.String()
		switch {
		case test == none:
		case test.state == "FAIL":
			failed = append(failed, test.name)
			b.WriteString("FAILED " + test.name + "\n")
		case test.state == "SKIP":
			b.WriteString("SKIPPED " + test.name + "\n")
		case test.state == "RUN":
			b.WriteString("UNDER WAY " + test.name + "\n")
		case strings.Contains(output, "DATA RACE"): // It is printed where the detector finds it.
			b.WriteString("WITH A RACE " + test.name + "\n")
		default:
			continue
		}
		b.WriteString(output)
	}
	return b.String(), slices.DeleteFunc(failed, func(name string) bool { // Its subtest says more.
		return slices.ContainsFunc(failed, func(sub string) bool { return strings.HasPrefix(sub, name+"/") })
	})
}

// separated returns an output in which each line about the state of a test begins a line. Package testing marks these
// with a SYN character, since what a test prints may end without a line feed.
func separated(verbose string) string {
	const mark = "\x16"
	verbose = strings.ReplaceAll(strings.TrimPrefix(verbose, mark), "\n"+mark, "\n")
	return strings.ReplaceAll(verbose, mark, "\n")
}
