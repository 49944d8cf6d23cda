// Package testname writes the names of tests for the command line.
package testname

import (
	"regexp"
	"strings"
)

// Pattern returns the argument of "go test -run" that selects exactly one test, such as TestSale/free, quoted for a
// shell.
func Pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return "'" + strings.ReplaceAll(strings.Join(parts, "/"), "'", `'\''`) + "'"
}
