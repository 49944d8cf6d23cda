package store

import (
	"slices"
	"strconv"
	"strings"
)

// Where the values of a message are bound, some of its statements are sent as one. Each statement costs the server some
// ten microseconds, whatever it does, and one caller's sale is as long as its statements. What is merged gives the same
// result in one statement:
//
//   - The settings of a transaction, its gates and its claims are expressions of one SELECT, which PostgreSQL evaluates
//     from left to right. At most one of them waits, since the limit of a statement is to bound one wait.
//   - Writes to different tables are parts of one WITH, see mergeWrites.
//
// Locks of rows are statements of their own. They come after the gates: a statement that waits for a gate does not see
// rows that were written meanwhile, and would not lock them.
//
// The driver returns the rows of one statement of a simple message. So there such an expression is the condition of an
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
	noCore      coreKind = iota
	takesGates           // an expression that takes advisory locks, and may wait for them
	takesClaims          // an expression that tries advisory locks
	locksRows            // an expression that locks rows
	writesRows           // a statement that writes rows to one table
)

// maxMerged is how many merged writes a connection prepares. Each is a combination of statements, and takes PostgreSQL
// as much memory as these together, for a sale alone some 0.3 MB. maxSeen is how many it remembers that came once.
const maxMerged, maxSeen = 24, 100

// appendExpecting ends a statement. A statement that must change a number of rows divides by zero if it changes another
// number, since the results of several statements in one message are not visible one by one.
func (e *postgresEngine) appendExpecting(to, statement *builder, records int) {
	to.engine, to.template = e, to.template || e.traits().prepares
	if records == anyNumber {
		to.append(statement)
		to.endPartOf(statement.kept(), statement.shards, coreOfWrite(statement, 0, to.inPart(), false))
		return
	}
	to.add("WITH changed AS (")
	from := to.inPart()
	to.append(statement)
	end := to.inPart()
	to.add(" RETURNING 1)\nSELECT 1 / CASE WHEN count(*) = ? THEN 1 ELSE 0 END FROM changed", records)
	to.endPartOf(statement.kept(), statement.shards, coreOfWrite(statement, from, end, true))
}

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
	parts    int    // how many parts of the message it is
}

// mayWrite is an expression that PostgreSQL refuses in a transaction that may only read, as on a standby: with 25001,
// since a query comes too late to change that. An UPDATE would be refused, too, and begin then tries another
// connection. The statement names no table: the search path is not set yet when it is parsed.
const mayWrite = "set_config('transaction_read_only', 'off', true)"

// mergeTaking returns the statement that makes the settings and takes the gates and claims of the first parts.
func mergeTaking(to []byte, settings []setting, text []byte, start int, parts []part) merged {
	to = append(to, "SELECT "...)
	for i, s := range settings {
		to = appendComma(to, i)
		to = append(append(append(to, "set_config('"...), s.name...), "', "...)
		to = append(append(to, literalMark, literalType("text")), ", true)"...)
	}
	count := 0
	for _, kind := range []coreKind{takesGates, takesClaims} {
		if count == len(parts) || parts[count].core.kind != kind {
			continue
		}
		if count == 0 {
			to = append(appendComma(to, len(settings)), mayWrite...)
		}
		one := parts[count].core
		to = append(appendComma(to, 1), text[start+one.from:start+one.end]...)
		start = parts[count].text
		count++
	}
	return merged{to, count}
}

// mergeLock returns the statement that locks the rows which a part locks.
func mergeLock(to, text []byte, start int, of core) merged {
	return merged{append(append(to, "SELECT "...), text[start+of.from:start+of.end]...), 1}
}

func appendComma(to []byte, before int) []byte {
	if before > 0 {
		to = append(to, ", "...)
	}
	return to
}

// mergeWrites returns the statement that does the writes of the first parts, as long as each is to another table. It
// divides by zero if one does not change its number of rows: see appendExpecting.
//
// All see the moment at which the statement began, and not each other. PostgreSQL runs those whose rows are counted
// first, and the others in any order. So this is for writes of rows that the transaction has locked, or that others
// keep out of by its gates, and of which none depends on another: those that isHot names. Foreign keys are checked at
// the end of the statement. If two of them fail, the error may be that of either.
func mergeWrites(to, text []byte, start int, parts []part) merged {
	var tables []string
	for _, one := range parts {
		if one.core.kind != writesRows || slices.Contains(tables, one.core.table) {
			break
		}
		tables = append(tables, one.core.table)
	}
	count := len(tables)
	if count < 2 {
		return merged{parts: count}
	}
	checks := []byte("\nSELECT 1")
	for i, one := range parts[:count] {
		number := strconv.Itoa(i)
		if i == 0 {
			to = append(to, mergedWrites...)
		} else {
			to = append(append(append(to, ",\nw"...), number...), " AS ("...)
		}
		to = append(to, text[start+one.core.from:start+one.core.end]...)
		if one.core.counted {
			to = append(append(append(to, " RETURNING 1), c"...), number...), " AS (SELECT 1 / CASE WHEN count(*) = "...)
			to = append(append(append(to, literalMark, literalType("bigint")), " THEN 1 ELSE 0 END AS ok FROM w"...), number...)
			checks = append(append(append(checks, ", (SELECT ok FROM c"...), number...), ')')
		}
		to = append(to, ')')
		start = one.text
	}
	return merged{append(to, checks...), count}
}

// isMerged reports whether a template is that of merged writes.
func isMerged(template string) bool { return strings.HasPrefix(template, mergedWrites) }

// mergedWrites is what merged writes begin with.
const mergedWrites = "WITH w0 AS ("
