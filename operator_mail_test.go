package ticketing_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// setMailSender gives the platform a mail sender.
func setMailSender(ctx context.Context, o ticketing.Operator, _ subject) error {
	_, err := o.SetMailSender(ctx, ticketing.MailSenderParams{Address: "tickets@example.com", Name: "Tickets"})
	return err
}

// mailRights returns the rights of notifications and of the mail sender.
func mailRights() []right {
	const (
		read   = ticketing.PermissionNotificationRead
		resend = ticketing.PermissionNotificationResend
		manage = ticketing.PermissionManage
	)
	return []right{
		{
			method: "ListNotifications", permission: read,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListNotifications(ctx, own.company, ticketing.NotificationFilter{}, ticketing.PageParams{})
				return err
			},
		},
		{
			method: "GetNotifications", permission: read, sells: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetNotifications(ctx, own.order)
				return err
			},
		},
		{
			method: "PreviewNotification", permission: read, sells: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.PreviewNotification(ctx, own.order)
				return err
			},
		},
		{
			method: "PreviewTicketMail", permission: ticketing.PermissionBrandingRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.PreviewTicketMail(ctx, own.company)
				return err
			},
		},
		{
			method: "ResendNotification", action: "notification.resend", permission: resend, sells: true,
			before: setMailSender,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ResendNotification(ctx, own.order, "")
				return err
			},
		},
		{
			method: "ResendNotifications", action: "notification.resend", permission: resend, sells: true,
			before: setMailSender,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ResendNotifications(ctx, own.company, ticketing.ResendParams{Missing: true})
				return err
			},
		},
		{
			method: "CountResends", permission: resend, sells: true, before: setMailSender,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.CountResends(ctx, own.company, ticketing.ResendParams{Missing: true})
				return err
			},
		},
		{
			method: "SetMailSender", action: "mail_sender.set", permission: manage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				return setMailSender(ctx, o, subject{})
			},
		},
		{
			method: "GetMailSender", permission: manage, platform: true, before: setMailSender,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.GetMailSender(ctx)
				return err
			},
		},
		{
			method: "RemoveMailSender", action: "mail_sender.remove", permission: manage, platform: true,
			before: setMailSender,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.RemoveMailSender(ctx)
				return err
			},
		},
		{
			method: "SampleTicketMail", permission: manage, platform: true, before: setMailSender,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.SampleTicketMail(ctx, uuid.Nil)
				return err
			},
		},
	}
}
