package memory

import (
	"context"

	"github.com/floatgate/ticketing/driver"
)

type mailSenders struct {
	byVersion map[int64]driver.MailSender
	last      driver.MailSender
}

func newMailSenders() mailSenders {
	return mailSenders{byVersion: make(map[int64]driver.MailSender)}
}

func (r reading) MailSender(ctx context.Context) (driver.MailSender, error) {
	return ask(ctx, r, func(s *state) driver.MailSender { return s.mailSenders.last })
}

func (tx *updating) AppendMailSender(ctx context.Context, sender driver.MailSender) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		sender.CreatedAt = moment(sender.CreatedAt)
		if err := check(sender.Version >= 1, "mail_senders_version_check"); err != nil {
			return err
		}
		if err := create(u, s.mailSenders.byVersion, sender.Version, sender, "mail_senders_pkey"); err != nil {
			return err
		}
		if sender.Version > s.mailSenders.last.Version {
			set(u, &s.mailSenders.last, sender)
		}
		return nil
	})
}
