package store

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/uptrace/bun"
)

//go:embed migrations
var migrations embed.FS

// Migration is one step of the schema.
type Migration struct {
	// Name orders the migrations, such as "0001_tickets".
	Name string
	// SQL is the step, with the INSERT that records it as applied. To migrate by other means, run all of it in one
	// transaction.
	SQL string
	// Checksum is the SHA-256 of the step, in hexadecimal. It never changes after a release.
	Checksum string
	// Notes are what an operator wants to know before applying the step.
	Notes MigrationNotes
}

// Migrations returns the migrations of a dialect, "sqlite" or "postgres", oldest first.
func Migrations(dialect string) ([]Migration, error) {
	entries, err := fs.ReadDir(migrations, path.Join("migrations", dialect))
	if err != nil {
		return nil, fmt.Errorf("ticketing/store: there are no migrations for %q", dialect)
	}
	steps := make([]Migration, len(entries))
	for i, entry := range entries {
		text, err := fs.ReadFile(migrations, path.Join("migrations", dialect, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("ticketing/store: %w", err)
		}
		sum := sha256.Sum256(text)
		step := Migration{Name: strings.TrimSuffix(entry.Name(), ".sql"), Checksum: hex.EncodeToString(sum[:])}
		step.Notes = notesOf(dialect, step.Name)
		step.SQL = fmt.Sprintf("%s\nINSERT INTO ticketing_migrations (name, checksum) VALUES ('%s', '%s');\n",
			text, step.Name, step.Checksum)
		steps[i] = step
	}
	return steps, nil
}

// Migrate brings the schema to that of this version, each migration in a transaction of its own. Any number of
// processes may call it at once: one of them applies each step, and all return when the last one is done. If a newer
// version migrated the database, it fails with [ErrSchema].
func (s *Store) Migrate(ctx context.Context) error {
	if _, err := s.Apply(ctx); err != nil {
		return err
	}
	return s.ready(ctx)
}

// Apply is like Migrate, and returns the names of the migrations that this process applied, in order. It leaves out
// those that other processes applied while it waited.
func (s *Store) Apply(ctx context.Context) (applied []string, err error) {
	for complete := false; ; {
		pending, err := s.Pending(ctx)
		if err == nil && len(pending) == 0 {
			err = s.completeCluster(ctx)
		}
		if err != nil || len(pending) == 0 {
			return applied, err
		}
		if complete {
			return applied, fmt.Errorf("%w: its migrations are there on one connection and not on another, as if their "+
				"search paths or servers differed", ErrSchema)
		}
		name, err := s.applyNext(ctx)
		if err != nil {
			return applied, err
		}
		if name != "" {
			applied = append(applied, name)
		}
		complete = name == ""
	}
}

// applyNext waits its turn, applies the first migration that is still pending, and returns its name.
func (s *Store) applyNext(ctx context.Context) (name string, err error) {
	var pending []Migration
	err = s.changeSchema(ctx, "migrate", func(ctx context.Context, conn bun.Conn) error {
		var err error
		if pending, err = s.pending(ctx, conn); err != nil || len(pending) == 0 {
			return err
		}
		statements := []string{pending[0].SQL}
		if s.engine.traits().oneNode {
			statements = statementsOf(pending[0].SQL)
		}
		for _, statement := range statements {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return s.translate("migrate to "+pending[0].Name, err)
			}
		}
		return s.distributeAdded(ctx, conn)
	})
	if err != nil || len(pending) == 0 {
		return "", err
	}
	s.config.Logger.InfoContext(ctx, "ticketing/store: migrated", "migration", pending[0].Name)
	return pending[0].Name, nil
}

// changeSchema runs change in a transaction during which no other process changes the schema.
func (s *Store) changeSchema(
	ctx context.Context, name string, change func(ctx context.Context, conn bun.Conn) error,
) error {
	conn, release, err := s.engine.beginMigration(ctx)
	if err != nil {
		return s.translate(name, err)
	}
	defer release()
	// The transaction must end even if the caller has left.
	ctx = context.WithoutCancel(ctx)
	if err = change(ctx, conn); err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
		err = s.translate(name, err)
	}
	if err != nil {
		if _, failed := conn.ExecContext(ctx, "ROLLBACK"); failed != nil {
			discard(conn)
		}
	}
	return err
}

// PendingMigrations returns the migrations that the database lacks, oldest first. It changes nothing. It fails with
// [ErrSchema] if a newer version migrated the database, or if an applied migration was changed.
func (s *Store) PendingMigrations(ctx context.Context) ([]Migration, error) {
	return s.pending(ctx, s.engine.reader())
}

// Pending returns the names of the migrations that the database lacks.
func (s *Store) Pending(ctx context.Context) ([]string, error) {
	pending, err := s.PendingMigrations(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(pending))
	for i, step := range pending {
		names[i] = step.Name
	}
	return names, nil
}

func (s *Store) pending(ctx context.Context, conn bun.IConn) ([]Migration, error) {
	steps, err := Migrations(s.engine.traits().migrations)
	if err != nil {
		return nil, err
	}
	applied, err := s.applied(ctx, conn)
	if err != nil {
		return nil, s.translateFor(ctx, "read the migrations", err)
	}
	var pending []Migration
	for _, step := range steps {
		switch checksum, found := applied[step.Name]; {
		case !found:
			pending = append(pending, step)
		case checksum != step.Checksum:
			return nil, fmt.Errorf("%w: %s was changed after it had been applied", ErrSchema, step.Name)
		}
		delete(applied, step.Name)
	}
	if len(applied) > 0 {
		newer := strings.Join(slices.Sorted(maps.Keys(applied)), ", ")
		return nil, fmt.Errorf("%w: a newer version applied %s", ErrSchema, newer)
	}
	return pending, nil
}

// applied returns the checksums of the applied migrations by name.
func (s *Store) applied(ctx context.Context, conn bun.IConn) (map[string]string, error) {
	if found, err := s.engine.hasMigrations(ctx, conn); err != nil || !found {
		return nil, err
	}
	applied := make(map[string]string)
	err := s.engine.query(ctx, conn, build(s.engine, "SELECT name, checksum FROM ticketing_migrations"),
		eachRow(func(row rowSet) error {
			var name, checksum string
			err := row.Scan(&name, &checksum)
			applied[name] = checksum
			return err
		}))
	return applied, err
}
