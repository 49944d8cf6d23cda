package ticketing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// secretCheck checks that the secret keys are those of the database, and remembers a success. A failure is not
// remembered: the database may only have been unreachable.
type secretCheck struct {
	passed atomic.Bool
	mu     sync.Mutex
	run    *secretRun // the check that is under way, or nil; guarded by mu
	kept   bool       // a check has kept a name; it belongs to the check that is under way
}

// errCheckEnded is the result of a check that did not return, as in a panic.
var errCheckEnded = errors.New("ticketing: the check of the secret keys did not end")

// secretRun is one check. Calls that come while it runs share its result. err is set before done is closed.
type secretRun struct {
	done chan struct{}
	err  error
}

// ErrSecretKeys means that [Config.SecretKeys] are not those of this database. [Service.Ready] returns it, and so does
// every call that makes or uses API keys. Retrying does not help: correct the configuration.
var ErrSecretKeys = errors.New("ticketing: the secret keys do not belong to this database")

// errMissingSecret is the ErrSecretKeys for a list of keys that is incomplete.
var errMissingSecret = fmt.Errorf(
	"%w: API keys, bank accounts or webhook secrets in use were made under another one", ErrSecretKeys,
)

// check compares the secret keys with those that the database was used with, once: at the start, or else before the
// first use of a key. It fails if the database knows none of them. It also fails if an active API key, a company's bank
// account or a webhook secret needs a key that is not given: that API key would be refused, that account could not be
// paid, and no delivery could be signed.
//
// At the first use of a database it keeps the name of the first key. It does the same if the first key is new and
// another one is known, which is how a rotation begins. So the name of a key is kept before anything that the database
// keeps is made with it, and what is in use is read only if no name is kept, or one whose key is not given.
func (c *secretCheck) check(ctx context.Context, s *Service) error {
	for !c.passed.Load() {
		c.mu.Lock()
		run, leads := c.run, c.run == nil
		if leads {
			run = &secretRun{done: make(chan struct{}), err: errCheckEnded}
			c.run = run
		}
		c.mu.Unlock()
		if leads {
			return c.lead(ctx, s, run)
		}
		select {
		case <-run.done:
		case <-ctx.Done():
			return fmt.Errorf("ticketing: the secret keys were not checked: %w", ctx.Err())
		}
		// A caller who left says nothing about the keys.
		if run.err != nil && !errors.Is(run.err, context.Canceled) && !errors.Is(run.err, context.DeadlineExceeded) {
			return run.err
		}
	}
	return nil
}

// lead runs a check for all calls that wait for it.
func (c *secretCheck) lead(ctx context.Context, s *Service, run *secretRun) error {
	defer func() {
		c.mu.Lock()
		c.run = nil
		c.mu.Unlock()
		close(run.done)
	}()
	run.err = c.compare(ctx, s)
	return run.err
}

func (c *secretCheck) compare(ctx context.Context, s *Service) error {
	var unkept []string
	err := s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		unkept, err = s.checkKeyNames(ctx, tx)
		return err
	})
	if err == nil && len(unkept) > 0 {
		c.kept = true
		at := s.now()
		err = s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			// The exclusive gate of the zero company keeps two processes from both being the first.
			if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{uuid.Nil}}); err != nil {
				return err
			}
			// Another process may have been first since the read without a lock.
			unkept, err := s.checkKeyNames(ctx, tx)
			for _, name := range unkept {
				err = errors.Join(err, tx.AppendSecretName(ctx, name, at))
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	// Later calls pass without a read, so a sale pays nothing for the check. What was kept in a transaction of the host
	// may be rolled back to a savepoint, so there each call checks again.
	c.passed.Store(!s.bound || !c.kept)
	return nil
}

// checkKeyNames checks the given secret keys against all that are kept or in use, and returns the names that are to be
// kept: that of the first key, and those in use. A database without names was not used yet, and the first keys become
// its own, or it has lost them.
func (s *Service) checkKeyNames(ctx context.Context, tx driver.ReadTx) (unkept []string, err error) {
	names := s.keys.Names()
	// Only names are kept: a name is derived from its key and does not disclose it.
	kept, err := tx.SecretNames(ctx)
	if err != nil {
		return nil, err
	}
	// A database that was used before must know one of the keys: otherwise the keys are those of another database.
	if len(kept) > 0 && !slices.ContainsFunc(kept, func(name string) bool { return slices.Contains(names, name) }) {
		return nil, ErrSecretKeys
	}
	needed := names[:1:1]
	// A name is kept before the first use of its key. So with all of them given none in use is missing, and what is in
	// use, which every node of a cluster has to be asked for, need not be read.
	missing := func(name string) bool { return !slices.Contains(names, name) }
	if len(kept) == 0 || slices.ContainsFunc(kept, missing) {
		// A key that is in use must be given even if another one is known.
		inUse, err := tx.SecretsInUse(ctx)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(inUse, missing) {
			return nil, errMissingSecret
		}
		needed = append(needed, inUse...)
	}
	return filter(distinct(needed), func(_ int, name string) bool { return !slices.Contains(kept, name) }), nil
}

// reencryptPage is how many records are read at a time.
const reencryptPage = 500

// reencryptAll encrypts every record again that another than the first secret key has encrypted, and counts the records
// that are left. It makes the rotation of a secret key possible: with none left, the old key can be removed from
// [Config.SecretKeys]. It needs tenant:manage.
//
// find returns a page of such records after the given one; the zero record is before the first. reencrypt encrypts one
// in a transaction of its own and reports whether it did, so sales go on meanwhile. The count is a second pass over the
// store, because a process with other keys may have written records during the first.
//
// An error ends the work. What was encrypted by then stays so, and another call does the rest.
//
// It holds no lock between two records. A record that is written meanwhile is under the first key of the process that
// writes it.
func reencryptAll[R any](
	ctx context.Context, o Operator, find func(ctx context.Context, tx driver.ReadTx, after R) ([]R, error),
	reencrypt func(ctx context.Context, stale R) (bool, error),
) (reencrypted, left int, err error) {
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
				// Who may not encrypt learns it even where nothing is left to do.
				err := o.stillHolds(ctx, tx, PermissionManage, uuid.Nil)
				if err == nil {
					page, err = find(ctx, tx, after)
				}
				return err
			})
			if err != nil {
				return err
			}
			for _, stale := range page {
				if err := do(stale); err != nil {
					return err
				}
				// The position moves on even if the record stays stale.
				after = stale
			}
			if len(page) < reencryptPage {
				return nil
			}
		}
	}
	// The first pass encrypts. A record that cannot be decrypted is logged by reencrypt and passed over.
	err = each(func(stale R) error {
		done, err := reencrypt(ctx, stale)
		if done {
			reencrypted++
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
	return reencrypted, left, nil
}
