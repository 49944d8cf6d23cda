package ticketing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// SecretReader finds the names of the secret keys that a database was used with.
type SecretReader interface {
	SecretNames(ctx context.Context) ([]string, error)
}

// SecretWriter keeps the names of secret keys.
type SecretWriter interface {
	// AppendSecretName keeps a name; one that is kept already is no error.
	AppendSecretName(ctx context.Context, name string, at time.Time) error
}

// secretCheck tells whether the secret keys are those of the database, and remembers that they are.
type secretCheck struct{ passed atomic.Bool }

// ErrSecretKeys is the answer of [Service.Ready], and of what makes or takes API keys, where [Config.SecretKeys] are
// not those that the database is used with.
var ErrSecretKeys = errors.New("ticketing: the secret keys are not those of this database")

var errMissingSecret = fmt.Errorf(
	"%w: API keys, bank accounts or webhook secrets in use were made under another one", ErrSecretKeys,
)

// check compares the secret keys with those that the database was used with, once: at the start, or else before the
// first use of a key. It fails where none of them was, and where an active API key, a company's bank account or a webhook
// secret needs one that is not given: that key would be refused, that account could not be paid, and no delivery could be
// signed. On first use, and where the first key is new beside one that is known, it keeps the first key's name.
func (c *secretCheck) check(ctx context.Context, s *Service) error {
	if c.passed.Load() {
		return nil
	}
	var known bool
	err := s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		known, err = s.knows(ctx, tx)
		return err
	})
	if err == nil && !known {
		at := s.now()
		err = s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
			// The gate of the zero company keeps two processes from being the first.
			if _, err := tx.Enter(ctx, Entrance{Close: []uuid.UUID{uuid.Nil}}); err != nil {
				return err
			}
			if known, err := s.knows(ctx, tx); err != nil || known {
				return err
			}
			return tx.AppendSecretName(ctx, s.keys.Names()[0], at)
		})
	}
	if err != nil {
		return err
	}
	c.passed.Store(true)
	return nil
}

// knows tells whether the name of the first secret key is kept.
func (s *Service) knows(ctx context.Context, tx ReadTx) (bool, error) {
	names := s.keys.Names()
	kept, err := tx.SecretNames(ctx)
	if err != nil {
		return false, err
	}
	if len(kept) > 0 && !slices.ContainsFunc(kept, func(name string) bool { return slices.Contains(names, name) }) {
		return false, ErrSecretKeys
	}
	inUse, err := tx.SecretsInUse(ctx)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(inUse, func(name string) bool { return !slices.Contains(names, name) }) {
		return false, errMissingSecret
	}
	return slices.Contains(kept, names[0]), nil
}
