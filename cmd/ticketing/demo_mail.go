package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// The mail sender of the demo.
const (
	demoSender     = "tickets@example.com"
	demoSenderName = "Ticketing demo"
)

// mailFolder returns the folder that mails are written to.
func (c *demoCommand) mailFolder(p *program) string {
	if c.MailFolder != "" {
		return c.MailFolder
	}
	if path, ok := strings.CutPrefix(p.Database, sqlitePrefix); ok {
		return path + ".mail"
	}
	return filepath.Join(cmp.Or(p.getenv("TMPDIR"), os.TempDir()), "ticketing-mail-"+uuid.NewString())
}

// setDemoSender sets a mail sender if there is none, so that sales make mails.
func setDemoSender(ctx context.Context, op ticketing.Operator) error {
	_, err := op.GetMailSender(ctx)
	if errors.Is(err, ticketing.CodeNotFound) {
		_, err = op.SetMailSender(ctx, ticketing.MailSenderParams{Address: demoSender, Name: demoSenderName})
	}
	return err
}

// The wait for the mail of the ticket. It takes milliseconds.
const (
	demoMailWait  = 10 * time.Second
	demoMailPause = 10 * time.Millisecond
)

// findDemoMail waits until the mail of an order was written, and returns its file. The file is nil if the mail does not
// appear in the folder in time: it cannot be written, or another server of this database has sent it.
func findDemoMail(
	ctx context.Context, op ticketing.Operator, folder string, orderID uuid.UUID,
) (*string, error) {
	in, err := mail.NewFolder(folder)
	if err != nil {
		return nil, badMailer(err)
	}
	wanted, err := op.PreviewNotification(ctx, orderID)
	if err != nil {
		return nil, fmt.Errorf("find the mail of the ticket: %w", err)
	}
	pending := func(n ticketing.Notification) bool { return n.Status == ticketing.NotificationPending }
	for late := time.After(demoMailWait); ; {
		copies, err := op.GetNotifications(ctx, orderID)
		if err != nil {
			return nil, fmt.Errorf("find the mail of the ticket: %w", err)
		}
		if len(copies) > 0 && !slices.ContainsFunc(copies, pending) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late:
			return nil, nil
		case <-time.After(demoMailPause):
		}
	}
	path := in.Path(wanted.MessageID)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return &path, nil
	}
	return nil, nil
}
