package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// workScan describes how to find one kind of work: the index in which it waits, the columns of its owner, and the
// condition that it is due.
type workScan struct {
	kind driver.WorkKind
	// name is the prefix of the names of the steps through the index.
	name, table string
	index       string // a partial one; empty: the primary key
	open        string // the condition of the index
	// columns identify the owner and begin the index; after holds the values after which the list starts.
	columns []string
	after   []any
	due     string // the condition of work that is due
	args    []any  // of due
	order   string // the other columns of the index; the first is a time
}

// workScansFor returns the scans for a kind of work, or none for an unknown kind.
func workScansFor(after driver.DueWork, at time.Time) []workScan {
	w := workScan{
		kind: after.Kind, columns: []string{"company_id"}, after: []any{after.CompanyID}, due: "1 = 1",
		order: "at, id",
	}
	switch after.Kind {
	case driver.WorkDispatch:
		w.name, w.table, w.index, w.open = "dispatch", "ticketing_outbox", undispatched, "NOT dispatched"
	case driver.WorkPublish:
		w.name, w.table, w.index, w.open = "tell", "ticketing_outbox", unpublished, "dispatched AND NOT handled"
		w.due, w.args = "(leased_until IS NULL OR leased_until <= ?)", []any{at.UnixMilli()}
	case driver.WorkDeliver:
		w.name, w.table, w.index = "deliver", "ticketing_webhook_deliveries", pendingDeliveries
		w.open = "status = 'PENDING'"
		w.columns, w.after = []string{"company_id", "endpoint"}, []any{after.CompanyID, after.Endpoint}
		w.due, w.args, w.order = "due_at <= ?", []any{at.UnixMilli()}, "due_at"
	case driver.WorkPrune:
		w.name, w.table, w.open = "prune", "ticketing_webhook_deliveries", "1 = 1"
		w.due, w.args, w.order = "created_at < ? AND status <> 'PENDING'", []any{at.UnixMilli()}, "created_at, id"
	case driver.WorkPruneFacts:
		w.name, w.table, w.open = "prune_facts", "ticketing_outbox", "1 = 1"
		w.due, w.args = "at < ? AND dispatched AND handled", []any{at.UnixMilli()}
	case driver.WorkMail:
		w.name, w.table, w.index, w.open = "mail", "ticketing_notifications", dueNotifications, "status = 'PENDING'"
		w.due, w.args, w.order = "due_at <= ?", []any{at.UnixMilli()}, "due_at"
	case driver.WorkPruneMail:
		w.name, w.table, w.index = "prune_mail", "ticketing_notifications", finalNotifications
		w.open = "status <> 'PENDING'"
		w.due, w.args, w.order = "finished_at < ?", []any{at.UnixMilli()}, "finished_at, number, copy"
	case driver.WorkCount:
		// This kind has no time. DueWork ignores the number in its place.
		w.name, w.table, w.index, w.open = "count", "ticketing_sales_progress", openProgress, "uncounted > 0"
		w.order = "uncounted"
	default:
		return nil
	}
	return []workScan{w}
}

// fromClause writes the FROM clause of the work that waits.
func (w workScan) fromClause(engine engine) string {
	use := ""
	if w.index != "" {
		use = engine.traits().useIndex(w.index)
	}
	return " FROM " + w.table + use + " WHERE " + w.open
}

// nextPlace writes the columns of the first work after a place. Each column is a subquery of its own, since a scalar
// subquery returns one column. Each looks first within the same company and then in later ones: for a comparison of
// pairs, SQLite would read all rows whose pair is equal.
func (w workScan) nextPlace(engine engine, place ...string) string {
	columns := strings.Join(w.columns, ", ")
	next := make([]string, len(w.columns))
	for i, column := range w.columns {
		var ways []string
		for last := range slices.Backward(w.columns) {
			where := make([]string, last)
			for j, same := range w.columns[:last] {
				where[j] = " AND " + same + " = " + place[j]
			}
			ways = append(ways, "(SELECT "+column+w.fromClause(engine)+strings.Join(where, "")+" AND "+w.columns[last]+" > "+
				place[last]+" ORDER BY "+columns+" LIMIT 1)")
		}
		next[i] = ways[0]
		if len(ways) > 1 {
			next[i] = "COALESCE(" + strings.Join(ways, ", ") + ")"
		}
	}
	return strings.Join(next, ", ")
}

// dueSince writes the time of the longest overdue work at a place, or NULL if none is due. ORDER BY names the rest of
// the index's columns. With OFFSET 0 this keeps the planner of PostgreSQL from reading the work of all places at once.
func (w workScan) dueSince(engine engine, place string) string {
	same := make([]string, len(w.columns))
	for i, column := range w.columns {
		same[i] = " AND " + w.table + "." + column + " = " + place + "." + column
	}
	return "(SELECT " + w.timeColumn() + w.fromClause(engine) + strings.Join(same, "") + " AND " + w.due + " ORDER BY " +
		w.order + " LIMIT 1 OFFSET 0)"
}

// timeColumn returns the first column of order.
func (w workScan) timeColumn() string {
	first, _, _ := strings.Cut(w.order, ",")
	return first
}

// withSteps writes a recursive query that steps from one company, or endpoint, to the next through the index. So a long
// queue of one costs no more than a short one. The steps count the places with due work and stop at the limit.
func (w workScan) withSteps(engine engine, limit int) (text string, args []any) {
	columns := strings.Join(w.columns, ", ")
	from := w.name + "_from"
	at := func(table string) []string {
		places := make([]string, len(w.columns))
		for i, column := range w.columns {
			places[i] = table + "." + column
		}
		return places
	}
	text = from + " (" + columns + ") AS (SELECT " + placeholders(w.columns) + "), " +
		w.name + " (" + columns + ", found) AS (SELECT " + w.nextPlace(engine, at(from)...) + ", 0 FROM " + from + `
		UNION ALL
		SELECT ` + w.nextPlace(engine, at("w")...) + ", w.found + CASE WHEN " + w.dueSince(engine, "w") +
		` IS NOT NULL THEN 1 ELSE 0 END
		FROM ` + w.name + " AS w WHERE w.company_id IS NOT NULL AND w.found < ?)"
	return text, append(slices.Concat(w.after, w.args), limit)
}

// selectFound writes the query for the places that the steps found. Its LIMIT is never reached. It makes the database
// compute since once for each place, and not a second time for the condition.
func (w workScan) selectFound(engine engine, limit int) (text string, args []any) {
	return "SELECT ?, " + w.outputColumns() + " FROM (SELECT " + strings.Join(w.columns, ", ") + ", " +
			w.dueSince(engine, w.name) +
			" AS since FROM " + w.name + " WHERE company_id IS NOT NULL AND found < ? LIMIT " + strconv.Itoa(math.MaxInt32) +
			") AS f WHERE since IS NOT NULL",
		slices.Concat([]any{int(w.kind)}, w.args, []any{limit})
}

// selectAll writes the same query without steps.
func (w workScan) selectAll(engine engine, limit int) (text string, args []any) {
	columns := strings.Join(w.columns, ", ")
	return "SELECT ?, " + w.outputColumns() + " FROM (SELECT " + columns + ", min(" + w.timeColumn() + ") AS since" +
			w.fromClause(engine) +
			" AND (" + columns + ") > (" + placeholders(w.columns) + ") AND " + w.due + " GROUP BY " + columns + " ORDER BY " +
			columns + " LIMIT ?) AS " + w.name,
		slices.Concat([]any{int(w.kind)}, w.after, w.args, []any{limit})
}

func (w workScan) outputColumns() string {
	if len(w.columns) == 1 {
		return "company_id, 0, since"
	}
	return strings.Join(w.columns, ", ") + ", since"
}

// DueWork returns which companies and endpoints have due work, by kind, company and endpoint. On a cluster each node
// steps through its own shards. Where nodes cannot be asked, a distributed engine runs the plain query, since it cannot
// step across them.
func (s *session) DueWork(ctx context.Context, ask driver.WorkQuery) ([]driver.DueWork, error) {
	scan := func(row rowSet, d *driver.DueWork) error {
		err := row.Scan((*int)(&d.Kind), (*id)(&d.CompanyID), &d.Endpoint, (*moment)(&d.Since))
		if d.Kind == driver.WorkCount {
			d.Since = time.Time{}
		}
		return err
	}
	var scans []workScan
	for _, after := range ask.After {
		scans = append(scans, workScansFor(after, ask.At)...)
	}
	limit := max(ask.Limit, 0)
	onNodes := func(q *nodeQuery) { dueOnNodes(q, s.store.engine, scans, limit) }
	if due, asked, err := askNodes(ctx, s, "DueWork", onNodes, scan); asked {
		return mergeDue(due, limit), err
	}
	var with, parts []string
	var withArgs, partArgs []any
	for _, w := range scans {
		part, args := w.selectAll(s.store.engine, limit)
		if !s.store.Grouping().ByCompany {
			steps, stepArgs := w.withSteps(s.store.engine, limit)
			with, withArgs = append(with, steps), append(withArgs, stepArgs...)
			part, args = w.selectFound(s.store.engine, limit)
		}
		parts, partArgs = append(parts, part), append(partArgs, args...)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	text := strings.Join(parts, "\nUNION ALL\n")
	if len(with) > 0 {
		text = "WITH RECURSIVE " + strings.Join(with, ", ") + "\n" + text
	}
	due, err := query(ctx, s, "DueWork", scan, text, append(withArgs, partArgs...)...)
	slices.SortFunc(due, compareDue)
	return due, err
}

// compareDue orders work by kind, company and endpoint.
func compareDue(a, b driver.DueWork) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), slices.Compare(a.CompanyID[:], b.CompanyID[:]),
		cmp.Compare(a.Endpoint, b.Endpoint))
}

// dueOnNodes writes the query that each node of a cluster runs on its shards. It steps through the index of a shard as
// in a database without nodes, but only where anything waits.
func dueOnNodes(q *nodeQuery, engine engine, scans []workScan, limit int) {
	q.columns = "kind bigint, company_id uuid, endpoint bigint, since bigint"
	for _, w := range scans {
		steps, stepArgs := w.withSteps(engine, limit)
		part, args := w.selectFound(engine, limit)
		q.add(w.probe(engine), build(engine, "WITH RECURSIVE "+steps+
			" SELECT kind::bigint, company_id, endpoint::bigint, since::bigint FROM ("+part+
			") AS w (kind, company_id, endpoint, since)", slices.Concat(stepArgs, args)...))
	}
}

// probe returns the query whether any work waits, due or not.
func (w workScan) probe(engine engine) *builder {
	return build(engine, "SELECT true"+w.fromClause(engine)+" ORDER BY "+strings.Join(w.columns, ", ")+" LIMIT 1")
}

// mergeDue returns the first work of each kind, up to the limit, from the lists of several shards. While a shard moves,
// two nodes may return its work.
func mergeDue(due []driver.DueWork, limit int) []driver.DueWork {
	slices.SortFunc(due, compareDue)
	due = slices.CompactFunc(due, func(a, b driver.DueWork) bool { return compareDue(a, b) == 0 })
	var first []driver.DueWork
	of := make(map[driver.WorkKind]int)
	for _, work := range due {
		if of[work.Kind]++; of[work.Kind] <= limit {
			first = append(first, work)
		}
	}
	return first
}

// Waiting counts the work of each kind through the index in which it waits. ORDER BY keeps the planner of PostgreSQL on
// that index, also while its statistics are those of a long queue. The time is not that of what was counted, which is
// the work of the first companies: steps find it as for DueWork.
func (s *session) Waiting(ctx context.Context, kinds []driver.WorkKind, limit int) ([]driver.Waiting, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	scan := func(row rowSet, w *driver.Waiting) error {
		var place int
		return row.Scan(&place, (*int)(&w.Kind), &w.Items, (*moment)(&w.Since))
	}
	onNodes := func(q *nodeQuery) { waitingOnNodes(q, s.store.engine, kinds, limit) }
	if waiting, asked, err := askNodes(ctx, s, "Waiting", onNodes, scan); asked {
		return mergeWaiting(kinds, waiting, limit), err
	}
	var with, parts []string
	var withArgs, args []any
	for i, kind := range kinds {
		for _, w := range workScansFor(driver.DueWork{Kind: kind}, time.Time{}) {
			w.name, w.due, w.args = w.name+strconv.Itoa(i), "1 = 1", nil // All that waits, due or not.
			since := "SELECT min(" + w.timeColumn() + ")" + w.fromClause(s.store.engine)
			if !s.store.Grouping().ByCompany {
				steps, stepArgs := w.withSteps(s.store.engine, math.MaxInt32)
				with, withArgs = append(with, steps), append(withArgs, stepArgs...)
				since = "SELECT min(" + w.dueSince(s.store.engine, w.name) + ") FROM " + w.name + " WHERE company_id IS NOT NULL"
			}
			parts = append(parts, "SELECT ? AS place, ?, count(*), ("+since+") FROM (SELECT 1"+w.fromClause(s.store.engine)+
				" ORDER BY "+strings.Join(w.columns, ", ")+", "+w.order+" LIMIT (SELECT ?)) AS w")
			args = append(args, i, int(kind), max(limit, 0))
		}
	}
	text := strings.Join(parts, "\nUNION ALL\n") + "\nORDER BY 1"
	if len(with) > 0 {
		text = "WITH RECURSIVE " + strings.Join(with, ", ") + "\n" + text
	}
	return query(ctx, s, "Waiting", scan, text, append(withArgs, args...)...)
}

// waitingOnNodes writes the query that each node of a cluster runs on its shards.
func waitingOnNodes(q *nodeQuery, engine engine, kinds []driver.WorkKind, limit int) {
	q.columns = "place bigint, kind bigint, items bigint, since bigint"
	for i, kind := range kinds {
		for _, w := range workScansFor(driver.DueWork{Kind: kind}, time.Time{}) {
			w.due, w.args = "1 = 1", nil
			steps, args := w.withSteps(engine, math.MaxInt32)
			q.add(w.probe(engine), build(engine, "WITH RECURSIVE "+steps+" SELECT ?::bigint, ?::bigint, count(*), "+
				"(SELECT min("+w.dueSince(engine, w.name)+")::bigint FROM "+w.name+" WHERE company_id IS NOT NULL)"+
				" FROM (SELECT 1"+w.fromClause(engine)+" ORDER BY "+strings.Join(w.columns, ", ")+", "+w.order+
				" LIMIT (SELECT ?::bigint)) AS w", append(args, i, int(kind), max(limit, 0))...))
		}
	}
}

// mergeWaiting adds up what waits on the shards, by kind in the order in which they were asked for.
func mergeWaiting(kinds []driver.WorkKind, parts []driver.Waiting, limit int) []driver.Waiting {
	var waiting []driver.Waiting
	for _, kind := range kinds {
		if len(workScansFor(driver.DueWork{Kind: kind}, time.Time{})) == 0 {
			continue
		}
		sum := driver.Waiting{Kind: kind}
		for _, part := range parts {
			if part.Kind != kind {
				continue
			}
			sum.Items = min(sum.Items+part.Items, max(limit, 0))
			if sum.Since.IsZero() || !part.Since.IsZero() && part.Since.Before(sum.Since) {
				sum.Since = part.Since
			}
		}
		waiting = append(waiting, sum)
	}
	return waiting
}

func placeholders(columns []string) string { return "?" + strings.Repeat(", ?", len(columns)-1) }
