package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

type mailSenderModel struct {
	bun.BaseModel `bun:"table:ticketing_mail_senders,alias:s"`
	mailSenderFields
}

type mailSenderFields struct {
	Version   int64 `bun:",pk"`
	Address   string
	Name      string
	Bounces   string
	CreatedAt time.Time
}

func (m mailSenderModel) record() driver.MailSender { return driver.MailSender(m.mailSenderFields) }

// MailSender returns the last version. The condition makes SQLite search for it from the end of the key.
func (s *session) MailSender(ctx context.Context) (driver.MailSender, error) {
	return firstRow(find(ctx, s, "MailSender", mailSenderModel.record,
		s.newSelect().Where("version >= ?", integer(1)).Apply(page("version DESC", 1))))
}

// AppendMailSender inserts a version. A trigger refuses to change or remove one.
func (tx *transaction) AppendMailSender(ctx context.Context, sender driver.MailSender) error {
	return tx.create(ctx, "AppendMailSender", &mailSenderModel{mailSenderFields: mailSenderFields(sender)})
}
