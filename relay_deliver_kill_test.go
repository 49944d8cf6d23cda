package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// mortalSender names the environment variable that starts a sender process, which kills itself. Its value has the
// number of the statement after which the process ends, its time, and the database. The process writes its posts to a
// file beside the database.
const mortalSender = "TICKETING_TEST_MORTAL_SENDER"

// mortalProcess returns the database and the time of a process that kills itself, and the file for what it sends. It
// returns no database in a process that was not started with the variable.
func mortalProcess(t *testing.T, variable string) (db *store.Store, clock func() time.Time, sent *os.File) {
	t.Helper()
	order := os.Getenv(variable)
	if order == "" {
		return nil, nil, nil
	}
	is := is.New(t)
	var last int
	var at int64
	var path string
	_, err := fmt.Sscan(order, &last, &at, &path)
	is.NoErr(err)
	self, err := os.FindProcess(os.Getpid())
	is.NoErr(err)
	said := atomic.Int64{}
	db = testdb.Open(t, "sqlite:"+path, &store.Config{OnStatement: func(context.Context, store.Statement) {
		if said.Add(1) == int64(last) {
			_ = self.Kill()
			select {} // The process does nothing more.
		}
	}})
	sent, err = os.OpenFile(path+".sent", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	is.NoErr(err)
	return db, func() time.Time { return time.UnixMilli(at) }, sent
}

// killAfterEach starts a process that kills itself after its first statement, then one after its second, until one
// lives. Before each it calls before, and then advances the clock past every lease. It returns how many were killed,
// and the lines of what all of them sent.
func killAfterEach(
	t *testing.T, variable, test, path string, clock *ticketingtest.Clock, before func(),
) (killed int, sent []string) {
	t.Helper()
	for n, lived := 1, false; !lived; n++ {
		before()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+test+"$")
		cmd.Env = append(os.Environ(), variable+"="+fmt.Sprintln(n, clock.Now().UnixMilli(), path))
		told, err := cmd.CombinedOutput()
		if lived = err == nil; !lived {
			if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.Exited() {
				t.Fatalf("the process died of something else: %v\n%s", err, told)
			}
			killed++
		}
		clock.Advance(61 * time.Second)
	}
	text, err := os.ReadFile(path + ".sent")
	is.New(t).NoErr(err)
	return killed, slices.Collect(strings.Lines(string(text)))
}

// TestMortalSender is the process that kills itself. Without the variable it does nothing.
func TestMortalSender(t *testing.T) { //nolint:paralleltest // It is alone in its process.
	db, clock, posts := mortalProcess(t, mortalSender)
	if db == nil {
		return
	}
	is := is.New(t)
	svc, err := ticketing.New(db, &ticketing.Config{
		SecretKeys: [][]byte{secretKey('k')}, Clock: clock,
		Sender: senderFunc(func(_ context.Context, p ticketing.WebhookRequest) (int, error) {
			_, err := fmt.Fprintf(posts, "%s %s %q\n", p.DeliveryID, p.EventID, p.Body)
			return 200, err
		}),
	})
	is.NoErr(err)
	_, err = svc.SendWebhooks(t.Context())
	is.NoErr(err)
}

type senderFunc func(ctx context.Context, post ticketing.WebhookRequest) (int, error)

func (f senderFunc) Post(ctx context.Context, post ticketing.WebhookRequest) (int, error) {
	return f(ctx, post)
}

// TestSenderKilledAnywhere checks that a sender that is killed after any statement loses no event. After its leases
// have expired the next sender sends the rest with the same ids and bodies, and every delivery ends as SUCCEEDED.
func TestSenderKilledAnywhere(t *testing.T) {
	t.Parallel()
	withProcesses(t)
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "ticketing.db")
	db := testdb.Open(t, "sqlite:"+path, nil)
	is.NoErr(db.Migrate(t.Context()))
	shop := newShop(t, db)
	in := newInbox(shop.Clock.Now)
	in.register(t, shop)
	made := 0
	killed, sent := killAfterEach(t, mortalSender, "TestMortalSender", path, shop.Clock, func() {
		sellMany(t, shop, 1)
		made += 2
	})
	is.True(killed > 5)
	posts := make(map[string]string) // by delivery, the event and the body
	for _, line := range sent {
		id, rest, _ := strings.Cut(line, " ")
		before, seen := posts[id]
		is.True(!seen || before == rest)
		posts[id] = rest
	}
	all := deliveries(t, shop)
	is.Equal(len(all), made)
	for _, d := range all {
		is.Equal(d.Status, ticketing.DeliverySucceeded)
		is.True(strings.HasPrefix(posts[d.ID.String()], d.MessageID.String()))
	}
}

// TestSenderCutAnywhere checks that a sender whose connection to the database is cut anywhere, with responses lost or
// the database away, loses no event. It sends each delivery under one id until the receiver accepts it.
func TestSenderCutAnywhere(t *testing.T) {
	t.Parallel()
	onCuts(t, func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop) {
		is := is.New(t)
		in := newInbox(shop.Clock.Now)
		h := in.register(t, shop)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 1_00, 1000)
		made := 0
		sell := func() {
			shop.Sell(t, event.ID, "VIP", 1)
			made += 2
		}
		sell()
		atStatements(t, s, at, func(int) error {
			// The error of a cut pass does not matter: a later pass sends the rest.
			_, _ = sender(t, shop, in).SendWebhooks(t.Context())
			return nil
		}, func(int, error) {
			shop.Clock.Advance(31 * time.Second)
			for tries := 0; ; tries++ {
				send(t, sender(t, shop, in))
				all := deliveries(t, shop)
				pending := slices.ContainsFunc(all, func(d driver.Delivery) bool {
					return d.Status != ticketing.DeliverySucceeded
				})
				if len(all) == made && !pending {
					break
				}
				// A session whose cut the database has not yet noticed holds its locks, and its deliveries are skipped.
				is.True(tries < 100)
				think()
			}
			sell()
		})
		is.True(len(in.of(t, h.ID)) >= made-2)
	})
}
