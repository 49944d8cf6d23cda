package main_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/race"
)

// A company whose sums are wrong is found by "ledger verify" and repaired by "stats rebuild", which may run again. The
// sums of another company stay as they are.
func TestStatsRebuild(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	server, origin := sh.serve()
	api := shop.api(t, origin)
	for range 3 {
		_, err := api.Checkout(t.Context(), uuid.NewString(), shop.basket())
		is.NoErr(err)
	}
	counted := func() int64 {
		var orders int64
		sh.query("SELECT CAST(coalesce(sum(orders), 0) AS BIGINT) FROM ticketing_sales_sums WHERE tier <> ''", &orders)
		return orders
	}
	eventually(t, "the sales are counted", func() bool { return counted() == 4 }) // the demo sold one
	server.signal(syscall.SIGTERM)
	is.Equal(server.wait(), 0)

	// What a server of the version before does: it dispatches, and counts nothing.
	sh.sql("DELETE FROM ticketing_sales_sums")
	did := sh.run("ledger", "verify")
	is.Equal(did.status, 1)
	is.True(strings.Contains(did.stdout+did.stderr, "sum of sales of event "+shop.eventID))
	is.True(strings.Contains(did.stdout, "it has 0 orders, the orders make ")) // four, or fewer in each quarter of an hour

	code, _ := sh.refusal("stats", "rebuild", "--company", nobody)
	is.Equal(code, string(ticketing.CodeNotFound))
	rebuilt := sh.object("stats", "rebuild", "--company", shop.companyID)
	is.Equal(rebuilt, map[string]any{"companies": 1.0, "orders": 4.0, "waiting": 0.0})
	is.Equal(counted(), int64(4))
	is.Equal(sh.run("ledger", "verify").status, 0)

	did = sh.run("stats", "rebuild")
	is.Equal(did.status, 0)
	is.Equal(strings.Join(strings.Fields(did.stdout), " "), "Companies 1 Orders 4 Waiting 0")
	is.Equal(did.stderr, "")
	is.Equal(counted(), int64(4)) // Not eight.
	is.Equal(sh.run("ledger", "verify").status, 0)
}
