package ticketing

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Bounds of following. They limit the work of one call, however busy the company is.
const (
	defaultFollowed = 100
	maxFollowed     = 1000
	// followPage is how many records are read at a time. followBegin is the most records that a new follower skips.
	followPage  = 500
	followBegin = 10_000
	// followOverlap is how much later than another fact of the same time a fact may be committed and still be returned.
	// It covers the time limit of a group of checkouts and the difference between two clocks.
	followOverlap = 30 * time.Second
)

// WebhookCursor is a position in the events of a company, for [Operator.TailWebhooks]. The zero cursor begins with
// events from now on. One caller at a time may use a cursor. The store keeps nothing about cursors.
type WebhookCursor struct {
	facts, replays window
	replaysFirst   bool // the latest call gave replays the larger half of its limit
}

// A window is the recent end of a list that is ordered by time. Records may still be committed within the window,
// before some that were returned already, so the window remembers what was returned. What is committed before the
// window is not returned.
type window struct {
	since    time.Time               // nothing older is read any more
	returned map[uuid.UUID]time.Time // what was returned of the window, with its time
	head     driver.Position         // the last record that was returned in order; what comes after it was not read
	// The window is read again and again, a part at a time, for records that were committed late. swept is how far the
	// present round has come. through is the time of the head when that round began.
	swept   driver.Position
	through time.Time
}

// windowFrom returns a window that begins at a time, of which nothing was returned.
func windowFrom(since time.Time) window {
	from := driver.Position{At: since}
	return window{since: since, returned: make(map[uuid.UUID]time.Time), head: from, swept: from, through: since}
}

// move sets the beginning of the window to a later time and forgets what is before it.
func (w *window) move(since time.Time) {
	if !since.After(w.since) {
		return
	}
	w.since = since
	for id, at := range w.returned {
		if at.Before(since) {
			delete(w.returned, id)
		}
	}
}

// TailWebhooks returns a company's events after a cursor, and the cursor after them. It returns every event, whether or
// not an endpoint exists for it, and every replay as an event of its own. It is for a developer who watches. Events are
// delivered only to endpoints. The bodies hold buyers' names, email addresses and phone numbers. It needs
// COMPANY:webhook:read.
//
// Call it repeatedly, each time with the cursor that the last call returned. Together the calls return every event and
// every replay once, in the order of their times as far as they commit in that order. An event that commits more than
// half a minute after another event of the same time is not returned.
//
// A call returns at most limit events: 100 by default (0), at most 1,000. If there are more of both, half of them are
// replays. A call reads at most a few thousand records, however busy the company is. Any other limit is
// INVALID_REQUEST.
//
// It never waits for events: poll it. A call that finds nothing returns no events and a cursor to continue from.
func (o Operator) TailWebhooks(
	ctx context.Context, companyID uuid.UUID, after WebhookCursor, limit int,
) ([]WebhookEvent, WebhookCursor, error) {
	if err := o.allow(PermissionWebhookRead, companyID); err != nil {
		return nil, WebhookCursor{}, err
	}
	var v violations
	if limit < 0 || limit > maxFollowed {
		v.add("limit", fmt.Sprintf("must be from 1 to %d, or 0 for %d", maxFollowed, defaultFollowed))
	}
	if err := v.err(); err != nil {
		return nil, WebhookCursor{}, err
	}
	if limit == 0 {
		limit = defaultFollowed
	}
	now := o.s.now()
	var events []WebhookEvent
	var cursor WebhookCursor
	err := o.view(ctx, PermissionWebhookRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			f := follower{s: o.s, tx: tx, companyID: companyID, now: now, cursor: after.clone(), limit: limit}
			if events = nil; after.facts.since.IsZero() {
				err := f.begin(ctx) // Skip the events that exist.
				cursor = f.cursor
				return err
			}
			if err := f.read(ctx); err != nil {
				return err
			}
			cursor = f.cursor
			var err error
			events, err = f.show(ctx)
			return err
		})
	if err != nil {
		return nil, WebhookCursor{}, err
	}
	return events, cursor, nil
}

// clone copies the maps of the cursor, so that the caller's cursor stays valid if the call fails or runs again.
func (c WebhookCursor) clone() WebhookCursor {
	c.facts.returned, c.replays.returned = maps.Clone(c.facts.returned), maps.Clone(c.replays.returned)
	return c
}

// A follower is one call of TailWebhooks. It finds what was not returned yet. It works on a copy of the caller's
// cursor, and reads only: nothing in the store remembers who follows.
type follower struct {
	s         *Service
	tx        driver.ReadTx
	companyID uuid.UUID
	now       time.Time // when the call began
	cursor    WebhookCursor
	limit     int // the most events and replays that it returns

	// What was found, to be returned.
	events  []driver.Fact
	replays []driver.Delivery
}

// begin skips what exists. If that is very much, the window begins now, and records that are committed late are lost.
func (f *follower) begin(ctx context.Context) error {
	for _, begin := range []struct {
		window *window
		list   lister
	}{{&f.cursor.facts, f.listFacts}, {&f.cursor.replays, f.listReplays}} {
		w := begin.window
		// The window begins in the past, to recognise records that exist and records that are committed late.
		*w = windowFrom(f.now.Add(-followOverlap))
		// What is skipped is remembered in the window like what is returned, so it is not returned later.
		all, err := w.readAfterHead(ctx, begin.list, math.MaxInt, followBegin)
		if err != nil {
			return err
		}
		if !all {
			*w = windowFrom(f.now)
		}
	}
	f.events, f.replays = nil, nil
	return nil
}

// read finds facts and replays. If there are more of both than the limit, each gets half of it, and an odd limit gives
// the extra one to each kind alternately. One kind alone may use the whole limit.
func (f *follower) read(ctx context.Context) error {
	f.cursor.replaysFirst = !f.cursor.replaysFirst
	share := f.limit / 2
	if f.cursor.replaysFirst {
		share = f.limit - share
	}
	// Replays come first. Facts then get what is left of the limit, and replays the rest if there are few facts.
	if err := f.cursor.replays.read(ctx, f.listReplays, share, f.limit); err != nil {
		return err
	}
	if err := f.cursor.facts.read(ctx, f.listFacts, f.limit-len(f.replays), f.limit); err != nil {
		return err
	}
	// Replays used their whole share, and there were few facts, so more replays may follow.
	if room := f.limit - len(f.events) - len(f.replays); room > 0 && len(f.replays) == share {
		_, err := f.cursor.replays.readAfterHead(ctx, f.listReplays, room, f.limit)
		return err
	}
	return nil
}

// A tailItem is a record that a window comes to, with the ids of the events that it stands for. Facts and replays share
// the algorithm of a window, and differ only in their items.
type tailItem struct {
	position driver.Position
	ids      []uuid.UUID
	yield    func(i int) // is called with the index of each event that is to be returned
}

// lister returns the items after a position, in their order.
type lister func(ctx context.Context, after driver.Position, limit int) ([]tailItem, error)

// listFacts is the lister of facts. The record of a sale stands for several events.
func (f *follower) listFacts(ctx context.Context, after driver.Position, limit int) ([]tailItem, error) {
	records, err := f.tx.ListFacts(ctx, f.companyID, after, limit)
	items := make([]tailItem, len(records))
	for i, record := range records {
		// The ticket mail is a fact that webhooks do not deliver.
		facts := filter(record.Facts(), func(_ int, fact driver.Fact) bool { return isDelivered(fact) })
		items[i] = tailItem{
			position: driver.Position{At: record.At, ID: record.ID}, ids: make([]uuid.UUID, len(facts)),
			yield: func(n int) { f.events = append(f.events, facts[n]) },
		}
		for n, fact := range facts {
			items[i].ids[n] = fact.ID
		}
	}
	return items, err
}

// listReplays is the lister of replays.
func (f *follower) listReplays(ctx context.Context, after driver.Position, limit int) ([]tailItem, error) {
	replays, err := f.tx.ListDeliveries(ctx, driver.DeliveryQuery{
		CompanyID: f.companyID, Since: after.At, After: after, Replays: true, OldestFirst: true, Limit: limit,
	})
	items := make([]tailItem, len(replays))
	for i, replay := range replays {
		items[i] = tailItem{
			position: replay.Position(), ids: []uuid.UUID{replay.ID},
			yield: func(int) { f.replays = append(f.replays, replay) },
		}
	}
	return items, err
}

// read returns first what was committed late, then what is after the head. It reads only a part of each.
func (w *window) read(
	ctx context.Context, list lister, most, limit int,
) error {
	returned, err := w.sweep(ctx, list, most, followPage+2*limit)
	if err != nil {
		return err
	}
	_, err = w.readAfterHead(ctx, list, most-returned, followPage+2*limit)
	return err
}

// sweep continues the round through the window, a page at a time, and returns up to most records that were committed
// late. At the end of a round the window moves on: it then begins followOverlap before the head of the time when the
// round began. So a record leaves the window only after it was looked for later than followOverlap after its time.
//
// Reading all of the window at each call would cost more than it finds. A round takes several calls if the company is
// busy.
func (w *window) sweep(
	ctx context.Context, list lister, most, reads int,
) (returned int, err error) {
	// A new round begins.
	if w.swept.ID == uuid.Nil {
		w.through = w.head.At
	}
	for reads > 0 {
		size := min(reads, followPage)
		page, err := list(ctx, w.swept, size)
		if err != nil {
			return returned, err
		}
		// A short page is the end of the list.
		ended := len(page) < size
		for _, seen := range page {
			// The rest was not returned in order yet: it is for readAfterHead.
			if afterPosition(seen.position, w.head) {
				ended = true
				break
			}
			n, all := w.returnNew(seen, most-returned)
			if returned += n; !all {
				return returned, nil
			}
			w.swept = seen.position
		}
		if ended {
			// The round is complete: the window can begin later, and what is before it need not be remembered.
			w.move(w.through.Add(-followOverlap))
			w.swept = driver.Position{At: w.since}
			return returned, nil
		}
		reads -= size
	}
	return returned, nil
}

// readAfterHead returns up to most records after the head, and reports whether these are all. It moves the head past
// each record whose events were all returned, so a record that did not fit is continued by the next call. readAfterHead
// stops at the limit of reads as well, so a busy company costs a call no more than a quiet one.
func (w *window) readAfterHead(
	ctx context.Context, list lister, most, reads int,
) (all bool, err error) {
	for reads > 0 {
		size := min(reads, followPage)
		page, err := list(ctx, w.head, size)
		if err != nil {
			return false, err
		}
		for _, seen := range page {
			n, all := w.returnNew(seen, most)
			if most -= n; !all {
				return false, nil
			}
			w.head = seen.position
		}
		if len(page) < size {
			return true, nil
		}
		reads -= size
	}
	return false, nil
}

// returnNew returns the events of a record that were not returned before, up to most, by calling its yield. It
// returns their number, and whether these are all.
func (w *window) returnNew(seen tailItem, most int) (returned int, all bool) {
	// A record that was returned in part continues with its other events.
	for i, id := range seen.ids {
		if w.has(id) {
			continue
		}
		if returned == most {
			return returned, false
		}
		w.returned[id] = seen.position.At
		seen.yield(i)
		returned++
	}
	return returned, true
}

// has reports whether an event was returned before.
func (w *window) has(id uuid.UUID) bool {
	_, returned := w.returned[id]
	return returned
}

// show renders what was found as it is delivered. A replay has the kept body of its event and the Replayed mark. A
// message that was pruned is left out, with its replays.
func (f *follower) show(ctx context.Context) ([]WebhookEvent, error) {
	// Records that were committed late were found first, so both lists are sorted by time. Replays come after the
	// facts.
	slices.SortStableFunc(f.events, func(a, b driver.Fact) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(f.replays, func(a, b driver.Delivery) int { return a.CreatedAt.Compare(b.CreatedAt) })
	events, err := f.s.renderWebhookEvents(ctx, f.tx, f.events)
	if err != nil || len(f.replays) == 0 {
		return events, err
	}
	refs := make([]driver.MessageRef, len(f.replays))
	for i, replay := range f.replays {
		refs[i] = replay.MessageRef()
	}
	messages, err := f.tx.Messages(ctx, refs)
	if err != nil {
		return nil, err
	}
	replayed, err := f.s.showMessages(ctx, f.tx, messages)
	for _, event := range replayed {
		event.Replayed = true
		events = append(events, event)
	}
	return events, err
}
