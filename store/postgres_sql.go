package store

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// The SQL of PostgreSQL. Values are literals, since the driver sends several statements in one message only by the
// simple protocol; a message of the extended one has their values: see postgres_bind.go. Many rows are one array for
// each column, which costs a twentieth of what VALUES costs to parse. A column that is the same in all rows is written
// once. So a statement about one company contains that company, and a distributed engine finds its node.

// valuesTable is a set as a table after FROM: columns that are the same in all rows are values, the others arrays.
type valuesTable struct {
	set
	// constant marks the columns that are the same in all rows.
	constant []bool
	varying  int
	// short marks the columns of ids that are written as positions in a list of ids, in which equal ids in a row occur
	// once. Such ids repeat often, and an id is the most expensive value for PostgreSQL to parse.
	short []bool
	// hidden keeps the planner from counting the rows.
	hidden bool
	// shape is that of earlier statements, or nil.
	shape *shape
}

func newValuesTable(of set) valuesTable {
	t := valuesTable{set: of, constant: make([]bool, len(of.columns)), short: make([]bool, len(of.columns))}
	for i := range of.columns {
		t.constant[i] = true
		for row := 1; row < of.length(); row++ {
			if !of.equal(i, 0, row) {
				t.constant[i] = false
				t.varying++
				break
			}
		}
	}
	if t.varying == 0 && of.length() > 1 {
		// At least one column must vary, so that the table has as many rows as the set. The first column is the company,
		// which stays constant.
		t.constant[len(t.constant)-1], t.varying = false, 1
	}
	return t
}

// shorten marks the short columns. It is for a statement that writes each column's cell once.
func (t valuesTable) shorten() {
	for i := range t.columns {
		t.short[i] = !t.constant[i] && t.isID(i) && t.repeats(i)
	}
	if t.shape != nil {
		t.shape.shorten(t)
	}
}

// isID reports whether a column has ids.
func (t valuesTable) isID(column int) bool {
	if t.typed != nil {
		return t.typed[column].repeatable()
	}
	_, isID := t.rows[0][column].(uuid.UUID)
	return isID
}

// repeats reports whether most rows have the id of the row before.
func (t valuesTable) repeats(column int) bool {
	repeated := 0
	for i := 1; i < t.length(); i++ {
		if t.equal(column, i-1, i) {
			repeated++
		}
	}
	return 2*repeated >= t.length()
}

// valueColumn returns the name in v of a column, which may carry the alias of its table. No table has a column of that
// name.
func valueColumn(column string) string { return "v_" + column[strings.LastIndexByte(column, '.')+1:] }

// appendFrom writes the table under the name v: unnest('{…}'::uuid[], '{…}'::bigint[]) AS v (v_id, v_number).
func (t valuesTable) appendFrom(to *builder) {
	to.add("unnest(")
	t.appendArrays(to)
	to.add(") AS v (")
	first := true
	for i, column := range t.columns {
		if t.constant[i] {
			continue
		}
		if !first {
			to.add(", ")
		}
		first = false
		to.add(valueColumn(column))
	}
	to.add(")")
}

func (t valuesTable) appendArrays(to *builder) {
	first := true
	for i := range t.columns {
		if t.constant[i] {
			continue
		}
		if !first {
			to.add(", ")
		}
		first = false
		t.appendArray(to, i)
	}
}

func (t valuesTable) appendArray(to *builder, column int) {
	if t.hidden {
		to.add("(SELECT ")
		defer to.add(")")
	}
	b := to.beginLiteral()
	*b = append(*b, "'{"...)
	kind := ""
	switch {
	case t.short[column]:
		kind = "int"
		place := int64(1)
		for i := range t.length() {
			if i > 0 {
				*b = append(*b, ',')
				if !t.equal(column, i-1, i) {
					place++
				}
			}
			*b = strconv.AppendInt(*b, place, 10)
		}
	case t.typed != nil:
		kind = t.typed[column].kind()
		var err error
		if *b, err = t.typed[column].appendElements(*b); err != nil {
			to.err = err
		}
	default:
		kind = kindOf(t.rows[0][column])
		for i, row := range t.rows {
			if i > 0 {
				*b = append(*b, ',')
			}
			if text, ok := row[column].(string); ok && !keepable(text) {
				to.err = errText
			}
			*b = appendElement(*b, row[column])
		}
	}
	*b = append(*b, "}'"...)
	to.endLiteral(kind + "[]")
}

// appendCell writes the value of a column in a row of v.
func (t valuesTable) appendCell(to *builder, column int) {
	name := "v." + valueColumn(t.columns[column])
	switch {
	case t.constant[column]:
		to.value(t.value(column, 0))
	case t.short[column]:
		to.add("(")
		b := to.beginLiteral()
		*b = append(*b, "'{"...)
		for i := range t.length() {
			switch {
			case i == 0:
			case t.equal(column, i-1, i):
				continue
			default:
				*b = append(*b, ',')
			}
			*b = appendElement(*b, t.value(column, i))
		}
		*b = append(*b, "}'"...)
		to.endLiteral("uuid[]")
		to.add(")[" + name + "]")
	default:
		to.add(name)
	}
}

func (e *postgresEngine) appendInRows(to *builder, of set) {
	t := e.valuesTable("in", of)
	parts := 0
	var varying []string
	for i, column := range of.columns {
		if !t.constant[i] {
			varying = append(varying, column)
			continue
		}
		if parts > 0 {
			to.add(" AND ")
		}
		parts++
		to.add(column + " = ")
		to.value(of.rows[0][i])
	}
	if len(varying) == 0 {
		return
	}
	if parts > 0 {
		to.add(" AND ")
	}
	if len(varying) == 1 {
		to.add(varying[0] + " = ANY (")
		t.appendArrays(to)
		to.add(")")
		return
	}
	to.add("(" + strings.Join(varying, ", ") + ") IN (SELECT * FROM ")
	t.appendFrom(to)
	to.add(")")
}

// hidesValues reports whether the planner must not see the values of the columns that are the same in all rows,
// including the company. For a company that is not in its statistics, the planner expects one row. Every index that
// begins with the company then looks as good as the index on the whole key, and a table with an id column has several
// such indexes. A distributed engine must see the company.
func (e *postgresEngine) hidesValues(columns []string) bool {
	return !e.distributed && slices.Contains(columns, "id")
}

// appendKeys writes the rows of the set under the name v, as appendFrom does. It adds those of the key columns that are
// the same in all rows, and OFFSET 0 hides their values from the planner.
func (t valuesTable) appendKeys(to *builder, keys int) {
	to.add("(SELECT ")
	for i, column := range t.columns[:keys] {
		if t.constant[i] {
			to.value(t.rows[0][i])
			to.add(" AS " + valueColumn(column) + ", ")
		}
	}
	to.add("v.* FROM ")
	t.appendFrom(to)
	to.add(" OFFSET 0) AS v")
}

// appendHiddenCell writes the value of a key column. If no column varies there is no v, and a subquery hides the
// company's value from the planner.
func (t valuesTable) appendHiddenCell(to *builder, column int) {
	switch {
	case !t.constant[column]:
		t.appendCell(to, column)
	case t.varying > 0:
		to.add("v." + valueColumn(t.columns[column]))
	case column == 0:
		to.add("(SELECT ")
		t.appendCell(to, column)
		to.add(")")
	default:
		t.appendCell(to, column)
	}
}

// appendKeyedRows looks up each row on its own. For a table without statistics, the planner would rather read all rows
// of a company than descend an index thirty times. The row lock, or OFFSET 0, keeps it from flattening the subquery.
//
// A distributed engine plans a statement without a subquery in a fraction of the time, and one row needs no subquery.
func (e *postgresEngine) appendKeyedRows(to *builder, of keyedRows) {
	name, alias, _ := strings.Cut(of.table, " ")
	t := e.valuesTable(of.table, of.set)
	if e.distributed && t.varying == 0 && !of.lock && !of.joined {
		to.add(of.table + " WHERE ")
		for i, column := range t.columns {
			if i > 0 {
				to.add(" AND ")
			}
			to.add(alias + "." + column + " = ")
			t.appendCell(to, i)
		}
		to.add(of.condition())
		return
	}
	end := of.condition() + e.fence(t)
	if of.lock {
		end = of.condition() + rowLock
		// All transactions lock in one order.
		slices.SortFunc(t.rows, compareRows)
	}
	t.shorten()
	cell := t.appendCell
	hides := e.hidesValues(t.columns)
	if hides {
		cell = t.appendHiddenCell
	}
	if t.varying > 0 {
		if hides {
			t.appendKeys(to, len(t.columns))
		} else {
			t.appendFrom(to)
		}
		to.add(" CROSS JOIN LATERAL ")
	}
	to.add("(SELECT * FROM " + name + " t WHERE ")
	for i, column := range t.columns {
		if i > 0 {
			to.add(" AND ")
		}
		to.add("t." + column + " = ")
		cell(to, i)
	}
	to.add(end + ") AS " + alias)
}

// fence returns the clause that keeps the planner from flattening a subquery for each row of v. A distributed engine
// accepts it only where all rows are on one node.
func (e *postgresEngine) fence(t valuesTable) string {
	if e.distributed && !t.constant[0] {
		return ""
	}
	return " OFFSET 0"
}

func (e *postgresEngine) appendRates(to *builder, companies []uuid.UUID, at int64) {
	t := newValuesTable(set{columns: []string{"company_id"}, rows: columnOf(companies)})
	if t.varying > 0 {
		t.appendFrom(to)
	} else {
		to.add("(SELECT 1) AS v")
	}
	to.add(` CROSS JOIN LATERAL (SELECT * FROM ticketing_commission_rates t WHERE t.company_id = `)
	t.appendCell(to, 0)
	to.add(" AND t.effective_from <= ? ORDER BY t.effective_from DESC, t.position DESC LIMIT 1) AS r", at)
}

func (e *postgresEngine) appendTerms(to *builder, terms terms) {
	of := terms.of
	t := e.valuesTable("terms", of)
	cell := func(column int) { t.appendCell(to, column) }
	to.add("SELECT ")
	for i := range of.columns {
		cell(i)
		to.add(", ")
	}
	to.add(termsColumns + ", ")
	if terms.next {
		to.add("(SELECT min(t.effective_from) FROM ticketing_commission_rates t WHERE t.company_id = ")
		cell(0)
		to.add(" AND t.effective_from > ?)", terms.at)
	} else {
		to.add("NULL::bigint")
	}
	to.add(" FROM ")
	if t.varying > 0 {
		t.appendFrom(to)
	} else {
		to.add("(SELECT 1) AS v")
	}
	to.add(" LEFT JOIN LATERAL (SELECT status FROM ticketing_events t WHERE t.company_id = ")
	cell(0)
	to.add(" AND t.id = ")
	cell(1)
	to.add(" OFFSET 0) AS e ON true LEFT JOIN LATERAL (SELECT * FROM ticketing_brandings t WHERE t.company_id = ")
	cell(0)
	to.add(" AND t.version = ")
	cell(2)
	to.add(" OFFSET 0) AS b ON true LEFT JOIN LATERAL (SELECT * FROM ticketing_commission_rates t WHERE t.company_id = ")
	cell(0)
	to.add(` AND t.effective_from <= ? ORDER BY t.effective_from DESC, t.position DESC LIMIT 1) AS r ON true`, terms.at)
}

func (e *postgresEngine) appendHeads(to *builder, wallets set, lock bool) {
	e.appendKeyedRows(to, keyedRows{set: wallets, table: "ticketing_wallets w", lock: lock, joined: true})
	to.add(` LEFT JOIN LATERAL (SELECT sequence, balance_after, hash FROM ticketing_ledger_entries t
		WHERE t.company_id = w.company_id AND t.wallet = w.wallet AND t.sequence = w.sequence`)
	if t := newValuesTable(wallets); t.constant[0] {
		to.add(" AND t.company_id = ")
		t.appendCell(to, 0)
	}
	to.add(" OFFSET 0) AS e ON true")
}

// appendInsert inserts the rows as a query of arrays. A distributed engine runs that query on the coordinator and
// copies the rows to their node, which takes a second connection and a commit in two phases. So there few rows are
// written one by one, in a statement that goes to their node as it is. Many rows would take longer to plan than to
// copy.
func (e *postgresEngine) appendInsert(to *builder, name string, of set) {
	to.add("INSERT INTO " + name + " (" + strings.Join(of.columns, ", ") + ") ")
	t := e.valuesTable(name, of)
	if e.distributed && of.length()*len(of.columns) <= fewValues {
		t.appendValues(to)
		return
	}
	t.shorten()
	t.grow(to)
	to.add("SELECT ")
	for i := range of.columns {
		if i > 0 {
			to.add(", ")
		}
		t.appendCell(to, i)
	}
	if t.varying > 0 {
		to.add(" FROM ")
		t.appendFrom(to)
	}
}

// fewValues is how many values a distributed engine plans in the time in which it begins a copy.
const fewValues = 100

// appendValues writes each row on its own.
func (t valuesTable) appendValues(to *builder) {
	to.add("VALUES ")
	for i := range t.length() {
		for j := range t.columns {
			switch {
			case j > 0:
				to.add(", ")
			case i > 0:
				to.add(", (")
			default:
				to.add("(")
			}
			to.value(t.value(j, i))
		}
		to.add(")")
	}
}

// appendUpdate looks up each row by its whole key. All key columns come from v, so that the planner can reach the table
// only through v. Given a value, it would expect so few rows that it would rather scan v for each of them.
//
// A distributed engine has to see which company a statement is about. There only the number of rows is hidden, by a
// subquery for each array: the planner expects ten rows and looks up each by its key. Also, no key column after one
// that varies is written as a value: the planner would read the whole index by it.
func (e *postgresEngine) appendUpdate(to *builder, name string, keys int, of set) {
	t := e.valuesTable(name, of)
	for i := 1; i < keys && e.distributed; i++ {
		if t.constant[i] && !t.constant[i-1] {
			t.constant[i] = false
			t.varying++
		}
	}
	t.shorten()
	to.add("UPDATE " + name + " AS t SET ")
	for i := keys; i < len(of.columns); i++ {
		if i > keys {
			to.add(", ")
		}
		to.add(of.columns[i] + " = ")
		t.appendCell(to, i)
	}
	cell := t.appendCell
	switch {
	case t.varying > 0 && e.distributed:
		t.hidden = true
		to.add(" FROM ")
		t.appendFrom(to)
	case t.varying > 0:
		cell = t.appendHiddenCell
		to.add(" FROM ")
		t.appendKeys(to, keys)
	case e.hidesValues(of.columns[:keys]):
		cell = t.appendHiddenCell
	}
	to.add(" WHERE ")
	for i := range keys {
		if i > 0 {
			to.add(" AND ")
		}
		to.add("t." + of.columns[i] + " = ")
		cell(to, i)
	}
}

// appendStock runs each query on its own, so that a batch is found by its index whatever the statistics are.
func (e *postgresEngine) appendStock(to *builder, queries []driver.StockQuery) {
	t := e.valuesTable("stock", newSet("company_id, event_id, tier, unit_price, quantity", queries,
		func(q driver.StockQuery) []any {
			return []any{q.CompanyID, q.EventID, q.Tier, int64(q.UnitPrice), q.Quantity}
		}))
	to.add("SELECT " + batchColumns + " FROM ")
	t.appendFrom(to)
	to.add(" CROSS JOIN LATERAL (SELECT * FROM ticketing_inventory_batches s WHERE ")
	for i, column := range t.columns[:4] {
		to.add("s." + column + " = ")
		t.appendCell(to, i)
		to.add(" AND ")
	}
	to.add("s.open AND s.status = 'AVAILABLE' ORDER BY s.position LIMIT ")
	t.appendCell(to, 4)
	to.add(") b ORDER BY b.company_id, b.event_id, b.tier, b.position")
}
