package bench

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// column is a column of the rows that a statement writes.
type column struct {
	name string
	// value is SQL, for a column that is the same in all rows. For any other column, kind and element describe an
	// array.
	value, kind string
	element     func(i int) string
}

// constantColumn returns a column with the same value in all rows.
func constantColumn(name, value string) column { return column{name: name, value: value} }

// arrayColumn returns a column whose value differs from row to row. The elements are not quoted here: element must add
// any quotes that they need.
func arrayColumn(name, kind string, element func(i int) string) column {
	return column{name: name, kind: kind, element: element}
}

// insert writes a statement that inserts rows the way the store does: each column that differs from row to row is
// passed as an array.
func insert(to *strings.Builder, table string, rows int, columns ...column) {
	var names, values, arrays, differing []string
	for _, c := range columns {
		names = append(names, c.name)
		if c.element == nil {
			values = append(values, c.value)
			continue
		}
		values = append(values, "v."+c.name)
		differing = append(differing, c.name)
		arrays = append(arrays, array(c.kind, rows, c.element))
	}
	fmt.Fprintf(to, "INSERT INTO %s (%s) SELECT %s FROM unnest(%s) AS v (%s);\n", table, strings.Join(names, ", "),
		strings.Join(values, ", "), strings.Join(arrays, ", "), strings.Join(differing, ", "))
}

// array returns the literal of an array.
func array(kind string, n int, element func(i int) string) string {
	const usual = 40 // bytes of an element
	text := make([]byte, 0, usual*n)
	text = append(text, "'{"...)
	for i := range n {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, element(i)...)
	}
	return string(append(text, "}'::"+kind+"[]"...))
}

// countFrom returns a function that yields numbers from a start, a step apart.
func countFrom(from, step int64) func(int) string {
	return func(i int) string { return number(from + step*int64(i)) }
}

// repeatEach returns a function that repeats each element n times.
func repeatEach(n int, of func(int) string) func(int) string {
	return func(i int) string { return of(i / n) }
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func randomID(int) string { return uuid.NewString() }

func randomHash(int) string { return `"\\x` + randomHex(32) + `"` }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // It never fails.
	return hex.EncodeToString(b)
}
