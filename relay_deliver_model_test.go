package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestEveryDeliveryComesToItsEnd runs random operations on endpoints, receivers, processes and clocks against a model.
// Every event reaches each of its endpoints at least once, with one id and one body, or its delivery has a true reason
// why not. No delivery has more than eight attempts, an attempt before its wait is over, or two final statuses, and
// none is stuck.
func TestEveryDeliveryComesToItsEnd(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, someRuns(store, func(r *rapid.T) {
				drawn := drawnTB{TB: t, r: r}
				shop := ticketingtest.New(drawn, &ticketingtest.Config{Store: store.Open(t)})
				m := newPost(drawn, shop)
				r.Repeat(map[string]func(*rapid.T){
					"":         m.check,
					"sell":     m.sell,
					"sample":   m.sample,
					"register": m.register,
					"change":   m.change,
					"delete":   m.delete,
					"answer":   m.answer,
					"pass":     m.pass,
					"crash":    m.crash,
					"replay":   m.replay,
					"wait":     m.wait,
				})
				m.end(r)
			}))
		})
	}
}

// post is the model of the deliveries.
type post struct {
	t        drawnTB
	shop     *ticketingtest.Shop
	in       *inbox
	event    uuid.UUID
	services []*ticketing.Service
	hooks    []*modelHook
	told     []modelFact                   // facts that are not yet dispatched
	known    map[uuid.UUID]driver.Delivery // as last read
	took     map[uuid.UUID]bool            // deliveries that a receiver accepted
	posts    map[uuid.UUID]int
}

type modelHook struct {
	ticketing.WebhookEndpoint

	number  int
	stopped bool // disabled or deleted, now or before
	gone    bool
	code    int
}

type modelFact struct {
	types     []ticketing.FactType
	endpoints int // how many endpoints existed
}

func newPost(t drawnTB, shop *ticketingtest.Shop) *post {
	m := &post{
		t: t, shop: shop, in: newInbox(shop.Clock.Now),
		known: make(map[uuid.UUID]driver.Delivery), took: make(map[uuid.UUID]bool),
		posts: make(map[uuid.UUID]int),
	}
	m.event = shop.Event(t).ID
	shop.Inventory(t, m.event, "VIP", 100_00, 1000)
	for range 2 {
		m.services = append(m.services, sender(t, shop, m.in))
	}
	return m
}

func (m *post) sell(*rapid.T) {
	m.shop.Sell(m.t, m.event, "VIP", 1)
	m.told = append(m.told, modelFact{
		types:     []ticketing.FactType{ticketing.FactOrderCreated, ticketing.FactCommissionAccrued},
		endpoints: len(m.hooks),
	})
}

func (m *post) sample(r *rapid.T) {
	kind := rapid.SampledFrom(ticketing.WebhookEventTypes()).Draw(r, "type")
	if _, err := m.shop.Staff.TriggerWebhook(m.t.Context(), m.shop.Company.ID, kind); err != nil {
		r.Fatal(err)
	}
	m.told = append(m.told, modelFact{types: []ticketing.FactType{kind}, endpoints: len(m.hooks)})
}

func (m *post) register(r *rapid.T) {
	if len(m.hooks) == 5 {
		return
	}
	types := rapid.SliceOfNDistinct(rapid.SampledFrom(ticketing.WebhookEventTypes()), 1, 4,
		rapid.ID[ticketing.FactType]).Draw(r, "types")
	h := &modelHook{WebhookEndpoint: m.in.register(m.t, m.shop, types...), number: len(m.hooks) + 1}
	m.hooks = append(m.hooks, h)
	m.set(h, 200)
}

// some returns an endpoint that is not deleted, or nil if there is none.
func (m *post) some(r *rapid.T) *modelHook {
	here := slices.DeleteFunc(slices.Clone(m.hooks), func(h *modelHook) bool { return h.gone })
	if len(here) == 0 {
		return nil
	}
	return rapid.SampledFrom(here).Draw(r, "endpoint")
}

func (m *post) change(r *rapid.T) {
	h := m.some(r)
	if h == nil {
		return
	}
	var err error
	switch rapid.SampledFrom([]string{"disable", "enable", "rotate", "move"}).Draw(r, "change") {
	case "disable":
		h.WebhookEndpoint, err = m.shop.Staff.DisableWebhookEndpoint(m.t.Context(), h.ID)
		h.stopped = true
	case "enable":
		h.WebhookEndpoint, err = m.shop.Staff.EnableWebhookEndpoint(m.t.Context(), h.ID)
	case "rotate":
		m.in.rotate(m.t, m.shop, h.ID)
	default:
		h.WebhookEndpoint, err = m.shop.Staff.UpdateWebhookEndpoint(m.t.Context(), h.ID,
			ticketing.WebhookEndpointUpdate{URL: of("https://moved.example.com/" + uuid.NewString())})
	}
	if err != nil {
		r.Fatal(err)
	}
}

func (m *post) delete(r *rapid.T) {
	h := m.some(r)
	if h == nil || !rarely(r, "delete") {
		return
	}
	if err := m.shop.Staff.DeleteWebhookEndpoint(m.t.Context(), h.ID); err != nil {
		r.Fatal(err)
	}
	h.gone, h.stopped, h.Status = true, true, ticketing.WebhookDisabled
}

func (m *post) answer(r *rapid.T) {
	if h := m.some(r); h != nil {
		m.set(h, rapid.SampledFrom([]int{200, 204, 301, 410, 503, 0}).Draw(r, "status"))
	}
}

func (m *post) set(h *modelHook, code int) {
	h.code = code
	m.in.answer(h.ID, func(context.Context, posted) (int, error) {
		if code == 0 {
			return 0, errors.New("connection refused")
		}
		return code, nil
	})
}

// pass runs one pass of a process, which dispatches all facts and sends what is due.
func (m *post) pass(r *rapid.T) {
	svc := rapid.SampledFrom(m.services).Draw(r, "process")
	before := len(m.in.all(m.t))
	send(m.t, svc)
	made := 0
	for _, fact := range m.told {
		for _, h := range m.hooks[:fact.endpoints] {
			for _, kind := range fact.types {
				if h.Status == ticketing.WebhookEnabled && slices.Contains(h.Events, kind) {
					made++
				}
			}
		}
	}
	m.told = nil
	for _, p := range m.in.all(m.t)[before:] {
		m.posts[p.DeliveryID]++
		for _, h := range m.hooks {
			if h.ID == p.EndpointID && h.code/100 == 2 {
				m.took[p.DeliveryID] = true
			}
		}
	}
	for _, d := range deliveries(m.t, m.shop) {
		if _, known := m.known[d.ID]; !known {
			made--
		}
	}
	if made != 0 {
		r.Fatalf("%d deliveries are missing", made)
	}
	m.check(r)
}

// crash simulates a process that claims due deliveries and ends before it writes anything.
func (m *post) crash(r *rapid.T) {
	h := m.some(r)
	if h == nil {
		return
	}
	at := m.shop.Clock.Now()
	onCompany(m.t, m.shop, func(ctx context.Context, tx driver.Tx) error {
		_, err := tx.ClaimDeliveries(ctx, driver.DeliveryClaim{
			CompanyID: m.shop.Company.ID, Endpoint: int64(h.number), At: at, Until: at.Add(30 * time.Second), Limit: 2,
		})
		return err
	})
}

func (m *post) replay(r *rapid.T) {
	var ids []uuid.UUID
	for _, d := range deliveries(m.t, m.shop) {
		for _, h := range m.hooks {
			if d.EndpointID == h.ID && h.Status == ticketing.WebhookEnabled && d.Status != ticketing.DeliveryPending {
				ids = append(ids, d.ID)
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	of := rapid.SampledFrom(ids).Draw(r, "delivery")
	made, err := m.shop.Staff.ReplayDelivery(m.t.Context(), of)
	if err != nil {
		r.Fatal(err)
	}
	if made.ReplayOf == nil || *made.ReplayOf != of || made.EventID != m.known[of].MessageID {
		r.Fatal("another event was replayed")
	}
	m.check(r)
}

// wait lets time pass, or steps the clock back.
func (m *post) wait(r *rapid.T) {
	m.shop.Clock.Advance(time.Duration(rapid.SampledFrom([]int{-60, 1, 5, 31, 100, 400}).Draw(r, "seconds")) * time.Second)
}

// check compares the stored deliveries with the model.
func (m *post) check(r *rapid.T) {
	for _, d := range deliveries(m.t, m.shop) {
		before, known := m.known[d.ID]
		if known && before.Status != ticketing.DeliveryPending && show(m.t, before) != show(m.t, d) {
			r.Fatalf("delivery %s changed after its end", d.ID)
		}
		m.known[d.ID] = d
		if err := m.wrong(d); err != nil {
			r.Fatalf("delivery %s, %s: %v", d.ID, d.Status, err)
		}
	}
}

func (m *post) wrong(d driver.Delivery) error {
	var h *modelHook
	for _, of := range m.hooks {
		if of.ID == d.EndpointID {
			h = of
		}
	}
	var last ticketing.DeliveryAttempt
	if len(d.Attempts) > 0 {
		last = d.Attempts[len(d.Attempts)-1]
	}
	switch {
	case h == nil:
		return errors.New("no endpoint")
	case len(d.Attempts) > ticketing.MaxDeliveryAttempts:
		return errors.New("too many attempts")
	case m.took[d.ID] != (d.Status == ticketing.DeliverySucceeded):
		return fmt.Errorf("it was taken: %t", m.took[d.ID])
	case d.Status == ticketing.DeliveryFailed && len(d.Attempts) != ticketing.MaxDeliveryAttempts:
		return errors.New("it was given up early")
	case d.Status == ticketing.DeliveryCancelled && !h.stopped:
		return errors.New("its endpoint was always enabled")
	case d.Status == ticketing.DeliveryPending && len(d.Attempts) >= ticketing.MaxDeliveryAttempts:
		return errors.New("it was not given up")
	case (d.Status == ticketing.DeliverySucceeded) != (len(d.Attempts) > 0 && last.Error == ""):
		return errors.New("its log tells something else")
	case m.posts[d.ID] != len(d.Attempts):
		return fmt.Errorf("%d posts, %d attempts", m.posts[d.ID], len(d.Attempts))
	}
	for i := 1; i < len(d.Attempts); i++ {
		least := 5 * time.Second << (i - 1)
		if waited := d.Attempts[i].At.Sub(d.Attempts[i-1].At.Time); waited < least {
			return fmt.Errorf("attempt %d came after %s", i+1, waited)
		}
	}
	return nil
}

// end runs passes until no delivery is pending, and then checks all posts.
func (m *post) end(r *rapid.T) {
	pending := func(d driver.Delivery) bool { return d.Status == ticketing.DeliveryPending }
	const enough = 40
	for round := 0; ; round++ {
		m.pass(r)
		if !slices.ContainsFunc(deliveries(m.t, m.shop), pending) {
			break
		}
		if round == enough {
			r.Fatal("something is stuck")
		}
		m.shop.Clock.Advance(6 * time.Minute)
	}
	bodies := make(map[uuid.UUID]string)
	firsts := make(map[uuid.UUID]posted)
	for _, p := range m.in.all(m.t) {
		if body, seen := bodies[p.EventID]; seen && body != string(p.Body) {
			r.Fatalf("event %s had another body", p.EventID)
		}
		bodies[p.EventID] = string(p.Body)
		first, seen := firsts[p.DeliveryID]
		if seen && (first.URL != p.URL || first.Secret != p.Secret || first.EventID != p.EventID) {
			r.Fatalf("delivery %s had another URL, secret or event", p.DeliveryID)
		}
		firsts[p.DeliveryID] = p
	}
}
