package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const (
	mailPath      = "/business/{companyId}/mail"
	orderMailPath = mailPath + "/{orderId}"
	resendPath    = mailPath + "/resend"
)

// mailPages returns the pages of a company's ticket mails.
func mailPages() []page {
	read := []ticketing.Permission{ticketing.PermissionNotificationRead}
	return []page{
		{
			group: groupSelling,
			path:  mailPath, scope: scopeCompany, title: "Ticket mail", nav: "Mail", icon: "mail", permissions: read,
			template: "mail.html", query: append([]string{"cursor"}, withZone(mailFilters())...), load: loadMail,
			live: []ticketing.WatchTopic{ticketing.WatchMails},
		},
		{
			path: orderMailPath, scope: scopeCompany, title: "Mail for an order", permissions: read,
			template: "mail-order.html", load: loadOrderMail,
		},
		{
			path: resendPath, scope: scopeCompany, title: "Resend failed mail",
			permissions: []ticketing.Permission{
				ticketing.PermissionNotificationRead, ticketing.PermissionNotificationResend,
			},
			template: "mail-resend.html", load: loadResend,
		},
	}
}

// mailActs returns the acts about ticket mails.
func mailActs() []act {
	return []act{
		newAct(act{
			name: "notification.resend", scope: scopeCompany, path: orderMailPath + "/resend", page: orderMailPath,
			permission: ticketing.PermissionNotificationResend, done: "The mail is being sent again.",
		}, func(m *members) string { return m.optionalText("to") }, resendMail),
		newAct(act{
			name: "notification.resend_failed", scope: scopeCompany, path: resendPath + "/start", page: resendPath,
			permission: ticketing.PermissionNotificationResend,
		}, noMembers, resendFailed),
	}
}

// mailFilters returns the members of the query that select mails.
func mailFilters() []string { return []string{"status", "since", "until"} }

// mailFilter reads the query of the list.
func mailFilter(c *call) (ticketing.NotificationFilter, error) {
	filter := ticketing.NotificationFilter{Status: ticketing.NotificationStatus(c.query("status"))}
	var err error
	filter.Since, filter.Until, err = c.period()
	return filter, err
}

// mailList is a page of notifications with its filters.
type mailList struct {
	itemList[ticketing.Notification]

	Failed   []ticketing.Notification // the newest, before all others; empty for a filtered list
	Filters  []field
	Filtered bool
	NoSender bool // the platform has no address to send from, so nothing new is made
}

// failedShown is how many failed mails come first.
const failedShown = 5

func loadMail(ctx context.Context, c *call) (view, error) {
	filter, err := mailFilter(c)
	if err != nil {
		return view{}, err
	}
	shown, err := listed(c.operator.ListNotifications(ctx, c.companyID, filter, c.paging()))
	if err != nil {
		return view{}, err
	}
	data := mailList{
		Filtered: isFiltered(c, mailFilters()...),
		Filters: append([]field{
			chosenFilter(c, "status", "Status", option{Label: "All"}, option{Value: "FAILED", Label: "Failed"},
				option{Value: "PENDING", Label: "Pending"}, option{Value: "SENT", Label: "Sent"},
				option{Value: "CANCELLED", Label: "Cancelled"}),
		}, dayFilters(c)...),
	}
	data.Items, _ = shown.data.([]ticketing.Notification)
	if !data.Filtered && c.query("cursor") == "" && !c.exchange.api {
		failed, err := c.operator.ListNotifications(ctx, c.companyID,
			ticketing.NotificationFilter{Status: ticketing.NotificationFailed}, ticketing.PageParams{Limit: failedShown})
		if err != nil {
			return view{}, err
		}
		data.Failed = failed.Items
	}
	if _, err := c.console.staff().GetMailSender(ctx); errors.Is(err, ticketing.CodeNotFound) {
		data.NoSender = true
	} else if err != nil {
		return view{}, err
	}
	// The state of mails has no filter.
	shown.data, shown.still = data, data.Filtered || c.query("cursor") != ""
	return shown, nil
}

// orderMail is what the page of an order's mails shows.
type orderMail struct {
	OrderID uuid.UUID                `json:"orderId"`
	Mails   []ticketing.Notification `json:"mails"` // the newest copy first
}

func loadOrderMail(ctx context.Context, c *call) (view, error) {
	id := c.pathID("orderId")
	if err := ownOrder(ctx, c, id); err != nil {
		return view{}, err
	}
	mails, err := c.operator.GetNotifications(ctx, id)
	shown := orderMail{OrderID: id, Mails: make([]ticketing.Notification, len(mails))}
	for i, one := range mails {
		shown.Mails[len(mails)-1-i] = one
	}
	return view{data: shown}, err
}

// ownOrder returns NOT_FOUND for an order that is not one of the company in the path.
func ownOrder(ctx context.Context, c *call, id uuid.UUID) error {
	_, err := c.operator.ListNotifications(ctx, c.companyID, ticketing.NotificationFilter{OrderID: id},
		ticketing.PageParams{Limit: 1})
	return err
}

func resendMail(ctx context.Context, c *call, to string) (outcome, error) {
	id := c.pathID("orderId")
	if err := ownOrder(ctx, c, id); err != nil {
		return outcome{}, err
	}
	made, err := c.operator.ResendNotification(ctx, id, to)
	return outcome{data: made}, err
}

// resendCount is how many failed mails an act would send again.
type resendCount struct {
	Count int `json:"count"`
}

func loadResend(ctx context.Context, c *call) (view, error) {
	count, err := c.operator.CountResends(ctx, c.companyID, ticketing.ResendParams{Failed: true})
	return view{data: resendCount{count}}, err
}

// Limits of sending many mails again. A person waits for it.
const (
	resendRate = 200 // a second
	resendTime = 10 * time.Second
)

// resentMails is what was sent again. Repeating the act sends the rest.
type resentMails struct {
	ticketing.ResendResult

	Left int `json:"left"`
}

func resendFailed(ctx context.Context, c *call, _ none) (outcome, error) {
	var done, total int
	bounded, cancel := context.WithTimeout(ctx, resendTime)
	defer cancel()
	result, err := c.operator.ResendNotifications(bounded, c.companyID, ticketing.ResendParams{
		Failed: true, Rate: resendRate, Progress: func(d, t int) { done, total = d, t },
	})
	// Running out of time is not a failure: repeating the act continues where this one ended.
	if err != nil && (ctx.Err() != nil || bounded.Err() == nil) {
		return outcome{}, err
	}
	sent := resentMails{ResendResult: result, Left: max(0, total-done)}
	text := formatPlural(result.Made, "mail is", "mails are") + " being sent again."
	if result.Skipped > 0 {
		text += fmt.Sprintf(" %d were skipped: their order ended, or they were sent again ten times today.", result.Skipped)
	}
	next := c.expand(mailPath)
	if sent.Left > 0 {
		text += fmt.Sprintf(" %d are left.", sent.Left)
		next = c.expand(resendPath)
	}
	return outcome{data: sent, done: text, next: next}, nil
}
