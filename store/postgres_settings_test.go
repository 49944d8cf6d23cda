package store_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// TestSessionsKeepSettings checks that a session whose connection ends at the server keeps the settings that are the
// same in all messages, whatever its first use was, and no others, and that transactions and reads run with the same
// settings in a session that keeps none.
func TestSessionsKeepSettings(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	dsn := testdb.FreshDSN(t)
	at, err := url.Parse(dsn)
	is.New(t).NoErr(err)
	relayed := *at
	relayed.Host = forward(t, "tcp", "127.0.0.1:0", at.Host)
	const schema = "tickets"
	furnish(t, testdb.Open(t, dsn, nil), newBatch(1, 0))
	inSchema := testdb.Open(t, dsn, &store.Config{Schema: schema})
	is.New(t).NoErr(inSchema.Migrate(t.Context()))
	furnish(t, inSchema, newBatch(1, 0))
	inTx := map[string]string{
		"lock_timeout": "5s", "statement_timeout": "8s", "idle_in_transaction_session_timeout": "30s",
		"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_bitmapscan": "off",
		"enable_hashjoin": "off", "enable_mergejoin": "off", "enable_memoize": "off", "jit": "off",
	}
	snapshot, read := maps.Clone(inTx), maps.Clone(inTx)
	snapshot["statement_timeout"] = "50s"
	read["lock_timeout"], read["enable_hashjoin"] = "0", "on"
	read["enable_mergejoin"], read["enable_memoize"] = "on", "on"
	delete(read, "idle_in_transaction_session_timeout") // A read outside of a transaction has no use for it.
	want := map[string]map[string]string{"Update": inTx, "Snapshot": snapshot, "View": read}
	for name, test := range map[string]struct {
		dsn  string
		cfg  store.Config
		kept bool
	}{
		"direct":    {dsn, store.Config{}, copiesHere()},
		"schema":    {dsn, store.Config{Schema: schema}, copiesHere()},
		"row gates": {dsn, store.Config{RowGates: true}, copiesHere()},
		"relayed":   {relayed.String(), store.Config{}, false},
	} {
		for _, uses := range [][]string{
			{"Update", "View", "Snapshot", "Update"},
			{"View", "Update", "View"},
			{"Snapshot", "View", "Update"},
			{"failed", "View", "Update"},
			{"View", "lost", "View", "Update", "Snapshot"},
		} {
			t.Run(name+", first "+strings.Join(uses[:2], " and "), func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				cfg := test.cfg
				cfg.Connections = 1
				s := testdb.Open(t, test.dsn, &cfg)
				path := cmp.Or(cfg.Schema, `"$user", public`)
				kept := test.kept
				for _, use := range uses {
					switch use {
					case "failed":
						is.Equal(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
							_, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}})
							return cmp.Or(err, errTransient)
						}), errTransient)
					case "lost": // The next read notices that, and nothing is prepared for a while.
						lines(t, s, 1)
						_, err := s.Pool().ExecContext(t.Context(), "DISCARD ALL")
						is.NoErr(err)
						lines(t, s, 1)
						kept = false
					default:
						wanted := maps.Clone(want[use])
						wanted["search_path"] = path
						if test.kept {
							wanted["tcp_user_timeout"] = map[bool]string{true: "30000", false: "0"}[use == "Update"]
						}
						got, err := s.Settings(t.Context(), company, use, slices.Collect(maps.Keys(wanted))...)
						is.NoErr(err)
						is.Equal(got, wanted)
					}
				}
				var got [4]string
				is.NoErr(s.Pool().QueryRowContext(t.Context(), `SELECT current_setting('statement_timeout'),
					current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'),
					current_setting('search_path')`).Scan(&got[0], &got[1], &got[2], &got[3]))
				session := [...]string{"0", "0", "0", `"$user", public`}
				if kept {
					session[0], session[2] = "8s", "30s"
				}
				is.Equal(got, session)
			})
		}
	}
}

// TestSessionsKeepMemory checks that a session whose connection ends at the server keeps the memory that a statement
// frees for the next one, where the allocator of other sessions returns it to the system.
func TestSessionsKeepMemory(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	if !copiesHere() {
		return // It reads the page faults of a server on this machine.
	}
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	at, err := url.Parse(dsn)
	is.NoErr(err)
	relayed := *at
	relayed.Host = forward(t, "tcp", "127.0.0.1:0", at.Host)
	faults := func(dsn string) int {
		s := testdb.Open(t, dsn, &store.Config{Connections: 1})
		is.NoErr(s.Migrate(t.Context()))
		_, err := s.Settings(t.Context(), company, "View", "jit")
		is.NoErr(err)
		var pid int
		is.NoErr(s.Pool().QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
		before := pageFaults(t, pid)
		for range 100 {
			// Texts that the allocator of glibc takes from the heap. A larger one would raise its limits.
			_, err := s.Pool().ExecContext(t.Context(),
				"SELECT count(DISTINCT repeat('x', 50000) || n) FROM generate_series(1, 12) n")
			is.NoErr(err)
		}
		return pageFaults(t, pid) - before
	}
	returned := faults(relayed.String())
	if returned < 1000 {
		t.Logf("the allocator of this server keeps its memory: %d page faults", returned)
		return
	}
	kept := faults(dsn)
	is.True(kept*10 < returned) // Page faults of the session that keeps memory, and of the other.
}

// pageFaults returns how many page faults of a process the system served without reading a disk.
func pageFaults(t *testing.T, pid int) int {
	t.Helper()
	is := is.New(t)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	is.NoErr(err)
	_, fields, _ := strings.Cut(string(stat), ") ") // The name may have spaces.
	faults, err := strconv.Atoi(strings.Fields(fields)[7])
	is.NoErr(err)
	return faults
}
