package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

// ceiling writes by SQL alone what groups of 64 checkouts of two admissions write: the same rows in the same tables.
// Each group is one message with one transaction of set-wise statements, on one connection. It reads nothing, decides
// nothing and sends no responses. So a service whose groups are no larger cannot be faster on one connection.
type ceiling struct {
	of       *bench
	shop     shop
	first    int64 // number of the next order, the sequence of its entry in FLOAT
	accrual  int64 // sequence of its entry in EARNINGS
	admitted int64
}

const (
	ceilingGroup = 64
	ceilingQty   = 2
	ceilingGross = ceilingQty * int64(shopPrice)
	// ceilingCommission is the commission on it at shopRate.
	ceilingCommission = ceilingGross * 250 / 10_000
	// ceilingBalance has as many digits as a balance of FLOAT.
	ceilingBalance = 99_999_999_999_999
)

// newCeiling creates a separate company. Its books are not verified, since the hashes written by SQL alone are
// meaningless.
func newCeiling(ctx context.Context, b *bench) (*ceiling, error) {
	c := &ceiling{of: b, first: 2, accrual: 1} // The credit of the float was the first entry of FLOAT.
	return c, c.shop.openUp(ctx, b.filler, b.store, false)
}

// slice writes groups for the given time. It builds the next message while the database executes the current one.
func (c *ceiling) slice(ctx context.Context, length time.Duration, of *tally) error {
	if c.admitted > leastLeft {
		c.admitted = 0
		if err := c.shop.putOnSale(ctx, c.of.filler, c.of.store); err != nil {
			return err
		}
	}
	conn, err := c.of.db.admin.Conn(ctx)
	if err != nil {
		return fmt.Errorf("measure SQL alone: %w", err)
	}
	defer func() { _ = conn.Close() }()
	o := &sliceOutcome{}
	next := c.message()
	made := make(chan string, 1)
	for began := time.Now(); o.Window < length; o.Window = time.Since(began) {
		message := next
		go func() { made <- c.message() }()
		_, err := conn.ExecContext(ctx, message)
		next = <-made
		if err != nil {
			return fmt.Errorf("measure SQL alone: %w", err)
		}
		o.Completed += ceilingGroup
	}
	of.add([]*sliceOutcome{o})
	return nil
}

// message returns the SQL of one group.
func (c *ceiling) message() string {
	orders := make([]string, ceilingGroup)
	for i := range orders {
		orders[i] = uuid.NewString()
	}
	order := func(i int) string { return orders[i] }
	buyers := func(i int) string { return orders[i] + mailDomain }
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	company := constantColumn("company_id", "'"+c.shop.Company.String()+"'::uuid")
	event := constantColumn("event_id", "'"+c.shop.Event.String()+"'::uuid")
	at := func(name string) column { return constantColumn(name, now) }
	first, accrual := c.first, c.accrual
	c.first, c.accrual, c.admitted = first+ceilingGroup, accrual+ceilingGroup, c.admitted+ceilingGroup*ceilingQty

	var m strings.Builder
	m.WriteString("BEGIN; SET LOCAL search_path TO " + c.of.db.schema + ";\n")
	fmt.Fprintf(&m, "UPDATE ticketing_inventory_batches SET unit_price = %d, status = 'AVAILABLE', quantity = %d, "+
		"sold = %d, open = true WHERE company_id = %s AND event_id = %s AND tier = '%s' AND position = 1;\n",
		int64(shopPrice), ticketing.MaxTierAdmissions, c.admitted, company.value, event.value, shopTier)
	insert(&m, "ticketing_orders", ceilingGroup, company, event,
		arrayColumn("number", "bigint", countFrom(first, 1)), arrayColumn("id", "uuid", order),
		constantColumn("status", "'CONFIRMED'"),
		constantColumn("gross", number(ceilingGross)), constantColumn("commission", number(ceilingCommission)),
		constantColumn("rate_id", "'"+uuid.NewString()+"'::uuid"), constantColumn("branding", "1"),
		arrayColumn("float_before", "bigint", countFrom(ceilingBalance, -ceilingGross)),
		arrayColumn("earnings_before", "bigint", countFrom(accrual, ceilingCommission)),
		arrayColumn("buyer_email", "text", buyers), constantColumn("buyer_fullname", "'"+buyerName+"'"),
		constantColumn("buyer_phone", "''"),
		at("confirmed_at"), at("created_at"))
	insert(&m, "ticketing_admissions", ceilingGroup*ceilingQty, company, event,
		arrayColumn("order_number", "bigint", repeatEach(ceilingQty, countFrom(first, 1))),
		arrayColumn("line", "bigint", func(i int) string { return strconv.Itoa(i%ceilingQty + 1) }),
		arrayColumn("id", "uuid", randomID), arrayColumn("line_id", "uuid", randomID),
		arrayColumn("order_id", "uuid", repeatEach(ceilingQty, order)),
		constantColumn("tier", "'"+shopTier+"'"), constantColumn("batch", "1"), constantColumn("title", "'Admission 1'"),
		constantColumn("unit_price", number(int64(shopPrice))), constantColumn("voided", "false"),
		constantColumn("location", "''"))
	insert(&m, "ticketing_buyers", ceilingGroup, company, arrayColumn("email", "text", buyers),
		constantColumn("fullname", "'"+buyerName+"'"), constantColumn("phone", "''"), at("created_at"), at("updated_at"))
	fmt.Fprintf(&m, "UPDATE ticketing_wallets AS t SET status = 'ACTIVE', currency = 'NGN', balance = v.balance, "+
		"sequence = v.sequence, hash = v.hash, last_at = %s FROM unnest('{FLOAT,EARNINGS}'::text[], "+
		"'{%d,%d}'::bigint[], '{%d,%d}'::bigint[], %s) AS v (wallet, balance, sequence, hash) "+
		"WHERE t.company_id = %s AND t.wallet = v.wallet;\n",
		now, int64(ceilingBalance), accrual, c.first-1, c.accrual-1, array("bytea", 2, randomHash), company.value)
	c.entries(&m, "FLOAT", "CHECKOUT_DEBIT", first, ceilingBalance, -ceilingGross, order, at("at"))
	c.entries(&m, "EARNINGS", "COMMISSION_ACCRUAL", accrual, accrual, ceilingCommission, order, at("at"))
	insert(&m, "ticketing_outbox", ceilingGroup, company, at("at"), arrayColumn("id", "uuid", randomID),
		constantColumn("type", "'"+string(driver.FactSale)+"'"), arrayColumn("subject", "uuid", order),
		constantColumn("handled", "false"))
	insert(&m, "ticketing_idempotency_keys", ceilingGroup, company, constantColumn("operation", "'checkouts.create'"),
		arrayColumn("key", "text", func(i int) string { return "bench-" + randomID(i) }),
		arrayColumn("digest", "text", func(int) string { return "v1:" + randomHex(22)[:43] }),
		constantColumn("outcome", "''"),
		arrayColumn("subject", "uuid", order), at("created_at"))
	m.WriteString("COMMIT")
	return m.String()
}

// entries writes the ledger entries of one wallet for the group.
func (c *ceiling) entries(
	m *strings.Builder, wallet, kind string, sequence, before, amount int64, order func(int) string, at column,
) {
	insert(m, "ticketing_ledger_entries", ceilingGroup,
		constantColumn("company_id", "'"+c.shop.Company.String()+"'::uuid"),
		constantColumn("wallet", "'"+wallet+"'"), arrayColumn("sequence", "bigint", countFrom(sequence, 1)),
		constantColumn("kind", "'"+kind+"'"),
		constantColumn("amount", number(amount)), arrayColumn("balance_before", "bigint", countFrom(before, amount)),
		arrayColumn("balance_after", "bigint", countFrom(before+amount, amount)), arrayColumn("reference", "text", order), at,
		arrayColumn("previous", "bytea", randomHash), arrayColumn("hash", "bytea", randomHash))
}
