package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// mailSink is a mail server on this machine that accepts every mail and keeps none. It supports as much of SMTP as a
// sender without sign-in and TLS needs. The bench measures the cost of a mail for the sender, not for the server.
type mailSink struct {
	listener    net.Listener
	connections sync.WaitGroup
	accepted    atomic.Int64
	watching    atomic.Bool

	mu    sync.Mutex
	open  map[net.Conn]bool
	mails map[uuid.UUID]int // how many of each order were accepted
	noted []arrivedAt
}

// newMailSink returns a mail server that listens.
func newMailSink(ctx context.Context) (*mailSink, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &mailSink{listener: listener, open: map[net.Conn]bool{}, mails: map[uuid.UUID]int{}}
	s.connections.Go(s.serve)
	return s, nil
}

// url returns the URL of the mail server.
func (s *mailSink) url() string { return "smtp://" + s.listener.Addr().String() }

// close ends all connections.
func (s *mailSink) close() error {
	err := s.listener.Close()
	s.mu.Lock()
	for conn := range s.open {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.connections.Wait()
	return err
}

// serve accepts connections until the listener is closed.
func (s *mailSink) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.open[conn] = true
		s.mu.Unlock()
		s.connections.Go(func() {
			s.converse(conn)
			_ = conn.Close()
			s.mu.Lock()
			delete(s.open, conn)
			s.mu.Unlock()
		})
	}
}

// converse responds to the commands of one connection until it is closed.
func (s *mailSink) converse(conn net.Conn) {
	in := bufio.NewReader(conn)
	answer := func(line string) bool {
		_, err := conn.Write([]byte(line + "\r\n"))
		return err == nil
	}
	for goesOn := answer("220 bench"); goesOn; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		command, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(line)), " ")
		switch command {
		case "EHLO":
			goesOn = answer("250-bench\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES")
		case "DATA":
			goesOn = answer("354 go on") && s.receive(in) && answer("250 2.0.0 accepted")
		case "QUIT":
			_ = answer("221 2.0.0 bye")
			return
		default:
			goesOn = answer("250 2.0.0 ok")
		}
	}
}

// receive reads a mail and counts it. It reports whether the mail arrived completely.
func (s *mailSink) receive(in *bufio.Reader) bool {
	var order uuid.UUID
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return false
		}
		if string(line) == ".\r\n" {
			break
		}
		if id, ok := strings.CutPrefix(string(line), "Message-ID: <"); ok && order == uuid.Nil {
			order = orderOfMail(id)
		}
	}
	at := time.Now()
	s.accepted.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mails[order]++; s.watching.Load() {
		s.noted = append(s.noted, arrivedAt{order: order, at: at})
	}
	return true
}

// orderOfMail returns the order that a message id begins with, or the zero UUID.
func orderOfMail(messageID string) uuid.UUID {
	id, _, _ := strings.Cut(messageID, ".")
	order, _ := uuid.Parse(id)
	return order
}

// arrived returns how many orders have their mail.
func (s *mailSink) arrived() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.mails))
}

// watch turns the recording of arrival times on or off.
func (s *mailSink) watch(on bool) { s.watching.Store(on) }

// watched returns the arrivals that were recorded since the last call.
func (s *mailSink) watched() []arrivedAt {
	s.mu.Lock()
	defer s.mu.Unlock()
	noted := s.noted
	s.noted = nil
	return noted
}

// noMailServer returns the URL of a mail server that does not exist: nothing listens there.
func noMailServer(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("free a port: %w", err)
	}
	return "smtp://" + listener.Addr().String(), nil
}
