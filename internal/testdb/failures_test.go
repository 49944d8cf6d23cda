package testdb

import (
	"testing"

	"github.com/matryer/is"
)

// Of a long output, only that of tests which failed or were under way is left, and what no test wrote.
func TestFailures(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text, names := failures(`=== RUN   TestA
=== PAUSE TestA
=== RUN   TestB
    b_test.go:1: of B
--- PASS: TestB (0.00s)
=== RUN   TestC
=== RUN   TestC/one
=== NAME  TestC
    c_test.go:1: of C
=== NAME  TestC/one
    c_test.go:2: of one
        and its second line
=== RUN   TestC/two
    c_test.go:3: of two
--- FAIL: TestC (0.10s)
    --- FAIL: TestC/one (0.10s)
    --- PASS: TestC/two (0.00s)
=== CONT  TestA
    a_test.go:1: of A
panic: lost

goroutine 7 [running]:
`)
	is.Equal(names, []string{"TestC/one"})
	is.Equal(text, `UNDER WAY TestA
    a_test.go:1: of A
panic: lost

goroutine 7 [running]:
FAILED TestC
    c_test.go:1: of C
FAILED TestC/one
    c_test.go:2: of one
        and its second line
`)
	text, names = failures("=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\n")
	is.Equal(len(names), 0)
	is.Equal(text, "PASS\n")
	text, _ = failures("flag provided but not defined: -x\n")
	is.Equal(text, "flag provided but not defined: -x\n")
}
