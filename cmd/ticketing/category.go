package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type categoryCommands struct {
	Create     categoryCreate     `cmd:"" help:"Create a category for events."`
	List       categoryList       `cmd:"" help:"List all categories, by slug."`
	Deactivate categoryDeactivate `cmd:"" help:"Deactivate a category. Events that have it keep it."`
}

type categoryCreate struct {
	Name string `help:"Name of the category." placeholder:"NAME" required:""`
	Slug string `help:"Name of the category in URLs. It must be unique." placeholder:"SLUG" required:""`
}

func (*categoryCreate) Help() string {
	return `A slug has 1 to 100 characters: words of a-z and 0-9, joined by single hyphens.

    ticketing category create --name 'Live music' --slug live-music`
}

func (c *categoryCreate) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		category, err := op.CreateCategory(ctx, c.Name, c.Slug)
		if err != nil {
			return err
		}
		return p.showCategory(category)
	})
}

type categoryList struct{ listFlags }

func (c *categoryList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		categories, err := op.ListCategories(ctx)
		if err != nil {
			return err
		}
		columns := []column{shortIDs("ID"), texts("NAME"), words("SLUG"), states("STATUS")}
		return p.list(c.listFlags, columns, func(list *list) error {
			return eachOf(categories, func(category ticketing.Category) error {
				return list.add(category, category.ID.String(), category.Name, category.Slug, string(category.Status))
			})
		})
	})
}

type categoryDeactivate struct {
	requiredConfirm

	Category shortID `arg:"" help:"Id or slug of the category." placeholder:"CATEGORY"`
}

func (c *categoryDeactivate) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		categories, err := op.ListCategories(ctx)
		if err != nil {
			return err
		}
		category, err := findRecord(c.Category, "category", categories, func(c ticketing.Category) (uuid.UUID, string) {
			return c.ID, c.Slug
		})
		if err != nil {
			return err
		}
		err = c.confirm(p, func() (string, error) {
			return fmt.Sprintf("Deactivate the category %s (%s)?", quoted(category.Name), category.ID), nil
		})
		if err != nil {
			return err
		}
		category, err = op.DeactivateCategory(ctx, category.ID)
		if err != nil {
			return err
		}
		return p.showCategory(category)
	})
}

func (p *program) showCategory(category ticketing.Category) error {
	return p.showRecord(category.ID.String(), category,
		field{"ID", category.ID.String()},
		field{"Name", category.Name},
		field{"Slug", category.Slug},
		field{"Status", string(category.Status)},
	)
}
