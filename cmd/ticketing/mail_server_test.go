package main_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// mailServer is a real SMTP server on this machine. Over TLS it wants the user and the password of its url.
type mailServer struct {
	t        *testing.T
	url      string
	caFile   string // of a server that encrypts
	password string

	mu      sync.Mutex
	mails   []arrivedMail
	came    chan struct{} // closed and replaced with each mail
	answers func(to string) error
	hold    chan struct{} // the acceptance of a mail waits until it is closed
	began   chan string   // the recipients of mails whose content has arrived
}

// arrivedMail is a mail that was accepted.
type arrivedMail struct {
	from, to string
	message  *mail.Message
	body     string
}

// newMailServer starts a mail server without encryption.
func newMailServer(t *testing.T) *mailServer {
	t.Helper()
	return startMailServer(t, "smtp://", false)
}

// newSecureMailServer starts a mail server with STARTTLS and authentication.
func newSecureMailServer(t *testing.T) *mailServer {
	t.Helper()
	return startMailServer(t, "smtp://tickets:hush%2Fhush@", true)
}

func startMailServer(t *testing.T, prefix string, secure bool) *mailServer {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	m := &mailServer{
		t: t, url: prefix + listener.Addr().String(), came: make(chan struct{}), began: make(chan string, 1000),
		answers: func(string) error { return nil },
	}
	server := smtp.NewServer(m)
	server.Domain = "mail.example"
	if secure {
		m.password = "hush/hush"
		of := httptest.NewTLSServer(nil) // It has a certificate for 127.0.0.1.
		t.Cleanup(of.Close)
		server.TLSConfig = of.TLS.Clone()
		server.TLSConfig.NextProtos = nil
		m.caFile = filepath.Join(t.TempDir(), "ca.pem")
		must(t, os.WriteFile(m.caFile,
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: of.Certificate().Raw}), 0o600))
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // It ends with an error when it is closed.
	t.Cleanup(func() {
		m.release()
		_ = server.Close()
		_ = listener.Close() // It may not have begun to serve.
		serving.Wait()
	})
	return m
}

// refuse sets what is answered to a recipient.
func (m *mailServer) refuse(answers func(to string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers = answers
}

// stall makes the server accept no mail until release is called.
func (m *mailServer) stall() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hold = make(chan struct{})
}

// release makes the server accept the mails that it holds, and all others.
func (m *mailServer) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold != nil {
		close(m.hold)
	}
	m.hold = nil
}

// all returns the mails that were accepted.
func (m *mailServer) all() []arrivedMail {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]arrivedMail(nil), m.mails...)
}

// wait waits until so many mails were accepted, and returns them.
func (m *mailServer) wait(number int) []arrivedMail {
	m.t.Helper()
	ctx := soon(m.t)
	for {
		m.mu.Lock()
		mails, came := m.mails, m.came
		m.mu.Unlock()
		if len(mails) >= number {
			return mails
		}
		select {
		case <-came:
		case <-ctx.Done():
			m.t.Fatalf("%d of %d mails came", len(mails), number)
		}
	}
}

// stalled waits until a mail has arrived that the server holds.
func (m *mailServer) stalled() {
	m.t.Helper()
	select {
	case <-m.began:
	case <-soon(m.t).Done():
		m.t.Fatal("no mail came")
	}
}

// NewSession begins a connection.
func (m *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) {
	return &mailSession{server: m, signedIn: m.password == ""}, nil
}

type mailSession struct {
	server   *mailServer
	signedIn bool
	from, to string
}

func (s *mailSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, name, word string) error {
		if name != "tickets" || word != s.server.password {
			return smtp.ErrAuthFailed
		}
		s.signedIn = true
		return nil
	}), nil
}

func (s *mailSession) Reset()        {}
func (s *mailSession) Logout() error { return nil }

func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	if !s.signedIn {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return nil
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.server.mu.Lock()
	answers := s.server.answers
	s.server.mu.Unlock()
	s.to = to
	return answers(to)
}

func (s *mailSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	message, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return err
	}
	m := s.server
	m.mu.Lock()
	hold := m.hold
	m.mu.Unlock()
	m.began <- s.to
	if hold != nil {
		<-hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mails = append(m.mails, arrivedMail{from: s.from, to: s.to, message: message, body: string(text)})
	close(m.came)
	m.came = make(chan struct{})
	return nil
}

// nobodyThere refuses a recipient for good, and repeats the address as servers do.
func nobodyThere(to string) error {
	return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no mailbox " + to}
}

// records are the TXT records of a fake DNS.
type records map[string]string

// LookupTXT returns the records of a name.
func (r records) LookupTXT(_ context.Context, name string) ([]string, error) {
	text, ok := r[strings.TrimSuffix(name, ".")]
	switch {
	case !ok:
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	case text == "":
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	}
	return strings.Split(text, "\n"), nil
}

// nowhere returns the URL of a mail server that does not listen.
func nowhere(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, errors.Join(err, listener.Close()))
	return "smtp://" + listener.Addr().String()
}

// setSender sets the platform's mail sender.
func (s *shell) setSender() {
	s.t.Helper()
	s.object("mail-sender", "set", "--from", "tickets@lagos.example", "--name", "Lagos Tickets")
}

// mailed waits until all mails of an order have ended, and returns its notifications.
func (s *shell) mailed(order string) (copies []map[string]any) {
	s.t.Helper()
	eventually(s.t, "the mails of the order end", func() bool {
		copies = s.array("notification", "show", order)
		for _, n := range copies {
			if n["status"] == "PENDING" {
				return false
			}
		}
		return len(copies) > 0
	})
	return copies
}
