package ticketing_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// knows adds a secret of an endpoint with which an inbox verifies, in the order of the secrets.
func (i *inbox) knows(endpoint uuid.UUID, secret ticketing.WebhookSecret) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.secrets[endpoint] = append(i.secrets[endpoint], string(secret))
}

// hookShop is a shop with an event, an inbox and a service that sends to it.
type hookShop struct {
	*ticketingtest.Shop

	in    *inbox
	svc   *ticketing.Service
	event ticketing.Event
}

// onHookShops runs a test on each store.
func onHookShops(t *testing.T, test func(t *testing.T, s hookShop)) {
	t.Helper()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		s := hookShop{Shop: shop, in: newInbox(shop.Clock.Now), event: shop.Event(t)}
		s.svc = sender(t, shop, s.in)
		shop.Inventory(t, s.event.ID, "VIP", 100_00, 100)
		test(t, s)
	})
}

// register creates an endpoint for sales through the operator plane.
func (s hookShop) register(t *testing.T) ticketing.WebhookEndpoint {
	t.Helper()
	made, err := s.Staff.CreateWebhookEndpoint(t.Context(), s.Company.ID, ticketing.WebhookEndpointParams{
		URL: hookURL, Events: []ticketing.FactType{ticketing.FactOrderCreated},
	})
	is.New(t).NoErr(err)
	s.in.knows(made.ID, made.Secret)
	return made.WebhookEndpoint
}

func (s hookShop) only(t *testing.T, filter ticketing.DeliveryFilter) ticketing.WebhookDelivery {
	t.Helper()
	is := is.New(t)
	page, err := s.Staff.ListDeliveries(t.Context(), s.Company.ID, filter, ticketing.PageParams{})
	is.NoErr(err)
	is.Equal(len(page.Items), 1)
	return page.Items[0]
}

// TestWhatIsChangedBetweenAttempts checks all of Section 6.5. Automatic attempts keep the URL, body and secret of the
// delivery's creation, whatever is changed between them. A replay has a new id, the same event and body, the current
// URL and the active secret.
func TestWhatIsChangedBetweenAttempts(t *testing.T) {
	t.Parallel()
	onHookShops(t, func(t *testing.T, s hookShop) {
		is := is.New(t)
		endpoint := s.register(t)
		s.in.answer(endpoint.ID, answering(500))
		s.Sell(t, s.event.ID, "VIP", 1)
		is.Equal(send(t, s.svc), 1)
		old := s.only(t, ticketing.DeliveryFilter{})

		_, err := s.Staff.UpdateWebhookEndpoint(t.Context(), endpoint.ID, ticketing.WebhookEndpointUpdate{
			URL:    of("https://other.adire.ng/"),
			Events: []ticketing.FactType{ticketing.FactTicketValidated, ticketing.FactOrderCreated},
		})
		is.NoErr(err)
		prepared, err := s.Staff.PrepareWebhookSecret(t.Context(), endpoint.ID)
		is.NoErr(err)
		s.in.knows(endpoint.ID, prepared.Secret)
		s.Clock.Advance(6 * time.Second)
		is.Equal(send(t, s.svc), 1)
		_, err = s.Staff.ActivateWebhookSecret(t.Context(), endpoint.ID)
		is.NoErr(err)
		s.Sell(t, s.event.ID, "VIP", 1)
		s.Clock.Advance(12 * time.Second)
		s.in.answer(endpoint.ID, answering(200))
		is.Equal(send(t, s.svc), 2)
		got := s.in.of(t, endpoint.ID)
		is.Equal(len(got), 4)
		for _, post := range got {
			if post.DeliveryID == old.ID {
				is.Equal(post.URL, hookURL)
				is.Equal(post.Secret, 1)
				is.Equal(post.Body, got[0].Body)
				is.Equal(post.EventID, got[0].EventID)
			} else {
				is.Equal(post.URL, "https://other.adire.ng/")
				is.Equal(post.Secret, 2)
			}
		}

		s.Clock.Advance(time.Hour)
		replay, err := s.Staff.ReplayDelivery(t.Context(), old.ID)
		is.NoErr(err)
		is.Equal(send(t, s.svc), 1)
		last := s.in.of(t, endpoint.ID)[4]
		is.Equal(last.DeliveryID, replay.ID)
		is.True(replay.ID != old.ID)
		is.Equal(last.EventID, got[0].EventID)
		is.Equal(last.Body, got[0].Body)
		is.Equal(last.URL, "https://other.adire.ng/")
		is.Equal(last.Secret, 2)
		shown, err := s.Staff.GetDelivery(t.Context(), replay.ID)
		is.NoErr(err)
		is.Equal(shown.Status, ticketing.DeliverySucceeded)
	})
}

// TestADisabledEndpointGetsNothing checks that a disabled endpoint gets neither the events of that time nor those that
// were pending before. It gets the events after it is enabled.
func TestADisabledEndpointGetsNothing(t *testing.T) {
	t.Parallel()
	onHookShops(t, func(t *testing.T, s hookShop) {
		is := is.New(t)
		endpoint := s.register(t)
		s.in.answer(endpoint.ID, answering(500))
		s.Sell(t, s.event.ID, "VIP", 1)
		is.Equal(send(t, s.svc), 1)
		s.Sell(t, s.event.ID, "VIP", 1) // This sale is not dispatched before the endpoint is disabled.
		_, err := s.Staff.DisableWebhookEndpoint(t.Context(), endpoint.ID)
		is.NoErr(err)
		is.Equal(s.only(t, ticketing.DeliveryFilter{}).Status, ticketing.DeliveryCancelled)
		s.Clock.Advance(time.Hour)
		is.Equal(send(t, s.svc), 0)
		_, err = s.Staff.EnableWebhookEndpoint(t.Context(), endpoint.ID)
		is.NoErr(err)
		is.Equal(send(t, s.svc), 0)
		s.in.answer(endpoint.ID, answering(200))
		s.Sell(t, s.event.ID, "VIP", 1)
		is.Equal(send(t, s.svc), 1)
		is.NoErr(s.Staff.DeleteWebhookEndpoint(t.Context(), endpoint.ID))
		s.Sell(t, s.event.ID, "VIP", 1)
		is.Equal(send(t, s.svc), 0)
		is.Equal(len(s.in.all(t)), 2)
	})
}

// TestDisablingAgainstDispatch checks that nothing stays pending if facts are dispatched while an endpoint is disabled
// or deleted.
func TestDisablingAgainstDispatch(t *testing.T) {
	t.Parallel()
	onHookShops(t, func(t *testing.T, s hookShop) {
		is := is.New(t)
		for round := range 6 {
			endpoint := s.register(t)
			s.in.answer(endpoint.ID, answering(500))
			for range 5 {
				s.Sell(t, s.event.ID, "VIP", 1)
			}
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := s.svc.SendWebhooks(t.Context()); err != nil {
					t.Error(err)
				}
			})
			both.Go(func() {
				var err error
				if round%2 == 0 {
					_, err = s.Staff.DisableWebhookEndpoint(t.Context(), endpoint.ID)
				} else {
					err = s.Staff.DeleteWebhookEndpoint(t.Context(), endpoint.ID)
				}
				if err != nil {
					t.Error(err)
				}
			})
			both.Wait()
			posted := len(s.in.all(t))
			count, err := s.Staff.CountDeliveries(t.Context(), s.Company.ID,
				ticketing.DeliveryFilter{Status: ticketing.DeliveryPending})
			is.NoErr(err)
			is.Equal(count, 0)
			s.Clock.Advance(time.Hour)
			is.Equal(send(t, s.svc), 0)
			is.Equal(len(s.in.all(t)), posted)
		}
	})
}

// TestWhatIsFollowedIsWhatIsDelivered checks that a developer gets exactly the bytes that endpoints get, also of
// samples.
func TestWhatIsFollowedIsWhatIsDelivered(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		in := newInbox(shop.Clock.Now)
		svc := sender(t, shop, in)
		made, err := shop.Staff.CreateWebhookEndpoint(t.Context(), shop.Company.ID, ticketing.WebhookEndpointParams{
			URL: hookURL, Events: ticketing.WebhookEventTypes(),
		})
		is.NoErr(err)
		in.knows(made.ID, made.Secret)
		var place ticketing.WebhookCursor
		follow(t, shop.Staff, shop.Company.ID, &place, 0)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 2)
		order := shop.Sell(t, event.ID, "VIP", 1)
		shop.Scan(t, event.ID, order.Lines[0].AdmissionID)
		for _, kind := range ticketing.WebhookEventTypes() {
			_, err := shop.Staff.TriggerWebhook(t.Context(), shop.Company.ID, kind)
			is.NoErr(err)
		}
		events := follow(t, shop.Staff, shop.Company.ID, &place, 0)
		is.Equal(len(events), 7)
		is.Equal(send(t, svc), 7)
		bodies := make(map[uuid.UUID]string)
		for _, post := range in.all(t) {
			bodies[post.EventID] = string(post.Body)
		}
		for _, one := range events {
			is.Equal(string(one.Body), bodies[one.ID])
		}
		_, err = shop.Staff.ReplayDeliveries(t.Context(), shop.Company.ID, ticketing.ReplayParams{Rate: 10_000})
		is.NoErr(err)
		again := follow(t, shop.Staff, shop.Company.ID, &place, 0)
		is.Equal(len(again), 7)
		for _, one := range again {
			is.True(one.Replayed)
			is.Equal(string(one.Body), bodies[one.ID])
		}
		is.Equal(send(t, svc), 7)
	})
}
