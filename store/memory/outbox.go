package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type outbox struct {
	byCompany map[uuid.UUID]*facts
	// waiting are the companies that have facts nobody has handled.
	waiting *index[uuid.UUID]
}

// facts are those of one company.
type facts struct {
	byPlace map[ticketing.Position]fact
	all     *index[ticketing.Position]
	open    *index[ticketing.Position] // not handled
}

type fact struct {
	record ticketing.FactRecord
	leased time.Time // until then somebody handles it
}

func newOutbox() outbox {
	return outbox{byCompany: make(map[uuid.UUID]*facts), waiting: newIndex(compareIDs)}
}

func newFacts() *facts {
	return &facts{
		byPlace: make(map[ticketing.Position]fact),
		all:     newIndex(comparePositions),
		open:    newIndex(comparePositions),
	}
}

// due are the oldest places of facts that are neither handled nor leased. It passes over what is leased, which is
// as much as is being handled, never over what was handled.
func (f *facts) due(at time.Time, limit int) []ticketing.Position {
	var due []ticketing.Position
	for _, place := range f.open.keys {
		if len(due) >= limit {
			break
		}
		if !f.byPlace[place].leased.After(at) {
			due = append(due, place)
		}
	}
	return due
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
		return each(of.all.after(after, limit), func(at ticketing.Position) ticketing.FactRecord {
			return of.byPlace[at].record
		})
	})
}

func (r reading) DueCompanies(ctx context.Context, at time.Time, limit int) ([]uuid.UUID, error) {
	return ask(ctx, r, func(s *state) []uuid.UUID {
		var due []uuid.UUID
		for _, id := range s.outbox.waiting.keys {
			if len(due) >= limit {
				break
			}
			if len(s.outbox.byCompany[id].due(at, 1)) > 0 {
				due = append(due, id)
			}
		}
		return due
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
			if len(of.open.keys) == 0 {
				s.outbox.waiting.add(u, record.CompanyID)
			}
			of.all.add(u, place(record))
			of.open.add(u, place(record))
		}
		return nil
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
		for _, place := range of.due(at, limit) {
			record := of.byPlace[place].record
			put(u, of.byPlace, place, fact{record: record, leased: moment(until)})
			taken = append(taken, record)
		}
		return nil
	})
	return taken, err
}

func (tx *updating) CompleteFacts(ctx context.Context, records []ticketing.FactRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, record := range records {
			of, ok := s.outbox.byCompany[record.CompanyID]
			if !ok {
				return ticketing.ErrNotFound
			}
			if _, kept := of.byPlace[place(record)]; !kept {
				return ticketing.ErrNotFound
			}
			// Handled already by somebody whose lease ran out: it stays so.
			if _, open := of.open.search(place(record)); !open {
				continue
			}
			of.open.drop(u, place(record))
			if len(of.open.keys) == 0 {
				s.outbox.waiting.drop(u, record.CompanyID)
			}
		}
		return nil
	})
}
