package mail

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"regexp"
	"strings"
	"sync"
	texttemplate "text/template"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

//go:embed templates
var templateFiles embed.FS

// Renderer makes the mails of orders by the templates of this package. It may be used by several goroutines at once.
//
// The HTML is one column of tables with inline styles. A style sheet is only for dark mode and for print. The company's
// logo is the only remote content. The codes are pictures in the mail, and text in the plain text. All texts of the
// order and the event are untrusted: they are escaped and put on one line, and characters that change the direction of
// other text are removed. A brand colour is used for text or as its background only where the contrast is at least 4.5.
//
// The HTML has at most 95,000 bytes with 50 admissions, since Gmail clips longer mails. Where texts of the greatest
// length would exceed that, the footer of the tickets is shown once, below them. If that is not enough, texts are cut
// with an ellipsis, those of tickets first. The plain text always has all texts in full.
type Renderer struct {
	html     *htmltemplate.Template
	text     *texttemplate.Template
	encoders sync.Pool // of *codeEncoder
}

var _ ticketing.MailRenderer = (*Renderer)(nil)

// NewRenderer returns a renderer.
func NewRenderer() *Renderer {
	// The templates are part of the program: if one does not parse, every test of this package fails.
	return &Renderer{
		html: htmltemplate.Must(htmltemplate.ParseFS(templateFiles, "templates/tickets.html.tmpl")),
		text: texttemplate.Must(texttemplate.ParseFS(templateFiles, "templates/tickets.txt.tmpl")),
	}
}

// The most characters of texts in headers.
const (
	maxHeaderName    = 120
	maxHeaderTitle   = 150
	maxTicketAddress = 320
)

// RenderTickets returns the mail with the tickets of an order: the plain text, the HTML with the picture of each code,
// and a calendar entry if the event has a start. It fails if the address of the sender or the recipient is malformed.
// Errors do not repeat addresses.
func (r *Renderer) RenderTickets(ctx context.Context, tickets ticketing.TicketMail) (ticketing.Mail, error) {
	if err := ctx.Err(); err != nil {
		return ticketing.Mail{}, err
	}
	if !isAddress(tickets.Sender.Address) {
		return ticketing.Mail{}, errors.New("mail: the sender's address is malformed")
	}
	if !isAddress(tickets.To) {
		return ticketing.Mail{}, errors.New("mail: the recipient's address is malformed")
	}
	when := spanOf(tickets.Event.Schedule)
	page := newTicketPage(tickets, when)
	mail := envelope(tickets, page)

	var err error
	if mail.Text, err = r.renderText(page); err != nil {
		return ticketing.Mail{}, err
	}
	if mail.HTML, err = r.renderHTML(page); err != nil {
		return ticketing.Mail{}, err
	}
	if mail.Inline, err = r.pictures(page); err != nil {
		return ticketing.Mail{}, err
	}
	if entry := calendarEntry(tickets, page, when); entry != nil && !page.Void {
		mail.Attached = []ticketing.MailFile{
			{Name: "event.ics", ContentType: "text/calendar; charset=utf-8", Data: entry},
		}
	}
	return mail, nil
}

// envelope returns the mail with all its headers set.
func envelope(tickets ticketing.TicketMail, page *ticketPage) ticketing.Mail {
	order, domain := tickets.Order.ID, senderDomain(tickets.Sender.Address)
	mail := ticketing.Mail{
		FromName:    cleanHeader(page.Brand, maxHeaderName) + " via " + cleanHeader(page.Sender, maxHeaderName),
		FromAddress: tickets.Sender.Address,
		To:          tickets.To,
		ReplyTo:     page.Support,
		Subject:     subject(page, order),
		MessageID:   ticketMessageID(order, tickets.Copy, domain),
		Date:        tickets.At,
	}
	if bounces := value(tickets.Sender.Bounces); isAddress(bounces) {
		mail.Bounces = bounces
	}
	if tickets.Copy > 1 {
		mail.References = ticketMessageID(order, 1, domain)
	}
	return mail
}

// subject names the event and the end of the order's id, so that two orders for an event do not become one thread.
func subject(page *ticketPage, order uuid.UUID) string {
	id := order.String()
	text := "Your tickets: "
	if page.Count == 1 {
		text = "Your ticket: "
	}
	if page.Sample {
		text = "Sample: "
	}
	return text + cleanHeader(page.Title, maxHeaderTitle) + " (order …" + id[len(id)-8:] + ")"
}

// ticketMessageID returns the message id of a copy of an order's mail. A copy gets the same id each time it is
// rendered, so a mail that was sent twice by accident can be recognised.
func ticketMessageID(order uuid.UUID, number int, domain string) string {
	return fmt.Sprintf("<%s.%d@%s>", order, number, domain)
}

// senderDomain returns the domain of an address.
func senderDomain(address string) string {
	return address[strings.LastIndexByte(address, '@')+1:]
}

// address is one address in ASCII: a dot-atom or a quoted string, and a domain. The service has checked addresses more
// strictly. This stops one that came another way from adding a line to a header, or an address to a list.
var address = regexp.MustCompile(
	`^([A-Za-z0-9!#$%&'*+/=?^_{|}~.\x60-]+|"([\x20!\x23-\x5B\x5D-~]|\\[\x20-\x7E])+")@[A-Za-z0-9.-]+$`)

// isAddress reports whether a text is one address.
func isAddress(text string) bool { return len(text) <= maxTicketAddress && address.MatchString(text) }

// renderText returns the plain text of a mail.
func (r *Renderer) renderText(page *ticketPage) (string, error) {
	var text strings.Builder
	if err := r.text.Execute(&text, page); err != nil {
		return "", fmt.Errorf("mail: render the text: %w", err)
	}
	return text.String(), nil
}

// maxHTML is the most bytes of a mail's HTML with up to 50 admissions.
const maxHTML = 95_000

// renderHTML returns the HTML of a mail. If it is too long, renderHTML renders it again with shorter texts.
func (r *Renderer) renderHTML(page *ticketPage) (string, error) {
	var html bytes.Buffer
	for fitted := range page.fittings {
		html.Reset()
		if err := r.html.Execute(&html, fitted); err != nil {
			return "", fmt.Errorf("mail: render the HTML: %w", err)
		}
		if html.Len() <= maxHTML {
			break
		}
	}
	return html.String(), nil
}

// pictures returns the pictures of the codes.
func (r *Renderer) pictures(page *ticketPage) ([]ticketing.MailFile, error) {
	encoder, ok := r.encoders.Get().(*codeEncoder)
	if !ok {
		var err error
		if encoder, err = newCodeEncoder(); err != nil {
			return nil, err
		}
	}
	defer r.encoders.Put(encoder)
	files := make([]ticketing.MailFile, 0, len(page.Tickets))
	for _, ticket := range page.Tickets {
		picture, err := encoder.encode(ticket.Code)
		if err != nil {
			return nil, err
		}
		files = append(files, ticketing.MailFile{
			Name: fmt.Sprintf("ticket-%d.png", ticket.Number), ContentID: ticket.ContentID,
			ContentType: "image/png", Data: picture,
		})
	}
	return files, nil
}
