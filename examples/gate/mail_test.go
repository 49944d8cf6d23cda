package main_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image/png"
	"io"
	"mime"
	"mime/multipart"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	gate "github.com/floatgate/ticketing/examples/gate"
	"github.com/floatgate/ticketing/mail"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestTicketsOfAMailAreAdmittedOnce follows a sale to the gate: a checkout over HTTP, its mail on a real SMTP server,
// the codes in the bytes of that mail as a reader reads them that is not ours, and the scans of a gate.
func TestTicketsOfAMailAreAdmittedOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w, settings := newProgram(t)
	_, err := w.Staff.SetMailSender(t.Context(), ticketing.MailSenderParams{
		Address: "tickets@lagos.example", Name: "Lagos Tickets",
	})
	is.NoErr(err)
	buyer, err := client.New(settings("TICKETING_BASE_URL"), w.APIKey, nil)
	is.NoErr(err)
	order, err := buyer.Checkout(t.Context(), "cart-of-three", ticketingtest.Basket(w.event, "VIP", 15_000_00, 3))
	is.NoErr(err)

	box := newMailbox(t)
	server, err := mail.NewSMTP("smtp://"+box.address, nil)
	is.NoErr(err)
	t.Cleanup(func() { is.NoErr(server.Close()) })
	mailing, err := ticketing.New(w.Store, &ticketing.Config{Clock: w.Clock.Now, Mailer: server})
	is.NoErr(err)
	sent, err := mailing.SendMails(t.Context())
	is.NoErr(err)
	is.Equal(sent, 1)
	mails := box.all()
	is.Equal(len(mails), 1)
	is.Equal(mails[0].to, order.Buyer.Email)

	var codes []string
	message, err := netmail.ReadMessage(bytes.NewReader(mails[0].text))
	is.NoErr(err)
	for _, picture := range pictures(is, message.Header.Get("Content-Type"), message.Body) {
		codes = append(codes, scan(is, picture))
	}
	var want []string
	for _, line := range order.Lines {
		want = append(want, w.code(line.AdmissionID))
	}
	is.Equal(codes, want)

	var shown, log bytes.Buffer
	scans := strings.Join(codes, "\n") + "\n"
	is.NoErr(gate.Run(t.Context(), settings, strings.NewReader(scans+scans), &shown, &log))
	var verdicts []string
	for line := range strings.Lines(shown.String()) {
		verdict, _, _ := strings.Cut(line, "  ")
		verdicts = append(verdicts, verdict)
	}
	is.Equal(verdicts, []string{"ADMITTED", "ADMITTED", "ADMITTED", "ALREADY IN", "ALREADY IN", "ALREADY IN"})
}

// pictures returns the PNG pictures of a part of a mail, and of the parts within, in their order.
func pictures(is *is.I, contentType string, body io.Reader) (found [][]byte) {
	is.Helper()
	kind, params, err := mime.ParseMediaType(contentType)
	is.NoErr(err)
	if !strings.HasPrefix(kind, "multipart/") {
		return nil
	}
	for parts := multipart.NewReader(body, params["boundary"]); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return found
		}
		is.NoErr(err)
		if contentType := part.Header.Get("Content-Type"); !strings.HasPrefix(contentType, "image/png") {
			found = append(found, pictures(is, contentType, part)...)
			continue
		}
		is.Equal(part.Header.Get("Content-Transfer-Encoding"), "base64")
		picture, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
		is.NoErr(err)
		found = append(found, picture)
	}
}

// scan returns the text of the QR code that is a picture.
func scan(is *is.I, picture []byte) string {
	is.Helper()
	decoded, err := png.Decode(bytes.NewReader(picture))
	is.NoErr(err)
	bitmap, err := gozxing.NewBinaryBitmapFromImage(decoded)
	is.NoErr(err)
	read, err := qrcode.NewQRCodeReader().Decode(bitmap, map[gozxing.DecodeHintType]any{
		gozxing.DecodeHintType_PURE_BARCODE: true,
	})
	is.NoErr(err)
	return read.GetText()
}

// mailbox is a real SMTP server on loopback, which keeps what it accepts.
type mailbox struct {
	address string

	mu    sync.Mutex
	mails []delivered
}

// delivered is a mail as its bytes came.
type delivered struct {
	to   string
	text []byte
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	is.New(t).NoErr(err)
	m := &mailbox{address: listener.Addr().String()}
	server := smtp.NewServer(m)
	server.Domain = "mail.example"
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // It ends with an error when it is closed.
	t.Cleanup(func() {
		_ = server.Close()
		_ = listener.Close() // It may not have begun to serve.
		serving.Wait()
	})
	return m
}

func (m *mailbox) all() []delivered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mails
}

// NewSession begins a connection.
func (m *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &mailSession{box: m}, nil }

type mailSession struct {
	box *mailbox
	now delivered
}

func (s *mailSession) Reset()                               { s.now = delivered{} }
func (s *mailSession) Logout() error                        { return nil }
func (s *mailSession) Mail(string, *smtp.MailOptions) error { return nil }
func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.now.to = to
	return nil
}

func (s *mailSession) Data(r io.Reader) (err error) {
	if s.now.text, err = io.ReadAll(r); err != nil {
		return err
	}
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.box.mails = append(s.box.mails, s.now)
	return nil
}
