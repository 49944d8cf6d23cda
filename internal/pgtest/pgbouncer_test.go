package pgtest_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/pgtest"
)

// Through PgBouncer, transactions of many clients share few sessions: what one client sets for its session also applies
// to another.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.PgBouncer(t, pgtest.Database(t), "default_pool_size=1")
	first, second := openPool(t, dsn), openPool(t, dsn)
	process := one[int](t, first, "SELECT pg_backend_pid()")
	is.Equal(one[int](t, second, "SELECT pg_backend_pid()"), process)
	run(t, first, "SET lock_timeout TO 1234")
	is.Equal(one[string](t, second, "SHOW lock_timeout"), "1234ms")
	run(t, first, "BEGIN; SET LOCAL statement_timeout TO 4321; COMMIT")
	is.Equal(one[string](t, second, "SHOW statement_timeout"), "0")
}
