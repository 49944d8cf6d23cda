package main_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/pgtest"
)

// After the preload a bench has PostgreSQL make a checkpoint, so that none that the preload began takes part in the
// measurement. A role that may not ask for one measures without it.
func TestBenchMakesACheckpoint(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "fsync=off", "checkpoint_timeout=1d", "max_wal_size=10GB")
	db := connect(t, server.DSN("postgres"))
	for _, statement := range []string{
		"CREATE ROLE seller LOGIN", "GRANT CREATE ON DATABASE postgres TO seller",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		must(t, err)
	}
	checkpoint := func() (at string) {
		must(t, db.QueryRowContext(t.Context(), "SELECT checkpoint_lsn FROM pg_control_checkpoint()").Scan(&at))
		return at
	}
	for _, test := range []struct {
		name, dsn string
		makes     bool
	}{
		{"seller", strings.Replace(server.DSN("postgres"), "ticketing@", "seller@", 1), false},
		{"superuser", server.DSN("postgres"), true},
	} {
		t.Run(test.name, func(t *testing.T) { //nolint:paralleltest // Both look at the checkpoints of one server.
			is := is.New(t)
			before := checkpoint()
			sh := newShell(t).with("TICKETING_DATABASE", test.dsn)
			is.Equal(sh.object(short("--no-compare")...)["books"].(map[string]any)["ok"], true)
			is.Equal(checkpoint() != before, test.makes)
		})
	}
}
