package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/webhook"
)

// facts does the host's own work for each fact. A fact may be published more than once, so a host stores the ids of the
// facts that it has handled, under a unique constraint and in the transaction of its own work. A map will do here.
// After an error the fact is published again.
//
// notification.ticket_email is not among those that it handles: the service mails the tickets itself (mails.go). A host
// that would rather mail them here sets no mail sender.
type facts struct {
	log  *slog.Logger
	mu   sync.Mutex
	done map[uuid.UUID]bool
}

func newFacts(logger *slog.Logger) *facts {
	return &facts{log: logger, done: make(map[uuid.UUID]bool)}
}

func (f *facts) told(ctx context.Context, fact ticketing.Fact) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done[fact.ID] {
		return nil
	}
	switch about := fact.Data.(type) {
	case webhook.OrderCreated:
		f.log.InfoContext(ctx, "sold", slog.String("order", about.Order.ID), slog.String("gross", about.Order.GrossAmount))
	case webhook.BalanceLow:
		f.log.WarnContext(ctx, "the float runs out", slog.String("balance", about.BalanceAfter))
	}
	f.done[fact.ID] = true
	return nil
}
