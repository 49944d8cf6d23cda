package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/floatgate/ticketing/driver"
)

func secretChecks() []Check {
	return []Check{{"secrets/a name is kept once", secretNames}}
}

func secretNames(ctx context.Context, s driver.Store) error {
	names := func(ctx context.Context, tx driver.ReadTx) ([]string, error) {
		found, err := tx.SecretNames(ctx)
		return slices.Sorted(slices.Values(found)), err
	}
	if err := want("before", []string(nil)).from(read(ctx, s, names)); err != nil {
		return err
	}
	for run := range 2 {
		err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return errors.Join(
				tx.AppendSecretName(ctx, "kb", at(run)), tx.AppendSecretName(ctx, "ka", at(run)),
				tx.AppendSecretName(ctx, "kb", at(run+1)),
				want("own names", []string{"ka", "kb"}).from(names(ctx, tx)),
			)
		})
		if err != nil {
			return fmt.Errorf("run %d: %w", run+1, err)
		}
		if err := want("names", []string{"ka", "kb"}).from(read(ctx, s, names)); err != nil {
			return err
		}
	}
	err := failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendSecretName(ctx, "kc", at(0))
	})
	if err != nil {
		return err
	}
	return want("after a failed Update", []string{"ka", "kb"}).from(read(ctx, s, names))
}

// read makes one call in a View.
func read[T any](
	ctx context.Context, s driver.Store, call func(ctx context.Context, tx driver.ReadTx) (T, error),
) (T, error) {
	var found T
	err := s.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		found, err = call(ctx, tx)
		return err
	})
	return found, err
}
