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

const (
	endInterval   = 20 * time.Second // an event ends within a minute after its end
	factLease     = 30 * time.Second // how long a fact is ours to tell, and the wait before it is told again
	factBatch     = 200
	companyBatch  = 100
	finishTimeout = 5 * time.Second
)

// Run does the background work until the context ends: it tells facts to [Config.OnFact] and ends events. It returns
// nil then, after what it is in the middle of; before that only where [Service.Ready] fails at its start. Several
// processes on one database share the work.
func (s *Service) Run(ctx context.Context) error {
	if s.bound {
		return errBoundRun
	}
	if err := s.Ready(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	// Each work has a loop of its own: a host that takes its time with facts keeps no event from ending.
	var works sync.WaitGroup
	works.Go(func() { s.repeat(ctx, endInterval, nil, "end events", s.endDue) })
	works.Go(func() { s.repeat(ctx, s.poll, s.wake, "tell facts", s.tellFacts) })
	works.Wait()
	return nil
}

// repeat does a work now, at every interval and when it is woken, until the context ends. What goes wrong is logged;
// the work is there again at the next round.
func (s *Service) repeat(
	ctx context.Context, interval time.Duration, wake <-chan struct{}, what string, work func(context.Context) error,
) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := work(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "background work failed", slog.String("work", what), slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-wake:
		}
	}
}

// Wake tells [Service.Run] of the same process that there is work. The service's own commits do it by themselves; after
// one of its own transaction a host calls it, or the work is found at the next [Config.PollInterval].
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Service) endDue(ctx context.Context) error {
	_, err := s.EndEvents(ctx)
	return err
}

// tellFacts tells every fact that is due, company by company. One that fails keeps no other's from being told.
func (s *Service) tellFacts(ctx context.Context) error {
	for {
		var due []uuid.UUID
		err := s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
			var err error
			due, err = tx.DueCompanies(ctx, s.now(), companyBatch)
			return err
		})
		if err != nil || len(due) == 0 {
			return err
		}
		told := 0
		var failed error
		for _, companyID := range due {
			n, err := s.tellCompany(ctx, companyID)
			told += n
			failed = errors.Join(failed, err)
		}
		if failed != nil || told == 0 {
			return failed // Without a failure, another process was there first, or every fact was refused and waits.
		}
	}
}

// tellCompany leases a company's oldest facts, tells them and marks those that were told. What is told and not marked,
// because the process ends in between, is told again when the lease has run out.
func (s *Service) tellCompany(ctx context.Context, companyID uuid.UUID) (int, error) {
	at := s.now()
	var leased []FactRecord
	err := s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, Entrance{Share: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		var err error
		leased, err = tx.LeaseFacts(ctx, companyID, at, at.Add(factLease), factBatch)
		if err != nil || len(leased) == 0 || s.onFact != nil {
			return err
		}
		return tx.CompleteFacts(ctx, leased)
	})
	if err != nil || len(leased) == 0 || s.onFact == nil {
		return len(leased), err
	}
	var records []FactRecord
	for _, record := range leased {
		records = append(records, record.Facts()...)
	}
	var facts []Fact
	err = s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		facts, err = showFacts(ctx, tx, records)
		return err
	})
	if err != nil {
		return 0, err
	}
	var told []FactRecord
	for _, record := range leased {
		parts := len(record.Facts())
		if ctx.Err() != nil || !s.now().Before(at.Add(factLease)) {
			break
		}
		if s.tellAll(ctx, record, facts[:parts]) {
			told = append(told, record)
		}
		facts = facts[parts:]
	}
	if len(told) == 0 {
		return 0, nil
	}
	// What was told is marked although the context may have ended meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	return len(told), s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
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
