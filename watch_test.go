package ticketing_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// watch returns the state of a topic.
func (e *env) watch(t *testing.T, companyID uuid.UUID, topic ticketing.WatchTopic) ticketing.WatchedState {
	t.Helper()
	states, err := e.Watch(t.Context(), []ticketing.Watched{{CompanyID: companyID, Topic: topic}})
	is.New(t).NoErr(err)
	return states[0]
}

// accepting is a sender whose receiver accepts everything.
type accepting struct{}

func (accepting) Post(context.Context, ticketing.WebhookRequest) (int, error) {
	return http.StatusOK, nil
}

// TestWatchSaysWhatChanged changes one topic after another: it has another version, and the others have not.
func TestWatchSaysWhatChanged(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx, companyID, other := t.Context(), e.verified(t), e.verified(t)
		_, err := e.staff.CreateWebhookEndpoint(ctx, companyID, ticketing.WebhookEndpointParams{
			URL: "https://hooks.example.com/", Events: ticketing.WebhookEventTypes(),
		})
		is.NoErr(err)
		watched := []ticketing.Watched{
			{CompanyID: other, Topic: ticketing.WatchMoney},
			{CompanyID: companyID, Topic: ticketing.WatchMoney},
			{CompanyID: companyID, Topic: ticketing.WatchDeliveries},
			{Topic: ticketing.WatchQueues},
			{CompanyID: uuid.New(), Topic: ticketing.WatchMoney},
		}
		before, err := e.Watch(ctx, watched)
		is.NoErr(err)
		for _, step := range []struct {
			name    string
			change  func() error
			changed int // of watched
			dated   bool
		}{
			{"a funding", func() error {
				_, err := e.staff.CreditFloat(ctx, companyID, "bank-0001", 2000_00)
				return err
			}, 1, true},
			{"a suspended wallet", func() error {
				_, err := e.staff.SuspendWallet(ctx, companyID, "EARNINGS")
				return err
			}, 1, false},
			{"a case", func() error {
				if _, err := e.staff.UpdateVerification(ctx, other, facts()); err != nil {
					return err
				}
				_, err := e.staff.SubmitVerification(ctx, other)
				return err
			}, 3, true},
			{"a delivery", func() error {
				if _, err := e.staff.TriggerWebhook(ctx, companyID, ticketing.WebhookEventTypes()[0]); err != nil {
					return err
				}
				sending, err := ticketing.New(e.store, &ticketing.Config{
					SecretKeys: [][]byte{secretKey('a')}, Clock: e.clock.now, Sender: accepting{},
				})
				if err != nil {
					return err
				}
				_, err = sending.SendWebhooks(ctx)
				return err
			}, 2, true},
		} {
			e.clock.advance(time.Minute)
			// Money makes a company leave the list of those that are low, which is read every ten seconds.
			queues := e.watch(t, uuid.Nil, ticketing.WatchQueues)
			before[3] = queues
			commits := e.Commits()
			is.NoErr(step.change())
			select {
			case <-commits:
			default:
				t.Errorf("%s signals no commit", step.name)
			}
			after, err := e.Watch(ctx, watched)
			is.NoErr(err)
			for i := range watched {
				if changed := after[i].Version != before[i].Version; changed != (i == step.changed) {
					t.Errorf("%s: %v changed: %v", step.name, watched[i], changed)
				}
			}
			if step.dated {
				is.Equal(after[step.changed].ChangedAt, e.clock.now()) // step.name
			}
			before = after
		}
		_, err = e.Watch(ctx, []ticketing.Watched{{CompanyID: companyID, Topic: "WEATHER"}})
		is.True(err != nil)
		none, err := e.Watch(ctx, nil)
		is.NoErr(err)
		is.Equal(len(none), 0)
	})
}

// TestWatchOfDetails holds that an act of the log changes the state of its company's log alone, and that what does not
// exist has a state.
func TestWatchOfDetails(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		companyID, other := e.verified(t), e.verified(t)
		watched := []ticketing.Watched{
			{CompanyID: companyID, Topic: ticketing.WatchAudit},
			{CompanyID: other, Topic: ticketing.WatchAudit},
			{CompanyID: companyID, Topic: ticketing.WatchEvent, ID: uuid.New()},
			{CompanyID: other, Topic: ticketing.WatchEvent, ID: uuid.New()},
			{CompanyID: companyID, Topic: ticketing.WatchOrder, ID: uuid.New()},
			{CompanyID: companyID, Topic: ticketing.WatchOrder, ID: uuid.New()},
		}
		before, err := e.Watch(t.Context(), watched)
		is.NoErr(err)
		e.clock.advance(time.Minute)
		_, err = e.staff.RenameCompany(t.Context(), companyID, "Adire Live")
		is.NoErr(err)
		after, err := e.Watch(t.Context(), watched)
		is.NoErr(err)
		for i := range watched {
			is.Equal(after[i].Version != before[i].Version, i == 0) // watched[i]
		}
		is.Equal(after[0].ChangedAt, e.clock.now())
		for i, one := range watched { // Sales and cancellations have no time.
			is.Equal(after[i].Undated, one.Topic != ticketing.WatchAudit)
		}
	})
}

// TestCommitsSignalsOnce checks that a refused change and a read signal nothing, and that each signal is of one commit.
func TestCommitsSignalsOnce(t *testing.T) {
	t.Parallel()
	is, e := is.New(t), newEnv(t, memory.New())
	companyID := e.verified(t)
	commits := e.Commits()
	_, err := e.staff.CreditFloat(t.Context(), companyID, "bank-0001", 0)
	is.True(err != nil)
	_, err = e.staff.GetCompany(t.Context(), companyID)
	is.NoErr(err)
	select {
	case <-commits:
		t.Error("nothing was committed")
	default:
	}
	e.credit(t, companyID, 1, "bank-0001")
	<-commits
	select {
	case <-e.Commits():
		t.Error("the next commit is not there yet")
	default:
	}
}

// TestSessionsAreNotUsedByLooking looks at sessions of every kind at once.
func TestSessionsAreNotUsedByLooking(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		first, second, ended := e.signIn(t, ada), e.signIn(t, ada), e.signIn(t, ada)
		is.NoErr(e.Accounts().EndSession(t.Context(), ada, ended.Session.ID))
		chief, err := e.staff.AddStaff(t.Context(), ticketing.AddStaffParams{
			Email: "chief@example.com", Name: "Chief", Role: ticketing.StaffAdministrator,
		})
		is.NoErr(err)
		staff := e.signIn(t, chief.UserID)
		forged := first.Secret[:len(first.Secret)-4] + "AAAA"
		secrets := []string{first.Secret, ended.Secret, "", forged, second.Secret, first.Secret, staff.Secret}
		look := func(want ...ticketing.Session) {
			t.Helper()
			found, err := e.Accounts().Sessions(t.Context(), secrets)
			is.NoErr(err)
			is.Equal(found, want)
		}
		none := ticketing.Session{}
		look(first.Session, none, none, none, second.Session, first.Session, staff.Session)
		e.clock.advance(time.Hour) // A session of staff that is not used ends after an hour.
		look(first.Session, none, none, none, second.Session, first.Session, none)
		e.goesOn(t, second.Secret)
		e.clock.advance(11 * time.Hour)
		found, err := e.Accounts().Sessions(t.Context(), secrets)
		is.NoErr(err)
		is.Equal(found[0], none) // It was looked at, and not used.
		is.Equal(found[4].ID, second.Session.ID)
	})
}

// refusing is a sender whose receiver refuses everything.
type refusing struct{}

func (refusing) Post(context.Context, ticketing.WebhookRequest) (int, error) {
	return http.StatusBadGateway, nil
}

// TestWatchOfThePlatformAndOfADelivery holds that a sale that was counted changes the state of the platform's sales, an
// act that of the platform's log, and an attempt that of its delivery, each of them alone.
func TestWatchOfThePlatformAndOfADelivery(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.broken = true // The sum below belongs to no order.
		ctx, companyID := t.Context(), e.verified(t)
		_, err := e.staff.CreateWebhookEndpoint(ctx, companyID, ticketing.WebhookEndpointParams{
			URL: "https://hooks.example.com/", Events: ticketing.WebhookEventTypes(),
		})
		is.NoErr(err)
		_, err = e.staff.TriggerWebhook(ctx, companyID, ticketing.WebhookEventTypes()[0])
		is.NoErr(err)
		sending, err := ticketing.New(e.store, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('a')}, Clock: e.clock.now, Sender: refusing{},
		})
		is.NoErr(err)
		send := func() error {
			_, err := sending.SendWebhooks(ctx)
			return err
		}
		is.NoErr(send())
		e.clock.advance(time.Hour)
		made, err := e.staff.ListDeliveries(ctx, companyID, ticketing.DeliveryFilter{}, ticketing.PageParams{})
		is.NoErr(err)
		watched := []ticketing.Watched{
			{Topic: ticketing.WatchSales},
			{Topic: ticketing.WatchAudit},
			{Topic: ticketing.WatchDelivery, CompanyID: companyID, ID: made.Items[0].ID},
			{Topic: ticketing.WatchDelivery, CompanyID: uuid.New(), ID: made.Items[0].ID}, // of another company
		}
		before, err := e.Watch(ctx, watched)
		is.NoErr(err)
		for changed, change := range map[int]func() error{
			1: func() error {
				_, err := e.staff.RenameCompany(ctx, companyID, "Adire Live")
				return err
			},
			2: send, // The second attempt fails like the first.
			0: func() error {
				e.clock.advance(10 * time.Second) // The sums are read that often.
				return e.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
					if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{companyID}}); err != nil {
						return err
					}
					return tx.AddSales(ctx, []driver.SalesSum{{
						SalesSumRef: driver.SalesSumRef{CompanyID: companyID, At: e.clock.now().Truncate(driver.SalesInterval)},
						Orders:      1, Admissions: 1, Gross: 100_00,
					}})
				})
			},
		} {
			is.NoErr(change())
			after, err := e.Watch(ctx, watched)
			is.NoErr(err)
			for i := range watched {
				if got := after[i].Version != before[i].Version; got != (i == changed) {
					t.Errorf("change %d: %v changed: %v", changed, watched[i], got)
				}
			}
			before = after
		}
	})
}

// TestWatchOfDeliveriesIsBounded holds that of twenty-one deliveries that are watched together the twenty with the
// smallest ids have a state, however often one is watched.
func TestWatchOfDeliveriesIsBounded(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx, companyID := t.Context(), e.verified(t)
		_, err := e.staff.CreateWebhookEndpoint(ctx, companyID, ticketing.WebhookEndpointParams{
			URL: "https://hooks.example.com/", Events: ticketing.WebhookEventTypes(),
		})
		is.NoErr(err)
		const bound = 20
		for range bound + 1 {
			_, err = e.staff.TriggerWebhook(ctx, companyID, ticketing.WebhookEventTypes()[0])
			is.NoErr(err)
		}
		sending, err := ticketing.New(e.store, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('a')}, Clock: e.clock.now, Sender: accepting{},
		})
		is.NoErr(err)
		_, err = sending.SendWebhooks(ctx)
		is.NoErr(err)
		made, err := e.staff.ListDeliveries(ctx, companyID, ticketing.DeliveryFilter{}, ticketing.PageParams{Limit: 100})
		is.NoErr(err)
		is.Equal(len(made.Items), bound+1)
		var watched []ticketing.Watched
		for _, delivery := range made.Items {
			watched = append(watched,
				ticketing.Watched{CompanyID: companyID, Topic: ticketing.WatchDelivery, ID: delivery.ID})
		}
		slices.SortFunc(watched, func(a, b ticketing.Watched) int { return slices.Compare(a.ID[:], b.ID[:]) })
		last := watched[bound]
		watched = append([]ticketing.Watched{last, watched[0]}, watched[:bound]...)
		states, err := e.Watch(ctx, watched)
		is.NoErr(err)
		is.Equal(states[0], ticketing.WatchedState{})
		for _, state := range states[1:] {
			is.True(state.Version != 0)
		}
	})
}

// TestWatchOfMails holds that a new mail and its result change the state of its company's mails alone.
func TestWatchOfMails(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ctx, neighbour := t.Context(), shop.Neighbour(t)
		server := newMailServer()
		svc := mailing(t, shop, server, func(c *ticketing.Config) { c.Sender = accepting{} })
		setSender(t, shop)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 10)
		watched := []ticketing.Watched{
			{CompanyID: shop.Company.ID, Topic: ticketing.WatchMails},
			{CompanyID: neighbour.Company.ID, Topic: ticketing.WatchMails},
		}
		before, err := svc.Watch(ctx, watched)
		is.NoErr(err)
		changes := func() {
			t.Helper()
			after, err := svc.Watch(ctx, watched)
			is.NoErr(err)
			is.True(after[0].Version != before[0].Version)
			is.Equal(after[1], before[1])
			before = after
		}
		shop.Sell(t, event.ID, "VIP", 1)
		_, err = svc.SendWebhooks(ctx) // The dispatch makes the mail.
		is.NoErr(err)
		changes()
		is.Equal(sendMails(t, svc), 1)
		changes()
	})
}
