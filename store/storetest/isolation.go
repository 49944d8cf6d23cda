package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func isolationChecks() []Check {
	return []Check{
		{"isolation/View sees commits between its calls", viewSeesCommits},
		{"isolation/Snapshot sees one moment", snapshotSeesOneMoment},
		{"isolation/readers never see what is not committed", uncommittedIsInvisible},
	}
}

// slugs returns the slugs of all categories.
func slugs(ctx context.Context, tx driver.ReadTx) ([]string, error) {
	list, err := tx.ListCategories(ctx, "", 100)
	found := make([]string, len(list))
	for i, category := range list {
		found[i] = category.Slug
	}
	return found, err
}

func addSlug(ctx context.Context, s driver.Store, n int, slug string) error {
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.CreateCategory(ctx, newCategory(id(n), slug))
	})
}

func viewSeesCommits(ctx context.Context, s driver.Store) error {
	return s.View(ctx, func(inner context.Context, tx driver.ReadTx) error {
		if err := want("before the commit", []string(nil)).from(slugs(inner, tx)); err != nil {
			return err
		}
		for i, slug := range []string{"a", "b"} {
			done := start(func() error { return addSlug(ctx, s, 10+i, slug) })
			err, waitErr := wait(ctx, "an Update beside a View that is not calling", done)
			if err := errors.Join(err, waitErr); err != nil {
				return err
			}
			if err := want("after a commit", []string{"a", "b"}[:i+1]).from(slugs(inner, tx)); err != nil {
				return err
			}
		}
		return nil
	})
}

func snapshotSeesOneMoment(ctx context.Context, s driver.Store) error {
	if err := addSlug(ctx, s, 10, "a"); err != nil {
		return err
	}
	var writer <-chan error
	err := s.Snapshot(ctx, func(inner context.Context, tx driver.ReadTx) error {
		if err := want("first call", []string{"a"}).from(slugs(inner, tx)); err != nil {
			return err
		}
		// A store may make the writer wait for the snapshot.
		done := make(chan error, 1)
		writer = done
		written := make(chan struct{})
		go func() {
			done <- addSlug(ctx, s, 11, "b")
			close(written)
		}()
		linger(written, window)
		return errors.Join(
			want("second call", []string{"a"}).from(slugs(inner, tx)),
			want("another list", []driver.Category{newCategory(id(10), "a"), {}}).
				from(tx.Categories(inner, []uuid.UUID{id(10), id(11)})),
		)
	})
	if err != nil {
		return err
	}
	err, waitErr := wait(ctx, "an Update beside a Snapshot", writer)
	if err := errors.Join(err, waitErr); err != nil {
		return err
	}
	return s.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		return want("after the snapshot", []string{"a", "b"}).from(slugs(ctx, tx))
	})
}

// uncommittedIsInvisible reads while an Update that will fail is open. A store may make the readers wait.
func uncommittedIsInvisible(ctx context.Context, s driver.Store) error {
	unseen := func(ctx context.Context, tx driver.ReadTx) error {
		return want("while a writer was open", []string(nil)).from(slugs(ctx, tx))
	}
	for name, begin := range map[string]func(context.Context, reads) error{"View": s.View, "Snapshot": s.Snapshot} {
		var reader <-chan error
		err := share(ctx, s, func(inner context.Context, tx driver.Tx) error {
			if err := tx.CreateCategory(inner, newCategory(id(10), "a")); err != nil {
				return err
			}
			// A read sends the write, even if writes are sent late.
			if err := want("an own write", []string{"a"}).from(slugs(inner, tx)); err != nil {
				return err
			}
			done := make(chan error, 1)
			reader = done
			read := make(chan struct{})
			go func() {
				done <- begin(ctx, unseen)
				close(read)
			}()
			linger(read, window)
			return errOwn
		})
		if !errors.Is(err, errOwn) {
			return err
		}
		err, waitErr := wait(ctx, name+" beside a writer", reader)
		if err := errors.Join(err, waitErr); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
