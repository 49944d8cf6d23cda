package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing/internal/scratch"
)

// Server is a PostgreSQL server of a test. It listens on 127.0.0.1 only and trusts every client there. Its role
// ticketing may do everything. Its methods must not be called concurrently, and their failure ends the test that
// started the server.
type Server struct {
	tb       testing.TB
	binaries string
	keeper   *keeper
	port     int
	process  int // process id of the postmaster, 0 while it does not run
}

// Start starts a server for this test alone, which may kill and restart it. It has PostgreSQL's own defaults, and so
// keeps what it acknowledged, unless settings such as "shared_buffers=64MB" say otherwise. It is gone when the test
// ends. Without installed binaries the test is skipped.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	return StartIn(tb, scratch.Folder(), settings...)
}

// StartIn is like Start, with the data in a folder, such as a small disk. All users must be able to enter the folder
// and write to it.
func StartIn(tb testing.TB, folder string, settings ...string) *Server {
	tb.Helper()
	leftOut(tb)
	binaries, ok := Binaries()
	if !ok {
		tb.Skip("no PostgreSQL server is installed: " + howToGetOne)
	}
	s, err := launch(binaries, folder, settings)
	return s.of(tb, err)
}

// of assigns a server to a test, and ends it with the test.
func (s *Server) of(tb testing.TB, err error) *Server {
	tb.Helper()
	if err != nil {
		tb.Fatalf("start PostgreSQL: %v", err)
	}
	s.tb = tb
	tb.Cleanup(func() {
		if err := s.keeper.close(); err != nil {
			tb.Errorf("end PostgreSQL: %v", err)
		}
	})
	return s
}

// launch creates and starts a server with an empty data folder.
func launch(binaries, folder string, settings []string) (*Server, error) {
	return prepare(binaries, folder, settings, "init")
}

// prepare creates and starts a server. The given order to its keeper fills the data folder, which is created in folder.
func prepare(binaries, folder string, settings []string, order ...string) (_ *Server, err error) {
	s := &Server{binaries: binaries}
	if s.keeper, err = newKeeper(binaries, folder); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.keeper.close())
		}
	}()
	if err := s.keeper.order(order...); err != nil {
		return nil, err
	}
	settings = append([]string{
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=", // A socket's path may be too long.
		// Under /dev/shm a killed server would leave its segments.
		"dynamic_shared_memory_type=mmap",
	}, settings...)
	if err := s.set(settings...); err != nil {
		return nil, err
	}
	const ports = 5
	for range ports {
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
		if err := s.set("port=" + strconv.Itoa(s.port)); err != nil {
			return nil, err
		}
		if err = s.start(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// set appends settings to the server's configuration. The last value of a setting applies.
func (s *Server) set(settings ...string) (err error) {
	file, err := os.OpenFile(s.keeper.path("data/postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, setting := range settings {
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			return fmt.Errorf("configure: %q is not name=value", setting)
		}
		if _, err := fmt.Fprintf(file, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''")); err != nil {
			return fmt.Errorf("configure: %w", err)
		}
	}
	return nil
}

// freePort returns a port that is free now. It is below the ports that systems assign to outgoing connections. While a
// server is down, a client that tries to reach it must not take its port, or even connect to itself.
func freePort() (int, error) {
	const lowest, highest, tries = 15000, 32000, 100
	var err error
	var config net.ListenConfig
	for range tries {
		port := lowest + rand.IntN(highest-lowest)
		var listener net.Listener
		if listener, err = config.Listen(context.Background(), "tcp", address(port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}

var errPortTaken = errors.New("the port is taken")

// start starts the postmaster and returns after it responds.
func (s *Server) start() error {
	process, err := s.keeper.start("start")
	if err != nil {
		return err
	}
	s.process = process
	if err := s.ready(); err != nil {
		return errors.Join(err, s.end("QUIT"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.exec(ctx, "SELECT 1"); err != nil {
		return fmt.Errorf("%w\n%s", err, s.keeper.log())
	}
	return nil
}

// ready returns after postmaster.pid says that the postmaster accepts connections. Reading the file instead of trying
// the port distinguishes this server from another that took the port.
func (s *Server) ready() error {
	const pause = 5 * time.Millisecond
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(pause) {
		// The lines: process, folder, start, port, socket folder, address, memory, status.
		const status = 7
		text, err := os.ReadFile(s.keeper.path("data/postmaster.pid"))
		if lines := strings.Split(string(text), "\n"); err == nil && len(lines) > status &&
			lines[0] == strconv.Itoa(s.process) && strings.TrimSpace(lines[status]) == "ready" {
			return nil
		}
		if running(s.process) {
			continue
		}
		log := s.keeper.log()
		if strings.Contains(afterLast(log, "starting PostgreSQL"), "could not bind") {
			return fmt.Errorf("%w: %s", errPortTaken, log)
		}
		return fmt.Errorf("the server ended\n%s", log)
	}
	return fmt.Errorf("the server did not take connections in %v\n%s", patience, s.keeper.log())
}

// afterLast returns what follows the last occurrence of the separator, or the entire text if there is none.
func afterLast(text, separator string) string {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[i+len(separator):]
	}
	return text
}

func (s *Server) exec(ctx context.Context, statement string) (err error) {
	db := openPool(s.DSN("postgres"))
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// openPool opens a pool for the statements of this package.
func openPool(dsn string) *sql.DB {
	return sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn), pgdriver.WithTimeout(patience)))
}

// end sends the postmaster a signal and returns after it has ended.
func (s *Server) end(signal string) error {
	if s.process == 0 {
		return nil
	}
	s.process = 0
	return s.keeper.order("end", signal)
}

// DSN returns the URL of a database on the server. The database "postgres" exists from the start, and is empty.
func (s *Server) DSN(database string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.User("ticketing"),
		Host: s.Addr(), Path: "/" + database, RawQuery: "sslmode=disable",
	}).String()
}

// Addr returns the host and port that the server listens on.
func (s *Server) Addr() string { return address(s.port) }

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Kill kills the server and all its backends at once, like a crash. It does nothing if the server does not run.
func (s *Server) Kill() {
	s.tb.Helper()
	if s.process == 0 {
		return
	}
	if err := errors.Join(crash(s.process), s.end("KILL")); err != nil {
		s.tb.Fatalf("kill PostgreSQL: %v", err)
	}
}

// Stop shuts the server down in fast mode: transactions are rolled back and connections closed. It does nothing if the
// server does not run.
func (s *Server) Stop() {
	s.tb.Helper()
	if err := s.end("INT"); err != nil {
		s.tb.Fatalf("stop PostgreSQL: %v", err)
	}
}

// Restart starts the server again, on the same data and port, and returns after it responds. A server that still runs
// is stopped first.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.tb.Fatalf("restart PostgreSQL: %v", err)
	}
}

// Standby starts a server that streams everything that this one writes, and serves reads. It is asynchronous unless the
// primary's synchronous_standby_names says otherwise. It has the primary's settings and the given ones.
func (s *Server) Standby(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	standby, err := prepare(s.binaries, scratch.Folder(), settings, "clone", s.DSN("postgres"))
	return standby.of(tb, err)
}

// Promote makes a standby the primary, and returns after it accepts writes. Data that it had not received is lost.
func (s *Server) Promote() {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.tb.Context()), patience)
	defer cancel()
	if err := s.exec(ctx, fmt.Sprintf("SELECT pg_promote(true, %d)", int(patience.Seconds()))); err != nil {
		s.tb.Fatalf("promote the standby: %v\n%s", err, s.keeper.log())
	}
}
