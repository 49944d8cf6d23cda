package ticketing_test

import (
	"net"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/faultproxy"
	"github.com/floatgate/ticketing/internal/pgtest"
)

// TestFailover checks that no order is lost or doubled if a primary dies in the middle of a rush and a synchronous
// standby takes over its address. The services find the new primary by themselves.
func TestFailover(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	primary := pgtest.Start(t)
	standby := primary.Standby(t, "wal_retrieve_retry_interval=50ms")
	proxy, replication := faultproxy.New(t, primary.Addr()), faultproxy.New(t, primary.Addr())
	dsn := through(primary.DSN("postgres"), primary.Addr(), proxy.Addr())
	shop := newShop(t, postgres(t, dsn, nil))
	r := newRush(t, shop)
	alone := service(t, shop, postgres(t, dsn, nil), ticketing.Grouping{Off: true})
	configure(t, standby, "primary_conninfo", through(primary.DSN("postgres"), primary.Addr(), replication.Addr()))
	configure(t, primary, "synchronous_standby_names", "*")
	db := beside(t, primary.DSN("postgres"))
	count := func(what string) (found int) {
		is.NoErr(db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+what).Scan(&found))
		return found
	}
	_, port, err := net.SplitHostPort(replication.Addr())
	is.NoErr(err)
	eventually(t, func() bool { // The standby is connected again, and is synchronous.
		var at string
		err := beside(t, standby.DSN("postgres")).QueryRowContext(t.Context(),
			"SELECT sender_port::text FROM pg_stat_wal_receiver").Scan(&at)
		return err == nil && at == port && count("pg_stat_replication WHERE sync_state = 'sync'") == 1
	})

	r.buy("grouped", 16, buyFuncOf(shop.Service, shop.Caller))
	r.buy("alone", 4, buyFuncOf(alone, shop.Caller))
	r.buy("web", 8, httpBuyFunc(t, shop.Service, shop.APIKey))
	r.begun("grouped", "alone", "web")
	// A commit that the standby has not received is not acknowledged.
	replication.Refuse(true)
	replication.Cut()
	eventually(t, func() bool { return count("pg_stat_activity WHERE wait_event = 'SyncRep'") > 0 })
	primary.Kill()
	r.refused()
	proxy.Redirect(standby.Addr()) // The standby is still read-only.
	r.refused()
	standby.Promote()
	r.more(20)
	r.settled(buyFuncOf(alone, shop.Caller))
}

// configure changes a setting of a server for as long as it runs.
func configure(t *testing.T, server *pgtest.Server, name, value string) {
	t.Helper()
	db := beside(t, server.DSN("postgres"))
	for _, statement := range []string{"ALTER SYSTEM SET " + name + " TO '" + value + "'", "SELECT pg_reload_conf()"} {
		_, err := db.ExecContext(t.Context(), statement)
		is.New(t).NoErr(err)
	}
}
