package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

const (
	pruneInterval = 5 * time.Minute
	pruneBatch    = 1000
)

// prune removes what is older than it is to be kept, in small transactions that share the gate with sales. The store is
// asked which companies have some, with one question for a thousand of them: an idle service asks next to nothing, and one
// that begins anew goes on where the last one ended, since what that one removed is not there any more.
func (s *Service) prune(ctx context.Context) error {
	now := s.now()
	failed := errors.Join(s.pruneSecrets(ctx), s.pruneKind(ctx, WorkPrune, now.Add(-s.webhookRetention)))
	if s.factRetention > 0 {
		failed = errors.Join(failed, s.pruneKind(ctx, WorkPruneFacts, now.Add(-s.factRetention)))
	}
	return failed
}

// pruneKind removes what is from before a time, a portion of each company in turn, until nothing is left but what failed.
func (s *Service) pruneKind(ctx context.Context, kind WorkKind, before time.Time) (failed error) {
	for more := true; more && ctx.Err() == nil; {
		more = false
		for after := (DueWork{Kind: kind}); ; {
			due, err := s.dueWork(ctx, WorkQuery{At: before, After: []DueWork{after}, Limit: lookBatch})
			if err != nil {
				return errors.Join(failed, err)
			}
			for _, work := range due {
				if ctx.Err() != nil {
					return failed
				}
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

// pruneCompany removes a portion of each, and tells whether there may be more. A message goes after its deliveries.
func (s *Service) pruneCompany(ctx context.Context, companyID uuid.UUID) (more bool, err error) {
	now := s.now()
	before := now.Add(-s.webhookRetention)
	err = s.background.Update(ctx, func(ctx context.Context, tx Tx) error {
		more = false
		if _, err := tx.Enter(ctx, Entrance{Share: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		prunes := []func() (int, error){
			func() (int, error) { return tx.PruneDeliveries(ctx, companyID, before, pruneBatch) },
			func() (int, error) { return tx.PruneMessages(ctx, companyID, before, pruneBatch) },
		}
		if s.factRetention > 0 {
			prunes = append(prunes, func() (int, error) {
				return tx.PruneFacts(ctx, companyID, now.Add(-s.factRetention), pruneBatch)
			})
		}
		for _, prune := range prunes {
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

// pruneSecrets removes signing secrets that nothing is signed with any more. The shared gate keeps what is retired
// retired: no new delivery begins under it.
func (s *Service) pruneSecrets(ctx context.Context) error {
	var after WebhookSecretRef
	var failed error
	for {
		var retired []WebhookSecretRef
		err := s.background.View(ctx, func(ctx context.Context, tx ReadTx) error {
			var err error
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

func (s *Service) pruneSecret(ctx context.Context, ref WebhookSecretRef) error {
	return s.background.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, Entrance{Share: []uuid.UUID{ref.CompanyID}}); err != nil {
			return err
		}
		used, err := tx.DeliversUnder(ctx, ref)
		if err != nil || used {
			return err
		}
		return tx.DeleteWebhookSecrets(ctx, []WebhookSecretRef{ref})
	})
}
