package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/floatgate/ticketing"
)

type eventCommands struct {
	List eventList `cmd:"" help:"List the events of a company, newest first."`
	End  eventEnd  `cmd:"" help:"End a published event now."`
}

type eventList struct {
	companyArg
	listFlags

	Status eventStatus `help:"Only those that are DRAFT, PUBLISHED, ENDED or CANCELLED." placeholder:"STATUS"`
}

func (c *eventList) Run(ctx context.Context, p *program) error {
	return p.operateOn(ctx, nil, func(svc *ticketing.Service, op ticketing.Operator) error {
		if _, err := op.GetCompany(ctx, c.Company.UUID); err != nil {
			return err
		}
		columns := []column{ids("ID"), texts("TITLE"), states("STATUS"), words("DATE"), times("CREATED").optional()}
		return p.list(c.listFlags, columns, func(list *list) error {
			caller := ticketing.TrustedCaller(c.Company.UUID, ticketing.AllGrants()...)
			page := func(params ticketing.PageParams) (ticketing.Page[ticketing.Event], error) {
				return svc.ListEvents(ctx, caller, ticketing.EventFilter{PageParams: params, Status: c.Status.EventStatus})
			}
			return eachPage(list.params(), page, func(event ticketing.Event) error {
				return list.add(event, event.ID.String(), event.Title, string(event.Status), orDash(event.Schedule.Date),
					event.CreatedAt.String())
			})
		})
	})
}

// eventStatus is the status of an event.
type eventStatus struct{ ticketing.EventStatus }

func (v *eventStatus) UnmarshalText(text []byte) error {
	switch status := ticketing.EventStatus(text); status {
	case ticketing.EventDraft, ticketing.EventPublished, ticketing.EventEnded, ticketing.EventCancelled:
		v.EventStatus = status
		return nil
	default:
		return badValue("must be DRAFT, PUBLISHED, ENDED or CANCELLED")
	}
}

type eventEnd struct {
	requiredConfirm

	Event id `arg:"" help:"Id of the event." placeholder:"EVENT"`
}

func (*eventEnd) Help() string {
	return `Sales stop, and sold tickets stay valid at the gate. An event ends by itself within a minute after its ` +
		`scheduled end.`
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
