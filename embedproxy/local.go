package embedproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
)

// apiPrefix is the path of the API in a local handler: the path of the contract.
const apiPrefix = "/api/public/v1"

// local calls a handler in this process.
type local struct{ handler http.Handler }

// Local returns the API of a handler in this process, which is one of package [github.com/floatgate/ticketing/httpapi]
// with its default prefix. The handler's Config.Caller says which company the shop belongs to. There is no API key, no
// socket and no second process. Give the caller the three grants of an embed key and no more:
//
//	upstream := embedproxy.Local(httpapi.New(svc, &httpapi.Config{
//		RateLimit: -1, // The proxy has limits of its own.
//		Caller: func(*http.Request) (ticketing.Caller, error) {
//			return ticketing.TrustedCaller(companyID, embedproxy.Grants()...), nil
//		},
//	}))
//
// The handler's requests have the context of the browser's request, and the buyer's address as their RemoteAddr. Local
// checks what the handler returns as [Remote] checks an answer over HTTP. Local panics if the handler is nil.
func Local(handler http.Handler) Upstream {
	if handler == nil {
		panic("embedproxy: Local needs a handler")
	}
	return &local{handler: handler}
}

// exchange calls the handler in the goroutine of the caller.
func (l *local) exchange(ctx context.Context, c call) (a answer, err error) {
	target, err := url.ParseRequestURI(apiPrefix + c.path)
	if err != nil {
		return answer{}, &rejection{reason: "the request could not be made"}
	}
	request := (&http.Request{
		Method: c.method, URL: target, RequestURI: apiPrefix + c.path, Host: "localhost",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, 4), Body: http.NoBody, ContentLength: int64(len(c.body)),
	}).WithContext(ctx)
	if c.body != nil {
		request.Body = io.NopCloser(bytes.NewReader(c.body))
	}
	if c.buyer.IsValid() {
		request.RemoteAddr = netip.AddrPortFrom(c.buyer, 0).String()
	}
	fill(request.Header, c)
	w := &recorder{header: make(http.Header, 8)}
	defer func() {
		if v := recover(); v != nil {
			a, err = answer{}, &rejection{reason: "the handler failed: " + panicked(v).Error()}
		}
	}()
	l.handler.ServeHTTP(w, request)
	switch {
	case ctx.Err() != nil && w.status == 0:
		return answer{}, &rejection{reason: unanswered(ctx, ctx.Err())}
	case w.body.Len() > maxAnswer:
		return answer{}, &rejection{reason: "body: is too large"}
	}
	return answer{status: w.status, header: w.header, body: w.body.Bytes()}, nil
}

// recorder keeps an answer. It refuses an answer that is too large.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var errTooLarge = errors.New("embedproxy: the response is too large")

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK { // An informational status does not begin the answer.
		w.status = status
	}
}

func (w *recorder) Write(part []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(part) > maxAnswer {
		part = part[:maxAnswer+1-w.body.Len()]
		_, _ = w.body.Write(part)
		return 0, errTooLarge
	}
	return w.body.Write(part)
}
