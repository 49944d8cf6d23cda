package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/floatgate/ticketing/store"
)

// migrationPreview is what a migration would do.
type migrationPreview struct {
	CreatesDatabase bool               `json:"createsDatabase"`
	Pending         []pendingMigration `json:"pending"`
	Distribute      []plannedPlacement `json:"distribute"`
}

// pendingMigration is a migration that the database lacks.
type pendingMigration struct {
	Name    string         `json:"name"`
	Changes string         `json:"changes"`
	Takes   string         `json:"takes"`
	Blocks  []blockedTable `json:"blocks"`
	Older   string         `json:"olderServers"`
}

// blockedTable is a table that a migration locks.
type blockedTable struct {
	Table string `json:"table"`
	Reads bool   `json:"reads"`
}

// plannedPlacement is a table that would be distributed; a reference table has no column.
type plannedPlacement struct {
	Table  string  `json:"table"`
	Column *string `json:"column"`
}

// preview prints what the command would do, and changes nothing.
func (c *migrateCommand) preview(ctx context.Context, p *program) (err error) {
	if err := p.checkDatabase(); err != nil {
		return err
	}
	opened, err := store.Open(ctx, p.Database, &store.Config{ReadOnly: true, RowGates: p.rowGates()})
	if errors.Is(err, store.ErrNoDatabase) {
		return p.previewNew()
	}
	if err != nil {
		return named(err)
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	pending, err := opened.PendingMigrations(ctx)
	if err != nil {
		return fmt.Errorf("look at the migrations of the database: %w", err)
	}
	placements, err := c.placements(ctx, opened)
	if err != nil {
		return fmt.Errorf("--distribute: %w", err)
	}
	return p.showPreview(false, pending, placements)
}

// previewNew prints what a migration would do without an existing SQLite database.
func (p *program) previewNew() error {
	path := strings.TrimPrefix(p.Database, sqlitePrefix)
	if folder, err := os.Stat(filepath.Dir(path)); err != nil || !folder.IsDir() {
		return &failure{code: "UNAVAILABLE", text: "the database " + path + " cannot be created: its folder does not exist"}
	}
	all, err := store.Migrations("sqlite")
	if err != nil {
		return err
	}
	return p.showPreview(true, all, nil)
}

// placements returns the tables that would be distributed: with --distribute, and by the migrations of a database whose
// tables are already distributed.
func (c *migrateCommand) placements(ctx context.Context, opened *store.Store) ([]store.Placement, error) {
	if c.Distribute == "" {
		if distributed, err := opened.Distributed(ctx); err != nil || !distributed {
			return nil, err
		}
	}
	return opened.Undistributed(ctx)
}

func (p *program) showPreview(creates bool, pending []store.Migration, placements []store.Placement) error {
	preview := migrationPreview{
		CreatesDatabase: creates, Pending: []pendingMigration{}, Distribute: []plannedPlacement{},
	}
	var fields []field
	if creates {
		fields = append(fields, field{"Creates the database", strings.TrimPrefix(p.Database, sqlitePrefix)})
	}
	for _, step := range pending {
		planned := pendingMigration{
			Name: step.Name, Changes: step.Notes.Changes, Takes: step.Notes.Takes, Blocks: []blockedTable{},
			Older: step.Notes.Older,
		}
		fields = append(fields, field{"Applies", step.Name}, field{"  changes", planned.Changes},
			field{"  takes", planned.Takes})
		if len(step.Notes.Blocks) > 0 {
			fields = append(fields, field{"  locks", blocked(step.Notes.Blocks)})
		}
		fields = append(fields, field{"  older servers", planned.Older})
		for _, lock := range step.Notes.Blocks {
			planned.Blocks = append(planned.Blocks, blockedTable(lock))
		}
		preview.Pending = append(preview.Pending, planned)
	}
	for _, placement := range placements {
		planned, said := plannedPlacement{Table: placement.Table}, placement.Table+", a copy on each node"
		if placement.Column != "" {
			planned.Column, said = &placement.Column, placement.Table+" by "+placement.Column
		}
		fields = append(fields, field{"Distributes", said})
		preview.Distribute = append(preview.Distribute, planned)
	}
	if len(fields) == 0 {
		return p.show(preview, field{"Nothing to do", "the tables are up to date"})
	}
	return p.show(preview, append(fields, field{"Nothing was changed", "\"ticketing migrate\" does it. The only way " +
		"back is a backup from before: docs/upgrading.md"})...)
}

// blocked returns the tables that a migration locks, for a person.
func blocked(locks []store.TableLock) string {
	said := make([]string, len(locks))
	for i, lock := range locks {
		said[i] = lock.Table + " (writes)"
		if lock.Reads {
			said[i] = lock.Table + " (reads and writes)"
		}
	}
	return strings.Join(said, ", ")
}
