package ticketing_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// mailMutations returns the mutations of the platform's mail sender and of ticket mails.
func mailMutations() []mutation {
	return []mutation{
		{
			name: "set the mail sender",
			do:   numberedSender,
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				sender, err := f.staff.GetMailSender(ctx)
				if errors.Is(err, ticketing.CodeNotFound) {
					return false, nil
				}
				made := sender.Address == fmt.Sprintf("tickets-%d@example.com", n)
				if err == nil && made != (sender.Name == fmt.Sprintf("Tickets %d", n)) {
					err = errHalfDone
				}
				return made, err
			},
		},
		{
			name:  "remove the mail sender",
			ready: numberedSender,
			do: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.RemoveMailSender(ctx)
				return err
			},
			made: func(ctx context.Context, f fixture, _ int) (bool, error) {
				_, err := f.staff.GetMailSender(ctx)
				if errors.Is(err, ticketing.CodeNotFound) {
					return true, nil
				}
				return false, err
			},
		},
		{
			name:  "send a mail again",
			ready: unmailable("again"),
			do: func(ctx context.Context, f fixture, n int) error {
				order, err := f.sale(ctx, "again", n)
				if err == nil {
					_, err = f.staff.ResendNotification(ctx, order.ID, "corrected@example.com")
				}
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				number, err := f.mailedAgain(ctx, "again", n)
				return once(number, err)
			},
			after: cancelFailed,
		},
		{
			name:  "send many mails again",
			ready: unmailable("many", "more"),
			// At this rate one transaction makes the copies of all the orders.
			do: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.ResendNotifications(ctx, f.company, ticketing.ResendParams{Failed: true, Rate: 1000})
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				many, err := f.mailedAgain(ctx, "many", n)
				more, failed := f.mailedAgain(ctx, "more", n)
				if err = errors.Join(err, failed); err == nil && many != more {
					err = errHalfDone
				}
				return once(many, err)
			},
			after: cancelFailed,
		},
	}
}

// numberedSender gives the platform the sender of the n-th mutation.
func numberedSender(ctx context.Context, f fixture, n int) error {
	_, err := f.staff.SetMailSender(ctx, ticketing.MailSenderParams{
		Address: fmt.Sprintf("tickets-%d@example.com", n), Name: fmt.Sprintf("Tickets %d", n),
	})
	return err
}

// unmailable returns a function that gives the platform a sender, and makes an order of each name. Its mail failed.
func unmailable(names ...string) func(ctx context.Context, f fixture, n int) error {
	return func(ctx context.Context, f fixture, n int) error {
		err := numberedSender(ctx, f, n)
		for _, name := range names {
			if err == nil {
				err = f.keepNotifications(ctx, name, n, driver.Notification{
					Copy: 1, Status: ticketing.NotificationFailed, Reason: "expired", FinishedAt: ticketingtest.Opening,
				})
			}
		}
		return err
	}
}

// cancelFailed cancels the mails that failed, so that the next repetition does not find more and more of them.
func cancelFailed(ctx context.Context, f fixture, _ int) error {
	return f.keeper.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{f.company}}); err != nil {
			return err
		}
		failed, err := tx.ListNotifications(ctx, driver.NotificationQuery{
			CompanyID: f.company, Status: ticketing.NotificationFailed, Limit: 100,
		})
		if err != nil {
			return err
		}
		refs := make([]driver.NotificationRef, len(failed))
		for i, n := range failed {
			refs[i] = n.Ref()
		}
		if failed, err = tx.LockNotifications(ctx, refs); err != nil {
			return err
		}
		for i := range failed {
			failed[i].Status = ticketing.NotificationCancelled
		}
		return tx.UpdateNotifications(ctx, failed)
	})
}

// notified returns a function that makes the order for the n-th mutation of a name. Its mail is pending, and so is a
// copy to another address.
func notified(name string) func(ctx context.Context, f fixture, n int) error {
	return func(ctx context.Context, f fixture, n int) error {
		return f.keepNotifications(ctx, name, n,
			driver.Notification{Copy: 1, Status: ticketing.NotificationPending},
			driver.Notification{Copy: 2, Status: ticketing.NotificationPending, Recipient: "elsewhere@example.com"})
	}
}

// keepNotifications stores notifications of the order for the n-th mutation of a name, as the dispatch makes them.
func (f fixture) keepNotifications(ctx context.Context, name string, n int, copies ...driver.Notification) error {
	order, err := f.sale(ctx, name, n)
	if err != nil {
		return err
	}
	return f.keeper.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{f.company}}); err != nil {
			return err
		}
		kept, err := tx.Orders(ctx, []driver.OrderRef{{CompanyID: f.company, ID: order.ID}})
		if err != nil {
			return err
		}
		made := make([]driver.Notification, len(copies))
		for i, c := range copies {
			c.CompanyID, c.Number, c.OrderID, c.EventID = f.company, kept[0].Number, order.ID, order.EventID
			c.DueAt, c.CreatedAt = ticketingtest.Opening, ticketingtest.Opening
			made[i] = c
		}
		return tx.AppendNotifications(ctx, made)
	})
}

// mailedAgain returns how many further copies the mail of the order for the n-th mutation of a name has.
func (f fixture) mailedAgain(ctx context.Context, name string, n int) (int, error) {
	order, err := f.sale(ctx, name, n)
	if err != nil {
		return 0, err
	}
	copies, err := f.staff.GetNotifications(ctx, order.ID)
	return len(copies) - 1, err
}

// cancelledMails returns errHalfDone unless the mails of an order are all cancelled, where it has ended, or pending.
// If its buyer is erased, the copy to another address has lost that, and else it has it.
func (f fixture) cancelledMails(ctx context.Context, orderID uuid.UUID, ended, erased bool) error {
	copies, err := f.staff.GetNotifications(ctx, orderID)
	if err != nil {
		return err
	}
	for i, n := range copies {
		if (n.Status == ticketing.NotificationCancelled) != ended || n.Elsewhere != (i == 1 && !erased) {
			return errHalfDone
		}
	}
	if len(copies) != 2 {
		return fmt.Errorf("the order has %d mails", len(copies))
	}
	return nil
}
