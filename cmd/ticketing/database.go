package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/store/memory"
)

const (
	inMemory     = "memory:"
	sqlitePrefix = "sqlite:"
)

// operate does something on the operator's plane, in the name of whoever runs the command. It makes the database where
// there is none and brings its tables up to date, so that the first command of a newcomer is no other than the tenth.
func (p *program) operate(ctx context.Context, do func(op ticketing.Operator) error) error {
	return p.operateOn(ctx, func(_ *ticketing.Service, op ticketing.Operator) error { return do(op) })
}

// operateOn is operate for what also reads as a company does.
func (p *program) operateOn(
	ctx context.Context, do func(svc *ticketing.Service, op ticketing.Operator) error,
) (err error) {
	if p.Database == inMemory {
		return badValue("--database: memory: is gone at exit, so it is for demo and serve only")
	}
	opened, err := p.open(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	if err := opened.migrate(ctx); err != nil {
		return err
	}
	svc, err := opened.service(ctx, nil)
	if err != nil {
		return err
	}
	name := "command line"
	if user := p.getenv("USER"); user != "" {
		name += " of " + user
	}
	return do(svc, svc.As(ticketing.Staff(name)))
}

// database is a database that was opened, and the secret keys that go with it.
type database struct {
	store   ticketing.Store
	sql     *store.Store // nil: in memory
	secrets [][]byte
}

// open opens the database that --database names. The secret keys come first, so that a database never exists without.
func (p *program) open(ctx context.Context, logger *slog.Logger) (*database, error) {
	given, err := parseSecretKeys(p.SecretKey)
	if err != nil {
		return nil, err
	}
	if p.Database == inMemory {
		return &database{store: memory.New(), secrets: given}, nil
	}
	path, isSQLite := strings.CutPrefix(p.Database, sqlitePrefix)
	if isSQLite && (path == "" || path == ":memory:") {
		return nil, badValue("--database: SQLite needs the path of a file, as in sqlite:ticketing.db; memory: needs none")
	}
	if isSQLite && given == nil {
		key, err := secretKeyBeside(path)
		if _, told := errors.AsType[*failure](err); told {
			return nil, err
		}
		if err != nil {
			return nil, &failure{code: codeSecretKey, text: err.Error()}
		}
		given = [][]byte{key}
	}
	opened, err := store.Open(ctx, p.Database, &store.Config{Logger: logger})
	if err != nil {
		if !isSQLite {
			return nil, badValue("--database: %v", err)
		}
		return nil, fmt.Errorf("--database: %w", err)
	}
	return &database{store: opened, sql: opened, secrets: given}, nil
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
func (d *database) service(ctx context.Context, logger *slog.Logger) (*ticketing.Service, error) {
	svc, err := ticketing.New(d.store, &ticketing.Config{SecretKeys: d.secrets, Logger: logger})
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
