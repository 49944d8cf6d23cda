package ticketingtest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/floatgate/ticketing"
)

// Facts collects the facts that a service publishes. Its OnFact is a [ticketing.Config].OnFact. The zero Facts is ready
// to use.
type Facts struct {
	mu    sync.Mutex
	facts []ticketing.Fact
	grown chan struct{} // closed and replaced with every fact
}

// OnFact records a fact, and never refuses one. A fact that is published twice is recorded twice.
func (f *Facts) OnFact(_ context.Context, fact ticketing.Fact) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.facts = append(f.facts, fact)
	if f.grown != nil {
		close(f.grown)
		f.grown = nil
	}
	return nil
}

// All returns the facts recorded so far, in the order of their arrival.
func (f *Facts) All() []ticketing.Fact {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.facts)
}

// Of returns the facts of one type recorded so far.
func (f *Facts) Of(kind ticketing.FactType) []ticketing.Fact {
	return slices.DeleteFunc(f.All(), func(fact ticketing.Fact) bool { return fact.Type != kind })
}

// Wait waits until at least n facts are recorded and returns all of them. If the context ends first, it returns the
// facts recorded until then and an error.
func (f *Facts) Wait(ctx context.Context, n int) ([]ticketing.Fact, error) {
	for {
		facts, grown := f.now()
		if len(facts) >= n {
			return facts, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return facts, fmt.Errorf("ticketingtest: %d of %d facts were recorded: %w", len(facts), n, ctx.Err())
		}
	}
}

func (f *Facts) now() ([]ticketing.Fact, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.grown == nil {
		f.grown = make(chan struct{})
	}
	return slices.Clone(f.facts), f.grown
}
