package ticketing

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// BookCheck is the result of the last verification of a company's books.
type BookCheck struct {
	VerifiedAt Time  `json:"verifiedAt"` // when the verification began
	OK         bool  `json:"ok"`         // whether there is no problem
	Entries    int64 `json:"entries"`    // the movements that were verified
	Problems   int64 `json:"problems"`   // how many there are; [Operator.VerifyLedger] names them
}

// CompanyBooks is a company and when its books were verified.
type CompanyBooks struct {
	CompanyID   uuid.UUID  `json:"companyId"`
	CompanyName string     `json:"companyName"`
	LastCheck   *BookCheck `json:"lastCheck"` // nil: never
}

// ListBookChecks returns a page of all companies, oldest first, with the last verification of the books of each. A
// limit outside 1 to 100 is INVALID_REQUEST, a cursor of another listing INVALID_CURSOR. It needs COMPANY:wallet:read
// and is only for staff: an administrator of a company gets NOT_FOUND.
func (o Operator) ListBookChecks(ctx context.Context, params PageParams) (Page[CompanyBooks], error) {
	if err := o.allow(PermissionWalletRead, uuid.Nil); err != nil {
		return Page[CompanyBooks]{}, err
	}
	list, err := openListing(byTime(func(c driver.Company) driver.Position {
		return driver.Position{At: c.CreatedAt, ID: c.ID}
	}), params, nil, "book checks")
	if err != nil {
		return Page[CompanyBooks]{}, err
	}
	var page Page[CompanyBooks]
	err = o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		companies, err := tx.ListCompanies(ctx, list.after, list.limit)
		if err != nil {
			return err
		}
		companies, page.HasMore, page.NextCursor = list.cut(companies)
		ids := make([]uuid.UUID, len(companies))
		for i, company := range companies {
			ids[i] = company.ID
		}
		checks, err := tx.BookChecks(ctx, ids)
		if err != nil {
			return err
		}
		page.Items = make([]CompanyBooks, len(companies))
		for i, company := range companies {
			page.Items[i] = CompanyBooks{CompanyID: company.ID, CompanyName: company.Name}
			if check := checks[i]; !check.VerifiedAt.IsZero() {
				page.Items[i].LastCheck = &BookCheck{
					VerifiedAt: Time{Time: check.VerifiedAt}, OK: check.Problems == 0, Entries: check.Entries,
					Problems: check.Problems,
				}
			}
		}
		return nil
	})
	if err != nil {
		return Page[CompanyBooks]{}, err
	}
	return page, nil
}

const (
	// bookChecksAtOnce is how many verifications are kept in one transaction.
	bookChecksAtOnce = 100
	// bookChecksPatience is how long a transaction that keeps them may wait to begin.
	bookChecksPatience = 5 * time.Second
)

// keepBookChecks keeps when books were verified. That is a note beside the report: where it cannot be written, as on a
// standby, the report stands, and the log has a warning. A service that is bound to a transaction of the host keeps
// nothing, because a failed write would end that transaction.
func (s *Service) keepBookChecks(ctx context.Context, checks []driver.BookCheck) {
	if s.bound {
		return
	}
	// Verifications that run at once lock the rows in one order.
	slices.SortFunc(checks, func(a, b driver.BookCheck) int { return bytes.Compare(a.CompanyID[:], b.CompanyID[:]) })
	for some := range slices.Chunk(checks, bookChecksAtOnce) {
		if err := s.putBookChecks(ctx, some); err != nil {
			s.log.WarnContext(ctx, "the verification of the books was not recorded", "error", err)
			return
		}
	}
}

// putBookChecks keeps some verifications in one transaction. It needs no gate, because nothing is decided by them.
func (s *Service) putBookChecks(ctx context.Context, checks []driver.BookCheck) error {
	ctx, cancel := context.WithTimeout(ctx, bookChecksPatience)
	defer cancel()
	return s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{LockTimeout: bookChecksPatience}); err != nil {
			return err
		}
		return tx.PutBookChecks(ctx, checks)
	})
}
