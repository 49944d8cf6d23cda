package faultproxy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// link is a client's connection together with its connection to the server. Each direction has a goroutine.
type link struct {
	proxy          *Proxy
	number         int
	client, server *net.TCPConn
	done           chan struct{} // closed with the connections
	once           sync.Once
	// severed is the side that was cut off, while the other side still processes what it received. Data from that side
	// is discarded.
	severed atomic.Pointer[net.TCPConn]
}

// close closes both connections. It may be called more than once.
func (l *link) close() {
	l.once.Do(func() {
		close(l.done)
		_ = l.client.Close() // It may be closed already, and the error concerns nobody.
		_ = l.server.Close()
	})
}

// errCut ends a direction whose link was cut on purpose.
var errCut = errors.New("cut")

// run forwards data until both sides are done.
func (l *link) run() {
	frontend := bufio.NewReader(l.client)
	postgres, err := l.open(frontend)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.direct(frontend, l.client, l.server, postgres, false) })
	both.Go(func() { l.direct(bufio.NewReader(l.server), l.server, l.client, postgres, true) })
	both.Wait()
}

// open reads how a connection begins, and declines encryption. It consumes nothing else from the reader.
func (l *link) open(frontend *bufio.Reader) (postgres bool, err error) {
	for {
		// A valid length begins with a zero byte. Any other beginning may be shorter than an opening.
		first, err := frontend.Peek(1)
		if err != nil || first[0] != 0 {
			return false, ignoreEOF(err)
		}
		begin, err := frontend.Peek(opening)
		if err != nil {
			return false, ignoreEOF(err)
		}
		postgres, encryption := opens(begin)
		if !postgres || !encryption {
			return postgres, nil
		}
		if _, err := frontend.Discard(opening); err != nil {
			return false, err
		}
		if _, err := (gate{l, l.client}).Write([]byte{'N'}); err != nil {
			return false, err
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// direct forwards data from one side until that side is done, or the link breaks.
func (l *link) direct(from *bufio.Reader, source, destination *net.TCPConn, postgres, backend bool) {
	var err error
	if postgres {
		err = l.messages(from, source, destination, backend)
	} else {
		_, err = io.Copy(gate{l, destination}, from)
	}
	switch {
	case errors.Is(err, errCut):
	case l.severed.Load() != nil:
		_, _ = io.Copy(io.Discard, from) // The link ends anyway.
		l.close()
	case err != nil:
		l.close()
	default:
		if destination.CloseWrite() != nil {
			l.close()
		}
	}
}

// messages forwards messages, each after the observer has seen it.
func (l *link) messages(from *bufio.Reader, source, destination *net.TCPConn, backend bool) error {
	to := bufio.NewWriter(gate{l, destination})
	payload := make([]byte, MaxPayload)
	header := make([]byte, 0, 5)
	for first := !backend; ; first = false {
		header = header[:5]
		if first { // The first message of a client has no type.
			header = header[:4]
		}
		if _, err := io.ReadFull(from, header); err != nil {
			return ignoreEOF(err)
		}
		m := Message{Connection: l.number, Backend: backend}
		if !first {
			m.Type = header[0]
		}
		const itself = 4
		m.Length = int(binary.BigEndian.Uint32(header[len(header)-itself:])) - itself
		if m.Length < 0 {
			return errors.New("a message shorter than its length")
		}
		m.Payload = payload[:min(m.Length, MaxPayload)]
		if _, err := io.ReadFull(from, m.Payload); err != nil {
			return err
		}
		action := Pass
		if observe := l.proxy.observer(); observe != nil {
			// Earlier messages are sent before the observer decides.
			if err := to.Flush(); err != nil {
				return err
			}
			action = observe(m)
		}
		switch action {
		case Pass:
		case Cut:
			l.close()
			return errCut
		case PassAndCut:
			l.severed.Store(source) // Before the message is sent, so that no response to it passes.
		}
		_, _ = to.Write(header) // After an error, a bufio.Writer keeps failing, also in Flush.
		_, _ = to.Write(m.Payload)
		if _, err := io.CopyN(to, from, int64(m.Length-len(m.Payload))); err != nil {
			return err
		}
		if action == PassAndCut || from.Buffered() == 0 {
			if err := to.Flush(); err != nil {
				return err
			}
		}
		if action == PassAndCut {
			_ = source.Close()
			if destination.CloseWrite() != nil {
				l.close()
			}
			return errCut
		}
	}
}

// gate writes to one side of a link, and waits while the proxy holds.
type gate struct {
	link *link
	to   *net.TCPConn
}

func (g gate) Write(b []byte) (int, error) {
	for held := g.link.proxy.holding(); held != nil; held = g.link.proxy.holding() {
		select {
		case <-held:
		case <-g.link.done:
			return 0, net.ErrClosed
		}
	}
	if g.link.severed.Load() == g.to {
		return 0, net.ErrClosed
	}
	return g.to.Write(b)
}
