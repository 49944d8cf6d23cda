package ticketing_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// lookedStore is a store that records the looks for work that a service sends: the kinds that each asks for.
type lookedStore struct {
	driver.Store

	mu    sync.Mutex
	looks [][]driver.WorkKind
}

func (s *lookedStore) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	return s.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error { return fn(ctx, lookedTx{tx, s}) })
}

type lookedTx struct {
	driver.ReadTx

	store *lookedStore
}

func (tx lookedTx) DueWork(ctx context.Context, query driver.WorkQuery) ([]driver.DueWork, error) {
	var kinds []driver.WorkKind
	for _, one := range query.After {
		kinds = append(kinds, one.Kind)
	}
	found, err := tx.ReadTx.DueWork(ctx, query)
	// Pruning and the sums of sales ask for kinds of their own.
	if sends := slices.ContainsFunc(kinds, func(kind driver.WorkKind) bool {
		return kind == driver.WorkDispatch || kind == driver.WorkDeliver
	}); sends {
		tx.store.mu.Lock()
		defer tx.store.mu.Unlock()
		tx.store.looks = append(tx.store.looks, kinds)
	}
	return found, err
}

// all returns the looks until now.
func (s *lookedStore) all() [][]driver.WorkKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.looks)
}

// everyKind is what a look at the poll interval asks for.
var everyKind = []driver.WorkKind{driver.WorkDispatch, driver.WorkPublish, driver.WorkDeliver, driver.WorkMail}

// hourly makes a service look for work once an hour, so that hardly anything is found by a look.
func hourly(c *ticketing.Config) { c.PollInterval = time.Hour }

// TestCommitsAreFollowedWithoutALook checks that a process that runs the background work does what its own commits make
// due, at once and without a query for it: it dispatches, publishes, delivers and mails. The only query is that of the
// start, which finds what was committed before.
func TestCommitsAreFollowedWithoutALook(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		in, server := newInbox(shop.Clock.Now), newMailServer()
		hook := in.register(t, shop)
		// The facts of one sale wait at the start. No commit of the service below wrote them.
		_, first := ready(t, shop)

		looked := &lookedStore{Store: shop.Store}
		own := *shop
		own.Store = looked
		var facts ticketingtest.Facts
		svc := mailing(t, &own, server, hourly, func(c *ticketing.Config) { c.Sender, c.OnFact = in, facts.OnFact })
		own.Service, own.Staff = svc, svc.As(ticketing.Staff("ticketingtest"))
		end := running(t, svc)
		await := func(published, posts, mails int) {
			t.Helper()
			eventually(t, func() bool {
				return len(facts.All()) >= published && len(in.all(t)) >= posts && len(server.accepted()) >= mails
			})
		}
		await(3, 2, 1)

		const sales = 20
		event := own.Event(t)
		own.Inventory(t, event.ID, "VIP", 1_00, sales)
		var order ticketing.Order
		for n := range sales {
			order = own.Sell(t, event.ID, "VIP", 1)
			if n == 0 {
				await(6, 4, 2) // Without another commit.
			}
		}
		await(3+3*sales, 2+2*sales, 1+sales)
		own.Scan(t, event.ID, order.Lines[0].AdmissionID)
		await(4+3*sales, 3+2*sales, 1+sales)

		_, err := own.Staff.TriggerWebhook(t.Context(), own.Company.ID, ticketing.FactBalanceLow)
		is.NoErr(err)
		await(4+3*sales, 4+2*sales, 1+sales) // A sample is not published.
		settled := func() (all []driver.Delivery) {
			eventually(t, func() bool {
				all = deliveries(t, shop)
				return !slices.ContainsFunc(all, func(d driver.Delivery) bool { return d.Status == ticketing.DeliveryPending })
			})
			return all
		}
		_, err = own.Staff.ReplayDelivery(t.Context(), settled()[0].ID)
		is.NoErr(err)
		await(4+3*sales, 5+2*sales, 1+sales)
		settled()
		replayed, err := own.Staff.ReplayDeliveries(t.Context(), own.Company.ID, ticketing.ReplayParams{
			DeliveryFilter: ticketing.DeliveryFilter{EndpointID: hook.ID, Type: ticketing.FactTicketValidated},
		})
		is.NoErr(err)
		is.Equal(replayed.Replayed, 1)
		await(4+3*sales, 6+2*sales, 1+sales)

		server.set(always(errMailRefused))
		_, err = own.Staff.ResendNotification(t.Context(), first.ID, "")
		is.NoErr(err)
		eventually(t, func() bool {
			return slices.ContainsFunc(copies(t, shop, first.ID), func(n ticketing.Notification) bool {
				return n.Status == ticketing.NotificationFailed
			})
		})
		server.set(nil)
		resent, err := own.Staff.ResendNotifications(t.Context(), own.Company.ID, ticketing.ResendParams{Failed: true})
		is.NoErr(err)
		is.Equal(resent.Made, 1)
		await(4+3*sales, 6+2*sales, 2+sales)

		end()
		is.Equal(looked.all(), [][]driver.WorkKind{everyKind})
		is.Equal(len(facts.All()), 4+3*sales)
		is.Equal(len(in.all(t)), 6+2*sales)
		is.Equal(len(server.accepted()), 2+sales)
	})
}

// TestRetriesAreLookedForAlone checks that the end of the wait of a retry asks only for deliveries and mails.
func TestRetriesAreLookedForAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		looked := &lookedStore{Store: shop.Store}
		shop.Store = looked
		setSender(t, shop)
		server := newMailServer()
		hook := in.register(t, shop, ticketing.FactOrderCreated)
		in.answer(hook.ID, answering(500))
		var facts ticketingtest.Facts
		svc := mailing(t, shop, server, hourly, realTime, func(c *ticketing.Config) {
			c.Sender, c.OnFact = in, facts.OnFact
		})
		shop.Service = svc
		end := running(t, svc)
		synctest.Wait()
		sellMany(t, shop, 1)
		time.Sleep(time.Second) // This is time in the bubble.
		synctest.Wait()
		is.Equal(len(in.of(t, hook.ID)), 1)
		is.Equal(looked.all(), [][]driver.WorkKind{everyKind})
		in.answer(hook.ID, answering(200))
		time.Sleep(time.Minute)
		synctest.Wait()
		is.Equal(len(in.of(t, hook.ID)), 2)
		is.Equal(looked.all(), [][]driver.WorkKind{everyKind, {driver.WorkDeliver, driver.WorkMail}})
		time.Sleep(time.Hour)
		synctest.Wait()
		end()
		is.Equal(looked.all()[2:], [][]driver.WorkKind{everyKind})
	})
}

// TestCommitsOfManyCompaniesCauseOneLook checks that the process remembers a bounded number of what its commits made
// due. At more, one look finds all of it.
func TestCommitsOfManyCompaniesCauseOneLook(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		looked := &lookedStore{Store: shop.Store}
		own := *shop
		own.Store = looked
		svc := sender(t, &own, in, hourly, realTime)
		staff := svc.As(ticketing.Staff("ticketingtest"))
		var companies []ticketing.Company
		for range 1001 {
			company, err := staff.CreateCompany(t.Context(), "Adire Concerts")
			is.NoErr(err)
			companies = append(companies, company)
		}
		end := running(t, svc)
		synctest.Wait()
		sample := func(companies []ticketing.Company) {
			t.Helper()
			for _, company := range companies {
				_, err := staff.TriggerWebhook(t.Context(), company.ID, ticketing.FactOrderCreated)
				is.NoErr(err)
			}
		}
		// The first commit begins the pause between two rounds. It ends with the time of the bubble, which stands still.
		pause := func() {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			is.True(!due(t, shop, 24*time.Hour))
			sample(companies[:1])
			synctest.Wait()
		}
		pause()
		sample(companies[1:])
		sample(companies[1:]) // Each company counts once.
		pause()
		is.Equal(len(looked.all()), 1)
		sample(companies)
		pause()
		end()
		sent := []driver.WorkKind{driver.WorkDispatch, driver.WorkDeliver}
		is.Equal(looked.all(), [][]driver.WorkKind{sent, sent, {driver.WorkDispatch}}) // The list had another page.
	})
}
