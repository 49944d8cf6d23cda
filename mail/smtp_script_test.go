package mail_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/mail"
)

// script is an SMTP server that does what a test says, over pipes: in a bubble of synctest it takes no time to wait for
// it. It behaves but for its faults.
type script struct {
	// faults are what it does at a step in place of its reply. A step is "greeting", a command in upper case, "TLS" for
	// the handshake, "EHLO again" for the one after it, or "content" for the end of a mail. If connections is not 0, a
	// fault happens only on the first connections.
	faults      map[string]fault
	connections int64
	// offers are the lines of its reply to EHLO, before the encryption and after it.
	offers, offersTLS []string
	tls               *tls.Config // defaults to serverTLS
	implicit          bool
	// authenticate is called with what follows AUTH, and reports whether the server lets the client in.
	authenticate func(p *peer, rest string) bool

	dials atomic.Int64
	mu    sync.Mutex
	log   []string       // all steps of all connections
	mails []time.Time    // when the content of each mail came
	peers sync.WaitGroup // the connections
}

// fault is what the server does at a step. It reports whether the connection continues.
type fault func(p *peer) bool

// peer is one connection of a script.
type peer struct {
	*script
	conn net.Conn
	text *bufio.Reader
}

func say(text string) fault { return func(p *peer) bool { return p.say(text) } }

// sayLast says the text and closes the connection.
func sayLast(text string) fault {
	return func(p *peer) bool {
		p.say(text)
		return false
	}
}

// hang reads what comes and never replies.
func hang(p *peer) bool {
	_, _ = io.Copy(io.Discard, p.conn)
	return false
}

func hangUp(*peer) bool { return false }

// flood sends a hundred megabytes, or as much as is read.
func flood(line string) fault {
	return func(p *peer) bool {
		chunk := []byte(strings.Repeat(line, 1<<16/len(line)))
		for sent := 0; sent < 100<<20; sent += len(chunk) {
			if _, err := p.conn.Write(chunk); err != nil {
				return false
			}
		}
		return true
	}
}

// drip sends a reply that never ends, a byte a second.
func drip(p *peer) bool {
	for {
		if _, err := p.conn.Write([]byte("2")); err != nil {
			return false
		}
		time.Sleep(time.Second)
	}
}

// mailer returns a mailer for the script.
func (s *script) mailer(tb testing.TB, rawURL string, config mail.SMTPConfig) *mail.SMTP {
	tb.Helper()
	if config.RootCAs == nil && !strings.Contains(rawURL, "127.0.0.1") {
		config.RootCAs = testAuthority().pool
	}
	config.Dial = s.dial
	mailer, err := mail.NewSMTP(rawURL, &config)
	is.New(tb).NoErr(err)
	tb.Cleanup(func() {
		_ = mailer.Close()
		s.peers.Wait()
	})
	return mailer
}

func (s *script) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	dials := s.dials.Add(1)
	if dial, ok := s.faults["dial"]; ok && s.faulty(dials) && !dial(nil) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client, server := net.Pipe()
	s.peers.Go(func() {
		defer server.Close()
		p := &peer{script: s, conn: server}
		p.serve(s.faulty(dials))
	})
	return client, nil
}

func (s *script) faulty(dial int64) bool { return s.connections == 0 || dial <= s.connections }

func (s *script) steps() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log
}

func (s *script) accepted() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mails
}

func (p *peer) say(text string) bool {
	_, err := io.WriteString(p.conn, strings.ReplaceAll(text, "\n", "\r\n")+"\r\n")
	return err == nil
}

// hear returns the next line.
func (p *peer) hear() (string, bool) {
	line, err := p.text.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err == nil
}

func (p *peer) serve(faulty bool) {
	// at runs the fault of a step, and reports whether the connection continues.
	at := func(step, reply string) bool {
		p.mu.Lock()
		p.log = append(p.log, step)
		p.mu.Unlock()
		if fault, ok := p.faults[step]; ok && faulty {
			return fault(p)
		}
		return p.say(reply)
	}
	encrypt := func() bool {
		if fault, ok := p.faults["TLS"]; ok && faulty {
			return fault(p)
		}
		config := p.tls
		if config == nil {
			config = serverTLS()
		}
		secure := tls.Server(p.conn, config)
		p.conn, p.text = secure, bufio.NewReader(secure)
		return secure.Handshake() == nil
	}
	p.text = bufio.NewReader(p.conn)
	encrypted := p.implicit
	if encrypted && !encrypt() || !at("greeting", "220 mail.example.com ESMTP") {
		return
	}
	for {
		line, ok := p.hear()
		if !ok {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		step, reply := strings.ToUpper(verb), "250 2.0.0 OK"
		switch step {
		case "EHLO", "HELO":
			step = "EHLO"
			offers := p.offers
			if offers == nil {
				offers = []string{"STARTTLS"}
			}
			if encrypted {
				step, offers = "EHLO again", p.offersTLS
			}
			reply = "250-" + strings.Join(append([]string{"mail.example.com", "ENHANCEDSTATUSCODES"}, offers...), "\n250-")
			at := strings.LastIndex(reply, "250-")
			reply = reply[:at] + "250 " + reply[at+4:]
		case "STARTTLS":
			reply = "220 2.0.0 go ahead"
		case "AUTH":
			reply = "235 2.7.0 welcome"
			if p.authenticate != nil && !p.authenticate(p, rest) {
				reply = "535 5.7.8 " + chatter
			}
		case "DATA":
			reply = "354 go ahead"
		case "QUIT":
			reply = "221 2.0.0 bye"
		}
		if !at(step, reply) || step == "QUIT" {
			return
		}
		switch {
		case step == "STARTTLS":
			encrypted = true
			if !encrypt() {
				return
			}
		case step == "DATA" && reply != "" && !p.refusesData(faulty):
			var content bytes.Buffer
			for line := ""; line != "."; {
				if line, ok = p.hear(); !ok {
					return
				}
				content.WriteString(line + "\n")
			}
			p.mu.Lock()
			p.mails = append(p.mails, time.Now())
			p.mu.Unlock()
			if !at("content", "250 2.0.0 queued") {
				return
			}
		}
	}
}

func (p *peer) refusesData(faulty bool) bool {
	_, ok := p.faults["DATA"]
	return ok && faulty
}
