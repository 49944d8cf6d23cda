package ticketing

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Ready returns nil if the service can work: its store responds, and the secret keys are those that the database was
// used with. The first use of a database keeps the names of the keys; later, other keys are [ErrSecretKeys]. Call it
// before serving.
//
// It reads through the store of groups, whose connections are reserved. So a flood of single reads does not make a
// service that sells look unready.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.secrets.check(ctx, s); err != nil {
		return err
	}
	return s.runTxOnSlot(ctx, "ready", uuid.Nil, func() error {
		return s.groups.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
			_, err := tx.SecretNames(ctx)
			return err
		})
	})
}

// The waits between two attempts of [Service.Run] to start. They double from the first to the last.
const (
	firstReadyWait = 100 * time.Millisecond
	lastReadyWait  = 5 * time.Second
)

// awaitReady returns nil after [Service.Ready] has succeeded or the context has ended.
//
// While the database is unreachable or busy it tries again, after a wait that is shortened at random by up to a half.
// The jitter keeps processes that lost one database from returning to it all at once. Every other failure is returned,
// because waiting does not end it. The exception is a service that was ready before: what failed since then may
// recover, as it may at any later time.
func (s *Service) awaitReady(ctx context.Context) error {
	wasReady := s.secrets.passed.Load()
	for wait := firstReadyWait; ; wait = min(2*wait, lastReadyWait) {
		err := s.Ready(ctx)
		switch {
		case err == nil:
			return nil
		// The context has ended, so its error is expected and not a failure of the database.
		case ctx.Err() != nil:
			return nil //nolint:nilerr // It is the end of the context.
		case !wasReady && !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrBusy):
			return err
		}
		again := wait - rand.N(wait/2) //nolint:gosec // No secret.
		s.log.WarnContext(ctx, "background work waits for the database", slog.Duration("again", again),
			slog.Any("error", err))
		timer := time.NewTimer(again)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}
