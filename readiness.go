package ticketing

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Waits between two tries of [Service.Run] to begin: they double from the first to the last.
const (
	firstReadyWait = 100 * time.Millisecond
	lastReadyWait  = 5 * time.Second
)

// awaitReady returns nil when [Service.Ready] does or the context ends. While the database cannot be reached or is busy it
// tries again, after a wait with up to half of jitter, so that processes that lost one database do not return to it at
// once. Any other failure is one that waiting does not end, unless the service was ready before: what failed since then
// may come back, as it may an hour later.
func (s *Service) awaitReady(ctx context.Context) error {
	wasReady := s.secrets.passed.Load()
	for wait := firstReadyWait; ; wait = min(2*wait, lastReadyWait) {
		err := s.Ready(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return nil //nolint:nilerr // It is the end of the context.
		case !wasReady && !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrBusy):
			return err
		}
		again := wait - rand.N(wait/2) //nolint:gosec // No secret.
		s.log.WarnContext(ctx, "background work waits for the database", slog.Duration("again", again), slog.Any("error", err))
		timer := time.NewTimer(again)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}
