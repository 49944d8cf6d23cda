package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// minFactRetention is the shortest time for which facts are kept. [New] raises a shorter [Config.FactRetention] to it.
const minFactRetention = time.Hour

// Bounds of pruning. A batch is one transaction for one company, short enough not to delay its sales.
const (
	pruneInterval = 5 * time.Minute // from the start of one round to the next
	pruneBatch    = 1000            // the most records of a kind that one transaction removes
)

// prune removes what is older than its retention, and fails mails that are too old to be sent, in small transactions
// that hold the gate shared with sales. Retired secrets are removed as soon as they are unused. Facts are removed only
// if [Config.FactRetention] is set. Orders, ledger entries and the audit log are never removed.
//
// One query returns up to a thousand companies that have something to remove, so an idle service asks almost nothing. A
// prune that starts again continues where the last one ended, since what was removed is not found again.
func (s *Service) prune(ctx context.Context) error {
	now := s.now()
	failed := errors.Join(s.pruneSecrets(ctx), s.pruneKind(ctx, driver.WorkPrune, now.Add(-s.webhookRetention)),
		s.expireMails(ctx), s.pruneKind(ctx, driver.WorkPruneMail, now.Add(-s.mailRetention)))
	if s.factRetention > 0 {
		failed = errors.Join(failed, s.pruneKind(ctx, driver.WorkPruneFacts, now.Add(-s.factRetention)))
	}
	return failed
}

// pruneKind removes what is from before a time. Each round removes one batch of every company, so that a company with
// much to remove delays no other. It ends when no company has anything left that can be removed. The error of one
// company does not stop the others; a later prune tries that company again.
func (s *Service) pruneKind(ctx context.Context, kind driver.WorkKind, before time.Time) (failed error) {
	for more := true; more && ctx.Err() == nil; {
		more = false
		// One round: every company with something to remove, in lists of lookBatch.
		for after := (driver.DueWork{Kind: kind}); ; {
			due, err := s.dueWork(ctx, driver.WorkQuery{At: before, After: []driver.DueWork{after}, Limit: lookBatch})
			if err != nil {
				return errors.Join(failed, err)
			}
			for _, work := range due {
				if ctx.Err() != nil {
					return failed
				}
				// Several processes may prune one company. What one removes the other does not find.
				left, err := s.pruneCompany(ctx, work.CompanyID)
				failed = errors.Join(failed, err)
				more = more || left
			}
			if len(due) < lookBatch {
				break
			}
			after = due[len(due)-1]
		}
	}
	return failed
}

// pruneCompany removes a batch of each kind for one company, and reports whether there may be more. Deliveries come
// before messages, because a message stays while a delivery refers to it.
func (s *Service) pruneCompany(ctx context.Context, companyID uuid.UUID) (more bool, err error) {
	now := s.now()
	before := now.Add(-s.webhookRetention)
	err = s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		more = false
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		// A message is removed only after its last delivery, so the order matters.
		prunes := []func() (int, error){
			func() (int, error) { return tx.PruneDeliveries(ctx, companyID, before, pruneBatch) },
			func() (int, error) { return tx.PruneMessages(ctx, companyID, before, pruneBatch) },
			func() (int, error) {
				return tx.PruneNotifications(ctx, companyID, now.Add(-s.mailRetention), pruneBatch)
			},
		}
		if s.factRetention > 0 {
			prunes = append(prunes, func() (int, error) {
				return tx.PruneFacts(ctx, companyID, now.Add(-s.factRetention), pruneBatch)
			})
		}
		for _, prune := range prunes {
			// A full batch shows that more may be left.
			pruned, err := prune()
			if err != nil {
				return err
			}
			more = more || pruned == pruneBatch
		}
		return nil
	})
	return more && err == nil, err
}

// pruneSecrets removes the signing secrets that no pending delivery is signed with any more. A secret is retired when
// it is neither active nor prepared, and it stays for the deliveries that were made under it (section 6.5).
func (s *Service) pruneSecrets(ctx context.Context) error {
	var after driver.WebhookSecretRef
	var failed error
	for {
		var retired []driver.WebhookSecretRef
		err := s.background.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
			var err error
			// This read is not locked, so pruneSecret checks each secret again.
			retired, err = tx.RetiredWebhookSecrets(ctx, after, pruneBatch)
			return err
		})
		if err != nil || len(retired) == 0 {
			return errors.Join(failed, err)
		}
		for _, ref := range retired {
			failed = errors.Join(failed, s.pruneSecret(ctx, ref))
		}
		if after = retired[len(retired)-1]; len(retired) < pruneBatch || ctx.Err() != nil {
			return failed
		}
	}
}

// pruneSecret removes one retired secret unless a pending delivery needs it. The shared gate excludes a change of the
// endpoint, so the secret stays retired and no new delivery can begin to use it.
func (s *Service) pruneSecret(ctx context.Context, ref driver.WebhookSecretRef) error {
	return s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{ref.CompanyID}}); err != nil {
			return err
		}
		// Deliveries keep the version of their secret, so one that is pending needs it for its next attempt.
		used, err := tx.DeliversUnder(ctx, ref)
		if err != nil || used {
			return err
		}
		return tx.DeleteWebhookSecrets(ctx, []driver.WebhookSecretRef{ref})
	})
}
