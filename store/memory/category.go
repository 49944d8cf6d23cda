package memory

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type categories struct {
	byID   map[uuid.UUID]ticketing.CategoryRecord
	bySlug map[string]uuid.UUID
	slugs  *index[string]
}

func newCategories() categories {
	return categories{
		byID:   make(map[uuid.UUID]ticketing.CategoryRecord),
		bySlug: make(map[string]uuid.UUID),
		slugs:  newIndex(strings.Compare),
	}
}

func (r reading) Categories(ctx context.Context, ids []uuid.UUID) ([]ticketing.CategoryRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.CategoryRecord {
		return each(ids, func(id uuid.UUID) ticketing.CategoryRecord { return s.categories.byID[id] })
	})
}

func (r reading) ListCategories(
	ctx context.Context, afterSlug string, limit int,
) ([]ticketing.CategoryRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.CategoryRecord {
		return each(s.categories.slugs.after(afterSlug, limit), func(slug string) ticketing.CategoryRecord {
			return s.categories.byID[s.categories.bySlug[slug]]
		})
	})
}

func (tx *updating) CreateCategory(ctx context.Context, category ticketing.CategoryRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		category.CreatedAt = moment(category.CreatedAt)
		if err := create(u, s.categories.byID, category.ID, category, "categories_pkey"); err != nil {
			return err
		}
		return s.categories.name(u, category)
	})
}

func (tx *updating) UpdateCategory(ctx context.Context, category ticketing.CategoryRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		old, ok := s.categories.byID[category.ID]
		if !ok {
			return ticketing.ErrNotFound
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

func (c *categories) name(u *undo, category ticketing.CategoryRecord) error {
	if err := create(u, c.bySlug, category.Slug, category.ID, "categories_slug_key"); err != nil {
		return err
	}
	c.slugs.add(u, category.Slug)
	return nil
}
