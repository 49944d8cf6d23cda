package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/floatgate/ticketing"
)

type categoryCommands struct {
	Create     categoryCreate     `cmd:"" help:"Create a category that events may take."`
	List       categoryList       `cmd:"" help:"List all categories, by slug."`
	Deactivate categoryDeactivate `cmd:"" help:"Keep new events from taking a category; those that have it keep it."`
}

type categoryCreate struct {
	Name string `help:"Name of the category." placeholder:"NAME" required:""`
	Slug string `help:"Its name in addresses, which no other category has." placeholder:"SLUG" required:""`
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

type categoryList struct{}

func (*categoryList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		categories, err := op.ListCategories(ctx)
		if err != nil {
			return err
		}
		list := p.list("ID", "NAME", "SLUG", "STATUS")
		for _, category := range categories {
			err := list.add(category, category.ID.String(), category.Name, category.Slug, string(category.Status))
			if err != nil {
				return err
			}
		}
		return list.end()
	})
}

type categoryDeactivate struct {
	requiredConfirm

	Category id `arg:"" help:"Id of the category." placeholder:"CATEGORY"`
}

func (c *categoryDeactivate) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		err := c.confirm(p, func() (string, error) {
			categories, err := op.ListCategories(ctx)
			if err != nil {
				return "", err
			}
			i := slices.IndexFunc(categories, func(category ticketing.Category) bool { return category.ID == c.Category.UUID })
			if i < 0 {
				return "", &failure{code: string(ticketing.CodeNotFound), text: "The category was not found."}
			}
			return fmt.Sprintf("Deactivate the category %s (%s)?", quoted(categories[i].Name), categories[i].ID), nil
		})
		if err != nil {
			return err
		}
		category, err := op.DeactivateCategory(ctx, c.Category.UUID)
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
