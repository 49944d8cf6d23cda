package ticketing_test

import (
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestProcessesSendEachMailOnce checks that two services on one PostgreSQL database, each with a pool of its own as in
// two processes, send each mail once.
func TestProcessesSendEachMailOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.DSN(t)
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: testdb.Open(t, dsn, nil)})
	setSender(t, shop)
	event := sellable(t, shop)
	const orders = 30
	for range orders {
		shop.Sell(t, event, "VIP", 1)
	}
	server := newMailServer()
	other := *shop
	other.Store = testdb.Open(t, dsn, nil)
	var all sync.WaitGroup
	for _, svc := range []*ticketing.Service{mailing(t, shop, server), mailing(t, &other, server)} {
		all.Go(func() {
			_, err := svc.SendMails(t.Context())
			is.NoErr(err)
		})
	}
	all.Wait()
	once := make(map[string]bool)
	for _, m := range server.accepted() {
		once[m.MessageID] = true
	}
	is.Equal(len(server.accepted()), orders)
	is.Equal(len(once), orders)
	for _, n := range notifications(t, shop) {
		is.Equal(n.Status, ticketing.NotificationSent)
	}
}
