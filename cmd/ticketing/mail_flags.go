package main

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// mailerFlags holds the two ways to send mails: to a mail server, or to a folder. The parser refuses flags that exclude
// each other, and lets the command line take precedence over the environment.
type mailerFlags struct {
	SMTP         smtpURL  `help:"The mail server: smtp://USER:PASSWORD@HOST:587 with STARTTLS, or smtps://USER:PASSWORD@HOST:465; special characters in both are percent-encoded. Give a URL with a password as TICKETING_SMTP: others can see a command line." name:"smtp" placeholder:"URL" xor:"mailer"`
	SMTPFile     smtpFile `help:"File that holds that URL." name:"smtp-file" placeholder:"FILE" xor:"mailer"`
	SMTPCAFile   roots    `help:"PEM file of additional CA certificates for the mail server." name:"smtp-ca-file" placeholder:"FILE" xor:"ca"`
	SMTPHello    hello    `help:"Name for the greeting of the mail server (EHLO). Defaults to the host name." name:"smtp-hello" placeholder:"NAME" xor:"hello"`
	DKIMKey      dkimKey  `help:"PEM file of the DKIM private key, if the mail server does not sign mails itself." name:"dkim-key" placeholder:"FILE" xor:"key"`
	DKIMSelector string   `help:"DKIM selector in the DNS of the sender's domain." name:"dkim-selector" placeholder:"NAME" xor:"selector"`
	MailFolder   string   `help:"Write mails to this folder instead, a file each; for development." placeholder:"DIR" xor:"mailer,ca,hello,key,selector,rate"`
}

// mailFlags holds the flags of a server about mails.
type mailFlags struct {
	mailerFlags

	MailRate      count     `help:"Most mails this server sends per second, evenly spaced; 0 is no limit." placeholder:"N" xor:"rate"`
	MailRetention retention `default:"180d" help:"How long finished notifications are kept, such as 180d; 0 keeps them forever." placeholder:"TIME"`
	NoMail        bool      `help:"Send no mails from this server; another server does." name:"no-mail" xor:"mailer,ca,hello,key,selector,rate"`
}

// A mailer renders mails and sends them.
type mailer interface {
	ticketing.Mailer
	ticketing.MailRenderer
}

// open returns the mailer, which sends at most rate mails a second, and a function that closes it. The mailer is nil if
// the flags name none.
func (f *mailerFlags) open(rate int) (mailer, func(), error) {
	closed := func() {}
	switch {
	case f.server() != "":
		server, err := mail.NewSMTP(f.server(), f.config(rate))
		if err != nil {
			return nil, closed, badMailer(err)
		}
		return server, func() { _ = server.Close() }, nil
	case f.MailFolder != "":
		folder, err := mail.NewFolder(f.MailFolder)
		if err != nil {
			return nil, closed, badMailer(err)
		}
		return folder, closed, nil
	default:
		return nil, closed, nil
	}
}

// server returns the URL of the mail server, or an empty text if none is named.
func (f *mailerFlags) server() string { return cmp.Or(f.SMTP.url, f.SMTPFile.url) }

// config returns the configuration of the mail server.
func (f *mailerFlags) config(rate int) *mail.SMTPConfig {
	cfg := &mail.SMTPConfig{RootCAs: f.SMTPCAFile.pool, Hello: f.SMTPHello.name, Rate: float64(rate)}
	if f.DKIMKey.key != nil {
		cfg.DKIM = &mail.DKIM{Key: f.DKIMKey.key, Selector: f.DKIMSelector}
	}
	return cfg
}

// badMailer returns the error for settings that package mail refuses. Its errors repeat no URL and no key.
func badMailer(err error) error { return badValue("%s", strings.TrimPrefix(err.Error(), "mail: ")) }

// check refuses settings of a mail server if none is named.
func (f *mailerFlags) check() error {
	for _, flag := range []struct {
		name, needs    string
		given, fulfils bool
	}{
		{"--smtp-ca-file", "--smtp", f.SMTPCAFile.pool != nil, f.server() != ""},
		{"--smtp-hello", "--smtp", f.SMTPHello.name != "", f.server() != ""},
		{"--dkim-key", "--smtp", f.DKIMKey.key != nil, f.server() != ""},
		{"--dkim-selector", "--dkim-key", f.DKIMSelector != "", f.DKIMKey.key != nil},
		{"--dkim-key", "--dkim-selector", f.DKIMKey.key != nil, f.DKIMSelector != ""},
	} {
		if flag.given && !flag.fulfils {
			return &usageError{text: flag.name + " needs " + flag.needs + ", which is missing"}
		}
	}
	return nil
}

// check refuses settings that have no effect without another.
func (f *mailFlags) check() error {
	if f.MailRate != 0 && f.server() == "" {
		return &usageError{text: "--mail-rate needs --smtp, which is missing"}
	}
	return f.mailerFlags.check()
}

// configure configures a service to send mails. The returned function closes the mailer.
func (f *mailFlags) configure(cfg *ticketing.Config, m *mailMetrics) (func(), error) {
	cfg.MailRetention = cmp.Or(f.MailRetention.Duration, longestRetention)
	sender, closeMailer, err := f.open(int(f.MailRate))
	if err != nil {
		return closeMailer, err
	}
	if sender == nil {
		cfg.MailRenderer = mail.NewRenderer() // The console shows a sample of the mail.
		return closeMailer, nil
	}
	cfg.Mailer = sender
	m.sends()
	return closeMailer, nil
}

// warn logs a warning if the platform has a mail sender and this server cannot send mails. Another server may send
// them, which this one cannot know: --no-mail says so.
func (f *mailFlags) warn(ctx context.Context, op ticketing.Operator, logger *slog.Logger) {
	if f.NoMail || f.server() != "" || f.MailFolder != "" {
		return
	}
	switch _, err := op.GetMailSender(ctx); {
	case err == nil:
		logger.WarnContext(ctx, "a mail sender is set and this server cannot send mails: give it --smtp, or --no-mail "+
			"where another server sends them")
	case !errors.Is(err, ticketing.CodeNotFound):
		logger.WarnContext(ctx, "whether a mail sender is set is not known", slog.Any("error", err))
	}
}

// smtpURL is the URL of a mail server. It holds a password and is never printed.
type smtpURL struct{ url string }

func (v *smtpURL) UnmarshalText(text []byte) error {
	server, err := mail.NewSMTP(string(text), nil)
	if err != nil {
		return badMailer(err)
	}
	v.url = string(text)
	return server.Close()
}

// smtpFile is a file with the URL of a mail server.
type smtpFile struct{ smtpURL }

func (v *smtpFile) UnmarshalText(path []byte) error {
	var file secretFile
	if err := file.UnmarshalText(path); err != nil {
		return err
	}
	return v.smtpURL.UnmarshalText([]byte(file.text))
}

// hello is the name that a mail server is greeted with.
type hello struct{ name string }

func (v *hello) UnmarshalText(text []byte) error {
	server, err := mail.NewSMTP("smtp://localhost", &mail.SMTPConfig{Hello: string(text)})
	if err != nil {
		return badValue("must be the name of a machine, such as tickets.lagos.example")
	}
	v.name = string(text)
	return server.Close()
}

// dkimKey is a private key that mails are signed with.
type dkimKey struct{ key crypto.Signer }

func (v *dkimKey) UnmarshalText(text []byte) error {
	file, err := os.ReadFile(string(text))
	if err != nil {
		return badValue("%s cannot be read: %v", text, reason(err))
	}
	if v.key, err = mail.ParseDKIMKey(file); err != nil {
		return badMailer(err)
	}
	return nil
}
