package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Several reads in one message. The driver returns the rows of one statement of a message, so the reads are joined in
// one: UNION ALL of their rows, each as the text of a record. Each part sees the same moment.

// readAhead holds reads that were announced. They are made with the next read, or with the message that begins a
// transaction, and each is then returned once to the call that makes it.
type readAhead struct{ reads []*announcedRead }

// announcedRead is a read that was announced, identified by its statement.
type announcedRead struct {
	statement *builder
	made      bool
	records   []string // of its result
}

// matches reports whether a statement is that of the read.
func (a *announcedRead) matches(statement *builder) bool {
	return bytes.Equal(a.statement.text, statement.text) &&
		bytes.Equal(a.statement.literals.text, statement.literals.text) &&
		slices.Equal(a.statement.literals.ends, statement.literals.ends)
}

// announce adds a read, unless it is there already. One that cannot be written is left out: the call that makes it
// returns the error.
func (r *readAhead) announce(statement *builder) {
	equal := func(read *announcedRead) bool { return read.matches(statement) }
	if statement.err == nil && !slices.ContainsFunc(r.reads, equal) {
		r.reads = append(r.reads, &announcedRead{statement: statement})
	}
}

// take returns the rows of an announced read that was made.
func (r *readAhead) take(statement *builder) (rows *recordRows, found bool) {
	for i, read := range r.reads {
		if read.made && read.matches(statement) {
			r.reads = slices.Delete(r.reads, i, i+1)
			return &recordRows{records: read.records}, true
		}
	}
	return nil, false
}

// forget removes all reads. What was read is not valid after a write of the same transaction, or after a lock.
func (r *readAhead) forget() { r.reads = nil }

// changes reports whether a statement that returns rows also locks or writes them. It forgets the announced reads, and
// none is joined with it: a part of a statement that waits for a lock sees what was there before the wait.
func changes(statement *builder) bool {
	return bytes.Contains(statement.text, []byte(rowLock)) || bytes.Contains(statement.text, []byte("RETURNING"))
}

// join returns a read joined with the announced ones that were not made yet, which are waiting.
func (r *readAhead) join(
	statement *builder, scan func(rowSet) error,
) (joined *builder, scanJoined func(rowSet) error, waiting []*announcedRead) {
	isMain := func(read *announcedRead) bool { return !read.made && read.matches(statement) }
	r.reads = slices.DeleteFunc(r.reads, isMain)
	for _, read := range r.reads {
		if !read.made {
			waiting = append(waiting, read)
		}
	}
	if len(waiting) == 0 {
		return statement, scan, nil
	}
	main := &announcedRead{statement: statement}
	joined, fill := joinReads(statement.engine, "", append([]*announcedRead{main}, waiting...))
	return joined, func(rows rowSet) error {
		if _, err := fill(rows); err != nil {
			return err
		}
		return scan(&recordRows{records: main.records})
	}, waiting
}

// joinReads returns the statement that makes several reads, and a function that reads its result into them. An extra
// row comes first if extra is the expression of its text, which the function returns.
func joinReads(
	engine engine, extra string, reads []*announcedRead,
) (statement *builder, fill func(rowSet) (extra string, err error)) {
	to := build(engine, "")
	if extra != "" {
		to.add("SELECT -1 AS part, 0::bigint AS place, " + extra + " AS record")
	}
	for i, read := range reads {
		if len(to.text) > 0 {
			to.add("\nUNION ALL ")
		}
		to.add("SELECT " + strconv.Itoa(i) + " AS part, row_number() OVER () AS place, t::text AS record FROM (")
		to.append(read.statement)
		to.add(") AS t")
		to.prepare = max(to.prepare, read.statement.prepare)
	}
	return to, func(rows rowSet) (extra string, err error) {
		for _, read := range reads {
			read.records = nil
		}
		var found []joinedRow
		for rows.Next() {
			var row joinedRow
			if err := rows.Scan(&row.part, &row.place, &row.record); err != nil {
				return "", err
			}
			if row.part < 0 {
				extra = row.record
				continue
			}
			found = append(found, row)
		}
		// UNION ALL promises no order.
		slices.SortFunc(found, func(a, b joinedRow) int { return cmp.Compare(a.place, b.place) })
		for _, row := range found {
			reads[row.part].records = append(reads[row.part].records, row.record)
		}
		return extra, nil
	}
}

// joinedRow is a row of joined reads.
type joinedRow struct {
	part   int
	place  int64 // in the result of its part, from 1
	record string
}

// setMade marks the reads of a message that succeeded.
func setMade(reads []*announcedRead) {
	for _, read := range reads {
		read.made = true
	}
}

// Announce makes reads travel together: see [driver.Announcer].
func (s *session) Announce(ctx context.Context, reads func(ctx context.Context, tx driver.ReadTx)) {
	if !s.store.engine.traits().joinsReads || s.ended.Load() {
		return
	}
	s.announceTo(func() { reads(ctx, s) })
}

// announceTo runs reads, which are then announced and not made.
func (s *session) announceTo(reads func()) {
	before := s.announcing
	s.announcing = true
	defer func() { s.announcing = before }()
	reads()
}

// rowSet are the rows of a result.
type rowSet interface {
	Next() bool
	Scan(into ...any) error
}

// recordRows are rows whose columns PostgreSQL has joined in the text of a record: (1,"a ""text""",,\\x00). A missing
// field is NULL, and an empty text is "".
type recordRows struct {
	records []string
	fields  []recordField // of the current row
}

// recordField is a field of a record: its text, without quotes, or NULL.
type recordField struct {
	text string
	null bool
}

// Next begins the next row.
func (r *recordRows) Next() bool {
	if len(r.records) == 0 {
		return false
	}
	r.fields = appendFields(r.fields[:0], r.records[0])
	r.records = r.records[1:]
	return true
}

// appendFields appends the fields of a record.
func appendFields(fields []recordField, record string) []recordField {
	rest := strings.TrimSuffix(strings.TrimPrefix(record, "("), ")")
	for {
		var text string
		quoted := strings.HasPrefix(rest, `"`)
		if quoted {
			text, rest = unquoteField(rest[1:])
		} else {
			end := strings.IndexByte(rest, ',')
			if end < 0 {
				end = len(rest)
			}
			text, rest = rest[:end], rest[end:]
		}
		fields = append(fields, recordField{text: text, null: text == "" && !quoted})
		if rest == "" {
			return fields
		}
		rest = rest[1:] // The comma.
	}
}

// unquoteField reads a field up to its closing quote. Quotes and backslashes in it are doubled.
func unquoteField(quoted string) (text, rest string) {
	end := strings.IndexAny(quoted, `"\`)
	if end >= 0 && quoted[end] == '"' && !strings.HasPrefix(quoted[end+1:], `"`) {
		return quoted[:end], quoted[end+1:]
	}
	var plain []byte
	for i := 0; i < len(quoted); i++ {
		if c := quoted[i]; c == '"' || c == '\\' {
			if i+1 == len(quoted) || quoted[i+1] != c {
				return string(plain), quoted[i+1:]
			}
			i++
		}
		plain = append(plain, quoted[i])
	}
	return string(plain), ""
}

var (
	errNullField = errors.New("a column is NULL")
	errField     = errors.New("a column has another type")
)

// Scan reads the fields of the current row.
func (r *recordRows) Scan(into ...any) error {
	if len(into) != len(r.fields) {
		return fmt.Errorf("a record has %d fields and not %d", len(r.fields), len(into))
	}
	for i, to := range into {
		if err := r.fields[i].scan(to); err != nil {
			return fmt.Errorf("field %d of a record: %w", i, err)
		}
	}
	return nil
}

// scan reads the field into a variable. An error does not contain the text, which may be that of a buyer.
func (f recordField) scan(into any) (err error) {
	switch to := into.(type) {
	case *id: // The most frequent kind.
		if f.null {
			*to = id{}
			return nil
		}
		found, err := uuid.Parse(f.text)
		if err != nil {
			return errField
		}
		*to = id(found)
		return nil
	case sql.Scanner:
		return to.Scan(f.value(into))
	case *[]byte:
		*to = nil
		if !f.null {
			*to, err = unhex(f.text)
		}
		return fieldError(err)
	}
	if f.null {
		return errNullField
	}
	switch to := into.(type) {
	case *string:
		*to = f.text
	case *int64:
		*to, err = strconv.ParseInt(f.text, 10, 64)
	case *int:
		*to, err = strconv.Atoi(f.text)
	case *bool:
		*to = f.text == "t"
	default:
		return fmt.Errorf("no text is read into a %T", into)
	}
	return fieldError(err)
}

func fieldError(err error) error {
	if err != nil {
		return errField
	}
	return nil
}

// value returns the field as the driver returns a column to the scanner. A text that is no number or no bytes is left
// as it is, and the scanner refuses it.
func (f recordField) value(into any) any {
	if f.null {
		return nil
	}
	switch into.(type) {
	case *moment, *number:
		if n, err := strconv.ParseInt(f.text, 10, 64); err == nil {
			return n
		}
	case *hash:
		if b, err := unhex(f.text); err == nil {
			return b
		}
	}
	return []byte(f.text)
}

// unhex reads the text of a bytea.
func unhex(text string) ([]byte, error) {
	digits, found := strings.CutPrefix(text, `\x`)
	if !found {
		return nil, errors.New("no text of bytes")
	}
	return hex.DecodeString(digits)
}
