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
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/store/memory"
)

const (
	inMemory     = "memory:"
	sqlitePrefix = "sqlite:"
	postgres     = "postgres"
	postgresql   = "postgresql"
)

// operate does something on the operator's plane, in the name of whoever runs the command, on a database that is there. It
// brings the tables up to date.
func (p *program) operate(ctx context.Context, do func(op ticketing.Operator) error) error {
	return p.operateWith(ctx, nil, do)
}

// operateWith is operate with a configuration, nil for none.
func (p *program) operateWith(
	ctx context.Context, cfg *ticketing.Config, do func(op ticketing.Operator) error,
) error {
	return p.operateOn(ctx, cfg, func(_ *ticketing.Service, op ticketing.Operator) error { return do(op) })
}

// operateOn is operateWith for what also reads as a company does.
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
	return do(svc, p.operator(svc))
}

// operator acts in the name of the command line.
func (p *program) operator(svc *ticketing.Service) ticketing.Operator {
	return svc.As(ticketing.Staff(actorName(systemUser(os.Getuid()), hostName(), p.Actor.text)))
}

// database is a database that was opened, and the secret keys that go with it.
type database struct {
	store   ticketing.Store
	sql     *store.Store // nil: in memory
	secrets [][]byte
}

// open opens the database that --database names. The secret keys come first, so that a database never exists without.
func (p *program) open(ctx context.Context, cfg *store.Config) (*database, error) {
	given, err := parseSecretKeys(p.SecretKey)
	if err != nil {
		return nil, err
	}
	if p.Database == inMemory {
		return &database{store: memory.New(), secrets: given}, nil
	}
	path, isSQLite := strings.CutPrefix(p.Database, sqlitePrefix)
	if isSQLite && (path == "" || path == ":memory:") {
		return nil, errNoPath
	}
	if isSQLite && given == nil {
		key, err := secretKeyBeside(path, !cfg.MustExist)
		if _, told := errors.AsType[*failure](err); told || errors.Is(err, store.ErrNoDatabase) {
			return nil, err
		}
		if err != nil {
			return nil, &failure{code: codeSecretKey, text: err.Error()}
		}
		given = [][]byte{key}
	}
	if !isSQLite {
		if err := p.checkURL(); err != nil {
			return nil, err
		}
		if given == nil {
			return nil, errNoSecretKey
		}
	}
	opened, err := store.Open(ctx, p.Database, cfg)
	if err != nil {
		return nil, named(err)
	}
	return &database{store: opened, sql: opened, secrets: given}, nil
}

// errNoPath is the answer to SQLite without a file.
var errNoPath = badValue("--database: SQLite needs the path of a file, as in sqlite:ticketing.db; memory: needs none")

// named is what is told of a database that could not be opened: a bad value where it is its name that is wrong.
func named(err error) error {
	if errors.Is(err, store.ErrName) {
		return badValue("--database: %s", after(err, store.ErrName))
	}
	return fmt.Errorf("--database: %w", err)
}

// errNoSecretKey is the answer to a database beside which no key can be kept: it has no folder, and several machines.
var errNoSecretKey = &failure{
	code: codeSecretKey,
	text: "with PostgreSQL the secret key must be given, as TICKETING_SECRET_KEY or --secret-key, the same to every " +
		"server and command: \"openssl rand -hex 32\" makes one for a new database; keep it as safe as the database",
}

// checkURL finds what is wrong with the name of a server before anything is asked of it. It repeats nothing of the name:
// where it cannot be read, any part of it may be the password.
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

// migrate brings the tables up to date.
func (d *database) migrate(ctx context.Context) error {
	if d.sql == nil {
		return nil
	}
	if err := d.sql.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// pending tells which migrations the tables lack.
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

// service makes the service over the database, and finds out whether the secret keys are those of the database.
func (d *database) service(ctx context.Context, cfg *ticketing.Config) (*ticketing.Service, error) {
	cfg.SecretKeys = d.secrets
	svc, err := ticketing.New(d.store, cfg)
	if err != nil {
		return nil, &failure{code: codeSecretKey, text: withoutPackages(err.Error())} // It has no other reason to fail.
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
