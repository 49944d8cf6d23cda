package store

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
)

// waiting is how one kind of work is found: in which index it waits, whose it is, and what of it is due.
type waiting struct {
	kind ticketing.WorkKind
	// name is that of the steps through the index.
	name, table string
	index       string // a partial one; empty: the primary key
	open        string // the condition of the index
	// columns say whose it is, and begin the index; after are their values to begin behind.
	columns []string
	after   []any
	due     string // true of what is due
	args    []any  // of due
	order   string // the rest of the index, which begins with a time
}

// waitingFor is nothing for a kind that is not known.
func waitingFor(after ticketing.DueWork, at time.Time) []waiting {
	w := waiting{kind: after.Kind, columns: []string{"company_id"}, after: []any{after.CompanyID}, due: "1 = 1", order: "at, id"}
	switch after.Kind {
	case ticketing.WorkDispatch:
		w.name, w.table, w.index, w.open = "dispatch", "ticketing_outbox", undispatched, "NOT dispatched"
	case ticketing.WorkTell:
		w.name, w.table, w.index, w.open = "tell", "ticketing_outbox", untold, "dispatched AND NOT handled"
		w.due, w.args = "(leased_until IS NULL OR leased_until <= ?)", []any{at.UnixMilli()}
	case ticketing.WorkDeliver:
		w.name, w.table, w.index = "deliver", "ticketing_webhook_deliveries", pendingDeliveries
		w.open = "status = 'PENDING'"
		w.columns, w.after = []string{"company_id", "endpoint"}, []any{after.CompanyID, after.Endpoint}
		w.due, w.args, w.order = "due_at <= ?", []any{at.UnixMilli()}, "due_at"
	case ticketing.WorkPrune:
		w.name, w.table, w.open = "prune", "ticketing_webhook_deliveries", "1 = 1"
		w.due, w.args, w.order = "created_at < ? AND status <> 'PENDING'", []any{at.UnixMilli()}, "created_at, id"
	case ticketing.WorkPruneFacts:
		w.name, w.table, w.open = "prune_facts", "ticketing_outbox", "1 = 1"
		w.due, w.args = "at < ? AND dispatched AND handled", []any{at.UnixMilli()}
	default:
		return nil
	}
	return []waiting{w}
}

// from is a table of the work that waits.
func (w waiting) from(engine engine) string {
	use := ""
	if w.index != "" {
		use = engine.useIndex(w.index)
	}
	return " FROM " + w.table + use + " WHERE " + w.open
}

// next are the columns of the first work behind a place. Each is asked for by itself, since a query in place of a value
// answers with one column; and first in the same company, then in those behind it, since SQLite would read all that is
// equal to a pair to find what is behind it.
func (w waiting) next(engine engine, place ...string) string {
	columns := strings.Join(w.columns, ", ")
	next := make([]string, len(w.columns))
	for i, column := range w.columns {
		var ways []string
		for last := range slices.Backward(w.columns) {
			where := make([]string, last)
			for j, same := range w.columns[:last] {
				where[j] = " AND " + same + " = " + place[j]
			}
			ways = append(ways, "(SELECT "+column+w.from(engine)+strings.Join(where, "")+" AND "+w.columns[last]+" > "+
				place[last]+" ORDER BY "+columns+" LIMIT 1)")
		}
		next[i] = ways[0]
		if len(ways) > 1 {
			next[i] = "COALESCE(" + strings.Join(ways, ", ") + ")"
		}
	}
	return strings.Join(next, ", ")
}

// since is what the longest due of the work at a place is from, NULL where none is due. The order names the index again,
// and the offset keeps the planner of PostgreSQL from reading all work of all places at once.
func (w waiting) since(engine engine, place string) string {
	same := make([]string, len(w.columns))
	for i, column := range w.columns {
		same[i] = " AND " + w.table + "." + column + " = " + place + "." + column
	}
	return "(SELECT " + w.time() + w.from(engine) + strings.Join(same, "") + " AND " + w.due + " ORDER BY " +
		w.order + " LIMIT 1 OFFSET 0)"
}

// time is the column that the rest of the index begins with.
func (w waiting) time() string {
	first, _, _ := strings.Cut(w.order, ",")
	return first
}

// steps go from one company, or endpoint, to the next through the index, so that a long queue of one costs no more than a
// short one. They count what they found due, and end behind as much as is asked for.
func (w waiting) steps(engine engine, limit int) (text string, args []any) {
	columns := strings.Join(w.columns, ", ")
	from := w.name + "_from"
	at := func(table string) []string {
		places := make([]string, len(w.columns))
		for i, column := range w.columns {
			places[i] = table + "." + column
		}
		return places
	}
	text = from + " (" + columns + ") AS (SELECT " + marks(w.columns) + "), " +
		w.name + " (" + columns + ", found) AS (SELECT " + w.next(engine, at(from)...) + ", 0 FROM " + from + `
		UNION ALL
		SELECT ` + w.next(engine, at("w")...) + ", w.found + CASE WHEN " + w.since(engine, "w") + ` IS NOT NULL THEN 1 ELSE 0 END
		FROM ` + w.name + " AS w WHERE w.company_id IS NOT NULL AND w.found < ?)"
	return text, append(slices.Concat(w.after, w.args), limit)
}

// found is what the steps found. The limit, which bounds nothing, has each place looked at once and not again for the
// condition.
func (w waiting) found(engine engine, limit int) (text string, args []any) {
	return "SELECT ?, " + w.shown() + " FROM (SELECT " + strings.Join(w.columns, ", ") + ", " + w.since(engine, w.name) +
			" AS since FROM " + w.name + " WHERE company_id IS NOT NULL AND found < ? LIMIT " + strconv.Itoa(math.MaxInt32) +
			") AS f WHERE since IS NOT NULL",
		slices.Concat([]any{int(w.kind)}, w.args, []any{limit})
}

// plain is the same without steps.
func (w waiting) plain(engine engine, limit int) (text string, args []any) {
	columns := strings.Join(w.columns, ", ")
	return "SELECT ?, " + w.shown() + " FROM (SELECT " + columns + ", min(" + w.time() + ") AS since" + w.from(engine) +
			" AND (" + columns + ") > (" + marks(w.columns) + ") AND " + w.due + " GROUP BY " + columns + " ORDER BY " +
			columns + " LIMIT ?) AS " + w.name,
		slices.Concat([]any{int(w.kind)}, w.after, w.args, []any{limit})
}

func (w waiting) shown() string {
	if len(w.columns) == 1 {
		return "company_id, 0, since"
	}
	return strings.Join(w.columns, ", ") + ", since"
}

// DueWork answers with whose work is due, by kind, company and endpoint. A distributed engine takes no steps across its
// nodes: it is asked plainly.
func (s *session) DueWork(ctx context.Context, ask ticketing.WorkQuery) ([]ticketing.DueWork, error) {
	scan := func(row *sql.Rows, d *ticketing.DueWork) error {
		return row.Scan((*int)(&d.Kind), (*id)(&d.CompanyID), &d.Endpoint, (*moment)(&d.Since))
	}
	var with, parts []string
	var withArgs, partArgs []any
	limit := max(ask.Limit, 0)
	for _, after := range ask.After {
		for _, w := range waitingFor(after, ask.At) {
			part, args := w.plain(s.store.engine, limit)
			if !s.store.Grouping().ByCompany {
				steps, stepArgs := w.steps(s.store.engine, limit)
				with, withArgs = append(with, steps), append(withArgs, stepArgs...)
				part, args = w.found(s.store.engine, limit)
			}
			parts, partArgs = append(parts, part), append(partArgs, args...)
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	text := strings.Join(parts, "\nUNION ALL\n")
	if len(with) > 0 {
		text = "WITH RECURSIVE " + strings.Join(with, ", ") + "\n" + text
	}
	due, err := query(ctx, s, "DueWork", scan, text, append(withArgs, partArgs...)...)
	slices.SortFunc(due, func(a, b ticketing.DueWork) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), slices.Compare(a.CompanyID[:], b.CompanyID[:]),
			cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return due, err
}

func marks(columns []string) string { return "?" + strings.Repeat(", ?", len(columns)-1) }
