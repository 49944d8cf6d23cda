package main

import (
	"context"
	"errors"
	"strings"
)

type migrateCommand struct {
	Distribute string `help:"For a later version, with PostgreSQL: also spread the tables over a cluster; citus." placeholder:"ENGINE"`
}

func (*migrateCommand) Help() string {
	return `It is safe to repeat, and safe beside servers that run. "ticketing serve" does the same unless --no-migrate.`
}

// migrated names the migrations that were pending.
type migrated struct {
	Applied []string `json:"applied"`
}

func (c *migrateCommand) Run(ctx context.Context, p *program) (err error) {
	if p.Database == inMemory {
		return badValue("--database: memory: has no tables to migrate")
	}
	if c.Distribute != "" {
		if c.Distribute != "citus" {
			return badValue("--distribute: must be citus")
		}
		if strings.HasPrefix(p.Database, sqlitePrefix) {
			return badValue("--distribute: a SQLite database is one file on one machine; citus spreads a PostgreSQL database")
		}
	}
	opened, err := p.open(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	pending, err := opened.pending(ctx)
	if err != nil {
		return err
	}
	if err := opened.migrate(ctx); err != nil {
		return err
	}
	// A wrong secret key is told here, not when the server starts after it.
	if _, err := opened.service(ctx, nil); err != nil {
		return err
	}
	if pending == nil {
		pending = []string{}
	}
	said := "nothing, the tables are up to date"
	if len(pending) > 0 {
		said = strings.Join(pending, ", ")
	}
	return p.show(migrated{Applied: pending}, field{"Applied", said})
}
