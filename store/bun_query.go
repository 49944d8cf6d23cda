package store

import (
	"bytes"
	"context"
	"database/sql"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// Bun builds the statements about models, one text for both dialects. A model is a struct with Bun's tags around the
// fields of a record. Models and records convert to each other, so a field that only one of the two has does not
// compile. The exception is companyModel, whose columns are in another order.
//
// A builder writes the statements of a sale, a validation, an order, a public list and the relay, except what it
// removes: see builder. A function scans the records that such a statement reads.

// modelStatement returns the statement that Bun built. Its values are bound where the engine binds values.
func (s *Store) modelStatement(query schema.QueryAppender) *builder {
	statement := &builder{engine: s.engine}
	dialect := s.models.Dialect()
	var values *binder
	if s.engine.traits().bindsValues {
		values = &binder{columnDialect: dialect.(*columnDialect)}
		dialect = values
	}
	statement.text, statement.err = query.AppendQuery(schema.NewQueryGen(dialect), nil)
	if values != nil {
		statement.bound = values.bound
	}
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
	if s.announcing {
		return nil, nil
	}
	statement := s.store.modelStatement(query.Model(&models))
	if changes(statement) {
		s.ahead.forget()
	}
	s.keep(name, statement)
	err := s.readNow(ctx, name, statement, func(rows rowSet) error {
		models = nil
		return s.store.models.ScanRows(ctx, rows.(*sql.Rows), &models) //nolint:forcetypeassert // It was not joined.
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

// selection returns the statement for columns of a model. A function scans them in their order, as it does for text.
func (s *session) selection(model any, columns string, query *bun.SelectQuery) *builder {
	return s.store.modelStatement(query.Model(model).ColumnExpr(columns))
}

// newSelect starts a query.
func (s *session) newSelect() *bun.SelectQuery { return s.store.models.NewSelect() }

// count counts the rows of a query.
func (s *session) count(ctx context.Context, name string, query *bun.SelectQuery) (int, error) {
	scan := func(row rowSet, count *int) error { return row.Scan(count) }
	return firstRow(fetch(ctx, s, name, scan, s.store.modelStatement(query.ColumnExpr("count(*)"))))
}

// expr returns a fragment as an argument of a query of Bun's.
func (s *session) expr(f fragment) schema.QueryAppender {
	return appender(func(gen schema.QueryGen, b []byte) []byte {
		to := &builder{engine: s.store.engine, text: b}
		f.appendTo(to)
		if values, ok := gen.Dialect().(*binder); ok {
			values.bound = append(values.bound, to.bound...)
		}
		if to.err != nil {
			// Bun would write an error into the text and send it.
			return append(to.text, refusedText)
		}
		return to.text
	})
}

// appender is a function that writes a part of a query.
type appender func(gen schema.QueryGen, b []byte) []byte

// AppendQuery writes the part.
func (a appender) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) { return a(gen, b), nil }

// selectKeyed starts a query that finds the rows of a model by a set of keys.
func (s *session) selectKeyed(rows keyedRows) *bun.SelectQuery {
	return s.newSelect().ModelTableExpr("?", s.expr(rows))
}

// page orders a query and limits it. Bun's own limit is a part of the text, and 0 means none.
func page(order string, limit int) func(*bun.SelectQuery) *bun.SelectQuery {
	return func(query *bun.SelectQuery) *bun.SelectQuery {
		return query.OrderExpr(order+" LIMIT ?", integer(max(limit, 0)))
	}
}

// locked makes a query lock the rows that it reads, if the engine has row locks.
func (tx *transaction) locked(query *bun.SelectQuery) *bun.SelectQuery {
	return lockedBy(query, tx.store.engine.traits().rowLock)
}

// lockedFree is like locked, but skips rows that are locked already.
func (tx *transaction) lockedFree(query *bun.SelectQuery) *bun.SelectQuery {
	return lockedBy(query, tx.store.engine.traits().skipLocked)
}

func lockedBy(query *bun.SelectQuery, clause string) *bun.SelectQuery {
	if clause == "" {
		return query
	}
	return query.For(strings.TrimPrefix(clause, " FOR "))
}

// create inserts a model, or a slice of them.
func (tx *transaction) create(ctx context.Context, name string, model any) error {
	return tx.write(ctx, name, anyNumber, tx.insertion(model))
}

func (tx *transaction) insertion(model any) *bun.InsertQuery {
	return tx.store.models.NewInsert().Model(model)
}

// save writes the columns of a model, which must exist. Without columns it writes all but the key and those that are
// written once.
func (tx *transaction) save(ctx context.Context, name string, model any, columns ...string) error {
	return tx.write(ctx, name, 1, tx.store.models.NewUpdate().Model(model).Column(columns...).WherePK())
}

// write runs a statement of Bun's that writes this number of rows.
func (tx *transaction) write(ctx context.Context, name string, records int, query schema.QueryAppender) error {
	statement := tx.store.modelStatement(query)
	statement.once = true
	return tx.send(ctx, name, records, statement)
}

// prune removes the first rows of a company, in the order of a key, from those that a selection leaves. It returns how
// many it removed.
func (tx *transaction) prune(
	ctx context.Context, name, table, key string, companyID uuid.UUID, limit int,
	selection func(rows *bun.SelectQuery) *bun.SelectQuery,
) (int, error) {
	scan := func(row rowSet, one *int) error { return row.Scan(one) }
	gone, err := prunedRows(ctx, tx, name, pruning{
		table: table, key: key, order: key, companyID: companyID, limit: limit, returning: "1", selection: selection,
	}, scan)
	return len(gone), err
}

// pruning describes which rows of a company are removed.
type pruning struct {
	table     string
	index     string // a partial index in which they are found; empty: the primary key
	key       string // the columns of the key after the company
	order     string // the columns by which the first rows are removed
	companyID uuid.UUID
	limit     int
	returning string // a column of the removed rows
	selection func(rows *bun.SelectQuery) *bun.SelectQuery
}

// prunedRows removes rows and scans the removed ones. They are selected once: PostgreSQL reads MATERIALIZED, and SQLite
// runs the subquery of an IN once if it depends on nothing. The planner does not see the limit, as in LeaseFacts.
func prunedRows[R any](
	ctx context.Context, tx *transaction, name string, p pruning, scan func(rowSet, *R) error,
) ([]R, error) {
	from := p.table + " AS t"
	if p.index != "" {
		from += tx.store.engine.traits().useIndex(p.index)
	}
	selected := tx.newSelect().TableExpr(from).ColumnExpr("company_id, "+p.key).
		Where("company_id = ?", id(p.companyID)).Apply(p.selection).
		OrderExpr(p.order+" LIMIT (SELECT ?)", integer(max(p.limit, 0)))
	return fetch(ctx, &tx.session, name, scan, tx.store.modelStatement(tx.store.models.NewDelete().
		WithQuery(bun.NewWithQuery("due", selected).Materialized()).
		TableExpr(p.table).Where("?", tx.expr(dueRows{p.companyID, p.key, p.limit})).Returning(p.returning)))
}
