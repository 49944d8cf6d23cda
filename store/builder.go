package store

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// builder builds the text of a statement. Each dialect decides how a value is written: as a bound argument or as a
// literal.
type builder struct {
	engine engine
	text   []byte
	bound  []any
	rows   [][]any // if not nil, the statement runs once with each of them instead of with bound
	err    error
	// once is set if the text contains values, so that keeping the statement prepared gains nothing.
	once bool
	// template is set if the text has marks in the place of its literals: see literalMark.
	template bool
	literals literals
	// company is the company that a read is about, or the zero id if that is unknown. It affects only the speed.
	company uuid.UUID
	// oneConnection is set if a read of all shards of a cluster takes less time than further connections to a node. It
	// counts only outside of a transaction.
	oneConnection bool
	// shards are set if the statement names those of its company in place of the tables. It then is a template.
	shards *companyShards
	// prepare is set if a connection keeps the statement prepared. parts are the statements of a message.
	prepare keeping
	parts   []part
	// table is the one that the statement writes, if it reads no other.
	table string
	// joined is set if the last statement is that of joined reads: see joinReads.
	joined bool
	// copied are the rows of the COPY statements of a message, as they follow it: see postgres_copy.go.
	copied []byte
}

// fragment is a value that writes its own SQL.
type fragment interface{ appendTo(to *builder) }

// build replaces the question marks of a text with the values.
func build(engine engine, text string, values ...any) *builder {
	traits := engine.traits()
	to := &builder{engine: engine, text: make([]byte, 0, len(text)+24*len(values)), template: traits.prepares}
	if traits.oneNode {
		to.company = companyIn(text, values)
	}
	if e, ok := engine.(*postgresEngine); ok {
		to.shards = e.shards
	}
	to.add(text, values...)
	return to
}

func (b *builder) add(text string, values ...any) {
	for _, value := range values {
		before, after, found := strings.Cut(text, "?")
		if !found {
			panic("ticketing/store: more values than question marks")
		}
		b.text = append(b.text, before...)
		b.value(value)
		text = after
	}
	b.text = append(b.text, text...)
}

// value writes one value. It refuses a text that a database would change or truncate: texts are kept exactly or not at
// all.
func (b *builder) value(value any) {
	switch v := value.(type) {
	case fragment:
		v.appendTo(b)
		return
	case string:
		if !keepable(v) {
			b.err = errText
			return
		}
	}
	b.engine.appendValue(b, value)
}

// run makes the statement run once for each row.
func (b *builder) run(rows [][]any) {
	b.rows = rows
	for _, row := range rows {
		for _, value := range row {
			if text, ok := value.(string); ok && !keepable(text) {
				b.err = errText
			}
		}
	}
}

// set is a number of rows with the same columns, to insert, change or query in one statement.
type set struct {
	columns []string
	rows    [][]any
	// typed has the values of an insert in place of rows, by column, and count is the number of rows then.
	typed []cells
	count int
}

// length returns the number of rows.
func (s set) length() int {
	if s.typed != nil {
		return s.count
	}
	return len(s.rows)
}

// equal reports whether two rows have equal values of a column.
func (s set) equal(column, i, j int) bool {
	if s.typed != nil {
		return s.typed[column].equal(i, j)
	}
	return equalValues(s.rows[i][column], s.rows[j][column])
}

// value returns the value of a column in a row.
func (s set) value(column, row int) any {
	if s.typed != nil {
		return s.typed[column].value(row)
	}
	return s.rows[row][column]
}

// newSet returns the set of the records. The columns are a comma-separated list, as in a statement.
func newSet[T any](columns string, records []T, row func(T) []any) set {
	s := set{columns: strings.Split(columns, ","), rows: make([][]any, len(records))}
	for i := range s.columns {
		s.columns[i] = strings.TrimSpace(s.columns[i])
	}
	for i, record := range records {
		s.rows[i] = row(record)
	}
	return s
}

// keyedRows is a table and its alias, and selects the rows whose columns equal those of a row of the set. It follows
// FROM, and no further condition may follow it.
type keyedRows struct {
	set

	table  string
	where  string // a condition that the rows must also meet, on columns without an alias; not with joined
	lock   bool   // lock the rows against other writers
	joined bool   // a JOIN follows
}

func (f keyedRows) appendTo(to *builder) { to.engine.appendKeyedRows(to, f) }

// condition returns what follows the condition on the key.
func (f keyedRows) condition() string {
	if f.where == "" {
		return ""
	}
	return " AND " + f.where
}

// inRows is the condition that the columns of a row equal those of a row of the set.
type inRows set

func (a inRows) appendTo(to *builder) { to.engine.appendInRows(to, set(a)) }

// dueRows is the condition that a row of a company is one of the rows that WITH due selected, by the rest of its key.
// Its limit excludes no row. It is in a subquery, so that the planner does not know it and expects few rows.
type dueRows struct {
	company uuid.UUID
	key     string
	limit   int
}

// appendTo writes the condition. The company is a value, or a column of the selected rows: if PostgreSQL's planner saw
// its value, it would expect few rows of it, and scan the selection for each of them.
func (d dueRows) appendTo(to *builder) {
	key := "company_id, " + d.key
	if to.engine.traits().namesCompany {
		to.add("company_id = ? AND ", d.company)
		key = d.key
	}
	to.add("("+key+") IN (SELECT "+key+" FROM due LIMIT (SELECT ?))", max(d.limit, 0))
}

func inIDs(column string, wanted []uuid.UUID) inRows {
	return inRows(set{columns: []string{column}, rows: columnOf(wanted)})
}

func columnOf[T any](values []T) [][]any {
	rows := make([][]any, len(values))
	for i, value := range values {
		rows[i] = []any{value}
	}
	return rows
}

// values writes the rows of the set in the form that follows VALUES: (1, 2), (3, 4).
func (b *builder) values(of set) {
	for i, row := range of.rows {
		if i > 0 {
			b.add(", ")
		}
		for j, value := range row {
			if j == 0 {
				b.add("(")
			} else {
				b.add(", ")
			}
			b.value(value)
		}
		b.add(")")
	}
}

// keepable reports whether every database keeps the text exactly.
func keepable(text string) bool { return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) }
