package driver

import (
	"time"

	"github.com/google/uuid"
)

// CategoryStatus is the status of a category. New events accept only active categories.
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
