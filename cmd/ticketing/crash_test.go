package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"
)

// A server that is killed in the middle of a load leaves a clean ledger, every order that was acknowledged, and no key
// that cannot be tried again.
func TestKilledServerLosesNoAcknowledgedOrder(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.serve("--rate-limit", "0", "--log-level", "error")

	const buyers = 8
	var (
		all          sync.WaitGroup
		mu           sync.Mutex
		acknowledged = map[string]string{} // order ids by idempotency key
		unanswered   []string
		enough       = make(chan struct{})
	)
	for buyer := range buyers {
		all.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("crash-%d-%d", buyer, n)
				status, body, err := try(t.Context(), http.MethodPost, origin+prefix+"/checkouts", shop.key, key, shop.checkout())
				mu.Lock()
				if err != nil {
					unanswered = append(unanswered, key)
					mu.Unlock()
					return
				}
				if status != http.StatusCreated {
					t.Errorf("%d %s", status, body)
					mu.Unlock()
					return
				}
				acknowledged[key] = orderID(t, body)
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
	for key, id := range acknowledged {
		status, _ := send(t, http.MethodGet, origin+prefix+"/orders/"+id, shop.key, "", "")
		is.Equal(status, http.StatusOK)
		status, body := send(t, http.MethodPost, origin+prefix+"/checkouts", shop.key, key, shop.checkout())
		is.Equal(status, http.StatusCreated)
		is.Equal(orderID(t, body), id)
	}
	for _, key := range unanswered {
		status, _ := send(t, http.MethodPost, origin+prefix+"/checkouts", shop.key, key, shop.checkout())
		is.Equal(status, http.StatusCreated)
	}
	is.Equal(sh.object("ledger", "verify")["ok"], true)
	// One debit for each order and no more, beside the credit and the sale of the demo.
	is.Equal(len(sh.array("ledger", "list", shop.companyID, "--wallet", "FLOAT")), len(acknowledged)+len(unanswered)+2)
}

func orderID(t *testing.T, body string) string {
	t.Helper()
	var answer struct{ Data struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Error(err)
	}
	return answer.Data.ID
}
