package console

import (
	"context"

	"github.com/floatgate/ticketing"
)

const categoriesPath = "/platform/categories"

// categoryPages returns the page of the kinds of events.
func categoryPages() []page {
	return []page{{
		group: groupSettings,
		path:  categoriesPath, scope: scopePlatform, title: "Categories", nav: "Categories", icon: "tag",
		permissions: []ticketing.Permission{ticketing.PermissionTenantRead}, template: "categories.html",
		load: func(ctx context.Context, c *call) (view, error) {
			found, err := c.operator.ListCategories(ctx)
			return view{data: found}, err
		},
	}}
}

// categoryParams are the members of a new category.
type categoryParams struct{ name, slug string }

// categoryActs returns what staff do about categories.
func categoryActs() []act {
	return []act{
		newAct(act{
			name: "category.create", scope: scopePlatform, path: categoriesPath + "/create", page: categoriesPath,
			permission: ticketing.PermissionManage, done: "The category was created.",
		}, func(m *members) categoryParams { return categoryParams{m.text("name"), m.text("slug")} },
			func(ctx context.Context, c *call, p categoryParams) (outcome, error) {
				made, err := c.operator.CreateCategory(ctx, p.name, p.slug)
				return outcome{data: made}, err
			}),
		newAct(act{
			name: "category.deactivate", scope: scopePlatform, path: categoriesPath + "/{categoryId}/deactivate",
			page: categoriesPath, permission: ticketing.PermissionManage,
			done: "The category is deactivated. New events cannot use it.",
		}, noMembers, func(ctx context.Context, c *call, _ none) (outcome, error) {
			changed, err := c.operator.DeactivateCategory(ctx, c.pathID("categoryId"))
			return outcome{data: changed}, err
		}),
	}
}
