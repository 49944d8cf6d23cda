package pgtest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/pgtest"
)

// eventually polls until ask returns true. Other processes do not announce when they are done.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !ask() {
		select {
		case <-ctx.Done():
			t.Fatal("never happened: " + what)
		case <-ticker.C:
		}
	}
}

// A server keeps what it committed through crashes and shutdowns, at the same address. Kill also ends its backends.
func TestRestart(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t, "shared_buffers=16MB", "application_name=it's")
	dsn := server.DSN("postgres")
	db := openPool(t, dsn)
	is.Equal(one[string](t, db, "SHOW shared_buffers"), "16MB")
	is.Equal(one[string](t, db, "SHOW fsync"), "on")
	is.Equal(one[string](t, db, "SHOW full_page_writes"), "on")
	run(t, db, "CREATE TABLE kept (id int)")
	for i, stop := range []func(){server.Kill, server.Stop, func() {}} {
		run(t, db, "INSERT INTO kept VALUES (1)")
		open, err := db.BeginTx(t.Context(), nil)
		is.NoErr(err)
		_, err = open.ExecContext(t.Context(), "INSERT INTO kept VALUES (100)")
		is.NoErr(err)
		stop()
		if i < 2 {
			is.True(db.PingContext(t.Context()) != nil)
		}
		stop() // A second call has no effect.
		server.Restart()
		is.True(open.Commit() != nil) // Its backend is gone.
		is.Equal(server.DSN("postgres"), dsn)
		eventually(t, "the pool has dropped its dead connections", func() bool { return db.PingContext(t.Context()) == nil })
		is.Equal(one[int](t, db, "SELECT sum(id) FROM kept"), i+1)
	}
}

// Kill ends every backend, even one too busy to notice that its postmaster is gone.
func TestKillBusyBackend(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t)
	db := openPool(t, server.DSN("postgres"))
	conn, err := db.Conn(t.Context())
	is.NoErr(err)
	defer conn.Close()
	var backend int
	is.NoErr(conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&backend))
	ended := make(chan error)
	go func() {
		_, err := conn.ExecContext(t.Context(), "SELECT count(*) FROM (SELECT generate_series(1, 300000000)) AS busy")
		ended <- err
	}()
	eventually(t, "the backend is busy", func() bool {
		return one[string](t, db, "SELECT state FROM pg_stat_activity WHERE pid = $1", backend) == "active"
	})
	server.Kill()
	is.True(!pgtest.Running(backend))
	is.True(<-ended != nil)
}

// A standby shows what its primary writes, and takes over after the primary has crashed.
func TestStandby(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	primary := pgtest.Start(t, "max_connections=30", "shared_buffers=16MB")
	db := openPool(t, primary.DSN("postgres"))
	run(t, db, "CREATE TABLE kept (id int)")
	standby := primary.Standby(t)
	replica := openPool(t, standby.DSN("postgres"))
	is.Equal(one[int](t, replica, "SHOW max_connections"), 30)
	_, err := replica.ExecContext(t.Context(), "INSERT INTO kept VALUES (2)")
	is.True(err != nil) // It only reads.

	run(t, db, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	run(t, db, "SELECT pg_reload_conf()")
	eventually(t, "the standby is synchronous", func() bool {
		return one[int](t, db, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1
	})
	run(t, db, "INSERT INTO kept VALUES (1)")
	primary.Kill()
	standby.Promote()
	run(t, replica, "INSERT INTO kept VALUES (2)")
	is.Equal(one[int](t, replica, "SELECT sum(id) FROM kept"), 3)
}

const marker = "TICKETING_PGTEST_VICTIM"

// TestVictim is the process that TestNothingIsLeft kills. It starts servers of each kind, prints where they are, and
// waits.
func TestVictim(t *testing.T) {
	t.Parallel()
	if os.Getenv(marker) == "" {
		return
	}
	shared := openPool(t, pgtest.Database(t))
	if os.Getenv(marker) == "database" {
		pgtest.Copy(t, "empty", func(testing.TB, string) {})
		fmt.Println("ready")
		<-t.Context().Done()
	}
	crashed := pgtest.Start(t)
	crashed.Kill()
	primary := pgtest.Start(t)
	running := openPool(t, primary.Standby(t).DSN("postgres"))
	for _, folder := range []string{
		one[string](t, shared, "SHOW data_directory"), one[string](t, running, "SHOW data_directory"),
	} {
		fmt.Println("folder", filepath.Dir(folder))
	}
	fmt.Println("ready")
	<-t.Context().Done()
}

// startVictim starts TestVictim in a separate process, and returns when it waits.
func startVictim(t *testing.T, environment ...string) (victim *exec.Cmd, folders []string) {
	t.Helper()
	victim = exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestVictim$", "-test.v")
	victim.Env = append(os.Environ(), environment...)
	output, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if folder, ok := strings.CutPrefix(lines.Text(), "folder "); ok {
			folders = append(folders, folder)
		}
		if lines.Text() == "ready" {
			return victim, folders
		}
	}
	t.Fatal("the victim ended by itself")
	return nil, nil
}

// Nothing is left of the servers of a killed test process: no process and no folder.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	needServer(t)
	if _, ok := pgtest.Binaries(); !ok {
		t.Skip("no PostgreSQL server is installed: apt-get install postgresql, or the like")
	}
	temporary := t.TempDir()
	is.NoErr(os.Chmod(temporary, 0o777))
	is.NoErr(os.Chmod(filepath.Dir(temporary), 0o755))
	victim, folders := startVictim(t, marker+"=servers", "TICKETING_TEST_POSTGRES=", "TMPDIR="+temporary)
	is.Equal(len(folders), 2) // of the shared server and the standby
	var processes []int
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "data", "postmaster.pid"))
		is.NoErr(err)
		first, _, _ := strings.Cut(string(text), "\n")
		process, err := strconv.Atoi(first)
		is.NoErr(err)
		processes = append(processes, process)
	}
	made, err := filepath.Glob(filepath.Join(temporary, "*"))
	is.NoErr(err)
	is.Equal(len(made), 4) // also those of the primary and the crashed server

	is.NoErr(victim.Process.Kill())
	is.True(victim.Wait() != nil)
	eventually(t, "the folders are gone", func() bool {
		left, err := filepath.Glob(filepath.Join(temporary, "*"))
		return err == nil && len(left) == 0
	})
	for _, process := range processes {
		is.True(!pgtest.Running(process))
	}
}

// On a server that TICKETING_TEST_POSTGRES names, the next process that starts drops the databases of a killed process,
// and no others.
func TestNamedServer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t)
	db := openPool(t, server.DSN("postgres"))
	run(t, db, "CREATE ROLE tester LOGIN CREATEDB")
	run(t, db, "CREATE DATABASE ticketing_test_mine")
	named := "TICKETING_TEST_POSTGRES=" + strings.Replace(server.DSN("postgres"), "ticketing@", "tester@", 1)
	const count = "SELECT count(*) FROM pg_database WHERE starts_with(datname, 'ticketing_test_')"

	killed, _ := startVictim(t, marker+"=database", named)
	is.Equal(one[int](t, db, count), 1+3) // a database, a template and its copy
	is.NoErr(killed.Process.Kill())
	is.True(killed.Wait() != nil)
	eventually(t, "the server has noticed", func() bool {
		return one[int](t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
	})
	living, _ := startVictim(t, marker+"=database", named)
	is.Equal(one[int](t, db, count), 1+3)
	startVictim(t, marker+"=database", named)
	is.Equal(one[int](t, db, count), 1+3+3)
	is.NoErr(living.Process.Kill())
	is.True(living.Wait() != nil)
}
