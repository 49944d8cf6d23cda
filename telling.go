package ticketing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Bounds of telling facts to the host.
const (
	factLease     = 30 * time.Second // how long a fact is ours to tell, and the wait before it is told again
	finishTimeout = 5 * time.Second
)

// tellCompany leases a company's oldest facts, tells them and marks those that were told. What is told and not marked,
// because the process ends in between, is told again when the lease has run out. It tells how many it leased.
func (s *Service) tellCompany(ctx context.Context, companyID uuid.UUID) (int, error) {
	at := s.now()
	var leased []FactRecord
	err := s.background.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, Entrance{Share: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		var err error
		leased, err = tx.LeaseFacts(ctx, companyID, at, at.Add(factLease), factBatch)
		return err
	})
	if err != nil || len(leased) == 0 {
		return 0, err
	}
	var records []FactRecord
	for _, record := range leased {
		records = append(records, record.told()...)
	}
	var facts []Fact
	err = s.background.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		facts, err = showFacts(ctx, tx, records)
		return err
	})
	if err != nil {
		return 0, err
	}
	var told []FactRecord
	for _, record := range leased {
		parts := len(record.told())
		if ctx.Err() != nil || !s.now().Before(at.Add(factLease)) {
			break
		}
		if s.tellAll(ctx, record, facts[:parts]) {
			told = append(told, record)
		}
		facts = facts[parts:]
	}
	if len(told) == 0 {
		return len(leased), nil
	}
	// What was told is marked although the context may have ended meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	return len(leased), s.background.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, Entrance{Share: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		return tx.CompleteFacts(ctx, told)
	})
}

// tellAll tells the facts of a record, and of one that was told in part before only the others, as far as this process
// remembers. It reports whether all are told.
func (s *Service) tellAll(ctx context.Context, record FactRecord, facts []Fact) bool {
	done := s.told.take(record.ID)
	for i, fact := range facts {
		bit := uint8(1) << i
		if done&bit != 0 {
			continue
		}
		if err := s.tell(ctx, fact); err != nil {
			s.log.WarnContext(ctx, "a fact was not taken and will be told again", slog.String("fact", fact.ID.String()),
				slog.String("type", string(fact.Type)), slog.Any("error", err))
			continue
		}
		done |= bit
	}
	if done == uint8(1)<<len(facts)-1 {
		return true
	}
	s.told.keep(record.ID, done)
	return false
}

// toldParts are the records that were told in part, and which of their facts.
type toldParts struct {
	mu    sync.Mutex
	parts map[uuid.UUID]uint8
}

func (t *toldParts) take(id uuid.UUID) uint8 {
	t.mu.Lock()
	defer t.mu.Unlock()
	done := t.parts[id]
	delete(t.parts, id)
	return done
}

func (t *toldParts) keep(id uuid.UUID, done uint8) {
	const most = 10_000 // What is forgotten is told again, as after a restart.
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parts == nil || len(t.parts) >= most {
		t.parts = make(map[uuid.UUID]uint8)
	}
	t.parts[id] = done
}

var errFactPanic = errors.New("ticketing: OnFact panicked")

// tell hands one fact to the host. A panic of the host's is an error like any other.
func (s *Service) tell(ctx context.Context, fact Fact) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: %T", errFactPanic, value)
		}
	}()
	return s.onFact(ctx, fact)
}
