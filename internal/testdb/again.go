package testdb

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/testname"
	"github.com/floatgate/ticketing/store/memory"
)

// chosen is the environment variable that sets the store on which the tests of a package run.
const chosen = "TICKETING_TEST_STORE"

// OnPostgres reports whether the tests of this process run on PostgreSQL: see [Again].
func OnPostgres() bool { return os.Getenv(chosen) == "postgres" }

// Chosen opens a store in memory, or one on PostgreSQL if the tests run on it.
func Chosen(tb testing.TB) driver.Store {
	tb.Helper()
	if OnPostgres() {
		return Postgres(tb)
	}
	return memory.New()
}

// Again runs tests of this package once more, on PostgreSQL and in a separate process: those whose names match only,
// and not but. Their fixtures open what [Chosen] or [OnPostgres] indicates. A test that is skipped there fails, since
// it has not been verified.
func Again(t *testing.T, only, but string) {
	t.Helper()
	if OnPostgres() {
		return
	}
	pgtest.Database(t) // Without PostgreSQL, this test is skipped.
	args := []string{"-test.v=test2json", "-test.run=" + only, "-test.skip=" + but}
	if deadline, ok := t.Deadline(); ok {
		// The process ends by itself before this test times out, and reports the state of each test.
		args = append(args, "-test.timeout="+max(time.Until(deadline)*9/10, time.Second).String())
	}
	flag.Visit(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "rapid.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), chosen+"=postgres")
	output, err := cmd.CombinedOutput()
	if text, failed := failures(string(output)); err != nil {
		t.Errorf("on PostgreSQL: %v\n%s", err, text)
		for _, name := range failed {
			t.Errorf("alone, in the folder of the package: %s", alone(name))
		}
	}
	for line := range strings.Lines(separated(string(output))) {
		if strings.HasPrefix(strings.TrimSpace(line), "--- SKIP") {
			t.Errorf("on PostgreSQL: %s", line)
		}
	}
}

// alone returns the command that runs one test on PostgreSQL.
func alone(test string) string {
	flags := "-count=1"
	if race.Enabled {
		flags = "-race " + flags
	}
	return fmt.Sprintf("%s=postgres go test %s -run %s", chosen, flags, testname.Pattern(test))
}
