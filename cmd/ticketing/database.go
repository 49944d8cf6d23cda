package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/store/memory"
)

const (
	inMemory     = "memory:"
	sqlitePrefix = "sqlite:"
	postgres     = "postgres"
	postgresql   = "postgresql"
)

// rowGates and nodeGates are the values of --gates for RowGates and DirectNodes of [store.Config].
const rowGates, nodeGates = "rows", "nodes"

// rowGates reports whether gates are locks of rows.
func (p *program) rowGates() bool { return p.Gates == rowGates || p.Gates == nodeGates }

// operate runs do with an Operator that acts in the name of the person who runs the command. The database must exist.
// operate migrates it first.
func (p *program) operate(ctx context.Context, do func(op ticketing.Operator) error) error {
	return p.operateWith(ctx, nil, do)
}

// operateWith is operate with a configuration; nil means the default.
func (p *program) operateWith(
	ctx context.Context, cfg *ticketing.Config, do func(op ticketing.Operator) error,
) error {
	return p.operateOn(ctx, cfg, func(_ *ticketing.Service, op ticketing.Operator) error { return do(op) })
}

// operateOn is operateWith for commands that also read as a company does.
func (p *program) operateOn(
	ctx context.Context, cfg *ticketing.Config, do func(svc *ticketing.Service, op ticketing.Operator) error,
) error {
	return p.operateIn(ctx, &store.Config{MustExist: true}, cfg, do)
}

// operateIn is operateOn with a configuration of the store.
func (p *program) operateIn(
	ctx context.Context, place *store.Config, cfg *ticketing.Config,
	do func(svc *ticketing.Service, op ticketing.Operator) error,
) (err error) {
	if cfg == nil {
		cfg = &ticketing.Config{}
	}
	if p.Database == inMemory {
		return badValue("--database: memory: is gone at exit, so it is for demo, serve and bench only")
	}
	opened, err := p.open(ctx, place)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	if err := opened.migrate(ctx); err != nil {
		return err
	}
	svc, err := opened.service(ctx, cfg)
	if err != nil {
		return err
	}
	op := p.operator(svc)
	for _, ref := range p.references {
		if err := ref.resolve(ctx, op); err != nil {
			return err
		}
	}
	return do(svc, op)
}

// operator returns an Operator that acts in the name of the command line.
func (p *program) operator(svc *ticketing.Service) ticketing.Operator {
	return svc.As(ticketing.Staff(p.actor()))
}

// actor returns the name of the command line in the audit log.
func (p *program) actor() string { return actorName(systemUser(os.Getuid()), hostName(), p.Actor.text) }

// database is an open database with its secret keys.
type database struct {
	store   driver.Store
	sql     *store.Store // nil if in memory
	secrets [][]byte
}

// open opens the database of --database. It obtains the secret keys first, so that no database is created without one.
func (p *program) open(ctx context.Context, cfg *store.Config) (*database, error) {
	given, err := parseSecretKeys(p.SecretKey)
	if err != nil {
		return nil, err
	}
	if p.Database == inMemory {
		return &database{store: memory.New(), secrets: given}, nil
	}
	if err := p.checkDatabase(); err != nil {
		return nil, err
	}
	path, isSQLite := strings.CutPrefix(p.Database, sqlitePrefix)
	if isSQLite && given == nil {
		key, err := secretKeyBeside(path, !cfg.MustExist)
		if _, reported := errors.AsType[*failure](err); reported || errors.Is(err, store.ErrNoDatabase) {
			return nil, err
		}
		if err != nil {
			return nil, &failure{code: codeSecretKey, text: err.Error()}
		}
		given = [][]byte{key}
	}
	if !isSQLite && given == nil {
		return nil, errNoSecretKey
	}
	open := *cfg
	open.RowGates, open.DirectNodes = p.rowGates(), p.Gates == nodeGates
	opened, err := store.Open(ctx, p.Database, &open)
	if err != nil {
		return nil, named(err)
	}
	return &database{store: opened, sql: opened, secrets: given}, nil
}

// errNoPath is the error for SQLite without a file.
var errNoPath = badValue("--database: SQLite needs the path of a file, as in sqlite:ticketing.db; memory: needs none")

// named returns the error for a database that could not be opened. It is a bad value if the database's name is wrong.
func named(err error) error {
	if errors.Is(err, store.ErrDSN) {
		return badValue("--database: %s", after(err, store.ErrDSN))
	}
	return fmt.Errorf("--database: %w", err)
}

// errNoSecretKey is the error for a database without a secret key. No key can be kept beside a PostgreSQL database,
// since it has no folder and serves several machines.
var errNoSecretKey = &failure{
	code: codeSecretKey,
	text: "with PostgreSQL the secret key must be given, as TICKETING_SECRET_KEY or --secret-key-file, the same to " +
		"every server and command: \"openssl rand -hex 32\" makes one for a new database; keep it as safe as the database",
}

// checkDatabase checks the form of --database.
func (p *program) checkDatabase() error {
	path, isSQLite := strings.CutPrefix(p.Database, sqlitePrefix)
	switch {
	case p.Database == inMemory:
		return nil
	case isSQLite && (path == "" || path == ":memory:"):
		return errNoPath
	case isSQLite:
		return nil
	default:
		return p.checkURL()
	}
}

// checkURL checks the URL of a database server before any connection. Its errors repeat nothing of the URL: in a
// malformed one, any part may be the password.
func (p *program) checkURL() error {
	scheme, _, _ := strings.Cut(p.Database, ":")
	if scheme != postgres && scheme != postgresql {
		return badValue("--database: must be sqlite:PATH or postgres://USER:PASSWORD@HOST:5432/NAME")
	}
	u, err := url.Parse(p.Database)
	if err != nil || u.Opaque != "" {
		return badValue("--database: is not a URL such as postgres://USER:PASSWORD@HOST:5432/NAME; special characters " +
			"in the password are percent-encoded, @ as %%40")
	}
	if u.Hostname() == "" && !u.Query().Has("host") {
		return badValue("--database: names no host, as in postgres://USER:PASSWORD@HOST:5432/NAME")
	}
	if u.User.Username() == "" {
		return badValue("--database: names no role, as in postgres://USER:PASSWORD@HOST:5432/NAME")
	}
	if port := u.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return badValue("--database: the port must be a number from 1 to 65535")
		}
	}
	if strings.Trim(u.Path, "/") == "" {
		return badValue("--database: names no database, as in postgres://USER:PASSWORD@HOST:5432/NAME")
	}
	return nil
}

func (d *database) close() error {
	if d.sql == nil {
		return nil
	}
	if err := d.sql.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// migrate applies the pending migrations.
func (d *database) migrate(ctx context.Context) error {
	if d.sql == nil {
		return nil
	}
	if err := d.sql.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// pending returns the names of the migrations that have not been applied.
func (d *database) pending(ctx context.Context) ([]string, error) {
	if d.sql == nil {
		return nil, nil
	}
	names, err := d.sql.Pending(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the migrations of the database: %w", err)
	}
	return names, nil
}

// service creates the service over the database, and verifies that the secret keys are those of the database.
func (d *database) service(ctx context.Context, cfg *ticketing.Config) (*ticketing.Service, error) {
	cfg.SecretKeys = d.secrets
	svc, err := ticketing.New(d.store, cfg)
	if err != nil {
		return nil, &failure{code: codeSecretKey, text: withoutPackages(err.Error())} // New fails for no other reason.
	}
	if err := svc.Ready(ctx); err != nil {
		return nil, err
	}
	return svc, nil
}

var errOutdated = &failure{
	code: "NOT_MIGRATED",
	text: "the tables are not up to date: run \"ticketing migrate\", or serve without --no-migrate",
}
