package ticketing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Bounds of publishing facts to the host.
const (
	// factLease is how long a process may publish the facts that it leased. It is also the wait before a fact that the
	// host refused is published again. finishTimeout bounds the marking of published facts after the end of Run.
	factLease     = 30 * time.Second
	finishTimeout = 5 * time.Second
)

// publishFacts leases a company's oldest facts, publishes them to the host and marks those that the host accepted. It
// returns how many facts it leased.
//
// Each fact is published at least once. If the process ends between publishing and marking, the lease runs out and the
// facts are published again, with the same ids. The host is called outside of any transaction, so it may take its time
// and may use the service.
func (s *Service) publishFacts(ctx context.Context, companyID uuid.UUID) (int, error) {
	at := s.now()
	var leased []driver.Fact
	err := s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		var err error
		// The lease keeps other processes from publishing the same facts at the same time.
		leased, err = tx.LeaseFacts(ctx, companyID, at, at.Add(factLease), factBatch)
		return err
	})
	if err != nil || len(leased) == 0 {
		return 0, err
	}
	var records []driver.Fact
	for _, record := range leased {
		// The facts of a sale are published one by one.
		records = append(records, factsToPublish(record)...)
	}
	var facts []Fact
	err = s.background.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		// The rendering needs no gate: a fact is made of what never changes, but for an erased buyer.
		facts, err = showFacts(ctx, tx, records)
		return err
	})
	if err != nil {
		return 0, err
	}
	var published []driver.Fact
	for _, record := range leased {
		parts := len(factsToPublish(record))
		// What is left after the end of the lease or of the process is published under the next lease.
		if ctx.Err() != nil || !s.now().Before(at.Add(factLease)) {
			break
		}
		// A record that was not accepted stays leased until the lease runs out, and is then published again.
		if s.publishParts(ctx, record, facts[:parts]) {
			published = append(published, record)
		}
		facts = facts[parts:]
	}
	if len(published) == 0 {
		return len(leased), nil
	}
	// The context may have ended meanwhile. Published facts are marked nevertheless, or they would be published again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	return len(leased), s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		return tx.CompleteFacts(ctx, published)
	})
}

// publishParts publishes the facts of a record, and reports whether the host has accepted all of them. If the host
// accepted some of them before, it publishes only the others, as far as this process remembers. A record is marked as a
// whole.
//
// A fact that the host refuses does not stop the other facts of its record, nor those of later records. So the order of
// facts is not defined.
func (s *Service) publishParts(ctx context.Context, record driver.Fact, facts []Fact) bool {
	done := s.published.take(record.ID)
	for i, fact := range facts {
		// A record stands for at most four facts, so eight bits are enough.
		bit := uint8(1) << i
		if done&bit != 0 {
			continue
		}
		if err := s.publishFact(ctx, fact); err != nil {
			s.log.WarnContext(ctx, "the host did not accept a fact; it will be published again",
				slog.String("fact", fact.ID.String()), slog.String("type", string(fact.Type)), slog.Any("error", err))
			continue
		}
		done |= bit
	}
	if done == uint8(1)<<len(facts)-1 {
		return true
	}
	s.published.keep(record.ID, done)
	return false
}

// publishedParts remembers the records of which the host accepted some facts, but not all. It only saves repetitions: a
// host must recognise a fact that comes again by its id in any case. The memory ends with the process. After a restart
// the facts of a record are published again, with the same ids.
type publishedParts struct {
	mu    sync.Mutex
	parts map[uuid.UUID]uint8 // by record; bit i is set if the host accepted fact i
}

// take returns what was accepted of a record and forgets it.
func (p *publishedParts) take(id uuid.UUID) uint8 {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.parts[id]
	delete(p.parts, id)
	return done
}

// keep remembers what was accepted of a record. At most 10,000 records are remembered.
func (p *publishedParts) keep(id uuid.UUID, done uint8) {
	const most = 10_000 // What is forgotten is published again, as after a restart.
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parts == nil || len(p.parts) >= most {
		// All of it is forgotten at once, which needs no order and happens rarely.
		p.parts = make(map[uuid.UUID]uint8)
	}
	p.parts[id] = done
}

// errFactPanic stands for a panic of the host. It holds only the type of the panic's value, since the value may be
// secret.
var errFactPanic = errors.New("ticketing: OnFact panicked")

// publishFact calls [Config.OnFact] with one fact. A panic of the host is an error like any other, so the fact is
// published again. No lock and no transaction is held during the call, so the host may call the service.
func (s *Service) publishFact(ctx context.Context, fact Fact) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: %T", errFactPanic, value)
		}
	}()
	return s.onFact(ctx, fact)
}
