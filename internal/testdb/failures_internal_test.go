package testdb

import (
	"strings"
	"testing"

	"github.com/matryer/is"
)

// Of a long output, only what tests printed that failed, were skipped or under way is left, and what none printed.
func TestFailures(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	verbose := `#=== RUN   TestA
#=== PAUSE TestA
#=== RUN   TestB
    b_test.go:1: of B
#--- PASS: TestB (0.00s)
#=== NAME  
of none
#=== RUN   TestC
#=== RUN   TestC/one
#=== NAME  TestC
    c_test.go:1: of C
#=== NAME  TestC/one
    c_test.go:2: of one
        and its second line
#    --- FAIL: TestC/one (0.10s)
#=== RUN   TestC/two
without a line feed#--- PASS: TestC/two (0.00s)
#=== NAME  TestC
#--- FAIL: TestC (0.10s)
#=== RUN   TestD
    d_test.go:1: no PostgreSQL
#--- SKIP: TestD (0.00s)
#=== RUN   TestE
#=== PAUSE TestE
#=== RUN   TestF
WARNING: DATA RACE
#--- PASS: TestF (0.00s)
#=== CONT  TestA
    a_test.go:1: of A
panic: lost

goroutine 7 [running]:
`
	text, failed := failures(strings.ReplaceAll(verbose, "#", "\x16"))
	is.Equal(failed, []string{"TestC/one"})
	is.Equal(text, `of none
UNDER WAY TestA
    a_test.go:1: of A
panic: lost

goroutine 7 [running]:
FAILED TestC
    c_test.go:1: of C
FAILED TestC/one
    c_test.go:2: of one
        and its second line
SKIPPED TestD
    d_test.go:1: no PostgreSQL
WITH A RACE TestF
WARNING: DATA RACE
`)
	text, failed = failures("flag provided but not defined: -x\n")
	is.Equal(len(failed), 0)
	is.Equal(text, "flag provided but not defined: -x\n")
}
