// Package books verifies the books of companies: that every movement has its cause, every cause its movement, and that
// orders, admissions, spent idempotency keys and facts agree. It reads records through [driver.ReadTx] and knows no
// service.
//
// Records are streamed in pages, so books of any length take the same memory. One goroutine reads the transaction while
// another one checks what was read.
package books

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// maxProblems is how many problems a report lists one by one.
const maxProblems = 100

// Report is the result of a verification.
type Report struct {
	OK       bool
	Wallets  int
	Entries  int64
	Problems []string // at most a hundred, and then one line that counts the others
	Notes    []string // what was not verified, and why; at most a hundred, and then one line that counts the others
}

// Check verifies the books of one company after another and collects the problems.
//
// It holds a few pages of each stream, however long the books are.
type Check struct {
	Config

	report      Report
	found       int
	noted       int
	read, total int64 // of movements
}

// Config is what a verification needs.
type Config struct {
	// Tx is the snapshot that is read.
	Tx driver.ReadTx
	// Now is the time from before the first read.
	Now time.Time
	// Progress is called with the number of movements read so far and their total. Nil is not called.
	Progress func(done, total int64)
	// CrossesLowBalance reports whether an order took FLOAT below LowBalance.
	CrossesLowBalance func(*driver.Order) bool
	LowBalance        money.Amount
	// FactRetention is the shortest time for which facts are kept.
	FactRetention time.Duration
	// Checkouts and Validations are the operations that idempotency keys are scoped by. Admitted is the outcome of a
	// validation that admitted somebody.
	Checkouts, Validations, Admitted string
	// MaxRates is how many entries of a commission schedule are read, the newest.
	MaxRates int
}

// New returns a verification that has not read anything.
func New(config Config) *Check {
	return &Check{Config: config, report: Report{Problems: []string{}}}
}

// Expect adds the movements of companies to the total that Progress is called with: the sequence of a wallet is the
// number of its movements.
func (b *Check) Expect(ctx context.Context, companies []driver.Company) error {
	refs := make([]driver.WalletRef, 0, 2*len(companies))
	for _, company := range companies {
		refs = append(refs, driver.WalletRefs(company.ID)...)
	}
	wallets, err := b.Tx.Wallets(ctx, refs)
	for _, wallet := range wallets {
		b.total += wallet.Sequence
	}
	return err
}

// Expected returns the movements that Expect added up.
func (b *Check) Expected() int64 { return b.total }

// Orphans reports the companies that records name and that do not exist.
func (b *Check) Orphans(ctx context.Context) error {
	// One more than the report lists shows that there are more.
	orphans, err := b.Tx.OrphanCompanies(ctx, maxProblems+1)
	for _, id := range orphans {
		b.problem(fmt.Sprintf("company %s has records, but does not exist", id))
	}
	return err
}

// Report returns the report. A final line counts the problems, and another one the notes, that it does not list.
func (b *Check) Report() Report {
	b.report.OK = b.found == 0
	b.report.Problems = withRest(b.report.Problems, b.found)
	b.report.Notes = withRest(b.report.Notes, b.noted)
	return b.report
}

// withRest returns the lines that are listed of all, and one more that counts the others if there are any.
func withRest(listed []string, all int) []string {
	if more := all - len(listed); more > 0 {
		return append(listed, fmt.Sprintf("and %d more", more))
	}
	return listed
}

// Counts returns how many movements were verified and how many problems were found so far.
func (b *Check) Counts() (entries, problems int64) { return b.report.Entries, int64(b.found) }

// problem adds a problem to the report. It counts every problem and keeps only the first ones, so that broken books do
// not fill the memory.
func (b *Check) problem(text string) {
	b.found++
	if len(b.report.Problems) < maxProblems {
		b.report.Problems = append(b.report.Problems, text)
	}
}

// note says what was not verified. It is no problem.
func (b *Check) note(text string) {
	b.noted++
	if len(b.report.Notes) < maxProblems {
		b.report.Notes = append(b.report.Notes, text)
	}
}

// progressed calls the progress function with the number of movements read so far.
func (b *Check) progressed(movements int) {
	b.read += int64(movements)
	if b.Progress != nil {
		b.Progress(b.read, b.total)
	}
}

// Company verifies one company's books. This goroutine reads the transaction, and another one checks what was read. The
// checks after that compare totals, and they search for single records only where totals differ.
//
// Reads of a company travel together where the store can ([driver.Announcer]), except for the pages of long books.
func (b *Check) Company(ctx context.Context, company driver.Company) error {
	refs := driver.WalletRefs(company.ID)
	b.announce(ctx, func(ctx context.Context) {
		_, _ = b.Tx.Wallets(ctx, refs)
		_, _ = b.Tx.ListRates(ctx, company.ID, b.MaxRates)
		_, _ = b.Tx.CurrentBankAccount(ctx, company.ID)
		_, _ = b.Tx.SalesProgress(ctx, []uuid.UUID{company.ID})
		_, _ = b.Tx.ListFacts(ctx, company.ID, driver.Position{}, 1)
	})
	wallets, err := b.Tx.Wallets(ctx, refs)
	if err != nil {
		return err
	}
	for i, ref := range refs {
		wallets[i].CompanyID, wallets[i].Kind = ref.CompanyID, ref.Wallet // A missing wallet may have movements.
	}
	of := newCompanyBooks(b, company, wallets)
	// The schedule is read as a whole, up to MaxRates entries.
	if of.schedule, err = b.Tx.ListRates(ctx, company.ID, b.MaxRates); err != nil {
		return err
	}
	slices.SortFunc(of.schedule, func(a, b driver.Rate) int { return compareRates(&a, &b) })
	account, err := b.Tx.CurrentBankAccount(ctx, company.ID)
	if err != nil {
		return err
	}
	of.accounts = account.Version
	progress, err := b.Tx.SalesProgress(ctx, []uuid.UUID{company.ID})
	if err != nil {
		return err
	}
	of.counted.uncounted, of.head = progress[0].Uncounted, wallets[0].Sequence
	if err := of.findFacts(ctx, b.Now); err != nil {
		return err
	}
	of.announceShort(ctx, wallets)
	if err := of.feed.run(ctx, of.check); err != nil {
		return err
	}
	for _, check := range []func(context.Context) error{
		of.counts, of.blame, of.wallets, of.stock, of.spent, of.matchFacts, of.matchSums, of.matchIndex,
	} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	b.report.Entries += of.chains.Entries()
	return nil
}

// announce announces the reads that a function makes through Tx, where the transaction can make them together.
func (b *Check) announce(ctx context.Context, reads func(ctx context.Context)) {
	announcer, ok := b.Tx.(driver.Announcer)
	if !ok {
		return
	}
	announcer.Announce(ctx, func(ctx context.Context, tx driver.ReadTx) {
		before := b.Tx
		defer func() { b.Tx = before }()
		b.Tx = tx
		reads(ctx)
	})
}

// announceShort announces what is read in any case if the books of a company are so short that each stream is a page.
// Otherwise one message would hold pages that are not needed yet.
func (b *companyBooks) announceShort(ctx context.Context, wallets []driver.Wallet) {
	if wallets[0].Sequence > bookPage || wallets[1].Sequence > bookPage {
		return
	}
	id, end := b.record.ID, wallets[0].Sequence
	b.announce(ctx, func(ctx context.Context) {
		announceAll(ctx, b.readMovements(wallets[0]))
		announceAll(ctx, b.readOrders(end))
		announceAll(ctx, b.readAdmissions(end))
		announceAll(ctx, b.readMovements(wallets[1]))
		announceAll(ctx, b.readEndings())
		announceAll(ctx, b.readSettlements())
		announceAll(ctx, b.readFacts())
		_, _ = b.Tx.CountFloatCredits(ctx, id)
		_, _ = b.Tx.Wallets(ctx, driver.WalletRefs(id))
		_, _ = b.Tx.StockTotals(ctx, id)
		_ = b.subjects(b.Checkouts, "")(ctx, func(uuid.UUID) {})
		_ = b.subjects(b.Validations, b.Admitted)(ctx, func(uuid.UUID) {})
		_, _ = b.Tx.ListFacts(ctx, id, driver.Position{}, bookPage)
	})
}

// announceAll makes the reads of a stream whose pages are announced and so have no records.
func announceAll[T any](ctx context.Context, read func(context.Context) (T, bool, error)) {
	_ = eachOf(ctx, read, func(T) {})
}

// Add adds the result of a verification of other companies, as if this one had verified them after its own.
func (b *Check) Add(of *Check) {
	b.report.Wallets += of.report.Wallets
	b.report.Entries += of.report.Entries
	for _, text := range of.report.Problems {
		b.problem(text)
	}
	b.found += of.found - len(of.report.Problems)
	for _, text := range of.report.Notes {
		b.note(text)
	}
	b.noted += of.noted - len(of.report.Notes)
}
