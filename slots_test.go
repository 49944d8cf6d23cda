package ticketing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// crowdedStore is a store that holds some of the transactions of single calls before they begin.
type crowdedStore struct {
	driver.Store

	mu      sync.Mutex
	hold    int // how many of the next ones to hold
	held    int
	release chan struct{}
	panics  bool
	begun   []driver.Purpose
}

func (s *crowdedStore) pass(ctx context.Context) {
	s.mu.Lock()
	purpose := driver.PurposeOf(ctx)
	s.begun = append(s.begun, purpose)
	release, panics := s.release, s.panics
	hold := purpose == driver.PurposeRequest && s.hold > 0
	if hold {
		s.hold--
		s.held++
	}
	s.mu.Unlock()
	if panics {
		panic("the store panics")
	}
	if hold {
		<-release
	}
}

// holdNext holds the next n transactions until release is called.
func (s *crowdedStore) holdNext(n int) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold, s.held, s.release = n, 0, make(chan struct{})
	return sync.OnceFunc(func() { close(s.release) })
}

// holdNoMore lets all later transactions pass.
func (s *crowdedStore) holdNoMore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = 0
}

// inside returns how many transactions were held since holdNext.
func (s *crowdedStore) inside() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// purposes returns the purposes of the transactions since the last call.
func (s *crowdedStore) purposes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprint(s.begun)
	s.begun = nil
	return text
}

func (s *crowdedStore) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	s.pass(ctx)
	return s.Store.View(ctx, fn)
}

func (s *crowdedStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	s.pass(ctx)
	return s.Store.Update(ctx, fn)
}

// lines is a log.
type lines struct {
	mu      sync.Mutex
	written []string
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = append(l.written, string(line))
	return len(line), nil
}

// take returns what was written since the last call.
func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	written := l.written
	l.written = nil
	return written
}

// crowd is a service with a company that floods it and a neighbour that sells.
type crowd struct {
	*ticketing.Service

	store     *crowdedStore
	shop      *ticketingtest.Shop
	neighbour *ticketingtest.Shop
	event     ticketing.Event // of the shop
	theirs    ticketing.Event // of the neighbour
	log       *lines
	full      []string // the arguments of OnSlotsFull and Grouping.OnQueueFull
	open      sync.WaitGroup
	pages     atomic.Int64 // that listAll has read
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{store: &crowdedStore{Store: memory.New()}, log: &lines{}}
	c.shop = ticketingtest.New(t, &ticketingtest.Config{Store: c.store})
	c.neighbour = c.shop.Neighbour(t)
	c.event, c.theirs = c.shop.Event(t), c.neighbour.Event(t)
	c.neighbour.Inventory(t, c.theirs.ID, "VIP", 1_00, 50)
	sender, err := delivery.New(nil)
	is.New(t).NoErr(err)
	c.Service, err = ticketing.New(c.store, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: c.shop.Clock.Now, NewID: ticketingtest.NewIDs(2),
		Logger: slog.New(slog.NewTextHandler(c.log, nil)),
		Sender: sender, OnSlotsFull: c.refused, Grouping: ticketing.Grouping{OnQueueFull: c.refused},
	})
	is.New(t).NoErr(err)
	return c
}

func (c *crowd) refused(operation string) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.full = append(c.full, operation)
}

// refusals returns the operations whose calls were refused.
func (c *crowd) refusals() []string {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return c.full
}

// begin begins a call, and returns when the call is held, waits or has returned.
func (c *crowd) begin(call func() error) *outcome[struct{}] {
	o := &outcome[struct{}]{}
	c.open.Go(func() { o.err = call(); o.answered = true })
	synctest.Wait()
	return o
}

// list reads a page that no other call reads, so that it shares no read.
func (c *crowd) list(ctx context.Context) error {
	_, err := c.ListOrders(ctx, c.shop.Caller, ticketing.OrderFilter{EventID: uuid.New()})
	return err
}

// listAll reads a page of all orders that no other call reads.
func (c *crowd) listAll(ctx context.Context) error {
	_, err := c.ListOrders(ctx, c.shop.Caller, ticketing.OrderFilter{
		PageParams: ticketing.PageParams{Limit: ticketing.MaxPageLimit - int(c.pages.Add(1))},
	})
	return err
}

// neighbourFares checks that the neighbour's calls and the background work succeed without any wait.
func (c *crowd) neighbourFares(t *testing.T) {
	t.Helper()
	is := is.New(t)
	began := time.Now()
	_, err := c.Authenticate(t.Context(), c.neighbour.APIKey)
	is.NoErr(err)
	_, err = c.Checkout(t.Context(), c.neighbour.Caller, c.neighbour.Key(),
		ticketingtest.Basket(c.theirs.ID, "VIP", 1_00, 1))
	is.NoErr(err)
	_, err = c.GetEvent(t.Context(), c.neighbour.Caller, c.theirs.ID)
	is.NoErr(err)
	_, err = c.UpdateEvent(t.Context(), c.neighbour.Caller, c.theirs.ID,
		ticketing.UpdateEventParams{Status: of(ticketing.EventPublished)})
	is.NoErr(err)
	_, err = c.EndEvents(t.Context())
	is.NoErr(err)
	is.Equal(time.Since(began), time.Duration(0))
}

// TestACompanyHasItsSlots checks that a company has four slots for all calls that run outside of groups. A further call
// of the company waits for two seconds and is then refused. Meanwhile its own checkouts, the calls of others and the
// background work continue.
func TestACompanyHasItsSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c := newCrowd(t)
		ctx := t.Context()
		c.shop.Inventory(t, c.event.ID, "VIP", 1_00, 5)
		const slots = 4
		release := c.store.holdNext(slots + 1)
		defer release()
		key := c.shop.Key()
		var held []*outcome[struct{}]
		for _, call := range []func() error{
			func() error { return c.list(ctx) },
			func() error { _, err := c.GetEvent(ctx, c.shop.Caller, c.event.ID); return err },
			func() error {
				_, err := c.Quote(ctx, c.shop.Caller, ticketing.QuoteParams{
					EventID: c.event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 1}},
				})
				return err
			},
			func() error {
				_, err := c.CreateInventory(ctx, c.shop.Caller, c.event.ID, key, ticketingtest.InventoryParams("VIP", 1_00, 5))
				return err
			},
		} {
			held = append(held, c.begin(call))
		}
		is.Equal(c.store.inside(), slots)
		began := time.Now()
		beyond := c.begin(func() error {
			_, err := c.UpdateInventory(ctx, c.shop.Caller, c.event.ID, "VIP",
				ticketing.UpdateInventoryParams{Status: of(ticketing.InventoryPaused)})
			return err
		})
		is.Equal(c.store.inside(), slots) // The call has no connection.
		is.True(!beyond.answered)
		c.store.holdNoMore()
		_, err := c.Checkout(ctx, c.shop.Caller, c.shop.Key(), ticketingtest.Basket(c.event.ID, "VIP", 1_00, 1))
		is.NoErr(err)
		c.neighbourFares(t)
		is.Equal(time.Since(began), time.Duration(0))

		time.Sleep(2 * time.Second)
		synctest.Wait()
		is.True(errors.Is(beyond.err, ticketing.ErrBusy))
		is.Equal(c.refusals(), []string{"inventory.update"})
		release()
		c.open.Wait()
		for _, o := range held {
			is.NoErr(o.err)
		}
		is.NoErr(c.list(ctx))
	})
}

// TestOneOfACompanyClosesItsGate checks that of the calls that close a company's gate one has a connection at a time.
// The others wait without a connection and without a slot.
func TestOneOfACompanyClosesItsGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c := newCrowd(t)
		publish := func() error {
			_, err := c.UpdateEvent(t.Context(), c.shop.Caller, c.event.ID,
				ticketing.UpdateEventParams{Status: of(ticketing.EventPublished)})
			return err
		}
		release := c.store.holdNext(9)
		first := c.begin(publish)
		var waiting []*outcome[struct{}]
		for range 9 {
			waiting = append(waiting, c.begin(publish))
		}
		is.Equal(c.store.inside(), 1)
		is.True(!first.answered)
		release()
		c.open.Wait()
		for _, o := range append(waiting, first) {
			is.NoErr(o.err)
		}
	})
}

// TestSlotsComeBack checks that a call that panics releases its slot, and so does a call whose caller leaves, whether
// it waits or runs.
func TestSlotsComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c := newCrowd(t)
		c.store.panics = true
		for range 9 {
			func() {
				defer func() { is.True(recover() != nil) }()
				_ = c.list(t.Context())
			}()
		}
		c.store.panics = false
		release := c.store.holdNext(4)
		ctx, cancel := context.WithCancel(t.Context())
		var calls []*outcome[struct{}]
		for range 9 {
			calls = append(calls, c.begin(func() error { return c.list(ctx) }))
		}
		is.Equal(c.store.inside(), 4) // The panics released their slots.
		cancel()
		synctest.Wait()
		for _, o := range calls[4:] {
			is.True(o.answered)
			is.True(errors.Is(o.err, context.Canceled))
		}
		release()
		c.open.Wait()
		release = c.store.holdNext(9)
		for range 9 {
			c.begin(func() error { return c.list(t.Context()) })
		}
		is.Equal(c.store.inside(), 4)
		release()
		c.open.Wait()
		is.Equal(c.refusals(), nil)
	})
}

// TestLongPagesTakeTurns checks a list with long pages. Fewer of them are read at a time than there are slots, whatever
// short pages come between them. While others wait, each turn is followed by a pause as long as the read, which leaves
// processors to other companies. Short calls do not wait for long pages.
func TestLongPagesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c := newCrowd(t)
		c.shop.Inventory(t, c.event.ID, "VIP", 1_00, 300)
		for range 5 {
			c.shop.Sell(t, c.event.ID, "VIP", 50)
		}
		is.NoErr(c.listAll(t.Context())) // This page has 250 lines.
		const took = 100 * time.Millisecond
		began, alone := time.Now(), c.store.holdNext(1)
		c.begin(func() error { return c.listAll(t.Context()) })
		time.Sleep(took)
		alone()
		c.open.Wait()
		is.NoErr(c.listAll(t.Context()))
		is.Equal(time.Since(began), took) // Pages that are read one after another do not wait.
		// Short pages in between, of this list and of another, change nothing.
		for range 3 {
			_, err := c.ListOrders(t.Context(), c.shop.Caller, ticketing.OrderFilter{PageParams: ticketing.PageParams{Limit: 1}})
			is.NoErr(err)
			_, err = c.ListEvents(t.Context(), c.shop.Caller, ticketing.EventFilter{})
			is.NoErr(err)
		}
		release := c.store.holdNext(9)
		for range 9 {
			c.begin(func() error { return c.listAll(t.Context()) })
		}
		is.Equal(c.store.inside(), pagesAtATime())
		c.begin(func() error { _, err := c.GetEvent(t.Context(), c.shop.Caller, c.event.ID); return err })
		is.Equal(c.store.inside(), pagesAtATime()+1)
		time.Sleep(took)
		c.store.holdNoMore()
		release()
		next := c.store.holdNext(9)
		time.Sleep(took - time.Millisecond)
		synctest.Wait()
		is.Equal(c.store.inside(), 0)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		is.Equal(c.store.inside(), pagesAtATime())
		next()
		c.open.Wait()
		is.Equal(c.refusals(), nil)
	})
}

// pagesAtATime returns how many long pages of a company are read at a time: half as many as there are processors, at
// least 1 and at most 4.
func pagesAtATime() int { return max(1, min(4, runtime.GOMAXPROCS(0)/2)) }

// TestPurposes checks that the store gets the purpose of each transaction: groups and look-ups, the background work,
// and everything else.
func TestPurposes(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := newCrowd(t)
	ctx := t.Context()
	c.store.purposes()
	is.NoErr(c.list(ctx))
	is.Equal(c.store.purposes(), fmt.Sprint([]driver.Purpose{driver.PurposeRequest}))
	_, err := c.Checkout(ctx, c.neighbour.Caller, c.neighbour.Key(), ticketingtest.Basket(c.theirs.ID, "VIP", 1_00, 1))
	is.NoErr(err)
	is.Equal(c.store.purposes(), fmt.Sprint([]driver.Purpose{driver.PurposeGroup}))
	_, err = c.EndEvents(ctx)
	is.NoErr(err)
	is.Equal(c.store.purposes(), fmt.Sprint([]driver.Purpose{driver.PurposeBackground}))
	_, err = c.SendWebhooks(ctx)
	is.NoErr(err)
	for purpose := range strings.FieldsSeq(strings.Trim(c.store.purposes(), "[]")) {
		is.Equal(purpose, fmt.Sprint(int(driver.PurposeBackground)))
	}
	is.NoErr(c.Ready(ctx))
	c.store.purposes()
	_, err = c.Authenticate(ctx, unknownKey())
	is.Equal(code(err), ticketing.CodeAuthenticationFailed)
	is.Equal(c.store.purposes(), fmt.Sprint([]driver.Purpose{driver.PurposeGroup}))
}

// unknownKey returns a well-formed key that does not exist.
func unknownKey() string { return "svc_live." + uuid.NewString() + "." + strings.Repeat("A", 43) }

// TestMadeUpKeysWaitAmongThemselves checks that unknown keys share a few slots, at a rate of 32 in 20 ms. A key that
// authenticated lately does not wait for them, and is looked up all the same. If a thousand unknown keys wait, further
// ones are refused, and are counted as calls that found the queue of look-ups full.
func TestMadeUpKeysWaitAmongThemselves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c := newCrowd(t)
		ctx := t.Context()
		_, err := c.Authenticate(ctx, c.neighbour.APIKey)
		is.NoErr(err)
		const slots, queue = 32, 1000
		began := time.Now()
		flood := make([]*outcome[struct{}], slots+queue+1)
		for i := range flood {
			flood[i] = &outcome[struct{}]{}
			c.open.Go(func() {
				_, flood[i].err = c.Authenticate(ctx, unknownKey())
				flood[i].answered = true
			})
		}
		synctest.Wait()
		answered, refused := 0, 0
		for _, o := range flood {
			if o.answered && errors.Is(o.err, ticketing.ErrBusy) {
				refused++
			} else if o.answered {
				is.Equal(code(o.err), ticketing.CodeAuthenticationFailed)
				answered++
			}
		}
		is.Equal(answered, slots)
		is.Equal(refused, 1)
		is.Equal(c.refusals(), []string{"authenticate"})
		c.neighbourFares(t)
		is.Equal(time.Since(began), time.Duration(0))
		c.open.Wait()
		is.Equal(time.Since(began), 640*time.Millisecond) // These are 1,032 look-ups at 32 in 20 ms.

		id, err := ticketing.ParseID(strings.Split(c.neighbour.APIKey, ".")[1])
		is.NoErr(err)
		_, err = c.As(ticketing.Staff("test")).RevokeAPIKey(ctx, id)
		is.NoErr(err)
		_, err = c.Authenticate(ctx, c.neighbour.APIKey)
		is.Equal(code(err), ticketing.CodeAuthenticationFailed)
	})
}

// TestRefusalsAreLoggedAtIntervals checks that refused calls are not logged one by one. The first is logged at once,
// their number every ten seconds, and the rest when the service is drained.
func TestRefusalsAreLoggedAtIntervals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c := newCrowd(t)
		release := c.store.holdNext(4)
		for range 4 {
			c.begin(func() error { return c.list(t.Context()) })
		}
		flood := func(calls int) {
			var all sync.WaitGroup
			for range calls {
				all.Go(func() { is.True(errors.Is(c.list(t.Context()), ticketing.ErrBusy)) })
			}
			all.Wait()
		}
		logged := func() (calls []string) {
			synctest.Wait()
			for _, line := range c.log.take() {
				is.True(strings.Contains(line, "level=WARN") && strings.Contains(line, "operation=orders.list"))
				_, count, _ := strings.Cut(strings.TrimSpace(line), "calls=")
				calls = append(calls, count)
			}
			return calls
		}
		flood(100)
		is.Equal(logged(), []string{"1"})
		time.Sleep(10 * time.Second)
		is.Equal(logged(), []string{"99"})
		time.Sleep(time.Hour)
		is.Equal(logged(), nil)
		flood(3)
		is.Equal(logged(), []string{"1"})
		release()
		c.open.Wait()
		is.NoErr(c.Drain(t.Context()))
		is.Equal(logged(), []string{"2"})
	})
}

// TestCompanySlotsHaveBounds checks that New refuses a number of slots outside of its limits.
func TestCompanySlotsHaveBounds(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{-1, 1001} {
		_, err := ticketing.New(memory.New(), &ticketing.Config{CompanySlots: slots})
		is.New(t).True(err != nil)
	}
}

// TestCallsForOnePageTakeSlots checks that a company whose many calls ask for the same page has no more of them at work
// than its slots, and that its neighbour is not delayed.
func TestCallsForOnePageTakeSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, c := is.New(t), newCrowd(t)
		release := c.store.holdNext(1000)
		answers := make([]*outcome[struct{}], 100)
		for i := range answers {
			answers[i] = c.begin(func() error {
				_, err := c.ListOrders(t.Context(), c.shop.Caller, ticketing.OrderFilter{})
				return err
			})
		}
		is.Equal(c.store.inside(), 4)
		c.store.holdNoMore()
		c.neighbourFares(t)
		release()
		c.open.Wait()
		for _, answer := range answers {
			is.NoErr(answer.err)
		}
		is.Equal(len(c.refusals()), 0)
	})
}
