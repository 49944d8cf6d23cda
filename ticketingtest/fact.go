package ticketingtest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/floatgate/ticketing"
)

// Facts collects what a service tells. Its Tell is a [ticketing.Config].OnFact. The zero Facts is empty and ready.
type Facts struct {
	mu    sync.Mutex
	told  []ticketing.Fact
	grown chan struct{} // closed and made anew with every fact
}

// Tell keeps a fact, and never refuses one. A fact that is told twice is kept twice.
func (f *Facts) Tell(_ context.Context, fact ticketing.Fact) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, fact)
	if f.grown != nil {
		close(f.grown)
		f.grown = nil
	}
	return nil
}

// All are the facts that were told so far, in the order they came.
func (f *Facts) All() []ticketing.Fact {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.told)
}

// Of are the facts of one type that were told so far.
func (f *Facts) Of(kind ticketing.FactType) []ticketing.Fact {
	return slices.DeleteFunc(f.All(), func(fact ticketing.Fact) bool { return fact.Type != kind })
}

// Wait waits until n facts or more were told and returns all of them. It fails when the context ends before; what was
// told until then is returned, too.
func (f *Facts) Wait(ctx context.Context, n int) ([]ticketing.Fact, error) {
	for {
		told, grown := f.now()
		if len(told) >= n {
			return told, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return told, fmt.Errorf("ticketingtest: %d of %d facts were told: %w", len(told), n, ctx.Err())
		}
	}
}

func (f *Facts) now() ([]ticketing.Fact, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.grown == nil {
		f.grown = make(chan struct{})
	}
	return slices.Clone(f.told), f.grown
}
