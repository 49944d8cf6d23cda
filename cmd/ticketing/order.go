package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/floatgate/ticketing"
)

type orderCommands struct {
	List   orderList   `cmd:"" help:"List the orders of a company, newest first."`
	Show   orderShow   `cmd:"" help:"Show an order and what was scanned of it."`
	Refund orderRefund `cmd:"" help:"Refund a confirmed order: FLOAT gets the gross back, EARNINGS give the commission."`
	Cancel orderCancel `cmd:"" help:"Cancel a confirmed order: its tickets no longer validate, no money moves."`
}

type orderList struct {
	companyArg

	Email  string      `help:"Only those of this buyer." placeholder:"EMAIL"`
	Event  id          `help:"Only those of this event." placeholder:"EVENT"`
	Status orderStatus `help:"Only those that are CONFIRMED, CANCELLED or REFUNDED." placeholder:"STATUS"`
}

func (*orderList) Help() string {
	return `With --email all orders of the company are looked through: a million take about a second.

    ticketing order list COMPANY --email ada@example.com`
}

func (c *orderList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		list := p.list("ID", "STATUS", "GROSS", "COMMISSION", "TICKETS", "SCANNED", "BUYER", "CONFIRMED")
		var search ticketing.OrderSearch
		search.Limit, search.Email, search.EventID = ticketing.MaxPageLimit, c.Email, c.Event.UUID
		if c.Status.OrderStatus != "" {
			search.Statuses = []ticketing.OrderStatus{c.Status.OrderStatus}
		}
		for {
			page, err := op.ListOrders(ctx, c.Company.UUID, search)
			if err != nil {
				return err
			}
			for _, order := range page.Items {
				err := list.add(order, order.ID.String(), string(order.Status), order.Gross.String(),
					order.Commission.Amount.String(), strconv.Itoa(len(order.Lines)), strconv.Itoa(scanned(order)),
					order.Buyer.Email, order.ConfirmedAt.String())
				if err != nil {
					return err
				}
			}
			if !page.HasMore {
				return list.end()
			}
			search.Cursor = page.NextCursor
		}
	})
}

// scanned returns how many of an order's admissions were validated.
func scanned(order ticketing.OrderDetail) int {
	count := 0
	for _, line := range order.Lines {
		if line.Validation != nil {
			count++
		}
	}
	return count
}

// orderArg names the order that a command is about.
type orderArg struct {
	Order id `arg:"" help:"Id of the order." placeholder:"ORDER"`
}

type orderShow struct{ orderArg }

func (c *orderShow) Run(ctx context.Context, p *program) error {
	return p.order(ctx, func(op ticketing.Operator) (ticketing.OrderDetail, error) {
		return op.GetOrder(ctx, c.Order.UUID)
	})
}

// orderEnd is the arguments of the commands that refund or cancel an order.
type orderEnd struct {
	orderArg
	requiredConfirm

	Reason string `help:"Why, 1 to 500 characters." placeholder:"REASON" required:""`
}

// asked asks for confirmation of an action on the order.
func (c orderEnd) asked(ctx context.Context, p *program, op ticketing.Operator, do string) error {
	return c.confirm(p, func() (string, error) {
		order, err := op.GetOrder(ctx, c.Order.UUID)
		if err != nil {
			return "", err
		}
		name, err := companyArg{Company: id{order.CompanyID}}.named(ctx, op)
		return fmt.Sprintf("%s the order %s of %s, %d tickets, %d of them scanned, of the company %s?", do, order.ID,
			naira(order.Gross), len(order.Lines), scanned(order), name), err
	})
}

type orderRefund struct {
	orderEnd

	Restock bool `help:"Count its tickets as unsold again, on sale where event and tier are."`
}

func (*orderRefund) Help() string {
	return `It is refused where EARNINGS do not hold the commission any more, since it was settled. With --restock the ` +
		`tickets count as unsold again: paused on a draft event, not on sale where the tier was cancelled. On an event ` +
		`that is cancelled or has ended nothing goes back. "Restocked" tells whether they count as unsold.

    ticketing order refund ORDER --reason 'The headliner fell ill' --restock`
}

func (c *orderRefund) Run(ctx context.Context, p *program) error {
	return p.order(ctx, func(op ticketing.Operator) (ticketing.OrderDetail, error) {
		if err := c.asked(ctx, p, op, "Refund"); err != nil {
			return ticketing.OrderDetail{}, err
		}
		return op.RefundOrder(ctx, c.Order.UUID, ticketing.RefundParams{Reason: c.Reason, Restock: c.Restock})
	})
}

type orderCancel struct{ orderEnd }

func (c *orderCancel) Run(ctx context.Context, p *program) error {
	return p.order(ctx, func(op ticketing.Operator) (ticketing.OrderDetail, error) {
		if err := c.asked(ctx, p, op, "Cancel"); err != nil {
			return ticketing.OrderDetail{}, err
		}
		return op.CancelOrder(ctx, c.Order.UUID, c.Reason)
	})
}

// order runs do, which returns an order, and prints the order.
func (p *program) order(
	ctx context.Context, do func(op ticketing.Operator) (ticketing.OrderDetail, error),
) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		order, err := do(op)
		if err != nil {
			return err
		}
		fields := []field{
			{"ID", order.ID.String()},
			{"Company", order.CompanyID.String()},
			{"Event", order.EventID.String()},
			{"Status", string(order.Status)},
			{"Gross", naira(order.Gross)},
			{"Commission", naira(order.Commission.Amount)},
			{"Buyer", order.Buyer.Email},
			{"Full name", orDash(order.Buyer.Fullname)},
			{"Phone", orDash(order.Buyer.Phone)},
			{"Confirmed", order.ConfirmedAt.String()},
		}
		if ending := order.Ending; ending != nil {
			fields = append(fields, field{"Ended", ending.At.String()}, field{"Reason", ending.Reason},
				field{"Restocked", yesNo(ending.Restocked)})
		}
		for _, line := range order.Lines {
			fields = append(fields, field{"Ticket", ticket(line)})
		}
		return p.showRecord(order.ID.String(), order, fields...)
	})
}

// ticket formats a line of an order for a person.
func ticket(line ticketing.OrderDetailLine) string {
	text := fmt.Sprintf("%s  %s  %s", line.AdmissionID, line.Tier, naira(line.UnitPrice))
	switch {
	case line.Validation != nil && line.Validation.Location != nil:
		return text + "  scanned " + line.Validation.ValidatedAt.String() + " at " + *line.Validation.Location
	case line.Validation != nil:
		return text + "  scanned " + line.Validation.ValidatedAt.String()
	case line.Voided:
		return text + "  void"
	default:
		return text + "  not scanned"
	}
}
