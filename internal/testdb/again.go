package testdb

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/store/memory"
)

// chosen names the variable that says on which store the tests of a package run.
const chosen = "TICKETING_TEST_STORE"

// OnPostgres tells whether the tests of this process run on PostgreSQL: see [Again].
func OnPostgres() bool { return os.Getenv(chosen) == "postgres" }

// Chosen opens a store in memory, or one on PostgreSQL where the tests run on it.
func Chosen(tb testing.TB) ticketing.Store {
	tb.Helper()
	if OnPostgres() {
		return Postgres(tb)
	}
	return memory.New()
}

// Again runs the tests of this package once more whose names match only, and not but, on PostgreSQL and in a process of its
// own. Their harness opens what [Chosen] or [OnPostgres] tell it. A test that is skipped there fails: it has not held.
func Again(t *testing.T, only, but string) {
	t.Helper()
	if OnPostgres() {
		return
	}
	pgtest.Database(t) // Where there is none, it is this test that is skipped.
	args := []string{"-test.v", "-test.run=" + only, "-test.skip=" + but}
	if deadline, ok := t.Deadline(); ok {
		// The process ends by itself, and tells where each test stood, before this one is ended.
		args = append(args, "-test.timeout="+max(time.Until(deadline)*9/10, time.Second).String())
	}
	flag.Visit(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "rapid.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), chosen+"=postgres")
	told, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("on PostgreSQL: %v\n%s", err, told)
	}
	for line := range strings.Lines(string(told)) {
		if strings.HasPrefix(strings.TrimSpace(line), "--- SKIP") {
			t.Errorf("on PostgreSQL: %s", line)
		}
	}
}
