package ticketing_test

import (
	"testing"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
)

// A database that is killed in the middle of a rush, twice, loses and doubles no order. The services find it again by
// themselves, and whoever asked meanwhile was told to come back.
func TestCrashUnderLoad(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	db := postgres(t, server.DSN("postgres"), nil)
	shop := newShop(t, db)
	r := newRush(t, shop)
	alone := service(t, shop, postgres(t, server.DSN("postgres"), nil), ticketing.Grouping{Off: true})

	r.buy("grouped", 16, tillOf(shop.Service, shop.Caller))
	r.buy("alone", 4, tillOf(alone, shop.Caller))
	r.buy("web", 8, webTill(t, shop.Service, shop.APIKey))
	r.begun("grouped", "alone", "web")
	for range 2 {
		server.Kill()
		r.refused()
		server.Restart()
		r.more(20)
	}
	r.settled(tillOf(alone, shop.Caller))
}
