package mail

import (
	"bytes"
	"cmp"
	"mime"
	netmail "net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/floatgate/ticketing"
)

// headerAutoSubmitted marks the mail as sent by a program, so that automatic responders do not reply to it (RFC 3834).
const headerAutoSubmitted gomail.Header = "Auto-Submitted"

// Format returns the mail as a message of RFC 5322, with lines of at most 78 bytes wherever an address is no longer.
//
// The message is multipart/mixed of the attached files and of a multipart/related, which has the inline files and a
// multipart/alternative of the plain text and the HTML. What has no content is left out. The text is quoted-printable,
// or base64 if that is shorter, in UTF-8. Its multipart boundaries are random, so two calls return different bytes.
//
// Line breaks and other control characters in the subject and in a name become spaces, and characters that change the
// direction of the text around them are left out. A malformed address for replies is left out. A recipient that no mail
// server can take is an error that wraps [ticketing.ErrMailRefused]. Anything else that is malformed is the renderer's
// fault: an error that does not wrap it. All errors are a [*ticketing.MailError].
func Format(m ticketing.Mail) ([]byte, error) {
	composed, err := compose(m)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if _, err := composed.WriteTo(&text); err != nil {
		return nil, &ticketing.MailError{Text: textUnwritable, Err: err}
	}
	return text.Bytes(), nil
}

// message is a mail that can be written, and sent over any connection. It is for one goroutine.
type message struct {
	*gomail.Msg
	// international means that an address is not ASCII, so the server must support SMTPUTF8 (RFC 6531).
	international bool
	// domain is that of the From address. A signature is made for it.
	domain string
}

// compose checks the mail and returns it as a message with the same content.
func compose(m ticketing.Mail) (*message, error) {
	to, err := parseAddress(m.To)
	if err != nil {
		return nil, &ticketing.MailError{Text: textUnsendable, Err: ticketing.ErrMailRefused}
	}
	from, err := parseAddress(m.FromAddress)
	if err != nil {
		return nil, malformed("sender's address")
	}
	bounces, err := parseAddress(cmp.Or(m.Bounces, m.FromAddress))
	if err != nil {
		return nil, malformed("address for bounces")
	}
	switch {
	case !isMessageID(m.MessageID):
		return nil, malformed("message id")
	case m.References != "" && !isMessageID(m.References):
		return nil, malformed("reference to another mail")
	case m.Date.IsZero():
		return nil, malformed("date")
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(&netmail.Address{Name: headerName(m.FromName), Address: from})
	msg.EnvelopeFromMailAddress(&netmail.Address{Address: bounces})
	msg.ToMailAddress(&netmail.Address{Address: to})
	if reply, err := parseAddress(m.ReplyTo); err == nil {
		msg.ReplyToMailAddress(&netmail.Address{Address: reply})
	}
	msg.Subject(headerSubject(m.Subject))
	msg.SetDateWithValue(m.Date)
	msg.SetGenHeader(gomail.HeaderMessageID, m.MessageID)
	if m.References != "" {
		msg.SetGenHeader(gomail.HeaderInReplyTo, m.References)
		msg.SetGenHeader(gomail.HeaderReferences, m.References)
	}
	msg.SetGenHeader(headerAutoSubmitted, "auto-generated")
	addText(msg, gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		addText(msg, gomail.TypeTextHTML, m.HTML)
	}
	if err := addFiles(msg, m); err != nil {
		return nil, err
	}
	_, domain := splitAddress(from)
	return &message{
		Msg: msg, domain: strings.ToLower(domain),
		international: !isASCII(to) || !isASCII(bounces) || !isASCII(from),
	}, nil
}

// addText adds an alternative to those of the message. A reader prefers the last one. A text in a script other than
// Latin is shorter as base64. Line breaks are written as CRLF; the standard library would lose some of the others in
// quoted-printable.
func addText(msg *gomail.Msg, contentType gomail.ContentType, text string) {
	text = strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n").Replace(strings.ToValidUTF8(text, "\uFFFD"))
	encoding := gomail.EncodingQP
	escaped := 0
	for i := range len(text) {
		if text[i] >= 0x80 || text[i] == '=' {
			escaped++
		}
	}
	// Base64 adds a third, and quoted-printable two bytes for each escape.
	if 2*escaped > len(text)/3 {
		encoding = gomail.EncodingB64
	}
	msg.AddAlternativeString(contentType, text, gomail.WithPartEncoding(encoding))
}

// addFiles adds the files of the mail to the message. It checks all that the library writes to headers unchanged.
func addFiles(msg *gomail.Msg, m ticketing.Mail) error {
	for _, file := range m.Inline {
		contentType, err := parseContentType(file.ContentType)
		if err != nil {
			return err
		}
		if !isContentID(file.ContentID) {
			return malformed("content id of a picture")
		}
		msg.EmbedReadSeeker(fileName(file.Name), bytes.NewReader(file.Data),
			gomail.WithFileContentType(contentType), gomail.WithFileContentID("<"+file.ContentID+">"))
	}
	for _, file := range m.Attached {
		contentType, err := parseContentType(file.ContentType)
		if err != nil {
			return err
		}
		msg.AttachReadSeeker(fileName(file.Name), bytes.NewReader(file.Data), gomail.WithFileContentType(contentType))
	}
	return nil
}

// parseContentType returns the content type in its usual form, without a name, which the library adds. It refuses types
// that a reader would take for a multipart or another mail: these cannot be base64.
func parseContentType(s string) (gomail.ContentType, error) {
	media, params, err := mime.ParseMediaType(s)
	if err != nil || strings.HasPrefix(media, "multipart/") || strings.HasPrefix(media, "message/") {
		return "", malformed("content type of a file")
	}
	delete(params, "name")
	// The result is empty if a parameter cannot be written.
	formatted := mime.FormatMediaType(media, params)
	if formatted == "" || len(formatted) > maxContentType || !isPrintable(formatted) || !strings.Contains(media, "/") {
		return "", malformed("content type of a file")
	}
	return gomail.ContentType(formatted), nil
}

func malformed(what string) error {
	return &ticketing.MailError{Text: "the mail cannot be sent: malformed " + what}
}
