package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/floatgate/ticketing"
)

type eventCommands struct {
	End eventEnd `cmd:"" help:"End a published event at once."`
}

type eventEnd struct {
	requiredConfirm

	Event id `arg:"" help:"Id of the event." placeholder:"EVENT"`
}

func (*eventEnd) Help() string {
	return `Nothing of it is sold any more; its tickets stay valid at the gate. By itself an event ends within a minute ` +
		`after its scheduled end.`
}

func (c *eventEnd) Run(ctx context.Context, p *program) error {
	return p.operateOn(ctx, nil, func(svc *ticketing.Service, op ticketing.Operator) error {
		err := c.confirm(p, func() (string, error) {
			question := ""
			err := searchEvent(ctx, op, func(company ticketing.Company) (bool, error) {
				caller := ticketing.TrustedCaller(company.ID, ticketing.AllGrants()...)
				event, err := svc.GetEvent(ctx, caller, c.Event.UUID)
				if refused, ok := errors.AsType[*ticketing.Error](err); ok && refused.Code == ticketing.CodeNotFound {
					return false, nil
				}
				question = fmt.Sprintf("End the event %s (%s) of the company %s?",
					quoted(event.Title), c.Event, quoted(company.Name))
				return err == nil, err
			})
			return question, err
		})
		if err != nil {
			return err
		}
		event, err := op.EndEvent(ctx, c.Event.UUID)
		if err != nil {
			return err
		}
		return p.showRecord(event.ID.String(), event,
			field{"ID", event.ID.String()},
			field{"Title", event.Title},
			field{"Status", string(event.Status)},
			field{"Date", orDash(event.Schedule.Date)},
			field{"Updated", event.UpdatedAt.String()},
		)
	})
}
