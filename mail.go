package ticketing

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"time"
)

// Mailer sends mails through a mail server or a mail provider. Package mail has one for SMTP. It is called from several
// goroutines at once, see [Config.MailConcurrency].
type Mailer interface {
	// Mail sends one mail, once. It returns nil after the other side has accepted it.
	//
	// An error that wraps [ErrMailRefused] is final: the mail is not tried again. An error that wraps [ErrMailServer] says
	// nothing about the mail: it counts no attempt, and the process waits before it sends anything else. Any other error
	// is a failed attempt. The service keeps the code and the text of a [*MailError] and shows them to operators. It keeps
	// nothing of any other error, which may repeat an address. An error that wraps [context.Canceled] says that the mailer
	// was closed, and counts as ErrMailServer.
	//
	// Mail returns soon after its context ends, which is at most two minutes after the call.
	Mail(ctx context.Context, mail Mail) error
}

// MailRenderer renders the mail of an order. Package mail has one. A host may wrap or replace it.
type MailRenderer interface {
	// RenderTickets returns the mail with the tickets of an order. All texts of the order and the event are untrusted.
	// An error is a failed attempt, which is made again later.
	RenderTickets(ctx context.Context, tickets TicketMail) (Mail, error)
}

// Errors of a [Mailer], to be wrapped. A [*MailError] wraps them.
var (
	// ErrMailRefused means that the mail server refuses the address permanently.
	ErrMailRefused = errors.New("ticketing: the mail was refused permanently")
	// ErrMailServer means that the mail server cannot be used at all: no connection, no TLS, refused credentials.
	ErrMailServer = errors.New("ticketing: the mail server cannot be used")
)

// MailError is an error of a [Mailer] with what operators may read. It holds no address: do not copy the text of a
// server's reply, which may repeat it.
type MailError struct {
	// Code is that of the server's reply, with the enhanced code if there is one, such as "550 5.1.1". It has at most 20
	// characters. Empty: there was no reply.
	Code string
	// Text says what failed, in at most 200 characters on one line.
	Text string
	// Err is [ErrMailRefused], [ErrMailServer], or another error that is logged by its type alone. Nil: the mail is tried
	// again later.
	Err error
}

// Error returns the text and the code.
func (e *MailError) Error() string {
	if e.Code == "" {
		return "ticketing: " + e.Text
	}
	return "ticketing: " + e.Text + " (" + e.Code + ")"
}

// Unwrap returns Err.
func (e *MailError) Unwrap() error { return e.Err }

// TicketMail is what a [MailRenderer] renders.
type TicketMail struct {
	// Order is the order as it is now. Its branding is that of the sale (section 2.7).
	Order Order
	// Event is the event as it is now, so a mail that is sent again has the new date of an event that was moved.
	Event  Event
	Sender MailSender
	// To is the recipient: the buyer, or the other address of a copy.
	To string
	// Copy is 1 for the first mail of the order, and one more for each that is sent again.
	Copy int
	At   time.Time // when the mail is made
	// Sample means that the order and its event do not exist, see [Operator.SampleTicketMail].
	Sample bool
}

// Mail is one mail, ready to be sent. No field has been encoded for a header: the code that writes the message does
// that, as package mail does.
type Mail struct {
	FromName    string
	FromAddress string
	To          string // one address, without a name
	ReplyTo     string // an address; empty: none
	// Bounces is the address that receives the reports of failed deliveries, the envelope's sender. Empty: FromAddress.
	Bounces   string
	Subject   string
	MessageID string // with its angle brackets
	// References is the message id of the first mail of the order, for a copy of it. Empty: none.
	References string
	Date       time.Time
	Text       string // the plain text
	HTML       string
	// Inline are the pictures that the HTML shows by their ContentID.
	Inline []MailFile
	// Attached are the files that the reader may save, such as the calendar entry.
	Attached []MailFile
}

// Page returns the HTML with its pictures as data, so that a browser shows them without the mail.
func (m Mail) Page() string {
	var replacements []string
	for _, picture := range m.Inline {
		data := "data:" + picture.ContentType + ";base64," + base64.StdEncoding.EncodeToString(picture.Data)
		// With the quote, one content id cannot be taken for the beginning of another.
		replacements = append(replacements, `"cid:`+picture.ContentID+`"`, `"`+data+`"`)
	}
	return strings.NewReplacer(replacements...).Replace(m.HTML)
}

// MailFile is a file in a mail.
type MailFile struct {
	Name        string // such as "event.ics"
	ContentID   string // without angle brackets; empty for a file that is attached
	ContentType string // such as "image/png"
	Data        []byte
}
