package store

import (
	"strconv"
)

// Where the values of a message are bound, some of its statements are sent as one. Each statement costs the server some
// twenty microseconds, whatever it does, and one caller's sale is as long as its statements. What is merged gives the
// same result in one statement:
//
//   - The settings of a transaction, its gates and its claims are expressions that are evaluated in order.
//   - So are two locks of rows. They come after the gates, in a statement of their own: one that waits for a gate does
//     not see rows that were written meanwhile. Rows that a sale locks are older than the keys with which it is asked
//     for, or the first lock guards them.
//   - Writes to different tables do not see each other, and need not.
//
// A simple message cannot do the first two, since its statements return no rows: each expression is the condition of an
// UPDATE that changes nothing.

// core is the part of a statement that does its work. It is merged with that of its neighbours.
type core struct {
	kind      coreKind
	from, end int    // where it is, from the beginning of the template
	table     string // that a write is to
	// counted is set if the write must change a number of rows: the literal after those of the core.
	counted bool
}

type coreKind int

const (
	noCore     coreKind = iota
	takesLocks          // an expression that takes advisory locks
	locksRows           // an expression that locks rows
	writesRows          // a statement that writes rows to one table
)

// maxMerged is how many merged writes a connection keeps prepared. Each is a combination of statements, and takes
// PostgreSQL as much memory as these together.
const maxMerged = 24

// coreOfWrite returns the core of a statement that writes.
func coreOfWrite(statement *builder, from, end int, counted bool) core {
	if statement.table == "" || statement.kept() != keepAlways {
		return core{}
	}
	return core{kind: writesRows, from: from, end: end, table: statement.table, counted: counted}
}

// merged is a number of statements of a message that are sent as one.
type merged struct {
	template []byte // with a mark for each value, in their order
	settings []setting
	parts    int // how many parts of the message it is
}

// mergeTaking returns the statement that makes the settings and takes the advisory locks of the first parts.
func mergeTaking(to []byte, settings []setting, text []byte, start int, parts []part) merged {
	m := merged{settings: settings}
	to = append(to, "SELECT "...)
	for i, s := range settings {
		to = appendComma(to, i)
		to = append(append(append(to, "set_config('"...), s.name...), "', "...)
		to = append(append(to, literalMark, literalType("text")), ", true)"...)
	}
	to, m.parts = appendCores(to, len(settings), takesLocks, text, start, parts)
	m.template = to
	return m
}

// mergeLocks returns the statement that locks the rows which the first parts lock, in their order: PostgreSQL evaluates
// an uncorrelated subquery when its value is asked for first, and the columns of a row from left to right.
func mergeLocks(to, text []byte, start int, parts []part) merged {
	to, count := appendCores(append(to, "SELECT "...), 0, locksRows, text, start, parts)
	return merged{template: to, parts: count}
}

// appendCores appends the expressions of the first parts, as far as they are of a kind, after a number of others.
func appendCores(to []byte, before int, kind coreKind, text []byte, start int, parts []part) (b []byte, count int) {
	for _, one := range parts {
		if one.core.kind != kind {
			break
		}
		to = append(appendComma(to, before+count), text[start+one.core.from:start+one.core.end]...)
		start = one.text
		count++
	}
	return to, count
}

func appendComma(to []byte, before int) []byte {
	if before > 0 {
		to = append(to, ", "...)
	}
	return to
}

// mergeWrites returns the statement that does the writes of the first parts, as long as each is to another table. It
// divides by zero if one does not change its number of rows: see appendExpecting.
func mergeWrites(to, text []byte, start int, parts []part) merged {
	count := 0
	for count < len(parts) && parts[count].core.kind == writesRows && !writesTo(parts[:count], parts[count].core.table) {
		count++
	}
	if count < 2 {
		return merged{parts: count}
	}
	checks := []byte("\nSELECT 1")
	for i, one := range parts[:count] {
		if i == 0 {
			to = append(to, "WITH "...)
		} else {
			to = append(to, ",\n"...)
		}
		number := strconv.Itoa(i)
		to = append(append(append(to, "w"...), number...), " AS ("...)
		to = append(to, text[start+one.core.from:start+one.core.end]...)
		if one.core.counted {
			to = append(append(append(to, " RETURNING 1), c"...), number...), " AS (SELECT 1 / CASE WHEN count(*) = "...)
			to = append(append(append(to, literalMark, literalType("bigint")), " THEN 1 ELSE 0 END AS ok FROM w"...), number...)
			checks = append(append(append(checks, ", (SELECT ok FROM c"...), number...), ')')
		}
		to = append(to, ')')
		start = one.text
	}
	return merged{template: append(to, checks...), parts: count}
}

// writesTo reports whether one of the parts writes to a table.
func writesTo(parts []part, table string) bool {
	for _, one := range parts {
		if one.core.table == table {
			return true
		}
	}
	return false
}
