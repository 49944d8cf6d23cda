package ticketing

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
)

// CategoryStatus is whether new events may take a category.
type CategoryStatus string

// The statuses of a category.
const (
	CategoryActive   CategoryStatus = "ACTIVE"
	CategoryInactive CategoryStatus = "INACTIVE"
)

// Category is a platform-wide kind of event, made by staff. An event keeps showing one that was deactivated later.
type Category struct {
	ID     uuid.UUID      `json:"id"`
	Name   string         `json:"name"`
	Slug   string         `json:"slug"`
	Status CategoryStatus `json:"status"`
}

// CategoryRecord is a category as a store keeps it. A slug is unique.
type CategoryRecord struct {
	ID        uuid.UUID
	Name      string
	Slug      string
	Status    CategoryStatus
	CreatedAt time.Time
}

// CategoryReader finds categories.
type CategoryReader interface {
	Categories(ctx context.Context, ids []uuid.UUID) ([]CategoryRecord, error)
	// ListCategories answers in the order of their slugs, after one of them.
	ListCategories(ctx context.Context, afterSlug string, limit int) ([]CategoryRecord, error)
}

// CategoryWriter keeps categories.
type CategoryWriter interface {
	// CreateCategory fails with a [ConstraintError] where the slug is taken.
	CreateCategory(ctx context.Context, category CategoryRecord) error
	UpdateCategory(ctx context.Context, category CategoryRecord) error
}

func (c CategoryRecord) category() Category {
	return Category{ID: c.ID, Name: c.Name, Slug: c.Slug, Status: c.Status}
}

// CreateCategory makes an active category. The name has 1 to 100 characters; the slug has 1 to 100 of a-z and 0-9 in
// words joined by single hyphens, and is CONFLICT where it is taken, also by an inactive category. It needs
// tenant:manage.
func (o Operator) CreateCategory(ctx context.Context, name, slug string) (Category, error) {
	if err := o.allowWrite(PermissionManage, uuid.Nil); err != nil {
		return Category{}, err
	}
	var v violations
	name = requiredText(&v, "name", name, 1, 100)
	if len(slug) > 100 || !isSlug(slug) {
		v.add("slug", "must be 1 to 100 characters: words of a-z and 0-9, joined by single hyphens")
	}
	if err := v.err(); err != nil {
		return Category{}, err
	}
	category := CategoryRecord{
		ID: o.s.newID(), Name: name, Slug: slug, Status: CategoryActive, CreatedAt: o.s.now(),
	}
	err := o.s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, platformAlone()); err != nil {
			return err
		}
		if err := tx.CreateCategory(ctx, category); err != nil {
			return err
		}
		return o.audit(ctx, tx, category.CreatedAt, "category.create", uuid.Nil, about("category", category.ID),
			changes{after: category.category()})
	})
	// The id is new, so nothing but the slug can be taken.
	if taken := (*ConstraintError)(nil); errors.As(err, &taken) {
		return Category{}, conflict("The slug is taken.")
	}
	if err != nil {
		return Category{}, err
	}
	return category.category(), nil
}

// ListCategories shows all categories in the order of their slugs. It needs tenant:manage.
func (o Operator) ListCategories(ctx context.Context) ([]Category, error) {
	if err := o.allow(PermissionManage, uuid.Nil); err != nil {
		return nil, err
	}
	const size = 500
	var categories []Category
	err := o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		categories = []Category{}
		for after := ""; ; {
			records, err := tx.ListCategories(ctx, after, size)
			if err != nil {
				return err
			}
			for _, record := range records {
				categories = append(categories, record.category())
			}
			if len(records) < size {
				return nil
			}
			after = records[size-1].Slug
		}
	})
	if err != nil {
		return nil, err
	}
	return categories, nil
}

// DeactivateCategory keeps new events from taking a category; those that have it go on showing it. One that is
// inactive already stays as it is. It needs tenant:manage.
func (o Operator) DeactivateCategory(ctx context.Context, id uuid.UUID) (Category, error) {
	if err := o.allowWrite(PermissionManage, uuid.Nil); err != nil {
		return Category{}, err
	}
	at := o.s.now()
	var category CategoryRecord
	err := o.s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, platformAlone()); err != nil {
			return err
		}
		var err error
		category, err = only(tx.Categories(ctx, []uuid.UUID{id}))
		if err != nil {
			return err
		}
		if category.ID == uuid.Nil {
			return notFound("The category")
		}
		if category.Status == CategoryInactive {
			return nil
		}
		before := category
		category.Status = CategoryInactive
		if err := tx.UpdateCategory(ctx, category); err != nil {
			return err
		}
		return o.audit(ctx, tx, at, "category.deactivate", uuid.Nil, about("category", id),
			changes{before.category(), category.category()})
	})
	if err != nil {
		return Category{}, err
	}
	return category.category(), nil
}

// isSlug tells whether s is [a-z0-9]+(-[a-z0-9]+)*.
func isSlug(s string) bool {
	for word := range strings.SplitSeq(s, "-") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}
