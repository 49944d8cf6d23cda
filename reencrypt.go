package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// reencryptPage is how many records are read at a time.
const reencryptPage = 500

// reencryptAll encrypts every record again that another than the first secret key has encrypted, and counts the records
// that are left. It makes the rotation of a secret key possible: with none left, the old key can be removed from
// [Config.SecretKeys]. It needs tenant:manage.
//
// find returns a page of such records after the given one; the zero record is before the first. reseal encrypts one in
// a transaction of its own and reports whether it did, so sales go on meanwhile. The count is a second pass over the
// store, because a process with other keys may have written records during the first.
//
// An error ends the work. What was encrypted by then stays so, and another call does the rest.
func reencryptAll[R any](
	ctx context.Context, o Operator, find func(ctx context.Context, tx driver.ReadTx, after R) ([]R, error),
	reseal func(ctx context.Context, stale R) (bool, error),
) (resealed, left int, err error) {
	if err := o.allowWrite(PermissionManage, uuid.Nil); err != nil {
		return 0, 0, err
	}
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return 0, 0, err
	}
	// each calls do with every record that find returns. Each page continues after the last record, so a record that
	// stays stale is seen once.
	each := func(do func(stale R) error) error {
		var after R
		for {
			var page []R
			err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
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
			if len(page) < reencryptPage {
				return nil
			}
		}
	}
	// The first pass encrypts. A record that cannot be decrypted is logged by reseal and passed over.
	err = each(func(stale R) error {
		done, err := reseal(ctx, stale)
		if done {
			resealed++
		}
		return err
	})
	if err == nil {
		// The second pass counts.
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
