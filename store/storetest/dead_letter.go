package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// deadLettersCounted counts the deliveries that failed, by the time at which they did.
func deadLettersCounted(ctx context.Context, s driver.Store) error {
	n := 10
	dead := func(companyID uuid.UUID, failed int) driver.Delivery {
		n++
		// The later a delivery failed, the earlier it was made.
		delivery := final(newDelivery(companyID, n, at(1000-failed)), driver.DeliveryFailed)
		delivery.FinishedAt = at(failed)
		return delivery
	}
	sent, cancelled, waiting := dead(companyA, 30), dead(companyA, 30), newDelivery(companyA, 9, at(30))
	sent.Status, cancelled.Status = driver.DeliverySucceeded, driver.DeliveryCancelled
	all := []driver.Delivery{
		sent, cancelled, waiting, dead(companyA, 10), dead(companyA, 20), dead(companyB, 20), dead(companyA, 30),
		dead(companyB, 40), dead(companyB, 50),
	}
	put := func(ctx context.Context, tx driver.Tx) error { return tx.AppendDeliveries(ctx, all) }
	counts := func(since, limit int, ofA, ofB int) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			var counted []driver.DeadLetters
			if ofA > 0 {
				counted = append(counted, driver.DeadLetters{CompanyID: companyA, Count: ofA})
			}
			if ofB > 0 {
				counted = append(counted, driver.DeadLetters{CompanyID: companyB, Count: ofB})
			}
			return want(fmt.Sprintf("%d since %d", limit, since), counted).
				from(tx.CountDeadLetters(ctx, at(since), limit))
		}
	}
	holds := func(all ...reads) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				var errs []error
				for _, read := range all {
					errs = append(errs, read(ctx, tx))
				}
				return errors.Join(errs...)
			})
		}
	}
	failed := waiting
	failed.Status, failed.FinishedAt = driver.DeliveryFailed, at(60)
	fail := func(ctx context.Context, tx driver.Tx) error {
		return tx.UpdateDeliveries(ctx, []driver.Delivery{failed})
	}
	kept := holds(
		counts(0, 99, 3, 3), counts(11, 99, 2, 3), counts(20, 99, 2, 3), counts(31, 99, 0, 2), counts(51, 99, 0, 0),
		// Those that failed last count first; those that failed at the same time count by company.
		counts(0, 2, 0, 2), counts(0, 3, 1, 2), counts(0, 4, 1, 3), counts(0, 5, 2, 3), counts(0, 0, 0, 0),
	)
	return steps(
		func() error { return failing(ctx, s, put) },
		holds(counts(0, 99, 0, 0)),
		func() error { return update(ctx, s, put) },
		kept,
		func() error { return failing(ctx, s, fail) },
		kept,
		func() error { return update(ctx, s, fail) },
		holds(counts(0, 99, 4, 3), counts(60, 99, 1, 0)),
		func() error {
			return update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				_, err := tx.PruneDeliveries(ctx, companyB, at(2000), 99)
				return err
			})
		},
		holds(counts(0, 99, 4, 0)),
	)
}
