package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun/driver/pgdriver"
)

// howToGetPgBouncer is the message of a test that is skipped without PgBouncer.
const howToGetPgBouncer = "no PgBouncer is installed: " +
	"install one (apt-get install pgbouncer; brew install pgbouncer), " +
	"its service need not run"

// PgBouncer starts a PgBouncer in transaction mode for the database of a URL, and returns the URL that leads through
// it. It keeps few connections to the database, as settings such as "default_pool_size=3" say, and assigns each for one
// transaction at a time. So the state that one client's session leaves is visible to another client. PgBouncer ends
// with the test, however that ends. If PgBouncer is not installed, the test is skipped.
func PgBouncer(tb testing.TB, dsn string, settings ...string) string {
	tb.Helper()
	binary, ok := pgbouncer()
	if !ok {
		tb.Skip(howToGetPgBouncer)
	}
	through, err := launchPgBouncer(tb, binary, dsn, settings)
	if err != nil {
		tb.Fatalf("start PgBouncer: %v", err)
	}
	return through
}

// pgbouncer returns the path of the program: from $PATH, or from folders outside of it that packages use.
func pgbouncer() (path string, ok bool) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/usr/local/sbin/pgbouncer"} {
		if found, err := exec.LookPath(name); err == nil {
			return found, true
		}
	}
	return "", false
}

func launchPgBouncer(tb testing.TB, binary, dsn string, settings []string) (string, error) {
	tb.Helper()
	target, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("the name of the database is not a URL") // The malformed URL may contain a password.
	}
	k, err := newKeeper(filepath.Dir(binary), os.TempDir())
	if err != nil {
		return "", err
	}
	tb.Cleanup(func() {
		if err := k.close(); err != nil {
			tb.Errorf("end PgBouncer: %v", err)
		}
	})
	const ports = 5
	for range ports {
		var port int
		if port, err = freePort(); err != nil {
			return "", err
		}
		if err := k.configurePgBouncer(target, port, settings); err != nil {
			return "", err
		}
		through := *target
		through.Host, through.RawQuery = address(port), "sslmode=disable"
		if err = k.startPgBouncer(through.String()); err == nil {
			return through.String(), nil
		}
	}
	return "", err
}

// configurePgBouncer writes the configuration. Every client is accepted and gets the role of the target, since the
// database is a test's.
func (k *keeper) configurePgBouncer(target *url.URL, port int, settings []string) error {
	const postgresPort = "5432"
	quoted := func(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }
	login := " user=" + quoted(target.User.Username())
	if password, ok := target.User.Password(); ok {
		login += " password=" + quoted(password)
	}
	lines := append([]string{
		"[databases]",
		"* = host=" + target.Hostname() + " port=" + cmp.Or(target.Port(), postgresPort) + login,
		"[pgbouncer]",
		"listen_addr = 127.0.0.1",
		"listen_port = " + strconv.Itoa(port),
		"unix_socket_dir =",
		"auth_type = any",
		"pool_mode = transaction",
		"max_client_conn = 500",
	}, settings...)
	const mode = 0o644
	text := strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(k.path("pgbouncer.ini"), []byte(text), mode); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	return nil
}

// startPgBouncer starts PgBouncer and returns after the database responds through it.
func (k *keeper) startPgBouncer(dsn string) error {
	process, err := k.start("pool")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	db := openPool(dsn)
	defer func() { _ = db.Close() }()
	const pause = 5 * time.Millisecond
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		_, answered := errors.AsType[pgdriver.Error](err)
		if answered || ctx.Err() != nil || !running(process) {
			err = fmt.Errorf("%w\n%s", err, k.log())
			return errors.Join(err, k.order("end", "KILL"))
		}
		time.Sleep(pause)
	}
}
