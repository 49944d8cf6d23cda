package memory

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type categories struct {
	byID   map[uuid.UUID]driver.Category
	bySlug map[string]uuid.UUID
	slugs  *index[string]
}

func newCategories() categories {
	return categories{
		byID:   make(map[uuid.UUID]driver.Category),
		bySlug: make(map[string]uuid.UUID),
		slugs:  newIndex(strings.Compare),
	}
}

func (r reading) Categories(ctx context.Context, ids []uuid.UUID) ([]driver.Category, error) {
	return ask(ctx, r, func(s *state) []driver.Category {
		return each(ids, func(id uuid.UUID) driver.Category { return s.categories.byID[id] })
	})
}

func (r reading) ListCategories(
	ctx context.Context, afterSlug string, limit int,
) ([]driver.Category, error) {
	return ask(ctx, r, func(s *state) []driver.Category {
		return each(s.categories.slugs.after(afterSlug, limit), func(slug string) driver.Category {
			return s.categories.byID[s.categories.bySlug[slug]]
		})
	})
}

func (tx *updating) CreateCategory(ctx context.Context, category driver.Category) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		category.CreatedAt = moment(category.CreatedAt)
		if err := create(u, s.categories.byID, category.ID, category, "categories_pkey"); err != nil {
			return err
		}
		return s.categories.name(u, category)
	})
}

func (tx *updating) UpdateCategory(ctx context.Context, category driver.Category) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		old, ok := s.categories.byID[category.ID]
		if !ok {
			return driver.ErrNotFound
		}
		category.CreatedAt = old.CreatedAt
		put(u, s.categories.byID, category.ID, category)
		if old.Slug == category.Slug {
			return nil
		}
		s.categories.slugs.drop(u, old.Slug)
		delete(s.categories.bySlug, old.Slug)
		u.add(func() { s.categories.bySlug[old.Slug] = old.ID })
		return s.categories.name(u, category)
	})
}

func (c *categories) name(u *undo, category driver.Category) error {
	if err := create(u, c.bySlug, category.Slug, category.ID, "categories_slug_key"); err != nil {
		return err
	}
	c.slugs.add(u, category.Slug)
	return nil
}
