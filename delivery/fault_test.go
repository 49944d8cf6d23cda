package delivery_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
)

// isReason checks that err is a [delivery.Error] with this reason and text, and that the text is fit for a company.
func isReason(t *testing.T, err error, reason delivery.Reason, text string) {
	t.Helper()
	is := is.New(t)
	var known *delivery.Error
	is.True(errors.As(err, &known)) // an error of the sender
	t.Logf("cause: %q", errors.Unwrap(known))
	is.Equal(known.Error(), text)
	is.Equal(known.Reason, reason)
	is.True(len(text) <= 200 && !strings.ContainsAny(text, "\r\n\x00"))
}

// eventually waits for the work of other goroutines.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about")
		}
		time.Sleep(time.Millisecond) // The kernel and the receiver's goroutines need it.
	}
}

// serve calls a function with each connection, and closes the connection afterwards.
func serve(tb testing.TB, connection func(net.Conn)) *wires {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var connections sync.WaitGroup
	tb.Cleanup(func() {
		listener.Close()
		connections.Wait()
	})
	connections.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() {
				defer conn.Close()
				connection(conn)
			})
		}
	})
	return &wires{to: listener.Addr().String()}
}

// rawReceiver returns a receiver that does a TLS handshake without HTTP/2, and then runs connection.
func rawReceiver(tb testing.TB, connection func(*tls.Conn)) *wires {
	tb.Helper()
	return tlsReceiver(tb, &tls.Config{Certificates: []tls.Certificate{trusted.sign(tb, host, nil)}}, connection)
}

func tlsReceiver(tb testing.TB, config *tls.Config, connection func(*tls.Conn)) *wires {
	tb.Helper()
	return serve(tb, func(plain net.Conn) {
		conn := tls.Server(plain, config)
		if conn.HandshakeContext(context.Background()) == nil { //nolint:usetesting // It may outlive the test's.
			connection(conn)
		}
	})
}

// request reads a whole request.
func request(conn *tls.Conn) {
	var got []byte
	buffer := make([]byte, 4096)
	for !strings.HasSuffix(string(got), string(attempt().Body)) {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		got = append(got, buffer[:n]...)
	}
}

// awaitEnd waits until the other side closes the connection.
func awaitEnd(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// A fault of a receiver over HTTP/1.1 gives one of a few fixed texts, with nothing that the receiver wrote. After a
// status has arrived, no fault of the body changes it.
func TestReceiverFaults(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-of-the-receiver"
	for _, test := range []struct {
		name    string
		answer  string // sent after the request was read
		hang    bool   // then nothing until the sender closes, else closed
		endless string // then this without end
		status  int
		reason  delivery.Reason
		text    string
	}{
		{name: "never answers", hang: true, reason: delivery.ReasonTimeout, text: "timeout"},
		{
			name: "half a status line, hangs", answer: "HTTP/1.1 2", hang: true, reason: delivery.ReasonTimeout, text: "timeout",
		},
		{
			name: "half a header, hangs", answer: "HTTP/1.1 200 OK\r\nX-A: " + secret, hang: true,
			reason: delivery.ReasonTimeout, text: "timeout",
		},
		{name: "closes at once", reason: delivery.ReasonClosed, text: "connection closed before the answer"},
		{
			name: "half a status line, closes", answer: "HTTP/1.1 2", reason: delivery.ReasonAnswer,
			text: "the answer is not valid HTTP",
		},
		{
			name: "half a header, closes", answer: "HTTP/1.1 200 OK\r\nX-A: " + secret, reason: delivery.ReasonClosed,
			text: "connection closed before the answer",
		},
		{name: "garbage", answer: secret + "\r\n\r\n", reason: delivery.ReasonAnswer, text: "the answer is not valid HTTP"},
		{
			name: "binary garbage", answer: "\x00\x01\x02\xff\xfe\r\n\r\n" + secret, reason: delivery.ReasonAnswer,
			text: "the answer is not valid HTTP",
		},
		{
			name: "a greeting by SMTP", answer: "220 mail.example.com ESMTP " + secret + "\r\n", reason: delivery.ReasonAnswer,
			text: "the answer is not valid HTTP",
		},
		{
			name: "a bad status", answer: "HTTP/1.1 abc " + secret + "\r\n\r\n", reason: delivery.ReasonAnswer,
			text: "the answer is not valid HTTP",
		},
		{
			name: "status 000", answer: "HTTP/1.1 000 None\r\nContent-Length: 0\r\n\r\n", reason: delivery.ReasonAnswer,
			text: "the response has no valid status",
		},
		{
			name: "a bad header", answer: "HTTP/1.1 200 OK\r\n" + secret + "\r\n\r\n", reason: delivery.ReasonAnswer,
			text: "the answer is not valid HTTP",
		},
		{
			name: "a bad length", answer: "HTTP/1.1 200 OK\r\nContent-Length: " + secret + "\r\n\r\n",
			reason: delivery.ReasonAnswer, text: "the answer is not valid HTTP",
		},
		{
			name: "two lengths", answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
			reason: delivery.ReasonAnswer, text: "the answer is not valid HTTP",
		},
		{
			name: "a huge header", answer: "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 100<<10) + "\r\n\r\n",
			reason: delivery.ReasonAnswer, text: "the answer's header is too large",
		},
		{
			name: "a header without end", answer: "HTTP/1.1 200 OK\r\n", endless: "X-A: " + secret + "\r\n",
			reason: delivery.ReasonAnswer, text: "the answer's header is too large",
		},
		{
			name: "a line without end", answer: "HTTP/1.1 200 OK\r\nX-A: ", endless: "aaaaaaaaaaaaaaaa",
			reason: delivery.ReasonAnswer, text: "the answer's header is too large",
		},
		{
			name: "1xx without end", endless: "HTTP/1.1 103 Early Hints\r\nLink: </" + secret + ">\r\n\r\n",
			reason: delivery.ReasonAnswer, text: "the answer's header is too large",
		},
		{
			name: "100 without end", endless: "HTTP/1.1 100 Continue\r\n\r\n", reason: delivery.ReasonAnswer,
			text: "the answer's header is too large",
		},
		{
			name:   "a few 1xx first",
			answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
			status: 200,
		},
		{
			name:   "a header of 60 KiB",
			answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: " + strings.Repeat("a", 60<<10) + "\r\n\r\n", status: 200,
		},
		{name: "closes in the body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + secret, status: 200},
		{
			name: "closes in a chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + secret,
			status: 200,
		},
		{
			name: "garbage for a chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + secret + "\r\n",
			status: 200,
		},
		{name: "a body without end", answer: "HTTP/1.1 200 OK\r\n\r\n", endless: strings.Repeat("a", 1024), status: 200},
		{
			name: "a body of 1 GB", answer: "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n",
			endless: strings.Repeat("a", 1024), status: 200,
		},
		{
			name: "chunks without end", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", endless: "1\r\na\r\n",
			status: 200,
		},
		{
			name: "a trailer without end", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
			endless: "X-A: a\r\n", status: 200,
		},
		{
			name: "zipped garbage", answer: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
			status: 200,
		},
		{name: "HTTP/1.0", answer: "HTTP/1.0 200 OK\r\n\r\nfine", status: 200},
		{
			name:   "another protocol",
			answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", hang: true,
			status: 101,
		},
		{
			name:   "a redirect to a private address",
			answer: "HTTP/1.1 301 Moved Permanently\r\nLocation: https://10.0.0.1/\r\nContent-Length: 0\r\n\r\n", status: 301,
		},
		{
			name:   "a redirect to nowhere",
			answer: "HTTP/1.1 302 Found\r\nLocation: ://" + secret + "\r\nContent-Length: 0\r\n\r\n", status: 302,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var sent atomic.Int64
			w := rawReceiver(t, func(conn *tls.Conn) {
				request(conn)
				_, _ = io.WriteString(conn, test.answer)
				for test.endless != "" {
					n, err := io.WriteString(conn, test.endless)
					sent.Add(int64(n))
					if err != nil {
						return
					}
				}
				if test.hang {
					awaitEnd(conn)
				}
			})
			sender := newSender(t, w, func(config *delivery.Config) {
				if test.reason == delivery.ReasonTimeout {
					config.Timeout = 300 * time.Millisecond
				}
			})
			began := time.Now()
			status, err := sender.Post(t.Context(), attempt())
			is.True(time.Since(began) < 5*time.Second)
			is.Equal(status, test.status)
			if test.status != 0 {
				is.NoErr(err)
			} else {
				isReason(t, err, test.reason, test.text)
			}
			is.Equal(w.dialed.Load(), int64(1)) // one attempt, one connection
			if test.answer == "" || test.endless != "" || status == 0 || status == 101 {
				eventually(t, func() bool { return w.open.Load() == 0 }) // and the connection is closed
			}
			if test.endless != "" {
				// The sender reads 64 KiB; the rest is in the buffers of the sockets.
				is.True(sent.Load() < 16<<20)
			}
		})
	}
}

// A certificate that is not valid for the name, now and by a trusted root, is refused, and nothing is sent.
func TestCertificates(t *testing.T) {
	t.Parallel()
	self := func() tls.Certificate {
		own := newAuthority()
		return own.sign(t, host, func(c *x509.Certificate) { c.IsCA = true })
	}()
	for _, test := range []struct {
		name, text string
		config     *tls.Config
	}{
		{
			"unknown authority", "TLS: certificate signed by unknown authority",
			&tls.Config{Certificates: []tls.Certificate{stranger.sign(t, host, nil)}},
		},
		{"self-signed", "TLS: certificate signed by unknown authority", &tls.Config{Certificates: []tls.Certificate{self}}},
		{
			"wrong host", "TLS: certificate is for another host",
			&tls.Config{Certificates: []tls.Certificate{trusted.sign(t, "evil.example.com", nil)}},
		},
		{
			"for the address", "TLS: certificate is for another host",
			&tls.Config{Certificates: []tls.Certificate{trusted.sign(t, public, nil)}},
		},
		{"expired", "TLS: certificate has expired or is not yet valid", &tls.Config{Certificates: []tls.Certificate{
			trusted.sign(t, host, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }),
		}}},
		{"not yet valid", "TLS: certificate has expired or is not yet valid", &tls.Config{Certificates: []tls.Certificate{
			trusted.sign(t, host, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }),
		}}},
		{"for clients", "TLS: certificate is not valid", &tls.Config{Certificates: []tls.Certificate{
			trusted.sign(t, host, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
		}}},
		{
			"TLS 1.1", "TLS: the handshake failed",
			&tls.Config{
				MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
				Certificates: []tls.Certificate{trusted.sign(t, host, nil)},
			},
		},
		{
			"asks for a certificate", "",
			&tls.Config{ClientAuth: tls.RequestClientCert, Certificates: []tls.Certificate{trusted.sign(t, host, nil)}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var got atomic.Int64
			w := tlsReceiver(t, test.config, func(conn *tls.Conn) {
				one := make([]byte, 1)
				n, _ := conn.Read(one)
				got.Add(int64(n))
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
			})
			status, err := newSender(t, w, nil).Post(t.Context(), attempt())
			if test.text == "" {
				is.NoErr(err)
				is.Equal(status, 200)
				return
			}
			if test.name == "TLS 1.1" && err != nil && err.Error() == "TLS: the receiver refused the handshake" {
				return // A receiver without a common version may refuse first.
			}
			isReason(t, err, delivery.ReasonTLS, test.text)
			eventually(t, func() bool { return w.open.Load() == 0 })
			is.Equal(got.Load(), int64(0)) // not a byte of the request
		})
	}
}

// Other handshake faults.
func TestHandshakeFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		reason     delivery.Reason
		connection func(net.Conn)
	}{
		{"plain HTTP", "TLS: the receiver does not speak it", delivery.ReasonTLS, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			awaitEnd(conn)
		}},
		{
			"closes", "TLS: connection closed during the handshake", delivery.ReasonTLS,
			func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1<<14)) },
		},
		{"an alert", "TLS: the receiver refused the handshake", delivery.ReasonTLS, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1<<14))
			_, _ = conn.Write([]byte{21, 3, 3, 0, 2, 2, 40})
		}},
		{"silence", "timeout", delivery.ReasonTimeout, awaitEnd},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := serve(t, test.connection)
			_, err := newSender(t, w, func(config *delivery.Config) {
				if test.reason == delivery.ReasonTimeout {
					config.Timeout = 300 * time.Millisecond
				}
			}).Post(t.Context(), attempt())
			if test.reason == delivery.ReasonTimeout && err != nil && err.Error() == "TLS: timeout" {
				return // The same timeout, as the handshake reports it.
			}
			isReason(t, err, test.reason, test.text)
			eventually(t, func() bool { return w.open.Load() == 0 })
		})
	}
}

// framed returns a receiver that writes HTTP/2 frame by frame. It calls the function answer for the stream of each
// request.
func framed(t *testing.T, answer func(framer *http2.Framer, stream uint32) (again bool)) *wires {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{trusted.sign(t, host, nil)}, NextProtos: []string{"h2"}}
	return tlsReceiver(t, config, func(conn *tls.Conn) { serveFrames(conn, answer) })
}

func serveFrames(conn *tls.Conn, answer func(framer *http2.Framer, stream uint32) (again bool)) {
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(conn, conn)
	if framer.WriteSettings() != nil {
		return
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = framer.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !frame.IsAck() {
				_ = framer.WritePing(true, frame.Data)
			}
		case *http2.DataFrame:
			if frame.StreamEnded() && !answer(framer, frame.StreamID) {
				return
			}
		}
	}
}

func header(fields ...string) []byte {
	var block strings.Builder
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return []byte(block.String())
}

// Faults of a receiver over HTTP/2.
func TestReceiverFaultsOverHTTP2(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-of-the-receiver"
	ok := func(framer *http2.Framer, stream uint32, end bool) {
		_ = framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: stream, BlockFragment: header(":status", "200"), EndHeaders: true, EndStream: end,
		})
	}
	for _, test := range []struct {
		name   string
		answer func(*http2.Framer, uint32) bool
		status int
		reason delivery.Reason
		text   string
	}{
		{"fine", func(f *http2.Framer, s uint32) bool { ok(f, s, true); return true }, 200, "", ""},
		{"never answers", func(*http2.Framer, uint32) bool { return true }, 0, delivery.ReasonTimeout, "timeout"},
		{
			"closes", func(*http2.Framer, uint32) bool { return false }, 0, delivery.ReasonClosed,
			"connection closed before the answer",
		},
		{"resets the stream", func(f *http2.Framer, s uint32) bool {
			_ = f.WriteRSTStream(s, http2.ErrCodeInternal)
			return true
		}, 0, delivery.ReasonClosed, "connection closed before the answer"},
		{"goes away with the request", func(f *http2.Framer, s uint32) bool {
			_ = f.WriteGoAway(s, http2.ErrCodeInternal, []byte(secret))
			return false
		}, 0, delivery.ReasonClosed, "connection closed before the answer"},
		{"goes away after the answer", func(f *http2.Framer, s uint32) bool {
			ok(f, s, true)
			_ = f.WriteGoAway(s, http2.ErrCodeNo, nil)
			return false
		}, 200, "", ""},
		{"no status", func(f *http2.Framer, s uint32) bool {
			_ = f.WriteHeaders(http2.HeadersFrameParam{
				StreamID: s, BlockFragment: header("x-a", secret), EndHeaders: true, EndStream: true,
			})
			return true
		}, 0, delivery.ReasonAnswer, "the answer is not valid HTTP"},
		{"a bad status", func(f *http2.Framer, s uint32) bool {
			_ = f.WriteHeaders(http2.HeadersFrameParam{
				StreamID: s, BlockFragment: header(":status", secret), EndHeaders: true, EndStream: true,
			})
			return true
		}, 0, delivery.ReasonAnswer, "the answer is not valid HTTP"},
		{"data before the header", func(f *http2.Framer, s uint32) bool {
			_ = f.WriteData(s, true, []byte(secret))
			return true
		}, 0, delivery.ReasonAnswer, "the answer is not valid HTTP"},
		{"garbage for a frame", func(f *http2.Framer, _ uint32) bool {
			_ = f.WriteRawFrame(http2.FrameSettings, 0, 7, []byte(secret))
			return true
		}, 0, delivery.ReasonAnswer, "the answer is not valid HTTP"},
		{"a header without end", func(f *http2.Framer, s uint32) bool {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: header(":status", "200")})
			for range 4096 {
				if f.WriteContinuation(s, false, header("x-a", strings.Repeat("a", 1000))) != nil {
					return false
				}
			}
			return true
		}, 0, delivery.ReasonAnswer, "the answer is not valid HTTP"},
		{"a header that is large when it is unpacked", func(f *http2.Framer, s uint32) bool {
			fields := []string{":status", "200"}
			for range 1000 {
				fields = append(fields, "x-a", strings.Repeat("a", 1000))
			}
			_ = f.WriteHeaders(http2.HeadersFrameParam{
				StreamID: s, BlockFragment: header(fields...), EndHeaders: true, EndStream: true,
			})
			return true
		}, 0, delivery.ReasonAnswer, "the answer's header is too large"},
		{"1xx without end", func(f *http2.Framer, s uint32) bool {
			for range 1 << 16 {
				if f.WriteHeaders(http2.HeadersFrameParam{
					StreamID: s, BlockFragment: header(":status", "103", "x-a", strings.Repeat("a", 100)), EndHeaders: true,
				}) != nil {
					return false
				}
			}
			return true
		}, 0, delivery.ReasonAnswer, "the answer's header is too large"},
		{"a body beyond its window", func(f *http2.Framer, s uint32) bool {
			ok(f, s, false)
			for range 1024 {
				if f.WriteData(s, false, make([]byte, 1<<14)) != nil {
					return false
				}
			}
			return true
		}, 200, "", ""},
		{"a body that never ends", func(f *http2.Framer, s uint32) bool {
			ok(f, s, false)
			_ = f.WriteData(s, false, []byte(secret))
			return true
		}, 200, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := framed(t, test.answer)
			sender := newSender(t, w, func(config *delivery.Config) {
				if test.reason == delivery.ReasonTimeout {
					config.Timeout = 300 * time.Millisecond
				}
			})
			status, err := sender.Post(t.Context(), attempt())
			is.Equal(status, test.status)
			if test.status != 0 {
				is.NoErr(err)
			} else {
				isReason(t, err, test.reason, test.text)
			}
			is.Equal(w.dialed.Load(), int64(1))
			is.NoErr(sender.Close())
			is.Equal(w.open.Load(), int64(0)) // no connection is left, whatever the receiver does
		})
	}
}

// A receiver that goes away without having read the request reports that. The sender repeats the request over a new
// connection: it was not handled, so this is not another attempt.
func TestGoingAwayBeforeTheRequest(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var requests atomic.Int64
	w := framed(t, func(framer *http2.Framer, stream uint32) bool {
		if requests.Add(1) == 1 {
			_ = framer.WriteGoAway(0, http2.ErrCodeNo, nil)
			return false
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: stream, BlockFragment: header(":status", "200"), EndHeaders: true, EndStream: true,
		})
		return true
	})
	status, err := newSender(t, w, nil).Post(t.Context(), attempt())
	is.NoErr(err)
	is.Equal(status, 200)
	is.Equal(requests.Load(), int64(2))
	dialed := w.dialed.Load()
	is.True(dialed == 2 || dialed == 3) // One more if the first connection is found going away only then.
}

// A receiver that always refuses is limited by the timeout of the attempt.
func TestRefusingForEver(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var requests atomic.Int64
	w := framed(t, func(framer *http2.Framer, stream uint32) bool {
		requests.Add(1)
		_ = framer.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		return true
	})
	sender := newSender(t, w, func(config *delivery.Config) { config.Timeout = time.Second })
	_, err := sender.Post(t.Context(), attempt())
	isReason(t, err, delivery.ReasonTimeout, "timeout")
	is.True(requests.Load() <= 8)
}

// A receiver that closed a kept connection gets the next delivery over a new one, without a failed attempt.
func TestKeptConnectionWasClosed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, http2 bool) {
		is := is.New(t)
		r := receive(t, http2, func(http.ResponseWriter, *http.Request) {})
		for range 3 {
			status, err := r.sender.Post(t.Context(), attempt())
			is.NoErr(err)
			is.Equal(status, 200)
			r.CloseClientConnections()
			eventually(t, func() bool { return r.wires.open.Load() == 0 })
		}
		is.Equal(r.wires.dialed.Load(), int64(3))
	})
}

// The sender never repeats an attempt by itself: a receiver that reads a request over a kept connection and then closes
// it gets the request once.
func TestOneAttemptIsOneRequest(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var requests atomic.Int64
	w := rawReceiver(t, func(conn *tls.Conn) {
		for {
			request(conn)
			if requests.Add(1) == 2 {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	sender := newSender(t, w, nil)
	_, err := sender.Post(t.Context(), attempt())
	is.NoErr(err)
	_, err = sender.Post(t.Context(), attempt())
	isReason(t, err, delivery.ReasonClosed, "connection closed before the answer")
	is.Equal(requests.Load(), int64(2))
	is.Equal(w.dialed.Load(), int64(1))
}

// A response without a request is not taken for the response to the next request.
func TestUnaskedAnswer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := rawReceiver(t, func(conn *tls.Conn) {
		request(conn)
		_, _ = io.WriteString(conn,
			"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		awaitEnd(conn)
	})
	sender := newSender(t, w, nil)
	for range 3 {
		status, err := sender.Post(t.Context(), attempt())
		is.NoErr(err)
		is.Equal(status, 500)
		eventually(t, func() bool { return w.open.Load() == 0 })
	}
}

// A caller that cancels its context soon gets an error that wraps the context's.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, http2 bool) {
		is := is.New(t)
		arrived, answer := make(chan struct{}), make(chan struct{})
		r := receive(t, http2, func(http.ResponseWriter, *http.Request) {
			close(arrived)
			<-answer
		})
		defer close(answer)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-arrived
			cancel()
		}()
		_, err := r.sender.Post(ctx, attempt())
		isReason(t, err, delivery.ReasonCanceled, "canceled")
		is.True(errors.Is(err, context.Canceled))
	})
}

// If the caller's deadline is earlier than the sender's, it is kept and reported as a timeout.
func TestCallersDeadline(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := rawReceiver(t, func(conn *tls.Conn) { awaitEnd(conn) })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := newSender(t, w, nil).Post(ctx, attempt())
	isReason(t, err, delivery.ReasonTimeout, "timeout")
	is.True(errors.Is(err, context.DeadlineExceeded))
}

// The body is neither changed nor written to.
func TestBodyStays(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := receive(t, false, func(http.ResponseWriter, *http.Request) {})
	a := attempt()
	a.Body = append(a.Body, make([]byte, 1<<20)...)
	before := string(a.Body)
	for range 3 {
		_, err := r.sender.Post(t.Context(), a)
		// The receiver may close the connection before all of it was written.
		if err != nil {
			isReason(t, err, delivery.ReasonClosed, "connection closed before the answer")
		}
	}
	is.Equal(string(a.Body), before)
}

// A meaningless config is refused.
func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		config delivery.Config
		want   string
	}{
		{delivery.Config{Timeout: 11 * time.Second}, "delivery: Timeout is 11s; it must be at most 10s"},
		{delivery.Config{Timeout: -1}, "delivery: a timeout is negative"},
		{delivery.Config{DNSTimeout: -1}, "delivery: a timeout is negative"},
		{delivery.Config{ConnectTimeout: -1}, "delivery: a timeout is negative"},
		{delivery.Config{Denied: make([]prefix, 1)}, "delivery: Denied[0] is not a valid prefix"},
	} {
		is := is.New(t)
		_, err := delivery.New(&test.config)
		is.True(err != nil)
		is.Equal(err.Error(), test.want)
	}
	sender, err := delivery.New(nil)
	is.New(t).NoErr(err)
	var _ ticketing.Sender = sender
	is.New(t).NoErr(sender.Close())
}

func ExampleNew() {
	sender, err := delivery.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sender.Close()
	_, err = sender.Post(context.Background(), ticketing.WebhookRequest{URL: "https://localhost/hooks"})
	fmt.Println(err)
	// Output: the URL must have a public host name, not one of a machine or a local network
}
