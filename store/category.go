package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const categoryColumns = "id, name, slug, status, created_at"

func scanCategory(row *sql.Rows, c *driver.Category) error {
	return row.Scan((*id)(&c.ID), &c.Name, &c.Slug, (*string)(&c.Status), (*moment)(&c.CreatedAt))
}

// Categories finds categories by their ids.
func (s *session) Categories(ctx context.Context, names []uuid.UUID) ([]driver.Category, error) {
	return lookUp(names, func(c driver.Category) uuid.UUID { return c.ID },
		func(names []uuid.UUID) ([]driver.Category, error) {
			return query(ctx, s, "Categories", scanCategory,
				"SELECT "+categoryColumns+" FROM ticketing_categories WHERE ?", amongIDs("id", names))
		})
}

// ListCategories returns the categories after a slug, ordered by slug.
func (s *session) ListCategories(
	ctx context.Context, afterSlug string, limit int,
) ([]driver.Category, error) {
	return query(ctx, s, "ListCategories", scanCategory,
		"SELECT "+categoryColumns+" FROM ticketing_categories WHERE slug > ? ORDER BY slug LIMIT ?",
		afterSlug, max(limit, 0))
}

// CreateCategory inserts a category.
func (tx *transaction) CreateCategory(ctx context.Context, c driver.Category) error {
	return tx.exec(ctx, "CreateCategory",
		"INSERT INTO ticketing_categories ("+categoryColumns+") VALUES (?, ?, ?, ?, ?)",
		c.ID, c.Name, c.Slug, string(c.Status), c.CreatedAt)
}

// UpdateCategory writes everything but the time of creation.
func (tx *transaction) UpdateCategory(ctx context.Context, c driver.Category) error {
	return tx.changed(ctx, "UpdateCategory",
		"UPDATE ticketing_categories SET name = ?, slug = ?, status = ? WHERE id = ?",
		c.Name, c.Slug, string(c.Status), c.ID)
}
