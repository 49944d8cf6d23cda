package ticketing_test

import (
	"testing"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
)

// TestCrashUnderLoad checks that a database that is killed twice in the middle of a rush neither loses nor doubles an
// order. The services reconnect by themselves, and calls meanwhile fail with an error that asks the client to retry.
func TestCrashUnderLoad(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	db := postgres(t, server.DSN("postgres"), nil)
	shop := newShop(t, db)
	r := newRush(t, shop)
	alone := service(t, shop, postgres(t, server.DSN("postgres"), nil), ticketing.Grouping{Off: true})

	r.buy("grouped", 16, buyFuncOf(shop.Service, shop.Caller))
	r.buy("alone", 4, buyFuncOf(alone, shop.Caller))
	r.buy("web", 8, httpBuyFunc(t, shop.Service, shop.APIKey))
	r.begun("grouped", "alone", "web")
	for range 2 {
		server.Kill()
		r.refused()
		server.Restart()
		r.more(20)
	}
	r.settled(buyFuncOf(alone, shop.Caller))
}
