package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

type mailSenderCheck struct{ mailerFlags }

func (*mailSenderCheck) Help() string {
	return `It looks up who may send for the sender's domain (SPF) and what receivers do with other mails (DMARC), and ` +
		`connects to the mail server, encrypts and signs in, as a server with the same settings does. Exit status 1 if ` +
		`anything is missing. It cannot see whether your mail server signs mails (DKIM).

    TICKETING_SMTP='smtps://USER:PASSWORD@smtp.lagos.example' ticketing mail-sender check`
}

// The names of the checks.
const (
	checkedSender = "sender"
	checkedSPF    = "spf"
	checkedDMARC  = "dmarc"
	checkedSMTP   = "smtp"
)

// mailCheck is the result of one check. Text is what was found, or what is missing.
type mailCheck struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

// mailChecked is the result of all checks.
type mailChecked struct {
	OK     bool        `json:"ok"`
	From   *string     `json:"from"` // nil: no sender is set
	Checks []mailCheck `json:"checks"`
}

// checkTimeout bounds the check of the domain, and that of the mail server.
const checkTimeout = 30 * time.Second

func (c *mailSenderCheck) Run(ctx context.Context, p *program) error {
	if err := c.check(); err != nil {
		return err
	}
	return p.operate(ctx, func(op ticketing.Operator) error {
		var checked mailChecked
		switch sender, err := op.GetMailSender(ctx); {
		case errors.Is(err, ticketing.CodeNotFound):
			checked.add(checkedSender, false, `none is set: "ticketing mail-sender set" sets one`)
		case err != nil:
			return err
		default:
			checked.From = &sender.Address
			checked.add(checkedSender, true, sender.Address)
			checked.checkDomain(ctx, p.resolver, sender.Address)
		}
		if err := c.checkMailer(ctx, &checked); err != nil {
			return err
		}
		return p.judgeMail(checked)
	})
}

func (r *mailChecked) add(name string, ok bool, text string) {
	r.Checks = append(r.Checks, mailCheck{Name: name, OK: ok, Text: text})
}

// checkDomain checks the records of the domain of an address. A nil resolver is that of the machine.
func (r *mailChecked) checkDomain(ctx context.Context, resolver mail.Resolver, address string) {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	// A quoted local part may hold another @.
	domain := address[strings.LastIndexByte(address, '@')+1:]
	found, err := mail.CheckDomain(ctx, domain, resolver)
	if err != nil {
		text := "cannot be looked up: " + lookupText(err)
		r.add(checkedSPF, false, text)
		r.add(checkedDMARC, false, text)
		return
	}
	r.addRecord(checkedSPF, "SPF", domain, found.SPF)
	r.addRecord(checkedDMARC, "DMARC", domain, found.DMARC)
}

// addRecord adds the check of a kind of record, of which a domain needs exactly one.
func (r *mailChecked) addRecord(name, kind, domain string, records []string) {
	switch len(records) {
	case 0:
		r.add(name, false, domain+" has no "+kind+" record")
	case 1:
		r.add(name, true, records[0])
	default:
		r.add(name, false, fmt.Sprintf("%s has %d %s records, which count as none", domain, len(records), kind))
	}
}

// lookupText returns why records could not be looked up.
func lookupText(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsTimeout {
			return "the name server did not answer in time"
		}
		return dns.Err
	}
	return strings.TrimPrefix(err.Error(), "mail: ")
}

// checkMailer connects to the mail server and signs in, or finds the folder.
func (f *mailerFlags) checkMailer(ctx context.Context, checked *mailChecked) error {
	sender, closeMailer, err := f.open(0)
	if err != nil {
		return err
	}
	defer closeMailer()
	server, ok := sender.(*mail.SMTP)
	switch {
	case sender == nil:
		checked.add(checkedSMTP, false, "no mail server is given: give it as TICKETING_SMTP")
		return nil
	case !ok:
		checked.add(checkedSMTP, true, "none is used: mails are written to "+f.MailFolder)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := server.Check(ctx); err != nil {
		checked.add(checkedSMTP, false, mailText(err))
		return nil
	}
	checked.add(checkedSMTP, true, server.String()+" takes mails")
	return nil
}

// mailText returns what failed about a mail. A [ticketing.MailError] contains no address and no password; other errors
// might, so their text is not shown.
func mailText(err error) string {
	failed, ok := errors.AsType[*ticketing.MailError](err)
	switch {
	case !ok:
		return "the mail could not be sent"
	case failed.Code != "":
		return failed.Text + " (" + failed.Code + ")"
	default:
		return failed.Text
	}
}

// judgeMail prints the checks, and fails if something is missing.
func (p *program) judgeMail(checked mailChecked) error {
	var fields []field
	var missing []string
	names := map[string]string{
		checkedSender: "Sender", checkedSPF: "SPF", checkedDMARC: "DMARC", checkedSMTP: "Mail server",
	}
	for _, check := range checked.Checks {
		verdict := "ok: "
		if !check.OK {
			verdict = "NOT ok: "
			missing = append(missing, names[check.Name])
		}
		fields = append(fields, field{names[check.Name], verdict + check.Text})
	}
	checked.OK = len(missing) == 0
	if err := p.show(checked, fields...); err != nil || checked.OK {
		return err
	}
	return &failure{code: "MAIL_NOT_READY", text: "not ready to send mails: " + strings.Join(missing, ", ")}
}

type mailSenderTest struct {
	mailerFlags

	To      address    `help:"Recipient of the sample." placeholder:"ADDRESS" required:""`
	Company companyRef `help:"Company whose branding the mail has. Defaults to a made-up one." placeholder:"COMPANY"`
}

func (*mailSenderTest) Help() string {
	return `This command sends the mail at once, with the settings that a server would use.

    TICKETING_SMTP='smtps://USER:PASSWORD@smtp.lagos.example' ticketing mail-sender test --to ada@example.com`
}

func (c *mailSenderTest) Run(ctx context.Context, p *program) error {
	switch err := c.check(); {
	case err != nil:
		return err
	case c.server() == "" && c.MailFolder == "":
		return &usageError{text: "no mail server is given: give it as TICKETING_SMTP, or a folder as --mail-folder"}
	}
	return p.operate(ctx, func(op ticketing.Operator) error {
		tickets, err := op.SampleTicketMail(ctx, c.Company.UUID)
		if err != nil {
			return err
		}
		// Only now, since a folder is created, and that must not happen if the database does not exist.
		sender, closeMailer, err := c.open(0)
		if err != nil {
			return err
		}
		defer closeMailer()
		tickets.To = c.To.text
		rendered, err := sender.RenderTickets(ctx, tickets)
		if err != nil {
			return fmt.Errorf("render the sample: %w", err)
		}
		if err := sender.Mail(ctx, rendered); err != nil {
			return mailFailure(err)
		}
		tested := mailTested{To: rendered.To, From: rendered.FromAddress, Subject: rendered.Subject}
		fields := []field{{"To", tested.To}, {"From", tested.From}, {"Subject", tested.Subject}}
		switch via := sender.(type) {
		case *mail.Folder:
			tested.File = new(via.Path(rendered.MessageID))
			fields = append(fields, field{"File", *tested.File})
		case *mail.SMTP:
			tested.Server = new(via.String())
			fields = append(fields, field{"Accepted by", *tested.Server})
		}
		return p.show(tested, fields...)
	})
}

// mailTested is the output of a sample mail that was sent or written. One of Server and File is set.
type mailTested struct {
	To      string  `json:"to"`
	From    string  `json:"from"`
	Subject string  `json:"subject"`
	Server  *string `json:"server"` // without user and password
	File    *string `json:"file"`
}

// mailFailure returns the failure for a mail that could not be sent.
func mailFailure(err error) error {
	code := "MAIL_FAILED"
	switch {
	case errors.Is(err, ticketing.ErrMailRefused):
		code = "MAIL_REFUSED"
	case errors.Is(err, ticketing.ErrMailServer):
		code = "MAIL_SERVER"
	}
	return &failure{code: code, text: mailText(err)}
}
