package storetest

import (
	"context"
	"errors"

	"github.com/floatgate/ticketing/driver"
)

func newMailSender(version int64) driver.MailSender {
	return driver.MailSender{
		Version: version, Address: "tickets@example.com", Name: awkward, Bounces: "bounces@example.com",
		CreatedAt: at(int(version)),
	}
}

func mailSenderKinds() []record {
	kept := newMailSender(1)
	holds := func(found driver.MailSender) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return want("MailSender", found).from(tx.MailSender(ctx))
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error { return tx.AppendMailSender(ctx, kept) }
	return []record{{
		name: "mail senders", create: create, created: holds(kept), absent: holds(driver.MailSender{}),
		taken: map[string]writes{"version": func(ctx context.Context, tx driver.Tx) error {
			other := newMailSender(1)
			other.Address = "other@example.com"
			return tx.AppendMailSender(ctx, other)
		}},
	}}
}

func mailSenderChecks() []Check {
	return []Check{
		{"mail senders/the last version holds", grounded(lastMailSender)},
		{"mail senders/versions begin with 1", grounded(mailSenderVersions)},
	}
}

// lastMailSender has versions, of which the last one removes the sender and one is appended late.
func lastMailSender(ctx context.Context, s driver.Store) error {
	removed := driver.MailSender{Version: 10, CreatedAt: at(3)}
	appends := func(senders ...driver.MailSender) writes {
		return func(ctx context.Context, tx driver.Tx) error {
			for _, sender := range senders {
				if err := tx.AppendMailSender(ctx, sender); err != nil {
					return err
				}
			}
			return nil
		}
	}
	holds := func(what string, sender driver.MailSender) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want(what, sender).from(tx.MailSender(ctx))
			})
		}
	}
	return steps(
		func() error { return update(ctx, s, appends(newMailSender(1), newMailSender(2))) },
		holds("the second", newMailSender(2)),
		func() error { return failing(ctx, s, appends(newMailSender(3))) },
		holds("after an Update that failed", newMailSender(2)),
		func() error { return update(ctx, s, appends(removed, newMailSender(9))) },
		holds("the one that was removed", removed),
	)
}

func mailSenderVersions(ctx context.Context, s driver.Store) error {
	var err error
	for _, version := range []int64{0, -1} {
		err = errors.Join(err, refuses("append a version below 1",
			update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return tx.AppendMailSender(ctx, newMailSender(version))
			})))
	}
	return err
}
