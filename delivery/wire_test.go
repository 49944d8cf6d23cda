package delivery_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/delivery"
)

// Section 6.3: a POST with the exact stored body and the six headers of the table, and no other header except those
// that HTTP itself needs.
func TestRequestIsThatOfTheContract(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, http2 bool) {
		is := is.New(t)
		var got *http.Request
		var body []byte
		r := receive(t, http2, func(w http.ResponseWriter, request *http.Request) {
			got = request
			body, _ = io.ReadAll(request.Body)
			w.WriteHeader(http.StatusAccepted)
		})
		status, err := r.sender.Post(t.Context(), attempt())
		is.NoErr(err)
		is.Equal(status, http.StatusAccepted)
		is.Equal(got.Method, "POST")
		is.Equal(got.Host, host)
		is.Equal(got.RequestURI, "/hooks/a%2Fb?tenant=7&x=%20")
		is.Equal(got.ProtoMajor == 2, http2)
		is.Equal(body, attempt().Body)
		is.Equal(got.ContentLength, int64(len(body)))
		is.Equal(len(got.TransferEncoding), 0)
		is.Equal(got.Header, http.Header{
			"Content-Type":          {"application/json; charset=utf-8"},
			"Content-Length":        {strconv.Itoa(len(body))},
			"User-Agent":            {"Service-Webhooks/1.0"},
			"X-Service-Event-Id":    {"33333333-3333-4333-8333-333333333333"},
			"X-Service-Event":       {"order.created"},
			"X-Service-Delivery-Id": {"22222222-2222-4222-8222-222222222222"},
			"X-Service-Signature":   {attempt().Signature},
		})
		is.Equal(r.wires.got, []string{"tcp " + public + ":443"}) // the checked address, never the name
	})
}

// The bytes on the wire, over HTTP/1.1: these lines in any order, the body, and nothing more.
func TestBytesOnTheWire(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	got := make(chan []string, 1)
	body := make(chan []byte, 1)
	w := rawReceiver(t, func(conn *tls.Conn) {
		reader := bufio.NewReader(conn)
		var lines []string
		for {
			line, err := reader.ReadString('\n')
			if err != nil || line == "\r\n" {
				break
			}
			lines = append(lines, strings.TrimSuffix(line, "\r\n"))
		}
		got <- lines
		sent := make([]byte, len(attempt().Body))
		_, _ = io.ReadFull(reader, sent)
		body <- sent
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	status, err := newSender(t, w, nil).Post(t.Context(), attempt())
	is.NoErr(err)
	is.Equal(status, http.StatusNoContent)
	lines := <-got
	is.Equal(lines[0], "POST /hooks/a%2Fb?tenant=7&x=%20 HTTP/1.1")
	is.Equal(len(lines), 9)
	for _, line := range []string{
		"Host: hooks.example.com", "Content-Length: " + strconv.Itoa(len(attempt().Body)),
		"Content-Type: application/json; charset=utf-8", "User-Agent: Service-Webhooks/1.0",
		"X-Service-Event-Id: 33333333-3333-4333-8333-333333333333", "X-Service-Event: order.created",
		"X-Service-Delivery-Id: 22222222-2222-4222-8222-222222222222", "X-Service-Signature: " + attempt().Signature,
	} {
		is.True(strings.Contains(strings.Join(lines, "\n")+"\n", "\n"+line+"\n")) // the line is there
	}
	is.Equal(<-body, attempt().Body)
}

// Every status of the receiver is a result: none is an error, and no redirect is followed.
func TestEveryStatusIsAnAnswer(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, http2 bool) {
		var elsewhere atomic.Int64
		other := receive(t, http2, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
		var requests atomic.Int64
		r := receive(t, http2, func(w http.ResponseWriter, request *http.Request) {
			requests.Add(1)
			status, _ := strconv.Atoi(request.URL.Query().Get("status"))
			w.Header().Set("Location", other.URL+"/private")
			w.Header().Set("Refresh", "0; url="+other.URL)
			w.Header().Set("Www-Authenticate", "Basic")
			w.WriteHeader(status)
		})
		for i, status := range []int{
			200, 201, 202, 204, 206, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 407, 410, 421, 429, 500, 502, 503,
			504, 599,
		} {
			is := is.New(t)
			got, err := r.sender.Post(t.Context(), to("https://"+host+"/?status="+strconv.Itoa(status)))
			is.NoErr(err)
			is.Equal(got, status)
			is.Equal(requests.Load(), int64(i+1)) // one attempt is one request
		}
		is.New(t).Equal(elsewhere.Load(), int64(0)) // no redirect was followed
	})
}

// The sender keeps no cookies of a receiver.
func TestNoCookies(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var cookies atomic.Int64
	r := receive(t, true, func(w http.ResponseWriter, request *http.Request) {
		cookies.Add(int64(len(request.Cookies())))
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
	})
	for range 3 {
		_, err := r.sender.Post(t.Context(), attempt())
		is.NoErr(err)
	}
	is.Equal(cookies.Load(), int64(0))
}

// Connections are kept: consecutive deliveries share one if the response's body is small, and the name is looked up
// once.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 2, 60 << 10, 64 << 10} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, http2 bool) {
				is := is.New(t)
				r := receive(t, http2, func(w http.ResponseWriter, request *http.Request) {
					_, _ = io.Copy(io.Discard, request.Body)
					w.Header().Set("Content-Length", strconv.Itoa(size))
					_, _ = w.Write(make([]byte, size))
				})
				resolver := &answers{addr: public}
				sender := newSender(t, r.wires, func(config *delivery.Config) { config.Resolver = resolver })
				for range 20 {
					_, err := sender.Post(t.Context(), attempt())
					is.NoErr(err)
				}
				is.Equal(r.wires.dialed.Load(), int64(1))
				is.Equal(resolver.asked.Load(), int64(1))
			})
		})
	}
}

// A chunked response without a length is read to its end, too.
func TestChunkedAnswerKeepsTheConnection(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := receive(t, false, func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			_, _ = w.Write(make([]byte, 1000))
			w.(http.Flusher).Flush()
		}
	})
	for range 5 {
		_, err := r.sender.Post(t.Context(), attempt())
		is.NoErr(err)
	}
	is.Equal(r.wires.dialed.Load(), int64(1))
}

// Concurrent deliveries share one connection over HTTP/2. Over HTTP/1.1 each has its own while it lasts, of which at
// most 64 are kept. A closed sender leaves none open.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, http2 bool) {
		is := is.New(t)
		const at = 80
		var arrived sync.WaitGroup
		var first atomic.Bool
		first.Store(true)
		r := receive(t, http2, func(http.ResponseWriter, *http.Request) {
			if first.Load() {
				return
			}
			arrived.Done()
			arrived.Wait()
		})
		_, err := r.sender.Post(t.Context(), attempt())
		is.NoErr(err)
		first.Store(false)
		arrived.Add(at)
		var posts sync.WaitGroup
		for range at {
			posts.Go(func() {
				if _, err := r.sender.Post(t.Context(), attempt()); err != nil {
					t.Error(err)
				}
			})
		}
		posts.Wait()
		if http2 {
			is.Equal(r.wires.dialed.Load(), int64(1))
		} else {
			is.True(r.wires.dialed.Load() <= at)
			eventually(t, func() bool { return r.wires.open.Load() <= 64 })
		}
		is.NoErr(r.sender.Close())
		is.Equal(r.wires.open.Load(), int64(0))
	})
}

// Idle connections may be closed at any time: the next delivery makes a new one. A closed sender makes none.
func TestClose(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, http2 bool) {
		is := is.New(t)
		r := receive(t, http2, func(http.ResponseWriter, *http.Request) {})
		for range 2 {
			_, err := r.sender.Post(t.Context(), attempt())
			is.NoErr(err)
			eventually(t, func() bool { // A connection is idle a moment after its last response.
				r.sender.CloseIdleConnections()
				return r.wires.open.Load() == 0
			})
		}
		is.Equal(r.wires.dialed.Load(), int64(2))
		is.NoErr(r.sender.Close())
		is.NoErr(r.sender.Close())
		_, err := r.sender.Post(t.Context(), attempt())
		isReason(t, err, delivery.ReasonCanceled, "canceled")
		is.Equal(r.wires.dialed.Load(), int64(2))
	})
}

// An attempt that is in progress when the sender is closed ends normally, and its connection is closed with it.
func TestCloseDuringAnAttempt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, http2 bool) {
		is := is.New(t)
		arrived, answer := make(chan struct{}), make(chan struct{})
		r := receive(t, http2, func(http.ResponseWriter, *http.Request) {
			close(arrived)
			<-answer
		})
		done := make(chan error)
		go func() {
			_, err := r.sender.Post(t.Context(), attempt())
			done <- err
		}()
		<-arrived
		is.NoErr(r.sender.Close())
		close(answer)
		is.NoErr(<-done)
		is.Equal(r.wires.open.Load(), int64(0))
	})
}
