package ticketing

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/books"
)

const (
	// verifyLanes is how many snapshots a verification of all companies reads at once if companies are kept in different
	// places. Each holds a connection.
	verifyLanes = 4
	// verifiedTogether is how many companies are read in one snapshot.
	verifiedTogether = 10
)

// verifySideBySide verifies the books of all companies, several at once. A snapshot of a store that keeps companies in
// different places is of one moment for a company, and not for all of them: so the snapshots of several companies prove
// the same. A page of companies is verified before the next one is read, which bounds the memory.
func (s *Service) verifySideBySide(
	ctx context.Context, config books.Config, _ uuid.UUID,
) (check *books.Check, checks []driver.BookCheck, err error) {
	meter := &verifyMeter{progress: config.Progress}
	config.Progress = nil
	if meter.progress != nil {
		if err := s.expectAll(ctx, config, meter); err != nil {
			return nil, nil, err
		}
	}
	check = books.New(config)
	for after := (driver.Position{}); ; {
		var page []driver.Company
		err := s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
			page, err = tx.ListCompanies(ctx, after, MaxPageLimit)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		results, err := s.verifyPage(ctx, config, meter, page)
		if err != nil {
			return nil, nil, err
		}
		for _, result := range results {
			check.Add(result.check)
			checks = append(checks, result.checks...)
		}
		if len(page) < MaxPageLimit {
			break
		}
		last := page[len(page)-1]
		after = driver.Position{At: last.CreatedAt, ID: last.ID}
	}
	err = s.wholeSnapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		config.Tx = tx
		orphans := books.New(config)
		if err := orphans.Orphans(ctx); err != nil {
			return err
		}
		check.Add(orphans)
		return nil
	})
	return check, checks, err
}

// verified is the result of the companies of one snapshot.
type verified struct {
	check  *books.Check
	checks []driver.BookCheck
}

// verifyPage verifies companies in several snapshots at once. The results are in the order of the companies. After a
// failure it begins no further snapshot.
func (s *Service) verifyPage(
	ctx context.Context, config books.Config, meter *verifyMeter, companies []driver.Company,
) ([]verified, error) {
	parts := slices.Collect(slices.Chunk(companies, verifiedTogether))
	results := make([]verified, len(parts))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var lanes sync.WaitGroup
	free := make(chan struct{}, verifyLanes)
	for i, part := range parts {
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		// The store may run the snapshot again, which then counts from its beginning.
		progress := meter.lane()
		lanes.Go(func() {
			defer func() { <-free }()
			err := s.wholeSnapshot(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
				own := config
				own.Tx, own.Progress = tx, progress
				results[i].check = books.New(own)
				results[i].checks, err = verifyCompanies(ctx, results[i].check, part, nil)
				return err
			})
			if err != nil {
				cancel(err)
			}
		})
	}
	lanes.Wait()
	return results, context.Cause(ctx)
}

// expectAll counts the movements of all companies, for the total of the progress.
func (s *Service) expectAll(ctx context.Context, config books.Config, meter *verifyMeter) error {
	return s.wholeSnapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		config.Tx = tx
		expected := books.New(config)
		err := eachCompany(ctx, tx, uuid.Nil, expected.Expect)
		meter.total = expected.Expected()
		return err
	})
}

// verifyMeter adds up the progress of several snapshots.
type verifyMeter struct {
	progress func(done, total int64) // nil: nobody asks
	total    int64

	mu   sync.Mutex
	done int64
}

// lane returns the progress function of one snapshot.
func (m *verifyMeter) lane() func(done, total int64) {
	if m.progress == nil {
		return nil
	}
	var before int64
	return func(done, _ int64) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.done += done - before
		before = done
		m.progress(m.done, m.total)
	}
}
