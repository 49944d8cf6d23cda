package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// rebuildPatience is how long a rebuild waits before it looks again at a company that another process counts.
const rebuildPatience = 200 * time.Millisecond

// SalesRebuild is the result of [Operator.RebuildSales].
type SalesRebuild struct {
	Companies int   `json:"companies"`
	Orders    int64 `json:"orders"` // that this call counted; a process that runs [Service.Run] may have counted others
	// Waiting is how many companies have too many facts that wait for their dispatch. A process that runs [Service.Run]
	// dispatches them, and counts the orders of these companies afterwards.
	Waiting int `json:"waiting"`
}

// RebuildSales computes the sums of sales of a company, or with the zero id of all companies, from their orders, and
// enters each order in the index of buyers. Nothing but a process of an earlier version that ran beside newer ones
// makes it necessary: it sold, refunded or admitted, and counted and entered nothing.
//
// A short transaction resets the company, and only for that its sales wait. From then on reports say that no order is
// counted, until the old sums are removed and the orders are counted from the newest, in short transactions with the
// pauses of [Service.Run]. Meanwhile a search of orders by email takes about a second for a million orders. If such a
// process counts the company at the same time, one of the two goes on. It waits for a company that somebody has
// locked, until ctx ends. A rebuild that is interrupted is completed by [Service.Run], or by the same call again. It
// has an entry in the audit log for each company.
//
// At most one progress function may be given. It is called with the number of the orders of a company that need no
// counting any more and with the number of its movements. It must be quick and must not call the service.
//
// It needs tenant:manage.
func (o Operator) RebuildSales(
	ctx context.Context, companyID uuid.UUID, progress ...func(done, total int64),
) (SalesRebuild, error) {
	if err := o.allowWrite(PermissionManage, companyID); err != nil {
		return SalesRebuild{}, err
	}
	var companies []uuid.UUID
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		companies = nil
		return eachCompany(ctx, tx, companyID, func(_ context.Context, page []driver.Company) error {
			for _, company := range page {
				companies = append(companies, company.ID)
			}
			return nil
		})
	})
	if err != nil {
		return SalesRebuild{}, err
	}
	var rebuilt SalesRebuild
	for _, id := range companies {
		if err := untilFree(ctx, func() error { return o.resetSales(ctx, id) }); err != nil {
			return rebuilt, err
		}
		rebuilt.Companies++
		if err := o.s.recount(ctx, id, &rebuilt, progress); err != nil {
			return rebuilt, err
		}
	}
	return rebuilt, nil
}

// recount counts the orders of a company that was reset, until none is left or its facts wait. While another process
// counts them, it waits for that.
func (s *Service) recount(
	ctx context.Context, companyID uuid.UUID, rebuilt *SalesRebuild, progress []func(done, total int64),
) error {
	for expected, head := int64(0), int64(0); ; {
		began := s.now()
		var done counted
		if err := untilFree(ctx, func() (err error) {
			done, err = s.countSales(ctx, companyID, expected)
			return err
		}); err != nil {
			return err
		}
		if done.waits {
			rebuilt.Waiting++
			return nil
		}
		rebuilt.Orders += int64(done.orders)
		if done.left != driver.SalesReset {
			head = max(head, done.left)
			if len(progress) > 0 && head > 0 {
				progress[0](head-done.left, head)
			}
		}
		if done.left == 0 {
			return nil
		}
		rest := countShare * s.now().Sub(began)
		if done.elsewhere {
			rest = max(rest, rebuildPatience)
		}
		if !pause(ctx, rest) {
			return ctx.Err()
		}
		expected = done.left
	}
}

// untilFree makes a change again while somebody holds a lock for long. Nothing was written by then, and the other
// companies need not be rebuilt again.
func untilFree(ctx context.Context, change func() error) error {
	for {
		err := change()
		if !errors.Is(err, ErrBusy) {
			return err
		}
		if !pause(ctx, rebuildPatience) {
			return ctx.Err()
		}
	}
}

// resetSales marks a company as one of which no order is counted. What it has is removed later, by countSales.
//
// The exclusive gate keeps out everything that counts: afterwards it sees the mark.
func (o Operator) resetSales(ctx context.Context, companyID uuid.UUID) error {
	return o.changeExclusive(ctx, PermissionManage, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			err := tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: companyID, Uncounted: driver.SalesReset})
			if err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "sales.rebuild", companyID, about("company", companyID), changes{})
		})
}
