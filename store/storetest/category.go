package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func categoryKinds() []record {
	kept := newCategory(id(10), "slug")
	changed := kept
	changed.Name, changed.Status = "changed", driver.CategoryInactive
	holds := func(found driver.Category, listed ...driver.Category) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("Categories", []driver.Category{found}).from(tx.Categories(ctx, []uuid.UUID{kept.ID})),
				want("ListCategories", listed).from(tx.ListCategories(ctx, "ground", 9)),
			)
		}
	}
	return []record{{
		name: "categories", created: holds(kept, kept), absent: holds(driver.Category{}),
		create:  func(ctx context.Context, tx driver.Tx) error { return tx.CreateCategory(ctx, kept) },
		change:  func(ctx context.Context, tx driver.Tx) error { return tx.UpdateCategory(ctx, changed) },
		changed: holds(changed, changed),
		taken: map[string]writes{
			"id": func(ctx context.Context, tx driver.Tx) error {
				return tx.CreateCategory(ctx, newCategory(kept.ID, "other"))
			},
			"slug": func(ctx context.Context, tx driver.Tx) error {
				return tx.CreateCategory(ctx, newCategory(id(11), kept.Slug))
			},
		},
	}}
}

func categoryChecks() []Check {
	return []Check{
		{"categories/list is in order and in pages", categoriesListed},
		{"categories/a slug that was given up is free", categoryRenamed},
	}
}

func categoryRenamed(ctx context.Context, s driver.Store) error {
	kept, renamed := newCategory(id(10), "old"), newCategory(id(10), "new")
	heir := newCategory(id(11), "old")
	rename := func(ctx context.Context, tx driver.Tx) error { return tx.UpdateCategory(ctx, renamed) }
	lists := func(categories ...driver.Category) error {
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("list", categories).from(tx.ListCategories(ctx, "", 9))
		})
	}
	create := func(category driver.Category) error {
		return update(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.CreateCategory(ctx, category) })
	}
	return steps(
		func() error { return create(kept) },
		func() error { return failing(ctx, s, rename) },
		func() error { return lists(kept) },
		func() error { return refuses("a slug that was given up in an Update that failed", create(heir)) },
		func() error { return update(ctx, s, rename) },
		func() error { return lists(renamed) },
		func() error { return create(heir) },
		func() error { return lists(renamed, heir) },
		func() error {
			taken := heir
			taken.Slug = renamed.Slug
			return refuses("rename to a slug that is taken", update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return tx.UpdateCategory(ctx, taken)
			}))
		},
		func() error { return lists(renamed, heir) },
	)
}

func categoriesListed(ctx context.Context, s driver.Store) error {
	order := []string{"1", "a", "a-b", "a0", "aa", "b"}
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, i := range []int{4, 0, 5, 2, 3, 1} {
			if err := tx.CreateCategory(ctx, newCategory(id(20-i), order[i])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		err := pages(order, func(after *string, limit int) ([]string, error) {
			var from string
			if after != nil {
				from = *after
			}
			found, err := tx.ListCategories(ctx, from, limit)
			slugs := make([]string, len(found))
			for i, category := range found {
				slugs[i] = category.Slug
			}
			return slugs, err
		})
		return errors.Join(err,
			want("with gaps and out of order",
				[]driver.Category{newCategory(id(18), "a-b"), {}, newCategory(id(20), "1")},
			).from(tx.Categories(ctx, []uuid.UUID{id(18), id(90), id(20)})),
		)
	})
}
