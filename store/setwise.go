package store

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// builder makes the text of a statement. Each dialect says how a value gets into it: bound, or as a literal.
type builder struct {
	engine engine
	text   []byte
	bound  []any
	rows   [][]any // where there are any, the statement runs once with each of them, not with what is bound
	err    error
}

// fragment is a value that writes itself.
type fragment interface{ appendTo(to *builder) }

// build puts the values in place of the question marks of a text.
func build(engine engine, text string, values ...any) *builder {
	to := &builder{engine: engine, text: make([]byte, 0, len(text)+24*len(values))}
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

// value adds one value. A text that a database would change or cut is an error: texts are kept exactly or not at all.
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

// run lets the statement run once for each row.
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

// set is a number of rows of some columns: what is inserted, changed or asked for at once.
type set struct {
	columns []string
	rows    [][]any
}

// of makes a set of records. The columns are named in a list, as it stands in a statement.
func of[T any](columns string, records []T, row func(T) []any) set {
	s := set{columns: strings.Split(columns, ","), rows: make([][]any, len(records))}
	for i := range s.columns {
		s.columns[i] = strings.TrimSpace(s.columns[i])
	}
	for i, record := range records {
		s.rows[i] = row(record)
	}
	return s
}

// found is a table and its alias, of which the rows are wanted whose columns are those of a row of the set. It stands
// behind FROM and ends the condition.
type found struct {
	set

	table string
	lock  bool // keep other writers from them
}

func (f found) appendTo(to *builder) { to.engine.appendFound(to, f) }

// among is the condition that the columns of a row are those of a row of the set.
type among set

func (a among) appendTo(to *builder) { to.engine.appendAmong(to, set(a)) }

// due is the condition that a row of a company is one of the rows that WITH due has chosen, by the rest of its key. The limit
// cuts nothing off: the planner cannot know it, and expects few rows.
type due struct {
	company uuid.UUID
	key     string
	limit   int
}

func (d due) appendTo(to *builder) { to.engine.appendDue(to, d) }

// append writes the condition with the company as a value, or as a column of what was chosen.
func (d due) append(to *builder, value bool) {
	key := "company_id, " + d.key
	if value {
		to.add("company_id = ? AND ", d.company)
		key = d.key
	}
	to.add("("+key+") IN (SELECT "+key+" FROM due LIMIT (SELECT ?))", max(d.limit, 0))
}

func ids(column string, wanted []uuid.UUID) among {
	return among(set{columns: []string{column}, rows: columnOf(wanted)})
}

func columnOf[T any](values []T) [][]any {
	rows := make([][]any, len(values))
	for i, value := range values {
		rows[i] = []any{value}
	}
	return rows
}

// values is the list of the set's rows as it stands behind VALUES: (1, 2), (3, 4).
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

// keepable tells whether a text is kept exactly by every database.
func keepable(text string) bool { return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) }
