package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store"
)

type migrateCommand struct {
	Distribute string `help:"With PostgreSQL: also spread the tables over a cluster, by company. The only engine is citus." placeholder:"ENGINE"`
	DryRun     bool   `help:"Change nothing: print what each pending migration changes, how long it takes and what waits." name:"dry-run"`
}

func (*migrateCommand) Help() string {
	return `It is safe to repeat, and safe beside servers that run. "ticketing serve" does the same unless --no-migrate.

--dry-run needs no secret key and makes no database. Its exit status is 0 if there is something to do, and also if ` +
		`there is nothing. docs/upgrading.md says how to go back.

--distribute citus makes the tables of a Citus cluster distributed, by company, and reference tables, those that are ` +
		`not yet. Best before there is data. Later migrations then spread what they add by themselves.`
}

// migrated lists the migrations that this process applied.
type migrated struct {
	Applied []string `json:"applied"`
}

func (c *migrateCommand) Run(ctx context.Context, p *program) (err error) {
	if err := c.check(p); err != nil {
		return err
	}
	if c.DryRun {
		return c.preview(ctx, p)
	}
	opened, err := p.open(ctx, &store.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	applied, err := opened.sql.Apply(ctx)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	if c.Distribute != "" {
		if err := opened.sql.Distribute(ctx); err != nil {
			return fmt.Errorf("--distribute: %w", err)
		}
	}
	// A wrong secret key is reported here, not only when the server starts later.
	if _, err := opened.service(ctx, &ticketing.Config{}); err != nil {
		return err
	}
	if applied == nil {
		applied = []string{}
	}
	said := "nothing, the tables are up to date"
	if len(applied) > 0 {
		said = strings.Join(applied, ", ")
	}
	return p.show(migrated{Applied: applied}, field{"Applied", said})
}

// check refuses flags that do not fit the database.
func (c *migrateCommand) check(p *program) error {
	switch {
	case p.Database == inMemory:
		return badValue("--database: memory: has no tables to migrate")
	case c.Distribute == "":
		return nil
	case c.Distribute != "citus":
		return badValue("--distribute: must be citus")
	case strings.HasPrefix(p.Database, sqlitePrefix):
		return badValue("--distribute: a SQLite database is one file on one machine; citus spreads a PostgreSQL database")
	}
	return nil
}
