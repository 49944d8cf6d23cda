package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/books"
)

// LedgerReport is the result of [Operator.VerifyLedger]. OK means that there is no problem. Wallets and Entries are how
// many of them were verified.
type LedgerReport struct {
	OK      bool  `json:"ok"`
	Wallets int   `json:"wallets"`
	Entries int64 `json:"entries"`
	// Problems lists at most a hundred problems. If there are more, one further line says how many.
	Problems []string `json:"problems"`
	// Notes says what was not verified, and why: sums of sales and the index of buyers while orders are not
	// counted yet. It is no problem.
	Notes []string `json:"notes,omitempty"`
}

// VerifyLedger verifies one company's books, or for the zero id those of all companies, as they stood at one moment.
// If companies are kept in different places ([Grouping].ByCompany), several are verified at once, and the moment is
// that of a company:
//
//   - Every hash chain is complete, from its genesis to the head that the wallet keeps (package ledger).
//   - Every funding has its reference, and every reference its funding.
//   - Every order has exactly one debit of its gross and one accrual of its commission. They come in the order of the
//     orders, with the balances and times that the order states, and there are no others. So the debits of FLOAT add up
//     to the gross of all orders, and the accruals to their commission.
//   - An order's lines add up to its gross. Its commission is what its rate gives on that gross, and the rate was in
//     force.
//   - A refunded order has exactly one refund in FLOAT and one reversal in EARNINGS, and no other order has any. Its
//     admissions are void, as are those of a cancelled order.
//   - Every settlement has its debit of all that EARNINGS held. A rejected one has exactly one refund, and no other has
//     any.
//   - Every tier has as many admissions as were created in its batches. As many count as sold as there are sold
//     admissions that were not put back on sale.
//   - Every order is the subject of exactly one spent key of a checkout, and no such key names anything else.
//   - Every validated admission was admitted by exactly one validation, and no validation admitted any other.
//   - Every order and every validated admission has its facts in the outbox once, and there are no others. An order
//     that took FLOAT below [LowBalance] has balance.low among them. [Config.FactRetention] removes the oldest facts
//     first. So the facts of what is older than both the oldest remaining fact and half an hour are not expected.
//   - The sums of sales equal what the orders, refunds and validations add up to, except what is not counted yet. They
//     are not compared for a company whose books are wrong otherwise, nor for one whose sums are being rebuilt, which
//     has a note in the report.
//   - The index of buyers has every order whose fact is dispatched and that is counted.
//   - For the zero id, no record belongs to a company that does not exist.
//
// A problem is a line of the report and not an error. VerifyLedger uses the same memory for books of any length.
//
// At most one progress function may be given. It is called now and then with the number of movements read so far and
// with their total. It must be quick and must not call the service. Its count starts again if the reading is retried.
//
// It keeps when the books of each company were verified and with what result, for [Operator.ListBookChecks]. Where that
// cannot be written, as on a standby, it returns the report all the same, and [Config.Logger] gets a warning. A service
// from [Service.WithStore] does not keep it.
//
// It needs COMPANY:wallet:read.
func (o Operator) VerifyLedger(
	ctx context.Context, companyID uuid.UUID, progress ...func(done, total int64),
) (LedgerReport, error) {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return LedgerReport{}, err
	}
	// The rules that are the service's own go in as values and functions: package books knows none of them.
	config := books.Config{
		Now: o.s.now(), CrossesLowBalance: crossesLowBalance, LowBalance: LowBalance, FactRetention: minFactRetention,
		Checkouts: opCheckout, Validations: opValidate, Admitted: string(OutcomeAdmitted), MaxRates: maxListed,
	}
	if len(progress) > 0 {
		config.Progress = progress[0]
	}
	verify := o.s.verifyAtOneMoment
	if o.s.byCompany && !o.s.bound && companyID == uuid.Nil {
		verify = o.s.verifySideBySide
	}
	check, checks, err := verify(ctx, config, companyID)
	if err != nil {
		return LedgerReport{}, err
	}
	o.s.keepBookChecks(ctx, checks)
	return LedgerReport(check.Report()), nil
}

// verifyAtOneMoment verifies one company, or for the zero id all of them, in one snapshot.
func (s *Service) verifyAtOneMoment(
	ctx context.Context, config books.Config, companyID uuid.UUID,
) (check *books.Check, checks []driver.BookCheck, err error) {
	err = s.wholeSnapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		config.Tx, checks = tx, nil
		// The snapshot may be read again after a failure, so each reading starts a check of its own.
		check = books.New(config)
		if config.Progress != nil {
			if err := eachCompany(ctx, tx, companyID, check.Expect); err != nil {
				return err
			}
		}
		err := eachCompany(ctx, tx, companyID, func(ctx context.Context, companies []driver.Company) (err error) {
			checks, err = verifyCompanies(ctx, check, companies, checks)
			return err
		})
		if err != nil || companyID != uuid.Nil {
			return err
		}
		// Orphans belong to no company, so they are looked for once and only for all companies.
		return check.Orphans(ctx)
	})
	return check, checks, err
}

// verifyCompanies verifies companies one after the other, and appends what is kept of that.
func verifyCompanies(
	ctx context.Context, check *books.Check, companies []driver.Company, checks []driver.BookCheck,
) ([]driver.BookCheck, error) {
	for _, company := range companies {
		entries, problems := check.Counts()
		if err := check.Company(ctx, company); err != nil {
			return checks, err
		}
		allEntries, allProblems := check.Counts()
		checks = append(checks, driver.BookCheck{
			CompanyID: company.ID, VerifiedAt: check.Now, Entries: allEntries - entries, Problems: allProblems - problems,
		})
	}
	return checks, nil
}

// eachCompany calls yield with pages of companies: with one company, or for the zero id with all of them, oldest first.
func eachCompany(
	ctx context.Context, tx driver.ReadTx, companyID uuid.UUID, yield func(context.Context, []driver.Company) error,
) error {
	if companyID != uuid.Nil {
		company, err := findCompany(ctx, tx, companyID)
		if err != nil {
			return err
		}
		return yield(ctx, []driver.Company{company})
	}
	for after := (driver.Position{}); ; {
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
		after = driver.Position{At: last.CreatedAt, ID: last.ID}
	}
}
