package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const categoryColumns = "id, name, slug, status, created_at"

func scanCategory(row *sql.Rows, c *ticketing.CategoryRecord) error {
	return row.Scan((*id)(&c.ID), &c.Name, &c.Slug, (*string)(&c.Status), (*moment)(&c.CreatedAt))
}

// Categories finds categories by their ids.
func (s *session) Categories(ctx context.Context, names []uuid.UUID) ([]ticketing.CategoryRecord, error) {
	return lookUp(names, func(c ticketing.CategoryRecord) uuid.UUID { return c.ID },
		func(names []uuid.UUID) ([]ticketing.CategoryRecord, error) {
			return query(ctx, s, "Categories", scanCategory,
				"SELECT "+categoryColumns+" FROM ticketing_categories WHERE ?", ids("id", names))
		})
}

// ListCategories answers in the order of their slugs, after one of them.
func (s *session) ListCategories(
	ctx context.Context, afterSlug string, limit int,
) ([]ticketing.CategoryRecord, error) {
	return query(ctx, s, "ListCategories", scanCategory,
		"SELECT "+categoryColumns+" FROM ticketing_categories WHERE slug > ? ORDER BY slug LIMIT ?",
		afterSlug, max(limit, 0))
}

// CreateCategory keeps a new category.
func (tx *transaction) CreateCategory(ctx context.Context, c ticketing.CategoryRecord) error {
	return tx.exec(ctx, "CreateCategory",
		"INSERT INTO ticketing_categories ("+categoryColumns+") VALUES (?, ?, ?, ?, ?)",
		c.ID, c.Name, c.Slug, string(c.Status), c.CreatedAt)
}

// UpdateCategory keeps all but the time of creation.
func (tx *transaction) UpdateCategory(ctx context.Context, c ticketing.CategoryRecord) error {
	return tx.changed(ctx, "UpdateCategory",
		"UPDATE ticketing_categories SET name = ?, slug = ?, status = ? WHERE id = ?",
		c.Name, c.Slug, string(c.Status), c.ID)
}
