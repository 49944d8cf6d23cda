package memory

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type outbox struct {
	byCompany map[uuid.UUID]*facts
	// undispatched are the companies that have facts which are not dispatched, untold those that have facts which are,
	// and which nobody has handled.
	undispatched, untold *index[uuid.UUID]
}

// facts are those of one company.
type facts struct {
	byPlace              map[ticketing.Position]fact
	all                  *index[ticketing.Position]
	undispatched, untold *index[ticketing.Position]
}

type fact struct {
	record              ticketing.FactRecord
	dispatched, handled bool
	leased              time.Time // until then somebody handles it
}

func newOutbox() outbox {
	return outbox{
		byCompany: make(map[uuid.UUID]*facts), undispatched: newIndex(compareIDs), untold: newIndex(compareIDs),
	}
}

func newFacts() *facts {
	return &facts{
		byPlace: make(map[ticketing.Position]fact), all: newPlaces(), undispatched: newPlaces(), untold: newPlaces(),
	}
}

// stage is what a fact waits for: the lists of places and of companies that it is in.
func (o *outbox) stage(of *facts, f fact) (places *index[ticketing.Position], companies *index[uuid.UUID]) {
	switch {
	case !f.dispatched:
		return of.undispatched, o.undispatched
	case !f.handled:
		return of.untold, o.untold
	}
	return nil, nil
}

// enter lists a fact under its stage, and leave takes it off.
func (o *outbox) enter(u *undo, f fact) {
	if places, companies := o.stage(o.byCompany[f.record.CompanyID], f); places != nil {
		if len(places.keys) == 0 {
			companies.add(u, f.record.CompanyID)
		}
		places.add(u, place(f.record))
	}
}

func (o *outbox) leave(u *undo, f fact) {
	if places, companies := o.stage(o.byCompany[f.record.CompanyID], f); places != nil {
		places.drop(u, place(f.record))
		if len(places.keys) == 0 {
			companies.drop(u, f.record.CompanyID)
		}
	}
}

// change changes facts that are there.
func (o *outbox) change(u *undo, records []ticketing.FactRecord, change func(f *fact)) error {
	for _, record := range records {
		of, ok := o.byCompany[record.CompanyID]
		if !ok {
			return ticketing.ErrNotFound
		}
		kept, ok := of.byPlace[place(record)]
		if !ok {
			return ticketing.ErrNotFound
		}
		o.leave(u, kept)
		change(&kept)
		put(u, of.byPlace, place(record), kept)
		o.enter(u, kept)
	}
	return nil
}

// free are the oldest places of facts that are dispatched and neither handled nor leased. It passes over what is leased,
// which is as much as is being handled, never over what was handled.
func (f *facts) free(at time.Time, limit int) []ticketing.Position {
	var free []ticketing.Position
	for _, place := range f.untold.keys {
		if len(free) >= limit {
			break
		}
		if !f.byPlace[place].leased.After(at) {
			free = append(free, place)
		}
	}
	return free
}

// records are the facts at places.
func (f *facts) records(places []ticketing.Position) []ticketing.FactRecord {
	return each(places, func(at ticketing.Position) ticketing.FactRecord { return f.byPlace[at].record })
}

func place(record ticketing.FactRecord) ticketing.Position {
	return ticketing.Position{At: moment(record.At), ID: record.ID}
}

func (r reading) ListFacts(
	ctx context.Context, companyID uuid.UUID, after ticketing.Position, limit int,
) ([]ticketing.FactRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.FactRecord {
		of, ok := s.outbox.byCompany[companyID]
		if !ok {
			return nil
		}
		return of.records(of.all.after(after, limit))
	})
}

func (tx *updating) AppendFacts(ctx context.Context, records []ticketing.FactRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, record := range records {
			record.At = moment(record.At)
			of := need(s.outbox.byCompany, record.CompanyID, newFacts)
			if err := create(u, of.byPlace, place(record), fact{record: record}, "outbox_pkey"); err != nil {
				return err
			}
			of.all.add(u, place(record))
			s.outbox.enter(u, fact{record: record})
		}
		return nil
	})
}

// TakeFacts reads a company's oldest facts that are not dispatched: their writer is alone.
func (tx *updating) TakeFacts(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]ticketing.FactRecord, error) {
	return ask(ctx, tx.reading, func(s *state) []ticketing.FactRecord {
		of, ok := s.outbox.byCompany[companyID]
		if !ok {
			return nil
		}
		return of.records(of.undispatched.first(limit))
	})
}

func (tx *updating) DispatchFacts(ctx context.Context, records []ticketing.FactRecord, handled bool) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		return s.outbox.change(u, records, func(f *fact) { f.dispatched, f.handled = true, f.handled || handled })
	})
}

// LeaseFacts takes a company's oldest facts. No other transaction can be taking any.
func (tx *updating) LeaseFacts(
	ctx context.Context, companyID uuid.UUID, at, until time.Time, limit int,
) ([]ticketing.FactRecord, error) {
	var taken []ticketing.FactRecord
	err := tx.write(ctx, func(s *state, u *undo) error {
		of, ok := s.outbox.byCompany[companyID]
		if !ok {
			return nil
		}
		for _, place := range of.free(at, limit) {
			kept := of.byPlace[place]
			kept.leased = moment(until)
			put(u, of.byPlace, place, kept)
			taken = append(taken, kept.record)
		}
		return nil
	})
	return taken, err
}

// CompleteFacts marks facts as handled. One that somebody handled already whose lease ran out stays so.
func (tx *updating) CompleteFacts(ctx context.Context, records []ticketing.FactRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		return s.outbox.change(u, records, func(f *fact) { f.handled = true })
	})
}

func (tx *updating) PruneFacts(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (pruned int, err error) {
	err = tx.write(ctx, func(s *state, u *undo) error {
		of, ok := s.outbox.byCompany[companyID]
		if !ok {
			return nil
		}
		gone := of.prunable(before, limit)
		for _, place := range gone {
			of.all.drop(u, place)
			take(u, of.byPlace, place)
		}
		pruned = len(gone)
		return nil
	})
	return pruned, err
}

// prunable are the oldest places of facts from before a time, and from before the first one that is not handled.
func (f *facts) prunable(before time.Time, limit int) []ticketing.Position {
	until := moment(before)
	for _, waiting := range []*index[ticketing.Position]{f.undispatched, f.untold} {
		if len(waiting.keys) > 0 && waiting.keys[0].At.Before(until) {
			until = waiting.keys[0].At
		}
	}
	gone := f.all.below(ticketing.Position{At: until})
	return slices.Clone(gone[:min(max(limit, 0), len(gone))])
}
