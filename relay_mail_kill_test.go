package ticketing_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ticketingtest"
)

// mortalMailer names the environment variable that starts a process which sends mails and kills itself, see
// mortalProcess.
const mortalMailer = "TICKETING_TEST_MORTAL_MAILER"

// TestMortalMailer is the process that kills itself. Without the variable it does nothing.
func TestMortalMailer(t *testing.T) { //nolint:paralleltest // It is alone in its process.
	db, clock, sent := mortalProcess(t, mortalMailer)
	if db == nil {
		return
	}
	is := is.New(t)
	server := newMailServer()
	server.set(func(_ context.Context, m mailed) error {
		_, err := fmt.Fprintln(sent, m.MessageID)
		return err
	})
	svc, err := ticketing.New(db, &ticketing.Config{SecretKeys: [][]byte{secretKey('k')}, Clock: clock, Mailer: server})
	is.NoErr(err)
	_, err = svc.SendMails(t.Context())
	is.NoErr(err)
}

// TestMailerKilledAnywhere checks that a process which is killed after any statement loses no mail: after its leases
// have expired the next one sends the rest. A kill sends at most one mail a second time, the one whose acceptance it
// kept from being recorded.
func TestMailerKilledAnywhere(t *testing.T) {
	t.Parallel()
	withProcesses(t)
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "ticketing.db")
	db := testdb.Open(t, "sqlite:"+path, nil)
	is.NoErr(db.Migrate(t.Context()))
	shop := newShop(t, db)
	setSender(t, shop)
	made := 0
	killed, sent := killAfterEach(t, mortalMailer, "TestMortalMailer", path, shop.Clock, func() {
		sellMany(t, shop, 1)
		made++
	})
	is.True(killed > 5)
	all := notifications(t, shop)
	is.Equal(len(all), made)
	for _, n := range all {
		is.Equal(n.Status, ticketing.NotificationSent)
		is.Equal(len(n.Attempts), 1)
		is.True(slices.Contains(sent, fmt.Sprintf("<%s.1@example.com>\n", n.OrderID)))
	}
	is.True(len(sent) <= made+killed)
}

// TestMailerCutAnywhere checks that a process whose connection to the database is cut anywhere, with responses lost or
// the database away, loses no mail and sends each until it is recorded.
func TestMailerCutAnywhere(t *testing.T) {
	t.Parallel()
	onCuts(t, func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop) {
		// TestSenderCutAnywhere cuts the same relay in all ways.
		if !search.Everywhere() && at.number%3 != 0 {
			return
		}
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		event := sellable(t, shop)
		made := 0
		sell := func() {
			shop.Sell(t, event, "VIP", 1)
			made++
		}
		sell()
		atStatements(t, s, at, func(int) error {
			// The error of a cut pass does not matter: a later pass sends the rest.
			_, _ = mailing(t, shop, server).SendMails(t.Context())
			return nil
		}, func(int, error) {
			shop.Clock.Advance(61 * time.Second)
			for tries := 0; ; tries++ {
				sendMails(t, mailing(t, shop, server))
				all := notifications(t, shop)
				if len(all) == made && !slices.ContainsFunc(all, func(n driver.Notification) bool {
					return n.Status != ticketing.NotificationSent
				}) {
					break
				}
				// A session whose cut the database has not yet noticed holds its locks, and its mails are skipped.
				is.True(tries < 100)
				think()
			}
			sell()
		})
		once := make(map[string]bool)
		for _, m := range server.accepted() {
			once[m.MessageID] = true
		}
		is.True(len(once) >= made-1)
	})
}
