package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

type categoryModel struct {
	bun.BaseModel `bun:"table:ticketing_categories,alias:c"`
	categoryFields
}

type categoryFields struct {
	ID        uuid.UUID `bun:",pk"`
	Name      string
	Slug      string
	Status    driver.CategoryStatus
	CreatedAt time.Time `bun:",skipupdate"`
}

func (m categoryModel) record() driver.Category { return driver.Category(m.categoryFields) }

// Categories finds categories by their ids.
func (s *session) Categories(ctx context.Context, names []uuid.UUID) ([]driver.Category, error) {
	return findByRefs(names, func(c driver.Category) uuid.UUID { return c.ID },
		func(names []uuid.UUID) ([]driver.Category, error) {
			return find(ctx, s, "Categories", categoryModel.record,
				s.newSelect().Where("?", s.expr(inIDs("id", names))))
		})
}

// ListCategories returns the categories after a slug, ordered by slug.
func (s *session) ListCategories(
	ctx context.Context, afterSlug string, limit int,
) ([]driver.Category, error) {
	return find(ctx, s, "ListCategories", categoryModel.record,
		s.newSelect().Where("slug > ?", afterSlug).Apply(page("slug", limit)))
}

// CreateCategory inserts a category.
func (tx *transaction) CreateCategory(ctx context.Context, c driver.Category) error {
	return tx.create(ctx, "CreateCategory", &categoryModel{categoryFields: categoryFields(c)})
}

// UpdateCategory writes everything but the time of creation.
func (tx *transaction) UpdateCategory(ctx context.Context, c driver.Category) error {
	return tx.save(ctx, "UpdateCategory", &categoryModel{categoryFields: categoryFields(c)})
}
