package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/ids"
)

// The writes of a group have thousands of values, and the database waits while their statements are built. So the
// tables of a sale are described by typed columns. They append a value to a statement without a value of type any
// between, which would be an allocation each.

// column is a column of a table, and its values in records of a type.
type column[R any] struct {
	name  string
	cells func(records []R) cells
}

// cells are the values of a column in a number of records.
type cells interface {
	// kind is the type of the column, as of kindOf.
	kind() string
	// repeatable reports whether the values are ids that may be written once and named by their places: see
	// valuesTable.
	repeatable() bool
	equal(i, j int) bool
	value(i int) any
	// width is about how many bytes a value takes in an array literal.
	width() int
	// appendElements appends all values as elements of an array literal, separated by commas. It fails for a text that a
	// database would not keep.
	appendElements(b []byte) ([]byte, error)
	// appendField appends a value as a field of a row in the binary format of COPY: its length in four bytes, and the
	// value. It fails as appendElements does.
	appendField(b []byte, i int) ([]byte, error)
}

// typedCells implements cells for values of one type.
type typedCells[R, V any] struct {
	columnKind[V]

	records []R
	of      func(*R) V
}

// columnKind is what columns of a type have in common.
type columnKind[V any] struct {
	name   string
	ids    bool
	size   int
	same   func(a, b V) bool
	append func(b []byte, v V) []byte
	field  func(b []byte, v V) []byte
	check  func(v V) error // nil: every value is kept
	boxed  func(v V) any   // the value as [builder.value] takes it
}

func (k *columnKind[V]) kind() string     { return k.name }
func (k *columnKind[V]) repeatable() bool { return k.ids }
func (k *columnKind[V]) width() int       { return k.size }

// refuse returns an error for a value that a database would not keep.
func (k *columnKind[V]) refuse(v V) error {
	if k.check == nil {
		return nil
	}
	return k.check(v)
}

func (c *typedCells[R, V]) at(i int) V          { return c.of(&c.records[i]) }
func (c *typedCells[R, V]) equal(i, j int) bool { return c.same(c.at(i), c.at(j)) }
func (c *typedCells[R, V]) value(i int) any     { return c.boxed(c.at(i)) }

func (c *typedCells[R, V]) appendElements(b []byte) ([]byte, error) {
	for i := range c.records {
		if i > 0 {
			b = append(b, ',')
		}
		v := c.of(&c.records[i])
		if err := c.refuse(v); err != nil {
			return b, err
		}
		b = c.append(b, v)
	}
	return b, nil
}

func (c *typedCells[R, V]) appendField(b []byte, i int) ([]byte, error) {
	v := c.at(i)
	if err := c.refuse(v); err != nil {
		return b, err
	}
	return c.field(b, v), nil
}

func newColumn[R, V any](name string, of func(*R) V, kind columnKind[V]) column[R] {
	return column[R]{name, func(records []R) cells { return &typedCells[R, V]{kind, records, of} }}
}

func equals[V comparable](a, b V) bool { return a == b }

func boxed[V any](v V) any { return v }

func idColumn[R any](name string, of func(*R) uuid.UUID) column[R] {
	return newColumn(name, of, columnKind[uuid.UUID]{
		name: "uuid", size: 37, ids: true, same: equals[uuid.UUID], append: ids.AppendText, field: idField,
		boxed: boxed[uuid.UUID],
	})
}

// optionalColumn is a column of ids in which the zero id is NULL.
func optionalColumn[R any](name string, of func(*R) uuid.UUID) column[R] {
	return newColumn(name, of, columnKind[uuid.UUID]{
		name: "uuid", size: 37, same: equals[uuid.UUID], boxed: func(v uuid.UUID) any { return optional(v) },
		append: func(b []byte, v uuid.UUID) []byte {
			if v == uuid.Nil {
				return append(b, "NULL"...)
			}
			return ids.AppendText(b, v)
		},
		field: func(b []byte, v uuid.UUID) []byte {
			if v == uuid.Nil {
				return append(b, nullField...)
			}
			return idField(b, v)
		},
	})
}

func numberColumn[R any](name string, of func(*R) int64) column[R] {
	return newColumn(name, of, columnKind[int64]{
		name: "bigint", size: 10, same: equals[int64], boxed: boxed[int64],
		append: func(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }, field: numberField,
	})
}

// timeColumn is a column of times in milliseconds, in which the zero time is NULL.
func timeColumn[R any](name string, of func(*R) time.Time) column[R] {
	return newColumn(name, of, columnKind[time.Time]{
		name: "bigint", size: 14, same: equals[time.Time], boxed: boxed[time.Time],
		append: func(b []byte, v time.Time) []byte {
			if v.IsZero() {
				return append(b, "NULL"...)
			}
			return strconv.AppendInt(b, v.UnixMilli(), 10)
		},
		field: func(b []byte, v time.Time) []byte {
			if v.IsZero() {
				return append(b, nullField...)
			}
			return numberField(b, v.UnixMilli())
		},
	})
}

func textColumn[R any](name string, of func(*R) string) column[R] {
	return newColumn(name, of, columnKind[string]{
		name: "text", size: 30, same: equals[string], boxed: boxed[string], append: appendQuoted,
		field: func(b []byte, v string) []byte { return append(appendLength(b, len(v)), v...) },
		check: func(v string) error {
			if !keepable(v) {
				return errText
			}
			return nil
		},
	})
}

func boolColumn[R any](name string, of func(*R) bool) column[R] {
	return newColumn(name, of, columnKind[bool]{
		name: "boolean", size: 6, same: equals[bool], boxed: boxed[bool], append: strconv.AppendBool,
		field: func(b []byte, v bool) []byte {
			if v {
				return append(b, 0, 0, 0, 1, 1)
			}
			return append(b, 0, 0, 0, 1, 0)
		},
	})
}

// bytesColumn is a column of bytes, in which nil is NULL.
func bytesColumn[R any](name string, of func(*R) []byte) column[R] {
	return newColumn(name, of, columnKind[[]byte]{
		name: "bytea", size: 70, boxed: boxed[[]byte],
		same: func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) },
		append: func(b []byte, v []byte) []byte {
			if v == nil {
				return append(b, "NULL"...)
			}
			return append(hex.AppendEncode(append(b, `"\\x`...), v), '"')
		},
		field: func(b []byte, v []byte) []byte {
			if v == nil {
				return append(b, nullField...)
			}
			return append(appendLength(b, len(v)), v...)
		},
	})
}

// nullField is a field of COPY that is NULL: it has the length -1 and no value.
const nullField = "\xff\xff\xff\xff"

func appendLength(b []byte, length int) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(length)) //nolint:gosec // Of a value that a column may have.
}

func idField(b []byte, v uuid.UUID) []byte { return append(appendLength(b, len(v)), v[:]...) }

func numberField(b []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(appendLength(b, 8), uint64(v)) //nolint:gosec // All 64 bits are wanted.
}

// setOf returns the set of the records, with their columns.
func setOf[R any](columns []column[R], records []R) set {
	s := set{columns: make([]string, len(columns)), typed: make([]cells, len(columns)), count: len(records)}
	for i, c := range columns {
		s.columns[i], s.typed[i] = c.name, c.cells(records)
	}
	return s
}

// shortWidth is about how many bytes a place in a list of ids takes.
const shortWidth = 4

// grow makes room in a statement for the values of the typed columns that vary.
func (t valuesTable) grow(to *builder) {
	size := 0
	for i, column := range t.typed {
		switch {
		case t.constant[i]:
		case t.short[i]:
			size += t.count * shortWidth
		default:
			size += t.count * column.width()
		}
	}
	if to.template {
		to.literals.text = slices.Grow(to.literals.text, size)
	}
}

// boxedRows is a set with its rows as values of type any, for an engine that binds them.
func (s set) boxedRows() set {
	if s.typed == nil {
		return s
	}
	rows := make([][]any, s.count)
	values := make([]any, s.count*len(s.typed))
	for i := range rows {
		rows[i], values = values[:len(s.typed):len(s.typed)], values[len(s.typed):]
		for j, column := range s.typed {
			rows[i][j] = column.value(i)
		}
	}
	return set{columns: s.columns, rows: rows}
}

// insertRecords inserts records into a table: up to inserted of them by INSERT, and more by COPY where the engine can.
// An INSERT of the rows of one sale takes less time, since the server asks for the rows of each COPY and so wakes the
// process. In the rows of several sales the columns that have one value for all of them differ from group to group, and
// each combination would be a statement of its own to prepare.
func insertRecords[R any](
	ctx context.Context, tx *transaction, name, table string, columns []column[R], records []R, inserted int,
) error {
	e, _ := tx.store.engine.(*postgresEngine)
	copies := len(records) > inserted && e != nil && e.copies()
	return inParts(records, func(records []R) error {
		if copies {
			return tx.copy(ctx, e, name, table, setOf(columns, records))
		}
		return tx.put(ctx, name, table, setOf(columns, records), "")
	})
}
