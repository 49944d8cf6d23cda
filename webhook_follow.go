package ticketing

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

const (
	defaultFollowed = 100
	maxFollowed     = 1000
	// followPage is how many are read at a time, followBegin how many a follower passes over at its beginning.
	followPage  = 500
	followBegin = 10_000
	// followOverlap is how much later than another of the same time a fact may be committed and still be followed: the
	// time of a group of checkouts, and what two clocks may differ by.
	followOverlap = 30 * time.Second
)

// WebhookPlace is how far [Operator.FollowWebhooks] has told. The zero place begins now. It may be used again, and by one
// follower at a time.
type WebhookPlace struct {
	facts, replays window
	replaysFirst   bool // replays have the larger half the last time
}

// A window is the end of a list by time to which something may still be added between what is there.
type window struct {
	since time.Time               // nothing from before is looked at any more
	told  map[uuid.UUID]time.Time // what is in the window, and was told
	head  Position                // the last that was told in its order; what is behind was not looked at
	// The window is looked through again and again, a part at a time, for what comes late: swept is how far, and through the
	// time of the head when that began.
	swept   Position
	through time.Time
}

func windowFrom(since time.Time) window {
	from := Position{At: since}
	return window{since: since, told: make(map[uuid.UUID]time.Time), head: from, swept: from, through: since}
}

// move begins a window at a time, if that is later, and forgets what lies before.
func (w *window) move(since time.Time) {
	if !since.After(w.since) {
		return
	}
	w.since = since
	for id, at := range w.told {
		if at.Before(since) {
			delete(w.told, id)
		}
	}
}

// FollowWebhooks answers with a company's events since a place, and with the place behind them: what happens, whether or
// not an endpoint is there to get it, and what is replayed, each replay of its own. Asked again and again, each time from
// the place before, it tells every event and every replay once, in the order of their times as far as they come in it;
// what is committed more than half a minute later than something of the same time is not told. At most a number of events
// come at once, up to 1,000, by default 100: where there are more, as many replays as others. However busy the company is,
// a call reads no more than some thousand records.
//
// It is for a developer who looks on: endpoints are what events are delivered to. The bodies tell buyers' names and
// addresses. It needs COMPANY:webhook:read.
func (o Operator) FollowWebhooks(
	ctx context.Context, companyID uuid.UUID, after WebhookPlace, limit int,
) ([]WebhookEvent, WebhookPlace, error) {
	if err := o.allow(PermissionWebhookRead, companyID); err != nil {
		return nil, WebhookPlace{}, err
	}
	var v violations
	if limit < 0 || limit > maxFollowed {
		v.add("limit", fmt.Sprintf("must be from 1 to %d, or 0 for %d", maxFollowed, defaultFollowed))
	}
	if err := v.err(); err != nil {
		return nil, WebhookPlace{}, err
	}
	if limit == 0 {
		limit = defaultFollowed
	}
	now := o.s.now()
	var events []WebhookEvent
	var place WebhookPlace
	err := o.view(ctx, PermissionWebhookRead, companyID, func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
		f := follower{s: o.s, tx: tx, companyID: companyID, now: now, place: after.clone(), limit: limit}
		if events = nil; after.facts.since.IsZero() {
			err := f.begin(ctx) // What is there already happened before.
			place = f.place
			return err
		}
		if err := f.look(ctx); err != nil {
			return err
		}
		place = f.place
		var err error
		events, err = f.show(ctx)
		return err
	})
	if err != nil {
		return nil, WebhookPlace{}, err
	}
	return events, place, nil
}

func (p WebhookPlace) clone() WebhookPlace {
	p.facts.told, p.replays.told = maps.Clone(p.facts.told), maps.Clone(p.replays.told)
	return p
}

// A follower finds what was not told yet.
type follower struct {
	s         *Service
	tx        ReadTx
	companyID uuid.UUID
	now       time.Time
	place     WebhookPlace
	limit     int

	events  []FactRecord
	replays []DeliveryRecord
}

// begin passes over what there is. Where that is very much, it begins now, whatever comes late.
func (f *follower) begin(ctx context.Context) error {
	for _, begin := range []struct {
		window *window
		list   lister
	}{{&f.place.facts, f.listFacts}, {&f.place.replays, f.listReplays}} {
		w := begin.window
		*w = windowFrom(f.now.Add(-followOverlap))
		all, err := w.ahead(ctx, begin.list, math.MaxInt, followBegin)
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

// look finds facts and replays, each no more than half of what may be told where there is more of both.
func (f *follower) look(ctx context.Context) error {
	f.place.replaysFirst = !f.place.replaysFirst
	share := f.limit / 2
	if f.place.replaysFirst {
		share = f.limit - share
	}
	if err := f.place.replays.look(ctx, f.listReplays, share, f.limit); err != nil {
		return err
	}
	if err := f.place.facts.look(ctx, f.listFacts, f.limit-len(f.replays), f.limit); err != nil {
		return err
	}
	if room := f.limit - len(f.events) - len(f.replays); room > 0 && len(f.replays) == share {
		_, err := f.place.replays.ahead(ctx, f.listReplays, room, f.limit)
		return err
	}
	return nil
}

// A sighting is a record that a follower comes to, and what it tells of.
type sighting struct {
	place Position
	ids   []uuid.UUID
	tell  func(i int) // is called for what is told
}

// lister answers with the sightings behind a position, in their order.
type lister func(ctx context.Context, after Position, limit int) ([]sighting, error)

func (f *follower) listFacts(ctx context.Context, after Position, limit int) ([]sighting, error) {
	records, err := f.tx.ListFacts(ctx, f.companyID, after, limit)
	sightings := make([]sighting, len(records))
	for i, record := range records {
		facts := filter(record.Facts(), func(_ int, fact FactRecord) bool { return fact.delivered() })
		sightings[i] = sighting{
			place: Position{At: record.At, ID: record.ID}, ids: make([]uuid.UUID, len(facts)),
			tell: func(n int) { f.events = append(f.events, facts[n]) },
		}
		for n, fact := range facts {
			sightings[i].ids[n] = fact.ID
		}
	}
	return sightings, err
}

func (f *follower) listReplays(ctx context.Context, after Position, limit int) ([]sighting, error) {
	replays, err := f.tx.ListDeliveries(ctx, DeliveryQuery{
		CompanyID: f.companyID, Since: after.At, Beyond: after, Replays: true, OldestFirst: true, Limit: limit,
	})
	sightings := make([]sighting, len(replays))
	for i, replay := range replays {
		sightings[i] = sighting{
			place: replay.position(), ids: []uuid.UUID{replay.ID},
			tell: func(int) { f.replays = append(f.replays, replay) },
		}
	}
	return sightings, err
}

// look tells what came late, then what is ahead. It reads no more than a part of the window and a part of what is ahead.
func (w *window) look(
	ctx context.Context, list lister, most, limit int,
) error {
	told, err := w.sweep(ctx, list, most, followPage+2*limit)
	if err != nil {
		return err
	}
	_, err = w.ahead(ctx, list, most-told, followPage+2*limit)
	return err
}

// sweep goes on through the window, a page at a time, and tells up to so many that came late. When it has come to the end,
// what lay half a minute before the latest when it began is not looked at any more, and it begins anew.
func (w *window) sweep(
	ctx context.Context, list lister, most, reads int,
) (told int, err error) {
	if w.swept.ID == uuid.Nil {
		w.through = w.head.At
	}
	for reads > 0 {
		size := min(reads, followPage)
		page, err := list(ctx, w.swept, size)
		if err != nil {
			return told, err
		}
		ended := len(page) < size
		for _, seen := range page {
			if seen.place.behind(w.head) {
				ended = true
				break
			}
			n, all := w.tell(seen, most-told)
			if told += n; !all {
				return told, nil
			}
			w.swept = seen.place
		}
		if ended {
			w.move(w.through.Add(-followOverlap))
			w.swept = Position{At: w.since}
			return told, nil
		}
		reads -= size
	}
	return told, nil
}

// ahead tells up to so many that lie behind all that was told, and whether that is all.
func (w *window) ahead(
	ctx context.Context, list lister, most, reads int,
) (all bool, err error) {
	for reads > 0 {
		size := min(reads, followPage)
		page, err := list(ctx, w.head, size)
		if err != nil {
			return false, err
		}
		for _, seen := range page {
			n, all := w.tell(seen, most)
			if most -= n; !all {
				return false, nil
			}
			w.head = seen.place
		}
		if len(page) < size {
			return true, nil
		}
		reads -= size
	}
	return false, nil
}

// tell tells what was not told of a record, up to so many, and how many these are, and whether that is all.
func (w *window) tell(seen sighting, most int) (told int, all bool) {
	for i, id := range seen.ids {
		if w.has(id) {
			continue
		}
		if told == most {
			return told, false
		}
		w.told[id] = seen.place.At
		seen.tell(i)
		told++
	}
	return told, true
}

func (w *window) has(id uuid.UUID) bool {
	_, told := w.told[id]
	return told
}

// show makes what was found what is delivered.
func (f *follower) show(ctx context.Context) ([]WebhookEvent, error) {
	slices.SortStableFunc(f.events, func(a, b FactRecord) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(f.replays, func(a, b DeliveryRecord) int { return a.CreatedAt.Compare(b.CreatedAt) })
	events, err := f.s.showEvents(ctx, f.tx, f.events)
	if err != nil || len(f.replays) == 0 {
		return events, err
	}
	refs := make([]MessageRef, len(f.replays))
	for i, replay := range f.replays {
		refs[i] = replay.message()
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
