package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Several reads in one message. The driver returns the rows of one statement of a message, so the reads are joined in
// one: UNION ALL with a row for each read, which has all its rows in PostgreSQL's binary form. That form costs both
// sides less than the columns of as many rows. Each part sees the same moment.

// readAhead holds reads that were announced. They are made with the next read, or with the message that begins a
// transaction, and each is then returned once to the call that makes it.
type readAhead struct {
	reads []*announcedRead
	locks *announcedLocks // nil: none
	// recalls is set while reads are announced that may be answered by remembered records. revisions are those of their
	// companies, read by revisionsRead in the same statement as the other reads.
	recalls       bool
	revisionsRead *announcedRead
	revisions     map[uuid.UUID]uuid.UUID
}

// announcedLocks are locks that are taken with the message that begins a transaction.
type announcedLocks struct {
	sale       driver.SaleLocks
	statements *builder // They return no rows.
	taken      bool
}

// holds reports whether the locks of a sale were taken with the message that began the transaction.
func (r *readAhead) holds(stock []driver.StockQuery, wallets []driver.WalletRef) bool {
	return r.locks != nil && r.locks.taken && slices.Equal(r.locks.sale.Stock, stock) &&
		slices.Equal(r.locks.sale.Wallets, wallets)
}

// setMade marks what was announced for the message that begins a transaction, which succeeded. Its locks were taken if
// one of its claims was granted.
func (r *readAhead) setMade(claimed bool) error {
	if r.locks != nil {
		r.locks.taken = claimed
	}
	setMade(r.reads)
	return r.checkRecalled()
}

// announcedRead is a read that was announced, identified by its statement, and by what it asks for if that is known.
type announcedRead struct {
	statement *builder // nil: recalled has all records
	question  question
	made      bool
	records   []byte    // its result, see recordRows
	recalled  *recalled // nil: none of its records is remembered
}

// matches reports whether a statement is that of the read.
func (a *announcedRead) matches(statement *builder) bool {
	return a.statement != nil && bytes.Equal(a.statement.text, statement.text) &&
		bytes.Equal(a.statement.literals.text, statement.literals.text) &&
		slices.Equal(a.statement.literals.ends, statement.literals.ends)
}

// announce adds a read, unless it is there already. One that cannot be written is left out: the call that makes it
// returns the error.
func (r *readAhead) announce(statement *builder, of announcedRead) {
	equal := func(read *announcedRead) bool { return read.matches(statement) }
	if statement.err == nil && !slices.ContainsFunc(r.reads, equal) {
		of.statement = statement
		r.reads = append(r.reads, &of)
	}
}

// question is what a read of records by their references asks for. A call that asks the same need not build its
// statement to find that it was made.
type question struct {
	name string
	refs any // a slice
	at   int64
}

// refsQuery is a query for records by their references.
type refsQuery[K comparable, R any] struct {
	name string
	at   int64 // the time on which the records depend, or 0
	scan func(rowSet, *R) error
	text string
	// value returns the value of the text for some references.
	value func(refs []K) fragment
	// company returns the company of references, or the zero id if they have several; nil: that of the value.
	company func(refs []K) uuid.UUID
	memory  *memoryOf[K, R] // nil: the records are not remembered
}

// queryRefs is [query] for records by their references. If the read was announced and made, it builds no statement.
func queryRefs[K comparable, R any](ctx context.Context, s *session, refs []K, q refsQuery[K, R]) ([]R, error) {
	if s.store.engine.traits().oneNode { // One question may be several statements.
		value := q.value(refs)
		if q.company == nil {
			return query(ctx, s, q.name, q.scan, q.text, value)
		}
		return queryOf(ctx, s, q.name, q.company(refs), q.scan, q.text, value)
	}
	if s.announcing {
		announceRefs(ctx, s, refs, q)
		return nil, nil
	}
	read := s.ahead.takeIf(func(read *announcedRead) bool {
		asked, ok := read.question.refs.([]K)
		return ok && read.question.name == q.name && read.question.at == q.at && slices.Equal(asked, refs)
	})
	if read == nil {
		return query(ctx, s, q.name, q.scan, q.text, q.value(refs))
	}
	if err := s.usable(); err != nil {
		return nil, err
	}
	var records []R
	if read.statement != nil {
		if err := scanInto(&records, q.scan)(&recordRows{records: read.records}); err != nil {
			return nil, err
		}
	}
	if read.recalled != nil {
		q.memory.remember(records, s.ahead.revisions)
		records = append(records, read.recalled.records.([]R)...)
	}
	return records, nil
}

// announceRefs announces a query. It reads only what is not remembered, if records may be recalled.
func announceRefs[K comparable, R any](ctx context.Context, s *session, refs []K, q refsQuery[K, R]) {
	read := announcedRead{question: question{q.name, slices.Clone(refs), q.at}}
	missing := refs
	if s.ahead.recalls && q.memory != nil {
		read.recalled, missing = q.memory.recall(refs, q.at)
		read.recalled.whole = func() *builder {
			statement := build(s.store.engine, q.text, q.value(refs))
			s.keep(q.name, statement)
			return statement
		}
	}
	if len(missing) == 0 {
		s.ahead.reads = append(s.ahead.reads, &read)
		return
	}
	s.announced = read
	defer func() { s.announced = announcedRead{} }()
	_, _ = query(ctx, s, q.name, q.scan, q.text, q.value(missing))
}

// take returns an announced read that was made, or nil.
func (r *readAhead) take(statement *builder) *announcedRead {
	return r.takeIf(func(read *announcedRead) bool { return read.matches(statement) })
}

func (r *readAhead) takeIf(is func(read *announcedRead) bool) *announcedRead {
	for i, read := range r.reads {
		if read.made && is(read) {
			r.reads = slices.Delete(r.reads, i, i+1)
			return read
		}
	}
	return nil
}

// forget removes all that was announced. What was read is not valid after a write of the same transaction, or after a
// lock.
func (r *readAhead) forget() { *r = readAhead{} }

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
	if len(waiting) == 0 || waiting[0].statement.shards != statement.shards {
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
		to.add("SELECT -1 AS part, textsend(" + extra + ") AS records")
	}
	for i, read := range reads {
		if len(to.text) > 0 {
			to.add("\nUNION ALL ")
		}
		// An aggregate takes the rows in the order in which the query returns them.
		to.add("SELECT " + strconv.Itoa(i) + " AS part, string_agg(record_send(t), ''::bytea) AS records FROM (")
		to.append(read.statement)
		to.add(") AS t")
		to.prepare = max(to.prepare, read.statement.prepare)
	}
	to.joined = true
	return to, func(rows rowSet) (extra string, err error) {
		for rows.Next() {
			var part int
			var records []byte
			if err := rows.Scan(&part, &records); err != nil {
				return "", err
			}
			if part < 0 {
				extra = string(records)
			} else {
				reads[part].records = records
			}
		}
		return extra, nil
	}
}

// setMade marks the reads of a message that succeeded.
func setMade(reads []*announcedRead) {
	for _, read := range reads {
		read.made = true
	}
}

// Announce makes reads travel together: see [driver.Announcer].
func (s *session) Announce(ctx context.Context, reads func(ctx context.Context, tx driver.ReadTx)) {
	if s.ended.Load() || !s.store.engine.traits().joinsReads && !s.mayNameShards() {
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

// recordRows are rows as PostgreSQL's record_send returns them, one after the other. A row begins with the number of
// its fields. Each field has its type, its length, and its value in the binary form of that type. Numbers are
// big-endian.
type recordRows struct {
	records []byte
	fields  []recordField // of the current row
	cut     bool          // The current row is not whole.
}

// recordField is a field of a record.
type recordField struct {
	kind  uint32 // its type in PostgreSQL's catalogue
	value []byte // nil: NULL
}

// The types that columns of joined reads have. PostgreSQL never changes these numbers.
const (
	kindBool  = 16
	kindBytes = 17
	kindInt8  = 20
	kindInt4  = 23
	kindText  = 25
	kindUUID  = 2950
)

// count returns how many rows are left, as far as they are whole.
func (r *recordRows) count() (rows int) {
	for rest := r.records; len(rest) >= 4; rows++ {
		fields := int32(binary.BigEndian.Uint32(rest)) //nolint:gosec // PostgreSQL sends an int32.
		rest = rest[4:]
		for range fields {
			if len(rest) < 8 {
				return rows
			}
			length := int32(binary.BigEndian.Uint32(rest[4:])) //nolint:gosec // PostgreSQL sends an int32.
			rest = rest[min(8+max(int(length), 0), len(rest)):]
		}
	}
	return rows
}

// Next begins the next row.
func (r *recordRows) Next() bool {
	if len(r.records) == 0 {
		return false
	}
	rest := r.records
	number := func() int32 {
		if r.cut = r.cut || len(rest) < 4; r.cut {
			return 0
		}
		n := binary.BigEndian.Uint32(rest)
		rest = rest[4:]
		return int32(n) //nolint:gosec // PostgreSQL sends an int32.
	}
	r.fields = r.fields[:0]
	for range number() {
		field := recordField{kind: uint32(number())} //nolint:gosec // PostgreSQL sends a uint32.
		if length := int(number()); length >= 0 {
			if r.cut = r.cut || length > len(rest); r.cut {
				break
			}
			field.value, rest = rest[:length:length], rest[length:]
		}
		if r.cut {
			break
		}
		r.fields = append(r.fields, field)
	}
	r.records = rest
	if r.cut {
		r.records = nil
	}
	return true
}

var (
	errCutRecord = errors.New("a record is not whole")
	errNullField = errors.New("a column is NULL")
	errField     = errors.New("a column has another type")
)

// Scan reads the fields of the current row.
func (r *recordRows) Scan(into ...any) error {
	if r.cut {
		return errCutRecord
	}
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

// scan reads the field into a variable. An error does not contain the value, which may be that of a buyer.
func (f recordField) scan(into any) error {
	switch to := into.(type) {
	// The most frequent kinds: a Scanner would need the value on the heap.
	case *id:
		return f.scanID(to)
	case *moment:
		return f.scanMoment(to)
	case *missing:
		return f.scanMissing((*string)(to))
	case sql.Scanner:
		value, err := f.decode()
		if err != nil {
			return err
		}
		return to.Scan(value)
	case *[]byte:
		if f.value != nil && f.kind != kindBytes {
			return errField
		}
		*to = bytes.Clone(f.value)
		return nil
	}
	if f.value == nil {
		return errNullField
	}
	switch to := into.(type) {
	case *string:
		if f.kind != kindText {
			return errField
		}
		*to = string(f.value)
	case *int64:
		return f.scanInt(to)
	case *int:
		var n int64
		if err := f.scanInt(&n); err != nil {
			return err
		}
		*to = int(n)
	case *bool:
		if f.kind != kindBool || len(f.value) != 1 {
			return errField
		}
		*to = f.value[0] != 0
	default:
		return fmt.Errorf("no field is read into a %T", into)
	}
	return nil
}

// scanID reads an id, zero for NULL.
func (f recordField) scanID(to *id) error {
	*to = id{}
	if f.value == nil {
		return nil
	}
	if f.kind != kindUUID || len(f.value) != len(to) {
		return errField
	}
	copy(to[:], f.value)
	return nil
}

// scanMoment reads a time, the zero time for NULL.
func (f recordField) scanMoment(to *moment) error {
	*to = moment{}
	if f.value == nil {
		return nil
	}
	var ms int64
	if err := f.scanInt(&ms); err != nil {
		return err
	}
	*to = moment(time.UnixMilli(ms).UTC())
	return nil
}

// scanMissing reads a text, empty for NULL.
func (f recordField) scanMissing(to *string) error {
	*to = ""
	if f.value == nil {
		return nil
	}
	if f.kind != kindText {
		return errField
	}
	*to = string(f.value)
	return nil
}

// scanInt reads an integer of either size.
func (f recordField) scanInt(to *int64) error {
	switch {
	case f.kind == kindInt8 && len(f.value) == 8:
		*to = int64(binary.BigEndian.Uint64(f.value)) //nolint:gosec // PostgreSQL sends an int64.
	case f.kind == kindInt4 && len(f.value) == 4:
		*to = int64(int32(binary.BigEndian.Uint32(f.value))) //nolint:gosec // PostgreSQL sends an int32.
	default:
		return errField
	}
	return nil
}

// decode returns the value as the driver returns that of a column. It is not used after the records are.
func (f recordField) decode() (any, error) {
	if f.value == nil {
		return nil, nil //nolint:nilnil // NULL is no error.
	}
	switch f.kind {
	case kindInt8, kindInt4:
		var n int64
		err := f.scanInt(&n)
		return n, err
	case kindBool:
		var b bool
		err := f.scan(&b)
		return b, err
	case kindText, kindBytes, kindUUID:
		return f.value, nil
	default:
		return nil, errField
	}
}
