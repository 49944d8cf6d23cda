package main_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/faultproxy"
)

// A server that loses the database just after it began to listen keeps serving. It reports that it is not ready, waits,
// and does its background work after the database is back.
func TestDatabaseIsLostAtTheStart(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := onPostgres(t)
	shop := sh.openShop()
	sh.object("webhook", "create", shop.companyID, "--url", "https://hooks.example.com/tickets",
		"--events", "order.created")
	database, err := url.Parse(sh.env["TICKETING_DATABASE"])
	is.NoErr(err)
	proxy := faultproxy.New(t, database.Host)
	var asked atomic.Int32
	proxy.OnMessage(func(m faultproxy.Message) faultproxy.Action {
		// A server reads the names of its secret keys twice before it listens. It reads them a third time when it
		// starts its background work.
		if !strings.Contains(m.SQL(), `FROM "ticketing_secrets"`) || asked.Add(1) < 3 {
			return faultproxy.Pass
		}
		proxy.Refuse(true)
		return faultproxy.Cut
	})
	database.Host = proxy.Addr()
	p, origin := sh.with("TICKETING_DATABASE", database.String()).serve()
	eventually(t, "the server waits", func() bool {
		return strings.Contains(p.errors(), `level=WARN msg="background work waits for the database"`)
	})
	status, body := get(t, origin+"/readyz")
	is.Equal(status, http.StatusServiceUnavailable)
	is.Equal(body, "unavailable\n")
	status, _ = get(t, origin+"/healthz")
	is.Equal(status, http.StatusOK)

	proxy.OnMessage(nil)
	proxy.Refuse(false)
	eventually(t, "the server is ready", func() bool {
		status, _ := get(t, origin+"/readyz")
		return status == http.StatusOK
	})
	status, _ = send(t, http.MethodPost, origin+prefix+"/checkouts", shop.key, "cart-0001", shop.checkout())
	is.Equal(status, http.StatusCreated)
	eventually(t, "the sale is dispatched", func() bool {
		return len(sh.array("webhook", "deliveries", shop.companyID)) == 1
	})
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
}
