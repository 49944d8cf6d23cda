package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

type notificationPreview struct {
	orderArg

	Out previewFile `help:"The file to write, whole or not at all: .html with its pictures within, .txt, or .eml, which mail programs open." placeholder:"FILE" required:""`
}

func (*notificationPreview) Help() string {
	return `It is the mail as it would be sent now, and it has the codes of real tickets: keep it as safe as them. A ` +
		`mail that is not sent any more, since its order was refunded or cancelled, has a preview, too.

    ticketing notification preview ORDER --out tickets.html`
}

func (c *notificationPreview) Run(ctx context.Context, p *program) error {
	cfg := &ticketing.Config{MailRenderer: mail.NewRenderer()}
	return p.operateWith(ctx, cfg, func(op ticketing.Operator) error {
		rendered, err := op.PreviewNotification(ctx, c.Order.UUID)
		if err != nil {
			return err
		}
		text, err := c.Out.format(rendered)
		if err != nil {
			return err
		}
		err = writeFile(c.Out.path, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
		if err != nil {
			return err
		}
		shown := struct {
			File    string `json:"file"`
			To      string `json:"to"`
			Subject string `json:"subject"`
		}{c.Out.path, rendered.To, rendered.Subject}
		return outputErrorAfter(p.show(shown,
			field{"File", shown.File}, field{"To", shown.To}, field{"Subject", shown.Subject},
		), "the mail was written to "+c.Out.path)
	})
}

// previewFile is a file that a mail is written to. The ending of its name selects the form.
type previewFile struct {
	path   string
	format func(ticketing.Mail) ([]byte, error)
}

func (v *previewFile) UnmarshalText(text []byte) error {
	v.path = string(text)
	switch strings.ToLower(filepath.Ext(v.path)) {
	case ".html":
		v.format = func(m ticketing.Mail) ([]byte, error) { return []byte(m.Page()), nil }
	case ".txt":
		v.format = func(m ticketing.Mail) ([]byte, error) { return []byte(m.Text), nil }
	case ".eml":
		v.format = mail.Format
	default:
		return badValue("must end in .html, .txt or .eml")
	}
	return nil
}
