package ticketing

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// maxProblems is how many problems a report tells one by one.
const maxProblems = 100

// SoldPlace is where a sold admission stands among those of its company: by the number of its order, then by its line.
type SoldPlace struct {
	Number int64
	Line   int
}

// SoldQuery asks for a part of what a company sold, lowest number first.
type SoldQuery struct {
	CompanyID uuid.UUID
	After     SoldPlace // to begin behind; of orders its Number alone counts
	// Last is the number of the order to end with; 0 is no end. Who reads far more than a page names one, so that no
	// database thinks of reading all that follows and sorting it.
	Last  int64
	Limit int
}

// SubjectQuery asks for a part of the spent keys of an operation, lowest key first, byte by byte.
type SubjectQuery struct {
	CompanyID          uuid.UUID
	Operation, Outcome string
	After              string // the key to begin behind
	Limit              int
}

// KeySubject is a spent key and what it names.
type KeySubject struct {
	Key     string
	Subject uuid.UUID
}

// BookReader finds what the verification of a company's books goes through from its beginning to its end.
type BookReader interface {
	// ListSoldOrders answers with orders, by number, without their buyers.
	ListSoldOrders(ctx context.Context, query SoldQuery) ([]OrderRecord, error)
	// ListSoldAdmissions answers with admissions, by order and line, without their LineID, Title and Location.
	ListSoldAdmissions(ctx context.Context, query SoldQuery) ([]AdmissionRecord, error)
	// FloatCredits finds a company's fundings by their references.
	FloatCredits(ctx context.Context, companyID uuid.UUID, references []string) ([]FloatCreditRecord, error)
	// ListSubjects answers with the spent keys of an operation that had an outcome and what they name, by key.
	ListSubjects(ctx context.Context, query SubjectQuery) ([]KeySubject, error)
	// StrayCompanies answers with the ids, lowest first, that orders, admissions, movements or other records of the
	// books name as their company, and that no company has.
	StrayCompanies(ctx context.Context, limit int) ([]uuid.UUID, error)
}

// LedgerReport is what a verification found.
type LedgerReport struct {
	OK      bool  `json:"ok"`
	Wallets int   `json:"wallets"`
	Entries int64 `json:"entries"`
	// Problems are at most a hundred, and then how many more there are.
	Problems []string `json:"problems"`
}

// VerifyLedger proves one company's books, or (the zero id) everybody's, as they stood at one moment:
//
//   - every chain is whole, from its genesis to the head that the wallet keeps (package ledger);
//   - every funding has its reference and every reference its funding;
//   - every order has exactly one debit of its gross and one accrual of its commission, in the same order, with the
//     balances and times that the order tells, and there are no others: so the debits of FLOAT add up to the gross of
//     all orders, and the accruals to their commission;
//   - an order's lines add up to its gross, and its commission is what its rate makes of it, which was in force;
//   - a refunded order has exactly one refund in FLOAT and one reversal in EARNINGS, no other has any, and its
//     admissions are void, as those of a cancelled one are;
//   - every settlement has its debit of all that EARNINGS held, a rejected one exactly one refund, no other any;
//   - every tier has as many admissions as were created in its batches, and as many sold as there are sold admissions
//     that were not put back on sale;
//   - every order is what exactly one spent key of a checkout names, and no such key names anything else;
//   - every validated admission was admitted by exactly one validation, and no validation admitted any other;
//   - every order and every validated admission has its facts in the outbox once, balance.low among them where the order
//     took FLOAT below [LowBalance], and there are no others. [Config.FactRetention] removes the oldest first, so nothing
//     is missed of what is older than the oldest fact that is left, and than half an hour;
//   - of everybody's books, none is of a company that is not there.
//
// It takes the same memory for books of any length. progress, of which there is at most one, is told now and then how
// many movements were read, of how many; it must be quick, must not call the service, and may be told from the beginning
// again where the reading is tried again. It needs COMPANY:wallet:read.
func (o Operator) VerifyLedger(
	ctx context.Context, companyID uuid.UUID, progress ...func(done, total int64),
) (LedgerReport, error) {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return LedgerReport{}, err
	}
	var books *bookCheck
	now := o.s.now()
	err := o.s.wholeSnapshot(ctx, func(ctx context.Context, tx ReadTx) error {
		books = &bookCheck{tx: tx, now: now, report: LedgerReport{Problems: []string{}}}
		if len(progress) > 0 {
			books.progress = progress[0]
			err := eachCompany(ctx, tx, companyID, func(ctx context.Context, companies []CompanyRecord) error {
				wallets, err := tx.Wallets(ctx, walletRefsOf(companies))
				for _, wallet := range wallets {
					books.total += wallet.Sequence
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		err := eachCompany(ctx, tx, companyID, func(ctx context.Context, companies []CompanyRecord) error {
			for _, company := range companies {
				if err := books.company(ctx, company); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || companyID != uuid.Nil {
			return err
		}
		strays, err := tx.StrayCompanies(ctx, maxProblems+1)
		for _, id := range strays {
			books.problem(fmt.Sprintf("company %s has records, and there is no such company", id))
		}
		return err
	})
	if err != nil {
		return LedgerReport{}, err
	}
	return books.done(), nil
}

// eachCompany hands over one company, or (the zero id) all, oldest first, in portions.
func eachCompany(
	ctx context.Context, tx ReadTx, companyID uuid.UUID, yield func(context.Context, []CompanyRecord) error,
) error {
	if companyID != uuid.Nil {
		company, err := findCompany(ctx, tx, companyID)
		if err != nil {
			return err
		}
		return yield(ctx, []CompanyRecord{company})
	}
	for after := (Position{}); ; {
		companies, err := tx.ListCompanies(ctx, after, MaxPageLimit)
		if err != nil {
			return err
		}
		if err := yield(ctx, companies); err != nil {
			return err
		}
		if len(companies) < MaxPageLimit {
			return nil
		}
		last := companies[len(companies)-1]
		after = Position{At: last.CreatedAt, ID: last.ID}
	}
}

func walletRefsOf(companies []CompanyRecord) []WalletRef {
	refs := make([]WalletRef, 0, 2*len(companies))
	for _, company := range companies {
		refs = append(refs, walletRefs(company.ID)...)
	}
	return refs
}

// bookCheck goes through the books of one company after another and gathers what is wrong.
type bookCheck struct {
	tx          ReadTx
	report      LedgerReport
	found       int
	progress    func(done, total int64)
	read, total int64     // movements
	now         time.Time // from before the first reading
}

func (b *bookCheck) done() LedgerReport {
	b.report.OK = b.found == 0
	if more := b.found - len(b.report.Problems); more > 0 {
		b.report.Problems = append(b.report.Problems, fmt.Sprintf("and %d more", more))
	}
	return b.report
}

func (b *bookCheck) problem(text string) {
	b.found++
	if len(b.report.Problems) < maxProblems {
		b.report.Problems = append(b.report.Problems, text)
	}
}

// tell says how far the reading is.
func (b *bookCheck) tell(movements int) {
	b.read += int64(movements)
	if b.progress != nil {
		b.progress(b.read, b.total)
	}
}

// company goes through one company's books: the transaction is read here, and what was read is checked beside it.
func (b *bookCheck) company(ctx context.Context, company CompanyRecord) error {
	refs := walletRefs(company.ID)
	wallets, err := b.tx.Wallets(ctx, refs)
	if err != nil {
		return err
	}
	for i, ref := range refs {
		wallets[i].CompanyID, wallets[i].Wallet = ref.CompanyID, ref.Wallet // Movements may be there without it.
	}
	of := newCompanyBooks(b, company, wallets)
	if of.schedule, err = b.tx.ListRates(ctx, company.ID, maxListed); err != nil {
		return err
	}
	slices.SortFunc(of.schedule, func(a, b RateRecord) int { return compareRates(&a, &b) })
	account, err := b.tx.CurrentBankAccount(ctx, company.ID)
	if err != nil {
		return err
	}
	of.accounts = account.Version
	if err := of.findFacts(ctx, b.now); err != nil {
		return err
	}
	if err := of.feed.run(ctx, of.check); err != nil {
		return err
	}
	for _, check := range []func(context.Context) error{of.counts, of.blame, of.wallets, of.stock, of.spent, of.matchFacts} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	b.report.Entries += of.chains.Entries()
	return nil
}
