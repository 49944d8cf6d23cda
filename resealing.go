package ticketing

import (
	"context"

	"github.com/google/uuid"
)

// resealPage is how many records are looked for at a time that are to be encrypted anew.
const resealPage = 500

// resealAll encrypts anew what another than the first secret key has encrypted, and counts what is left of that. Find
// answers with a page of it, behind a record or, behind the zero one, from the beginning; reseal tells whether it
// encrypted one. It needs tenant:manage.
func resealAll[R any](
	ctx context.Context, o Operator, find func(ctx context.Context, tx ReadTx, after R) ([]R, error),
	reseal func(ctx context.Context, stale R) (bool, error),
) (resealed, left int, err error) {
	if err := o.allowWrite(PermissionManage, uuid.Nil); err != nil {
		return 0, 0, err
	}
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return 0, 0, err
	}
	each := func(do func(stale R) error) error {
		var after R
		for {
			var page []R
			err := o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
				var err error
				page, err = find(ctx, tx, after)
				return err
			})
			if err != nil {
				return err
			}
			for _, stale := range page {
				if err := do(stale); err != nil {
					return err
				}
				after = stale
			}
			if len(page) < resealPage {
				return nil
			}
		}
	}
	err = each(func(stale R) error {
		done, err := reseal(ctx, stale)
		if done {
			resealed++
		}
		return err
	})
	if err == nil {
		err = each(func(R) error {
			left++
			return nil
		})
	}
	if err != nil {
		return 0, 0, err
	}
	return resealed, left, nil
}
