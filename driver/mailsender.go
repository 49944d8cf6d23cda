package driver

import (
	"context"
	"time"
)

// MailSender is a version of the platform's mail sender as a store keeps it. Versions are never changed or removed; the
// last one is in effect. It belongs to no company: the gate of the zero company guards it.
type MailSender struct {
	Version   int64  // 1, 2, 3 …
	Address   string // empty: the sender was removed
	Name      string
	Bounces   string // empty: bounces go to the address
	CreatedAt time.Time
}

// MailSenderReader finds the platform's mail sender.
type MailSenderReader interface {
	// MailSender returns the last version, and the zero record if there is none.
	MailSender(ctx context.Context) (MailSender, error)
}

// MailSenderWriter keeps versions of the platform's mail sender.
type MailSenderWriter interface {
	// AppendMailSender keeps a new version. A version that exists breaks a constraint.
	AppendMailSender(ctx context.Context, sender MailSender) error
}
