package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// SalesRebuild is the result of [Operator.RebuildSales].
type SalesRebuild struct {
	Companies int   `json:"companies"`
	Orders    int64 `json:"orders"` // that were counted
	// Waiting is how many companies have too many facts that wait for their dispatch. A process that runs [Service.Run]
	// dispatches them, and counts the orders of these companies afterwards.
	Waiting int `json:"waiting"`
}

// RebuildSales computes the sums of sales of a company, or with the zero id of all companies, from their orders.
// Nothing but a process of an earlier version that ran beside newer ones makes it necessary: it sold, refunded or
// admitted and counted nothing.
//
// The sums of a company begin at zero, and the orders are counted from the newest in short transactions. Sales go on
// meanwhile. A rebuild that is interrupted is completed by [Service.Run], or by the same call again. It has an entry in
// the audit log for each company.
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
		head, err := o.resetSales(ctx, id)
		if err != nil {
			return rebuilt, err
		}
		rebuilt.Companies++
		for left := head; left > 0; {
			done, err := o.s.countSales(ctx, id)
			if err != nil {
				return rebuilt, err
			}
			if done.waits {
				rebuilt.Waiting++
				break
			}
			rebuilt.Orders += int64(done.orders)
			left = done.left
			if len(progress) > 0 {
				progress[0](head-left, head)
			}
		}
	}
	return rebuilt, nil
}

// resetSales removes a company's sums, and returns the highest number that an order may have, up to which none is
// counted then. The exclusive gate keeps out everything that counts: afterwards it sees that number.
func (o Operator) resetSales(ctx context.Context, companyID uuid.UUID) (head int64, err error) {
	err = o.changeExclusive(ctx, PermissionManage, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			float, err := firstRecord(tx.Wallets(ctx, driver.WalletRefs(companyID)[:1]))
			if err != nil {
				return err
			}
			head = float.Sequence
			if err := tx.DeleteSalesSums(ctx, companyID); err != nil {
				return err
			}
			err = tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: companyID, Uncounted: head})
			if err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "sales.rebuild", companyID, about("company", companyID),
				changes{after: map[string]any{"uncounted": head}})
		})
	return head, err
}
