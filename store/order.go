package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const orderColumns = `company_id, number, id, event_id, status, gross, commission, rate_id, branding, float_before,
	earnings_before, buyer_email, buyer_fullname, buyer_phone, confirmed_at, created_at`

func scanOrder(row rowSet, o *driver.Order) error {
	return row.Scan((*id)(&o.CompanyID), &o.Number, (*id)(&o.ID), (*id)(&o.EventID), (*string)(&o.Status),
		(*int64)(&o.Gross), (*int64)(&o.Commission), (*id)(&o.RateID), &o.Branding, (*int64)(&o.FloatBefore),
		(*int64)(&o.EarningsBefore), &o.BuyerEmail, &o.BuyerFullname, &o.BuyerPhone, (*moment)(&o.ConfirmedAt),
		(*moment)(&o.CreatedAt))
}

// Orders finds orders by their ids.
func (s *session) Orders(ctx context.Context, refs []driver.OrderRef) ([]driver.Order, error) {
	return findByRefs(refs, orderRef, func(refs []driver.OrderRef) ([]driver.Order, error) {
		return retryMoved(func() ([]driver.Order, error) {
			return fetch(ctx, s, "Orders", scanOrder, s.ordersOf(ctx, refs))
		})
	})
}

// orderRef returns the reference of an order.
func orderRef(o driver.Order) driver.OrderRef {
	return driver.OrderRef{CompanyID: o.CompanyID, ID: o.ID}
}

// ordersOf returns the query for orders.
func (s *session) ordersOf(ctx context.Context, refs []driver.OrderRef) *builder {
	company := soleCompanyOf(refs, func(r driver.OrderRef) uuid.UUID { return r.CompanyID })
	return build(s.engineAt(ctx, "Orders", company), "SELECT "+orderColumns+" FROM ?",
		keyedRows{table: "ticketing_orders o", set: newSet("company_id, id", refs, func(r driver.OrderRef) []any {
			return []any{r.CompanyID, r.ID}
		})})
}

// OrdersWithLines finds orders by their ids, and their lines.
func (s *session) OrdersWithLines(
	ctx context.Context, refs []driver.OrderRef,
) ([]driver.Order, []driver.Admission, error) {
	return s.withLines(ctx, "Orders", func() *builder {
		if len(refs) == 0 || len(refs) > maxRows {
			return nil
		}
		return s.ordersOf(ctx, refs)
	}, func() ([]driver.Order, error) { return s.Orders(ctx, refs) })
}

// ListOrdersWithLines returns a page of a company's orders, highest number first, and their lines.
func (s *session) ListOrdersWithLines(
	ctx context.Context, ask driver.OrderQuery,
) ([]driver.Order, []driver.Admission, error) {
	return s.withLines(ctx, "ListOrders", func() *builder {
		if ask.Indexed {
			return nil
		}
		return s.orderList(ctx, ask)
	}, func() ([]driver.Order, error) { return s.ListOrders(ctx, ask) })
}

// withLines returns the orders that read returns, and their lines. It reads the lines in the same message if reads can
// be joined and ordersOf returns the query that read makes, which may be nil.
func (s *session) withLines(
	ctx context.Context, name string, ordersOf func() *builder, read func() ([]driver.Order, error),
) ([]driver.Order, []driver.Admission, error) {
	var of *builder
	if s.mayNameShards() || s.store.engine.traits().joinsReads {
		of = ordersOf()
	}
	if of != nil && !of.engine.traits().joinsReads {
		of = nil
	}
	linesOf := func() *builder {
		lines := build(of.engine, "SELECT "+admissionColumns+" FROM (")
		lines.append(of)
		lines.add(`) AS o CROSS JOIN LATERAL (SELECT * FROM ticketing_admissions t
			WHERE t.company_id = o.company_id AND t.order_number = o.number OFFSET 0) AS a`)
		s.keep(name, lines)
		return lines
	}
	if of != nil {
		s.ahead.announce(linesOf(), announcedRead{})
	}
	orders, err := read()
	if err != nil {
		s.ahead.forget()
		return nil, nil, err
	}
	var lines []driver.Admission
	if of != nil && of.shards == s.shards() { // Otherwise the shards turned out to be elsewhere.
		lines, err = fetch(ctx, s, "OrderLines", scanAdmission, linesOf())
	}
	if of == nil || of.shards != s.shards() {
		numbers := make([]driver.OrderNumber, 0, len(orders))
		for _, o := range orders {
			if o.Number > 0 {
				numbers = append(numbers, driver.OrderNumber{CompanyID: o.CompanyID, Number: o.Number})
			}
		}
		lines, err := s.OrderLines(ctx, numbers)
		return orders, lines, err
	}
	slices.SortStableFunc(lines, func(a, b driver.Admission) int {
		return cmp.Or(bytes.Compare(a.CompanyID[:], b.CompanyID[:]), cmp.Compare(a.OrderNumber, b.OrderNumber),
			cmp.Compare(a.Line, b.Line))
	})
	return orders, lines, err
}

// FindOrder finds an order by its id alone.
func (s *session) FindOrder(ctx context.Context, id uuid.UUID) (driver.Order, error) {
	return firstRow(query(ctx, s, "FindOrder", scanOrder,
		"SELECT "+orderColumns+" FROM ticketing_orders WHERE id = ? LIMIT 1", id))
}

// ListOrders returns a page of a company's orders, highest number first.
func (s *session) ListOrders(
	ctx context.Context, ask driver.OrderQuery,
) ([]driver.Order, error) {
	if ask.Indexed {
		return s.indexedOrders(ctx, ask)
	}
	return retryMoved(func() ([]driver.Order, error) {
		return fetch(ctx, s, "ListOrders", scanOrder, s.orderList(ctx, ask))
	})
}

// orderList returns the query for a page of orders that needs no index of a buyer's.
func (s *session) orderList(ctx context.Context, ask driver.OrderQuery) *builder {
	engine := s.engineAt(ctx, "ListOrders", ask.CompanyID)
	statuses := slices.Compact(slices.Sorted(slices.Values(ask.Statuses)))
	if len(statuses) == 0 {
		text, args := s.orderPart(ask, "")
		return build(engine, text, args...)
	}
	// A subquery for each status, so that each reads its index in order and stops after one page.
	parts := make([]string, len(statuses))
	var all []any
	for i, status := range statuses {
		part, args := s.orderPart(ask, status)
		parts[i] = "SELECT * FROM (" + part + ") AS part"
		all = append(all, args...)
	}
	return build(engine, strings.Join(parts, " UNION ALL ")+" ORDER BY number DESC LIMIT ?",
		append(all, max(ask.Limit, 0))...)
}

// orderPart returns the query for the orders of one status, or of any (empty).
func (s *session) orderPart(ask driver.OrderQuery, status driver.OrderStatus) (string, []any) {
	where, args := " WHERE company_id = ?", []any{ask.CompanyID}
	index := ""
	if ask.EventID != uuid.Nil {
		index = "ticketing_orders_event"
		where += " AND event_id = ?"
		args = append(args, ask.EventID)
	}
	if status != "" {
		where += " AND status = ?"
		args = append(args, string(status))
	}
	// The most common status has no index of its own. The indexes of the others are partial, so the query repeats their
	// condition.
	if status != "" && status != driver.OrderConfirmed {
		index = "ticketing_orders_status_list"
		if ask.EventID != uuid.Nil {
			index = "ticketing_orders_event_status"
		}
		where += " AND status <> 'CONFIRMED'"
	}
	if ask.After > 0 {
		where += " AND number < ?"
		args = append(args, ask.After)
	}
	if ask.AboveNumber > 0 {
		where += " AND number > ?"
		args = append(args, ask.AboveNumber)
	}
	if ask.BuyerEmail != "" {
		where += " AND buyer_email = ?"
		args = append(args, ask.BuyerEmail)
	}
	if index != "" {
		index = s.store.engine.traits().useIndex(index)
	}
	return "SELECT " + orderColumns + " FROM ticketing_orders" + index + where + " ORDER BY number DESC LIMIT ?",
		append(args, max(ask.Limit, 0))
}

// indexedOrders returns a page of a buyer's orders. It reads entries of the index from the newest, and looks up the
// order of each by its number, until the page is full. The other conditions exclude few orders of a buyer.
func (s *session) indexedOrders(ctx context.Context, ask driver.OrderQuery) ([]driver.Order, error) {
	var found []driver.Order
	for after, step := upTo(ask.After), max(ask.Limit, 0); len(found) < ask.Limit; step = maxRows {
		numbers, orders, err := s.indexEntries(ctx, ask, after, step)
		if err != nil || len(numbers) == 0 {
			return found, err
		}
		for _, order := range orders {
			if len(found) < ask.Limit && order.BuyerEmail == ask.BuyerEmail &&
				(ask.EventID == uuid.Nil || order.EventID == ask.EventID) &&
				(len(ask.Statuses) == 0 || slices.Contains(ask.Statuses, order.Status)) {
				found = append(found, order)
			}
		}
		if len(numbers) < step {
			break
		}
		after = numbers[len(numbers)-1]
	}
	return found, nil
}

// indexEntries returns the numbers of a buyer's orders before a number, highest first, and the orders. It reads both in
// one message where reads are joined.
func (s *session) indexEntries(
	ctx context.Context, ask driver.OrderQuery, before int64, limit int,
) ([]int64, []driver.Order, error) {
	entries := func(columns string) *builder {
		return build(s.store.engine, "SELECT "+columns+` FROM ticketing_buyer_orders WHERE company_id = ? AND email = ?
			AND number > ? AND number < ? ORDER BY number DESC LIMIT ?`, ask.CompanyID, ask.BuyerEmail, ask.AboveNumber,
			before, limit)
	}
	ordersOf := func(numbers []int64) *builder {
		return build(s.store.engine, "SELECT "+orderColumns+" FROM ?",
			keyedRows{table: "ticketing_orders o", set: newSet("company_id, number", numbers, func(n int64) []any {
				return []any{ask.CompanyID, n}
			})})
	}
	if s.store.engine.traits().joinsReads && limit <= maxRows {
		ordersOf = func([]int64) *builder {
			orders := build(s.store.engine, "SELECT "+orderColumns+" FROM (")
			orders.append(entries("company_id AS of_company, number AS of_number"))
			orders.add(`) AS e CROSS JOIN LATERAL (SELECT * FROM ticketing_orders t
				WHERE t.company_id = e.of_company AND t.number = e.of_number OFFSET 0) AS o`)
			s.keep("ListOrders", orders)
			return orders
		}
		s.ahead.announce(ordersOf(nil), announcedRead{})
	}
	scan := func(row rowSet, number *int64) error { return row.Scan(number) }
	numbers, err := fetch(ctx, s, "ListOrders", scan, entries("number"))
	if err != nil || len(numbers) == 0 {
		return nil, nil, err
	}
	orders, err := findByRefs(numbers, func(o driver.Order) int64 { return o.Number },
		func(numbers []int64) ([]driver.Order, error) {
			return fetch(ctx, s, "ListOrders", scanOrder, ordersOf(numbers))
		})
	return numbers, orders, err
}

func scanBuyer(row rowSet, b *driver.Buyer) error {
	return row.Scan((*id)(&b.CompanyID), &b.Email, &b.Fullname, &b.Phone, (*moment)(&b.CreatedAt),
		(*moment)(&b.UpdatedAt))
}

// ListBuyers returns a page of a company's buyers, by email.
func (s *session) ListBuyers(ctx context.Context, ask driver.BuyerQuery) ([]driver.Buyer, error) {
	where, args := "company_id = ? AND email >= ? AND email > ?",
		[]any{ask.CompanyID, max(ask.Prefix, ask.After), ask.After}
	if end := afterPrefix(ask.Prefix); end != "" {
		where += " AND email < ?"
		args = append(args, end)
	}
	return query(ctx, s, "ListBuyers", scanBuyer, `SELECT company_id, email, fullname, phone, created_at, updated_at
		FROM ticketing_buyers WHERE `+where+" ORDER BY email LIMIT ?", append(args, max(ask.Limit, 0))...)
}

// Buyers finds buyers by their emails.
func (s *session) Buyers(ctx context.Context, refs []driver.BuyerRef) ([]driver.Buyer, error) {
	return findByRefs(refs,
		func(b driver.Buyer) driver.BuyerRef {
			return driver.BuyerRef{CompanyID: b.CompanyID, Email: b.Email}
		},
		func(refs []driver.BuyerRef) ([]driver.Buyer, error) {
			return query(ctx, s, "Buyers", scanBuyer,
				`SELECT company_id, email, fullname, phone, created_at, updated_at FROM ?`,
				keyedRows{table: "ticketing_buyers b", set: newSet("company_id, email", refs, func(r driver.BuyerRef) []any {
					return []any{r.CompanyID, r.Email}
				})})
		})
}

// AppendOrders inserts orders.
func (tx *transaction) AppendOrders(ctx context.Context, orders []driver.Order) error {
	return insertRecords(ctx, tx, "AppendOrders", "ticketing_orders", []column[driver.Order]{
		idColumn("company_id", func(o *driver.Order) uuid.UUID { return o.CompanyID }),
		numberColumn("number", func(o *driver.Order) int64 { return o.Number }),
		idColumn("id", func(o *driver.Order) uuid.UUID { return o.ID }),
		idColumn("event_id", func(o *driver.Order) uuid.UUID { return o.EventID }),
		textColumn("status", func(o *driver.Order) string { return string(o.Status) }),
		numberColumn("gross", func(o *driver.Order) int64 { return int64(o.Gross) }),
		numberColumn("commission", func(o *driver.Order) int64 { return int64(o.Commission) }),
		idColumn("rate_id", func(o *driver.Order) uuid.UUID { return o.RateID }),
		numberColumn("branding", func(o *driver.Order) int64 { return o.Branding }),
		numberColumn("float_before", func(o *driver.Order) int64 { return int64(o.FloatBefore) }),
		numberColumn("earnings_before", func(o *driver.Order) int64 { return int64(o.EarningsBefore) }),
		textColumn("buyer_email", func(o *driver.Order) string { return o.BuyerEmail }),
		textColumn("buyer_fullname", func(o *driver.Order) string { return o.BuyerFullname }),
		textColumn("buyer_phone", func(o *driver.Order) string { return o.BuyerPhone }),
		timeColumn("confirmed_at", func(o *driver.Order) time.Time { return o.ConfirmedAt }),
		timeColumn("created_at", func(o *driver.Order) time.Time { return o.CreatedAt }),
	}, orders, 1)
}

// PutBuyers inserts or updates buyers. The time of creation of an existing one stays.
func (tx *transaction) PutBuyers(ctx context.Context, buyers []driver.Buyer) error {
	columns := []column[driver.Buyer]{
		idColumn("company_id", func(b *driver.Buyer) uuid.UUID { return b.CompanyID }),
		textColumn("email", func(b *driver.Buyer) string { return b.Email }),
		textColumn("fullname", func(b *driver.Buyer) string { return b.Fullname }),
		textColumn("phone", func(b *driver.Buyer) string { return b.Phone }),
		timeColumn("created_at", func(b *driver.Buyer) time.Time { return b.CreatedAt }),
		timeColumn("updated_at", func(b *driver.Buyer) time.Time { return b.UpdatedAt }),
	}
	return inParts(buyers, func(buyers []driver.Buyer) error {
		return tx.put(ctx, "PutBuyers", "ticketing_buyers", setOf(columns, buyers),
			` ON CONFLICT (company_id, email) DO UPDATE
			SET fullname = excluded.fullname, phone = excluded.phone, updated_at = excluded.updated_at`)
	})
}
