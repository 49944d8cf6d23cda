package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
	"github.com/floatgate/ticketing/webhook"
)

// inbox is the Sender of a test. It verifies each webhook, records it, and returns what the test has set.
type inbox struct {
	clock   func() time.Time
	secrets map[uuid.UUID][]string // by endpoint, every version
	mu      sync.Mutex
	got     []posted
	answers map[uuid.UUID]func(ctx context.Context, post posted) (int, error) // by endpoint; default: 200
	faults  []error
	came    chan struct{} // closed and replaced at every post
}

// posted is an attempt as it was received.
type posted struct {
	ticketing.WebhookRequest

	At     time.Time
	Secret int // the version of the secret that signed it: 1, 2 …
}

func newInbox(clock func() time.Time) *inbox {
	return &inbox{
		clock: clock, secrets: make(map[uuid.UUID][]string), came: make(chan struct{}),
		answers: make(map[uuid.UUID]func(context.Context, posted) (int, error)),
	}
}

// Post implements [ticketing.Sender].
func (i *inbox) Post(ctx context.Context, post ticketing.WebhookRequest) (int, error) {
	got := posted{WebhookRequest: post, At: i.clock()}
	i.mu.Lock()
	got.Body = slices.Clone(post.Body)
	for n, secret := range i.secrets[post.EndpointID] {
		if webhook.Verify(post.Signature, post.Body, got.At, secret) == nil {
			got.Secret = n + 1
		}
	}
	event, err := webhook.ParseEvent(post.Body)
	if err == nil && (got.Secret == 0 || event.ID != post.EventID.String() || event.Type != string(post.EventType)) {
		err = fmt.Errorf("a webhook that no receiver takes: %v of %s", post.DeliveryID, event.Type)
	}
	i.faults = append(i.faults, err)
	i.got = append(i.got, got)
	close(i.came)
	i.came = make(chan struct{})
	answer := i.answers[post.EndpointID]
	i.mu.Unlock()
	if answer != nil {
		return answer(ctx, got)
	}
	return 200, nil
}

func (i *inbox) answer(endpoint uuid.UUID, answer func(ctx context.Context, post posted) (int, error)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answers[endpoint] = answer
}

// answering returns a function that always returns the same status.
func answering(code int) func(context.Context, posted) (int, error) {
	return func(context.Context, posted) (int, error) { return code, nil }
}

func hang(ctx context.Context, _ posted) (int, error) {
	<-ctx.Done()
	return 0, errors.New("no answer in time")
}

func (i *inbox) all(t testing.TB) []posted {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	is.New(t).NoErr(errors.Join(i.faults...)) // A receiver accepts every attempt.
	return slices.Clone(i.got)
}

func (i *inbox) of(t testing.TB, endpoint uuid.UUID) []posted {
	t.Helper()
	return slices.DeleteFunc(i.all(t), func(p posted) bool { return p.EndpointID != endpoint })
}

// wait waits until there were n posts to an endpoint.
func (i *inbox) wait(t testing.TB, endpoint uuid.UUID, n int) {
	t.Helper()
	for {
		i.mu.Lock()
		came := i.came
		i.mu.Unlock()
		got := i.of(t, endpoint)
		if len(got) >= n {
			return
		}
		select {
		case <-came:
		case <-t.Context().Done():
			t.Fatalf("%d of %d webhooks came", len(got), n)
		}
	}
}

// register creates an endpoint that is subscribed to the given types, or to all four if none is given.
func (i *inbox) register(
	t testing.TB, shop *ticketingtest.Shop, events ...ticketing.FactType,
) ticketing.WebhookEndpoint {
	t.Helper()
	if len(events) == 0 {
		events = ticketing.WebhookEventTypes()
	}
	made, err := shop.Staff.CreateWebhookEndpoint(t.Context(), shop.Company.ID, ticketing.WebhookEndpointParams{
		URL: "https://hooks.example.com/" + uuid.NewString(), Events: events,
	})
	is.New(t).NoErr(err)
	i.know(made.ID, made.Secret)
	return made.WebhookEndpoint
}

// know adds a secret with which the inbox verifies from now on.
func (i *inbox) know(endpoint uuid.UUID, secret ticketing.WebhookSecret) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.secrets[endpoint] = append(i.secrets[endpoint], string(secret))
}

// rotate prepares and activates a new secret of an endpoint.
func (i *inbox) rotate(t testing.TB, shop *ticketingtest.Shop, endpoint uuid.UUID) {
	t.Helper()
	is := is.New(t)
	next, err := shop.Staff.PrepareWebhookSecret(t.Context(), endpoint)
	is.NoErr(err)
	i.know(endpoint, next.Secret)
	_, err = shop.Staff.ActivateWebhookSecret(t.Context(), endpoint)
	is.NoErr(err)
}

// onCompany runs fn in a transaction that holds the shop's shared gate.
func onCompany(t testing.TB, shop *ticketingtest.Shop, fn func(ctx context.Context, tx driver.Tx) error) {
	t.Helper()
	is.New(t).NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{shop.Company.ID}}); err != nil {
			return err
		}
		return fn(ctx, tx)
	}))
}

// sender returns a service on the shop's store that posts to an inbox.
func sender(
	t testing.TB, shop *ticketingtest.Shop, in ticketing.Sender, more ...func(*ticketing.Config),
) *ticketing.Service {
	t.Helper()
	config := ticketing.Config{
		SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, Sender: in,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, m := range more {
		m(&config)
	}
	svc, err := ticketing.New(shop.Store, &config)
	is.New(t).NoErr(err)
	return svc
}

// send runs SendWebhooks once, which must succeed, and returns how many attempts it made.
func send(t testing.TB, svc *ticketing.Service) int {
	t.Helper()
	sent, err := svc.SendWebhooks(t.Context())
	is.New(t).NoErr(err)
	return sent
}

// deliveries returns all deliveries of a shop, oldest first.
func deliveries(t testing.TB, shop *ticketingtest.Shop) []driver.Delivery {
	t.Helper()
	var all []driver.Delivery
	is.New(t).NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		all, err = tx.ListDeliveries(ctx, driver.DeliveryQuery{
			CompanyID: shop.Company.ID, OldestFirst: true, Limit: 100_000,
		})
		return err
	}))
	return all
}
