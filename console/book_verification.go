package console

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// verificationWait is how long an act waits for the end of a verification. Verifying small books takes less; for others
// the page shows the progress.
const verificationWait = time.Second

// bookVerification is a verification of books that this process runs, or the last one that it ran.
type bookVerification struct {
	CompanyID   *uuid.UUID              `json:"companyId"` // nil: the books of all companies
	CompanyName string                  `json:"companyName,omitempty"`
	StartedAt   ticketing.Time          `json:"startedAt"`
	Done        int64                   `json:"done"`   // movements that were read
	Total       int64                   `json:"total"`  // movements to read; 0: not counted yet
	Report      *ticketing.LedgerReport `json:"report"` // nil: it runs, or it failed
	Failed      bool                    `json:"failed"`
}

// Runs reports whether the verification has not ended.
func (v bookVerification) Runs() bool { return v.Report == nil && !v.Failed }

// bookVerifier runs one verification at a time.
type bookVerifier struct {
	mu   sync.Mutex
	last *bookVerification
}

// show returns the verification that runs, or that ran last; nil: there was none.
func (b *bookVerifier) show() *bookVerification {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		return nil
	}
	shown := *b.last
	return &shown
}

// start begins a verification. It reports false while another one runs.
func (b *bookVerifier) start(begun bookVerification) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last != nil && b.last.Runs() {
		return false
	}
	b.last = &begun
	return true
}

// change changes the verification that is running.
func (b *bookVerifier) change(by func(*bookVerification)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	by(b.last)
}

// verifyBooks verifies the books of a company, or of all for the zero id. It continues after the request has ended.
func verifyBooks(ctx context.Context, c *call, company ticketing.Company) (outcome, error) {
	begun := bookVerification{CompanyName: company.Name, StartedAt: ticketing.Time{Time: c.now}}
	if company.ID != uuid.Nil {
		begun.CompanyID = &company.ID
	}
	books := &c.console.books
	if !books.start(begun) {
		return outcome{}, conflicted("A check is already running. Wait until it has finished.")
	}
	ended, failed := make(chan struct{}), error(nil)
	go func() {
		defer close(ended)
		ctx := context.WithoutCancel(ctx)
		var report ticketing.LedgerReport
		failed = guarded(func() (err error) {
			report, err = c.operator.VerifyLedger(ctx, company.ID, func(done, total int64) {
				books.change(func(v *bookVerification) { v.Done, v.Total = done, total })
			})
			return err
		})
		if failed != nil {
			c.console.config.Logger.LogAttrs(ctx, slog.LevelError, "books not verified",
				slog.String("requestId", c.exchange.id), slog.String("error", failed.Error()))
		}
		books.change(func(v *bookVerification) {
			if v.Failed = failed != nil; !v.Failed {
				v.Report = &report
			}
		})
	}()
	timer := time.NewTimer(verificationWait)
	defer timer.Stop()
	select {
	case <-ended:
		if isAway(ctx, failed) {
			return outcome{}, failed
		}
	case <-timer.C:
	case <-ctx.Done():
	}
	shown := books.show()
	done := outcome{data: shown, done: "The check is running. This page shows its progress."}
	switch {
	case shown.Failed:
		return outcome{}, conflicted("The check could not finish. Try again in a moment.")
	case shown.Report != nil && shown.Report.OK:
		done.done = "No problems found: " + formatPlural(int(shown.Report.Entries), "movement", "movements") + " checked."
	case shown.Report != nil:
		done.done = "The check found problems. This page lists them."
	}
	return done, nil
}

// formatDuration returns how long something took, in its largest unit: "4 minutes".
func formatDuration(took time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case took < time.Second:
		return "Less than a second"
	case took < time.Minute:
		return formatPlural(int(took/time.Second), "second", "seconds")
	case took < time.Hour:
		return formatPlural(int(took/time.Minute), "minute", "minutes")
	case took < 2*day:
		return formatPlural(int(took/time.Hour), "hour", "hours")
	}
	return formatPlural(int(took/day), "day", "days")
}
