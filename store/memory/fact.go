package memory

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type outbox struct {
	byCompany map[uuid.UUID]*facts
	// undispatched holds the companies with facts that are not dispatched. unpublished holds the companies with facts that
	// are dispatched and not handled.
	undispatched, unpublished *index[uuid.UUID]
}

// facts holds the facts of one company.
type facts struct {
	byPlace                   map[driver.Position]fact
	all                       *index[driver.Position]
	undispatched, unpublished *index[driver.Position]
}

type fact struct {
	record              driver.Fact
	dispatched, handled bool
	leased              time.Time // the end of the lease of the worker that handles it
}

func newOutbox() outbox {
	return outbox{
		byCompany: make(map[uuid.UUID]*facts), undispatched: newIndex(compareIDs), unpublished: newIndex(compareIDs),
	}
}

func newFacts() *facts {
	return &facts{
		byPlace: make(map[driver.Position]fact), all: newPlaces(), undispatched: newPlaces(), unpublished: newPlaces(),
	}
}

// stage returns the list of places and the list of companies of a fact's stage.
func (o *outbox) stage(of *facts, f fact) (places *index[driver.Position], companies *index[uuid.UUID]) {
	switch {
	case !f.dispatched:
		return of.undispatched, o.undispatched
	case !f.handled:
		return of.unpublished, o.unpublished
	}
	return nil, nil
}

// enter adds a fact to the lists of its stage, and leave removes it.
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

// change changes facts, which must exist.
func (o *outbox) change(u *undo, records []driver.Fact, change func(f *fact)) error {
	for _, record := range records {
		of, ok := o.byCompany[record.CompanyID]
		if !ok {
			return driver.ErrNotFound
		}
		kept, ok := of.byPlace[place(record)]
		if !ok {
			return driver.ErrNotFound
		}
		o.leave(u, kept)
		change(&kept)
		put(u, of.byPlace, place(record), kept)
		o.enter(u, kept)
	}
	return nil
}

// free returns the oldest places of facts that are dispatched and neither handled nor leased. It skips leased facts, of
// which there are few: those being handled. It never has to skip handled ones.
func (f *facts) free(at time.Time, limit int) []driver.Position {
	var free []driver.Position
	for _, place := range f.unpublished.keys {
		if len(free) >= limit {
			break
		}
		if !f.byPlace[place].leased.After(at) {
			free = append(free, place)
		}
	}
	return free
}

// records returns the facts at these places.
func (f *facts) records(places []driver.Position) []driver.Fact {
	return each(places, func(at driver.Position) driver.Fact { return f.byPlace[at].record })
}

func place(record driver.Fact) driver.Position {
	return driver.Position{At: moment(record.At), ID: record.ID}
}

func (r reading) ListFacts(
	ctx context.Context, companyID uuid.UUID, after driver.Position, limit int,
) ([]driver.Fact, error) {
	return ask(ctx, r, func(s *state) []driver.Fact {
		of, ok := s.outbox.byCompany[companyID]
		if !ok {
			return nil
		}
		return of.records(of.all.after(after, limit))
	})
}

func (r reading) UndispatchedFacts(
	ctx context.Context, companyID uuid.UUID, after driver.Position, limit int,
) ([]driver.Fact, error) {
	return ask(ctx, r, func(s *state) []driver.Fact {
		of, ok := s.outbox.byCompany[companyID]
		if !ok {
			return nil
		}
		return of.records(of.undispatched.after(after, limit))
	})
}

func (tx *updating) AppendFacts(ctx context.Context, records []driver.Fact) error {
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

// TakeFacts only reads a company's oldest facts that are not dispatched, because there is no other writer.
func (tx *updating) TakeFacts(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.Fact, error) {
	return ask(ctx, tx.reading, func(s *state) []driver.Fact {
		of, ok := s.outbox.byCompany[companyID]
		if !ok {
			return nil
		}
		return of.records(of.undispatched.first(limit))
	})
}

func (tx *updating) DispatchFacts(ctx context.Context, records []driver.Fact, handled bool) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		return s.outbox.change(u, records, func(f *fact) { f.dispatched, f.handled = true, f.handled || handled })
	})
}

// LeaseFacts leases a company's oldest facts. No other transaction can lease any at the same time.
func (tx *updating) LeaseFacts(
	ctx context.Context, companyID uuid.UUID, at, until time.Time, limit int,
) ([]driver.Fact, error) {
	var taken []driver.Fact
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

// CompleteFacts marks facts as handled. A fact that another worker handled already, after a lease ended, stays handled.
func (tx *updating) CompleteFacts(ctx context.Context, records []driver.Fact) error {
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

// prunable returns the oldest places of facts before a time, and before the first one that is not handled.
func (f *facts) prunable(before time.Time, limit int) []driver.Position {
	until := moment(before)
	for _, waiting := range []*index[driver.Position]{f.undispatched, f.unpublished} {
		if len(waiting.keys) > 0 && waiting.keys[0].At.Before(until) {
			until = waiting.keys[0].At
		}
	}
	gone := f.all.below(driver.Position{At: until})
	return slices.Clone(gone[:min(max(limit, 0), len(gone))])
}
