package ticketing

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// CategoryStatus is the status of a category. A new event accepts only an active category.
type CategoryStatus = driver.CategoryStatus

// The statuses of a category.
const (
	CategoryActive   = driver.CategoryActive
	CategoryInactive = driver.CategoryInactive
)

// Category is a platform-wide kind of event, created by staff. An event that has a category keeps showing it after it
// was deactivated.
//
// The contract has no list of categories. A company learns the ids that it may use at onboarding (section 4.2).
type Category struct {
	ID     uuid.UUID      `json:"id"`
	Name   string         `json:"name"`
	Slug   string         `json:"slug"`
	Status CategoryStatus `json:"status"`
}

// showCategory returns what may be shown of the category.
func showCategory(c driver.Category) Category {
	return Category{ID: c.ID, Name: c.Name, Slug: c.Slug, Status: c.Status}
}

// CreateCategory creates an active category. The name has 1 to 100 characters. The slug has 1 to 100 characters: words
// of a-z and 0-9, joined by single hyphens. A slug that is taken is CONFLICT, also if an inactive category has it. It
// needs tenant:manage.
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
	// Id and time are made before the transaction, which may run again.
	category := driver.Category{
		ID: o.s.newID(), Name: name, Slug: slug, Status: CategoryActive, CreatedAt: o.s.now(),
	}
	err := o.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		// The gate of the zero company serialises changes of what belongs to no company.
		if err := o.begin(ctx, tx, platformAlone(), PermissionManage, uuid.Nil); err != nil {
			return err
		}
		if err := tx.CreateCategory(ctx, category); err != nil {
			return err
		}
		return o.audit(ctx, tx, category.CreatedAt, "category.create", uuid.Nil, about("category", category.ID),
			changes{after: showCategory(category)})
	})
	// The id is new, so only the slug can be taken.
	if taken := (*driver.ConstraintError)(nil); errors.As(err, &taken) {
		return Category{}, conflict("The slug is taken.")
	}
	if err != nil {
		return Category{}, err
	}
	return showCategory(category), nil
}

// ListCategories returns all categories in the order of their slugs. It needs tenant:read.
//
// It has no pages: staff create categories, so there are few. They are read in one View, and each read continues after
// the last slug.
func (o Operator) ListCategories(ctx context.Context) ([]Category, error) {
	if err := o.allowPlatformRead(uuid.Nil); err != nil {
		return nil, err
	}
	// size is how many categories are read at a time.
	const size = 500
	var categories []Category
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		categories = []Category{}
		for after := ""; ; {
			records, err := tx.ListCategories(ctx, after, size)
			if err != nil {
				return err
			}
			for _, record := range records {
				categories = append(categories, showCategory(record))
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

// DeactivateCategory keeps new events from taking a category. Events that have it keep showing it. A category that is
// already inactive stays as it is. It needs tenant:manage. It cannot be undone: to use such a category again, create
// one with another slug.
func (o Operator) DeactivateCategory(ctx context.Context, id uuid.UUID) (Category, error) {
	if err := o.allowWrite(PermissionManage, uuid.Nil); err != nil {
		return Category{}, err
	}
	at := o.s.now()
	var category driver.Category
	err := o.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if err := o.begin(ctx, tx, platformAlone(), PermissionManage, uuid.Nil); err != nil {
			return err
		}
		var err error
		// The gate of the zero company guards the record, so it needs no lock of its own.
		category, err = firstRecord(tx.Categories(ctx, []uuid.UUID{id}))
		if err != nil {
			return err
		}
		// The store returns the zero record for an unknown id.
		if category.ID == uuid.Nil {
			return notFound("The category")
		}
		// A repeated deactivation is not audited.
		if category.Status == CategoryInactive {
			return nil
		}
		before := category
		category.Status = CategoryInactive
		if err := tx.UpdateCategory(ctx, category); err != nil {
			return err
		}
		return o.audit(ctx, tx, at, "category.deactivate", uuid.Nil, about("category", id),
			changes{showCategory(before), showCategory(category)})
	})
	if err != nil {
		return Category{}, err
	}
	return showCategory(category), nil
}

// isSlug reports whether s has the form [a-z0-9]+(-[a-z0-9]+)*.
func isSlug(s string) bool {
	for word := range strings.SplitSeq(s, "-") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}
