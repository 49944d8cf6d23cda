package store

import (
	"bytes"
	"context"
	"database/sql"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/schema"
)

// Statements about models are built by Bun, one text for both dialects. A model is a struct with Bun's tags around the
// fields of a record. A record converts to them, and they to a record: a field that only one of the two has does not
// compile. The statements of a sale, a validation and the relay are written by a builder instead: see builder.

// modelStatement returns the statement that Bun built.
func (s *Store) modelStatement(query schema.QueryAppender) *builder {
	statement := &builder{engine: s.engine}
	statement.text, statement.err = query.AppendQuery(schema.NewQueryGen(s.models.Dialect()), nil)
	if bytes.IndexByte(statement.text, refusedText) >= 0 {
		statement.err = errText
	}
	return statement
}

// find runs a query for the models M and returns their records.
func find[M, R any](
	ctx context.Context, s *session, name string, record func(M) R, query *bun.SelectQuery,
) ([]R, error) {
	var models []M
	err := s.read(ctx, name, s.store.modelStatement(query.Model(&models)), func(rows *sql.Rows) error {
		models = nil
		return s.store.models.ScanRows(ctx, rows, &models)
	})
	if err != nil || len(models) == 0 {
		return nil, err
	}
	found := make([]R, len(models))
	for i, model := range models {
		found[i] = record(model)
	}
	return found, nil
}

// newSelect starts a query.
func (s *session) newSelect() *bun.SelectQuery { return s.store.models.NewSelect() }

// count counts the rows of a query.
func (s *session) count(ctx context.Context, name string, query *bun.SelectQuery) (int, error) {
	scan := func(row *sql.Rows, count *int) error { return row.Scan(count) }
	return one(fetch(ctx, s, name, scan, s.store.modelStatement(query.ColumnExpr("count(*)"))))
}

// expr returns a fragment as an argument of a query of Bun's.
func (s *session) expr(f fragment) schema.QueryAppender { return inline{s.store, f} }

// inline writes a fragment with its values as literals.
type inline struct {
	store    *Store
	fragment fragment
}

// AppendQuery writes the fragment.
func (i inline) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) {
	to := &builder{engine: i.store.engine, text: b, literals: &gen}
	i.fragment.appendTo(to)
	return to.text, to.err
}

// atMost limits a query. Bun takes a limit of 0 for none.
func atMost(limit int) func(*bun.SelectQuery) *bun.SelectQuery {
	return func(query *bun.SelectQuery) *bun.SelectQuery {
		if limit <= 0 {
			return query.Where("1 = 0")
		}
		return query.Limit(int64(limit))
	}
}

// locked makes a query lock the rows that it reads. SQLite has one writer at a time and no row locks.
func locked(query *bun.SelectQuery) *bun.SelectQuery {
	return lockFor(query, "NO KEY UPDATE")
}

// lockedFree is like locked, but passes over rows that are locked already.
func lockedFree(query *bun.SelectQuery) *bun.SelectQuery {
	return lockFor(query, "NO KEY UPDATE SKIP LOCKED")
}

func lockFor(query *bun.SelectQuery, what string) *bun.SelectQuery {
	if query.Dialect().Name() == dialect.SQLite {
		return query
	}
	return query.For(what)
}

// create inserts a model, or a slice of them.
func (tx *transaction) create(ctx context.Context, name string, model any) error {
	return tx.write(ctx, name, anyNumber, tx.insertion(model))
}

// insertion starts an INSERT. Bun would ask for the columns that it writes as DEFAULT, unless it is asked to return none.
func (tx *transaction) insertion(model any) *bun.InsertQuery {
	return tx.store.models.NewInsert().Model(model).Returning("NULL")
}

// save writes the columns of a model, which must exist. Without columns it writes all but the key and those that are
// written once.
func (tx *transaction) save(ctx context.Context, name string, model any, columns ...string) error {
	return tx.write(ctx, name, 1, tx.store.models.NewUpdate().Model(model).Column(columns...).WherePK())
}

// write runs a statement of Bun's that writes this number of rows.
func (tx *transaction) write(ctx context.Context, name string, records int, query schema.QueryAppender) error {
	return tx.send(ctx, name, records, tx.store.modelStatement(query))
}

// prune removes the first rows of a company by a key, those that a condition selects, and returns how many. They are
// selected once, and the planner does not see the limit, as in LeaseFacts.
func (tx *transaction) prune(
	ctx context.Context, name, table, key string, companyID uuid.UUID, limit int,
	condition func(rows *bun.SelectQuery) *bun.SelectQuery,
) (int, error) {
	selected := tx.newSelect().TableExpr(table+" AS t").ColumnExpr("company_id, "+key).
		Where("company_id = ?", id(companyID)).Apply(condition).
		OrderExpr(key+" LIMIT (SELECT ?)", max(limit, 0))
	scan := func(row *sql.Rows, one *int) error { return row.Scan(one) }
	gone, err := fetch(ctx, &tx.session, name, scan, tx.store.modelStatement(tx.store.models.NewDelete().
		WithQuery(bun.NewWithQuery("due", selected).Materialized()).
		TableExpr(table).Where("?", tx.expr(due{companyID, key, limit})).Returning("1")))
	return len(gone), err
}
