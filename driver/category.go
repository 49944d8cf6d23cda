package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// CategoryStatus is the status of a category. New events take active categories only.
type CategoryStatus string

// The statuses of a category.
const (
	CategoryActive   CategoryStatus = "ACTIVE"
	CategoryInactive CategoryStatus = "INACTIVE"
)

// Category is a category as a store keeps it. Its slug is unique.
type Category struct {
	ID        uuid.UUID
	Name      string
	Slug      string
	Status    CategoryStatus
	CreatedAt time.Time
}

// CategoryReader finds categories.
type CategoryReader interface {
	// Categories returns categories by their ids.
	Categories(ctx context.Context, ids []uuid.UUID) ([]Category, error)
	// ListCategories returns categories in the order of their slugs, those after the given slug.
	ListCategories(ctx context.Context, afterSlug string, limit int) ([]Category, error)
}

// CategoryWriter keeps categories.
type CategoryWriter interface {
	// CreateCategory fails with a [ConstraintError] if the slug is taken.
	CreateCategory(ctx context.Context, category Category) error
	// UpdateCategory updates all but the time of creation.
	UpdateCategory(ctx context.Context, category Category) error
}
