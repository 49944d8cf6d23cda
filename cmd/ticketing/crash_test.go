package main_test

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/internal/race"
)

// A server that is killed under load leaves a clean ledger and every acknowledged order. Every idempotency key can be
// retried.
func TestKilledServerLosesNoAcknowledgedOrder(t *testing.T) {
	t.Parallel()
	leftOut(t)
	race.Leave(t, "servers that are killed: those that stop by themselves run under it")
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.serve("--rate-limit", "0", "--log-level", "error")

	api := shop.api(t, origin)
	is.NoErr(api.Verify(t.Context()))
	const buyers = 8
	var (
		all          sync.WaitGroup
		mu           sync.Mutex
		acknowledged = map[string]uuid.UUID{} // orders by idempotency key
		unanswered   []string
		enough       = make(chan struct{})
	)
	for buyer := range buyers {
		all.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("crash-%d-%d", buyer, n)
				order, err := api.Checkout(t.Context(), key, shop.basket())
				mu.Lock()
				if err != nil {
					_, answered := errors.AsType[*client.Error](err)
					// A call that began at or after the end got no connection, which is not ambiguous.
					network, ok := errors.AsType[*net.OpError](err)
					noConnection := ok && network.Op == "dial" &&
						(errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET))
					unsure := errors.Is(err, client.ErrAmbiguous) || noConnection
					if answered || !unsure {
						t.Error(err)
					}
					unanswered = append(unanswered, key)
					mu.Unlock()
					return
				}
				acknowledged[key] = order.ID
				if len(acknowledged) == 80 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(patience):
		t.Fatal("the load does not get going")
	}
	must(t, p.cmd.Process.Kill())
	all.Wait()
	is.Equal(p.wait(), -1)

	report := sh.object("ledger", "verify")
	is.Equal(report["problems"], []any{})
	is.Equal(report["ok"], true)
	_, origin = sh.serve("--rate-limit", "0", "--log-level", "error")
	api = shop.api(t, origin)
	for key, id := range acknowledged {
		kept, err := api.GetOrder(t.Context(), id)
		is.NoErr(err)
		again, err := api.Checkout(t.Context(), key, shop.basket())
		is.NoErr(err)
		is.Equal(again, kept)
	}
	for _, key := range unanswered {
		_, err := api.Checkout(t.Context(), key, shop.basket())
		is.NoErr(err)
	}
	is.Equal(sh.object("ledger", "verify")["ok"], true)
	// One debit for each order and no more, besides the demo's credit and sale.
	is.Equal(len(sh.array("ledger", "list", shop.companyID, "--wallet", "FLOAT")), len(acknowledged)+len(unanswered)+2)
}
