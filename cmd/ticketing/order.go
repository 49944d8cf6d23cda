package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/floatgate/ticketing"
)

type orderCommands struct {
	List   orderList   `cmd:"" help:"List the orders of a company, newest first."`
	Show   orderShow   `cmd:"" help:"Show an order and which of its tickets were scanned."`
	Refund orderRefund `cmd:"" help:"Refund a confirmed order: the gross returns to FLOAT, the commission is taken back."`
	Cancel orderCancel `cmd:"" help:"Cancel a confirmed order: its tickets become void, no money moves."`
}

type orderList struct {
	companyArg
	listFlags

	Email  string      `help:"Only those of this buyer." placeholder:"EMAIL"`
	Event  id          `help:"Only those of this event." placeholder:"EVENT"`
	Status orderStatus `help:"Only those that are CONFIRMED, CANCELLED or REFUNDED." placeholder:"STATUS"`
}

func (*orderList) Help() string {
	return `--email searches all orders of the company: a million take about a second.

    ticketing order list COMPANY --email ada@example.com`
}

func (c *orderList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		columns := []column{
			ids("ID"), states("STATUS"), numbers("GROSS"), numbers("COMMISSION").optional(), numbers("TICKETS").optional(),
			numbers("SCANNED").optional(), texts("BUYER"), times("CONFIRMED"),
		}
		var search ticketing.OrderSearch
		search.Email, search.EventID = c.Email, c.Event.UUID
		if c.Status.OrderStatus != "" {
			search.Statuses = []ticketing.OrderStatus{c.Status.OrderStatus}
		}
		return p.list(c.listFlags, columns, func(list *list) error {
			page := func(params ticketing.PageParams) (ticketing.Page[ticketing.OrderDetail], error) {
				search.PageParams = params
				return op.ListOrders(ctx, c.Company.UUID, search)
			}
			return eachPage(list.params(), page, func(order ticketing.OrderDetail) error {
				return list.add(order, order.ID.String(), string(order.Status), order.Gross.String(),
					order.Commission.Amount.String(), strconv.Itoa(len(order.Lines)), strconv.Itoa(scanned(order)),
					order.Buyer.Email, order.ConfirmedAt.String())
			})
		})
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
		name, err := companyNamed(ctx, op, order.CompanyID)
		return fmt.Sprintf("%s the order %s of %s (%s, %s) of the company %s?", do, order.ID, naira(order.Gross),
			plural(len(order.Lines), "ticket", "tickets"), scannedOf(order), name), err
	})
}

// scannedOf returns how many of an order's tickets were scanned, in words.
func scannedOf(order ticketing.OrderDetail) string {
	switch n := scanned(order); n {
	case 0:
		return "none scanned"
	case len(order.Lines):
		return "all scanned"
	default:
		return strconv.Itoa(n) + " scanned"
	}
}

type orderRefund struct {
	orderEnd

	Restock bool `help:"Return the tickets to the stock. They are on sale if event and tier are."`
}

func (*orderRefund) Help() string {
	return `A refund is refused if EARNINGS no longer hold the commission because it was settled. With --restock the ` +
		`tickets return to the stock: paused on a draft event, cancelled if the tier was cancelled. For an event that is ` +
		`cancelled or has ended, nothing returns. "Restocked" says whether the tickets returned.

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
