package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
)

const maxAnswer = 1 << 20 // bytes that a caller reads of one response

// overHTTP serves the side's service as the program does, and creates HTTP clients as its callers.
func (s *loadSide) overHTTP(
	ctx context.Context, serve func(*ticketing.Service) *http.Server, plan loadPlan,
) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := serve(s.svc)
	go func() { _ = server.Serve(httpapi.Listener(listener)) }()
	for range plan.Clients {
		s.callers = append(s.callers, &httpCaller{addr: listener.Addr().String(), op: plan.Op, qty: plan.Qty})
	}
	s.end = func() {
		for _, caller := range s.callers {
			caller.interrupt()
		}
		_ = server.Close()
	}
	return nil
}

// httpCaller is a client with one connection, which is kept alive. It does as little work as possible, since it shares
// the machine with the server that it measures.
type httpCaller struct {
	addr    string
	op      Op
	qty     int
	conn    net.Conn
	in      *bufio.Reader
	request []byte
	stopped atomic.Bool
	dialled atomic.Pointer[net.Conn]
}

func (c *httpCaller) interrupt() {
	c.stopped.Store(true)
	if conn := c.dialled.Load(); conn != nil {
		_ = (*conn).SetDeadline(time.Unix(1, 0))
	}
}

func (c *httpCaller) call(ctx context.Context, t *task) error {
	c.write(t)
	if c.conn == nil {
		if err := c.dial(ctx); err != nil {
			return err
		}
	}
	err := c.exchange()
	if err != nil {
		if _, answered := errors.AsType[*Error](err); !answered {
			_ = c.conn.Close()
			c.conn = nil
		}
	}
	return err
}

func (c *httpCaller) dial(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return &Error{Code: "CONNECTION", Text: err.Error()}
	}
	c.conn, c.in = conn, bufio.NewReader(conn)
	c.dialled.Store(&conn)
	if c.stopped.Load() {
		c.interrupt()
	}
	return nil
}

// write builds the request.
func (c *httpCaller) write(t *task) {
	method, path, key, body := http.MethodPost, "", "", ""
	switch c.op {
	case OpCheckout:
		path, key = "/checkouts", t.key()
		body = `{"eventId":"` + t.shop.Event.String() + `","buyer":{"email":"` + t.buyer() +
			`","fullname":"` + buyerName + `"},` +
			`"lines":[{"tier":"` + shopTier + `","quantity":` + strconv.Itoa(c.qty) + `,"expectedUnitPrice":"` +
			shopPrice.String() + `","currency":"NGN"}]}`
	case OpValidate:
		path = "/events/" + t.admission.Event.String() + "/admissions/" + t.admission.Admission.String() + "/validate"
		key, body = t.key(), `{"location":"`+gate+`"}`
	case OpQuote:
		path = "/pricing/quote"
		body = `{"eventId":"` + t.shop.Event.String() + `","lines":[{"tier":"` + t.quoted() + `","quantity":` +
			strconv.Itoa(c.qty) + `}]}`
	default:
		method = http.MethodGet
		switch t.reading(c.op) {
		case readOrder:
			path = "/orders/" + t.order().String()
		case readOrders:
			path = "/orders"
		default:
			path = "/events/" + t.shop.Event.String()
		}
	}
	b := c.request[:0]
	b = append(b, method+" "+httpapi.DefaultPrefix+path+" HTTP/1.1\r\nHost: "+c.addr+
		"\r\nAuthorization: Bearer "+t.shop.Key+"\r\n"...)
	if key != "" {
		b = append(b, "Idempotency-Key: "+key+"\r\n"...)
	}
	if body != "" {
		b = append(b, "Content-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n"...)
	}
	c.request = append(append(b, "\r\n"...), body...)
}

// exchange sends the request and reads the response. It returns a *Error if the response is an error, or does not
// admit. Any other error is a connection error.
func (c *httpCaller) exchange() error {
	if _, err := c.conn.Write(c.request); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
		var envelope struct {
			Error struct{ Code string }
		}
		_ = json.Unmarshal(body, &envelope) // A response without an envelope has no code.
		return &Error{Code: strconv.Itoa(answer.StatusCode) + " " + envelope.Error.Code, Text: answer.Status}
	}
	if c.op == OpValidate && !bytes.Contains(body, []byte(`"`+string(ticketing.OutcomeAdmitted)+`"`)) {
		return &Error{Code: "NOT_ADMITTED", Text: errNotAdmitted.Error()}
	}
	return nil
}
