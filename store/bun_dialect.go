package store

import (
	"reflect"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/schema"

	"github.com/floatgate/ticketing/driver"
)

// columnDialect is a dialect of Bun whose columns are those of this store: an id is a uuid in PostgreSQL and 16 bytes
// in SQLite, a time is milliseconds since 1970 and NULL if it is zero, and a list is one text.
type columnDialect struct {
	schema.Dialect

	tables *schema.Tables
}

// newModels returns Bun's query builder for a dialect. It only builds statements and scans rows: a session or a
// transaction sends them, on its own connection and in its own order.
func newModels(of schema.Dialect) *bun.DB {
	d := &columnDialect{Dialect: of}
	d.tables = schema.NewTables(d)
	return bun.NewDB(nil, d)
}

// Tables returns the tables of the models.
func (d *columnDialect) Tables() *schema.Tables { return d.tables }

// OnTable sets how the fields of a model are written and scanned.
func (d *columnDialect) OnTable(table *schema.Table) {
	d.Dialect.OnTable(table)
	for _, field := range table.FieldMap {
		switch field.StructField.Type {
		case reflect.TypeFor[uuid.UUID]():
			field.Append, field.Scan = appendField(asID), scanField(asID)
			if field.NullZero {
				// Bun itself would write DEFAULT, and read the default back.
				field.NullZero, field.Append = false, appendField(asOptional)
			}
		case reflect.TypeFor[time.Time]():
			field.Scan = scanField(func(t *time.Time) *moment { return (*moment)(t) })
		case reflect.TypeFor[[]string]():
			field.Append, field.Scan = appendField(asTexts), scanField(asTexts)
		case reflect.TypeFor[[]driver.Grant]():
			field.Append, field.Scan = appendField(asGrants), scanField(asGrants)
		case reflect.TypeFor[[]driver.FactType]():
			field.Append, field.Scan = appendField(asTypes), scanField(asTypes)
		}
	}
}

func asOptional(i *uuid.UUID) *optional               { return (*optional)(i) }
func asID(i *uuid.UUID) *id                           { return (*id)(i) }
func asTexts(t *[]string) *texts[string]              { return (*texts[string])(t) }
func asGrants(g *[]driver.Grant) *texts[driver.Grant] { return (*texts[driver.Grant])(g) }
func asTypes(t *[]driver.FactType) *types             { return (*types)(t) }

// scanField returns the function that scans a column into a field, through a type that implements Scan.
func scanField[F any, C interface{ Scan(src any) error }](as func(*F) C) schema.ScannerFunc {
	return func(field reflect.Value, src any) error { return as(field.Addr().Interface().(*F)).Scan(src) }
}

// appendField returns the function that writes a field.
func appendField[F any, C interface {
	append(schema.QueryGen, []byte) []byte
}](as func(*F) C) schema.AppenderFunc {
	return func(gen schema.QueryGen, b []byte, field reflect.Value) []byte {
		value := field.Interface().(F)
		return as(&value).append(gen, b)
	}
}

// AppendQuery writes an id among the arguments of a query.
func (i id) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) { return i.append(gen, b), nil }

// integer is a number among the arguments of a query. Bun itself would write it into the text.
type integer int64

// AppendQuery writes the number.
func (n integer) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) {
	if binder, ok := gen.Dialect().(*binder); ok {
		return binder.bind(b, int64(n)), nil
	}
	return gen.Append(b, int64(n)), nil
}

func (i id) append(gen schema.QueryGen, b []byte) []byte {
	if gen.Dialect().Name() == dialect.SQLite {
		return gen.Dialect().AppendBytes(b, i[:])
	}
	return gen.Dialect().AppendString(b, uuid.UUID(i).String())
}

func (o optional) append(gen schema.QueryGen, b []byte) []byte {
	if uuid.UUID(o) == uuid.Nil {
		return dialect.AppendNull(b)
	}
	return id(o).append(gen, b)
}

func (t texts[T]) append(gen schema.QueryGen, b []byte) []byte {
	return gen.Dialect().AppendString(b, t.encode())
}

func (t types) append(gen schema.QueryGen, b []byte) []byte {
	return gen.Dialect().AppendString(b, t.encode())
}

// AppendTime writes a time.
func (d *columnDialect) AppendTime(b []byte, at time.Time) []byte {
	if at.IsZero() {
		return dialect.AppendNull(b)
	}
	return strconv.AppendInt(b, at.UnixMilli(), 10)
}

// refusedText replaces a text that not every database keeps exactly. No other text of a statement contains it, so
// modelStatement refuses the statement before it is sent. Bun would store a different text.
const refusedText = 0

// AppendString writes a text.
func (d *columnDialect) AppendString(b []byte, text string) []byte {
	if !keepable(text) {
		return append(b, refusedText)
	}
	return d.Dialect.AppendString(b, text)
}

// binder is the dialect of one statement whose values are bound: it writes a question mark for each.
type binder struct {
	*columnDialect

	bound []any
}

func (d *binder) bind(b []byte, value any) []byte {
	d.bound = append(d.bound, value)
	return append(b, '?')
}

// AppendBytes writes an id or another blob.
func (d *binder) AppendBytes(b, value []byte) []byte { return d.bind(b, value) }

// AppendTime writes a time.
func (d *binder) AppendTime(b []byte, at time.Time) []byte { return d.bind(b, kept(at)) }

// AppendString writes a text.
func (d *binder) AppendString(b []byte, text string) []byte {
	if !keepable(text) {
		return append(b, refusedText)
	}
	return d.bind(b, text)
}
