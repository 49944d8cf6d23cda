package embedproxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/money"
)

// A proxy does not start without an upstream, a session and a decision about who may buy.
func TestNewNeedsItsHooks(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	session := func(*http.Request) (string, error) { return "s1", nil }
	upstream := embedproxy.Local(&script{})
	for _, test := range []struct {
		upstream embedproxy.Upstream
		config   *embedproxy.Config
		problem  string
	}{
		{nil, &embedproxy.Config{Session: session, MayBuy: embedproxy.AnyoneMayBuy}, "upstream is required"},
		{upstream, nil, "Config.Session is required"},
		{upstream, &embedproxy.Config{MayBuy: embedproxy.AnyoneMayBuy}, "Config.Session is required"},
		{upstream, &embedproxy.Config{Session: session}, "Config.MayBuy is required"},
		{
			upstream, &embedproxy.Config{
				Session: session, MayBuy: embedproxy.AnyoneMayBuy, TrustedProxies: []netip.Prefix{{}},
			}, "a trusted proxy is not a valid range",
		},
	} {
		_, err := embedproxy.New(test.upstream, test.config)
		is.True(err != nil)
		is.True(strings.Contains(err.Error(), test.problem))
	}
	_, err := embedproxy.New(upstream, &embedproxy.Config{Session: session, MayBuy: embedproxy.AnyoneMayBuy})
	is.NoErr(err)
}

// Only POST is served.
func TestMethods(t *testing.T) {
	t.Parallel()
	api := &script{}
	shop := open(t, api.remote(t, nil), nil)
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		got, err := shop.send(t, method, postList)
		is := is.New(t)
		is.NoErr(err)
		got.failed(t, 405, "METHOD_NOT_ALLOWED")
		is.Equal(got.header["Allow"], []string{"POST"})
	}
	is.New(t).Equal(len(api.got()), 0)
}

// A request from another origin is refused, also from another one of the same site.
func TestOrigins(t *testing.T) {
	t.Parallel()
	api := &script{}
	shop := open(t, api.remote(t, nil), nil)
	host := strings.TrimPrefix(shop.url, "http://")
	for _, refused := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "-", "Origin", "https://evil.example"},
		{"Sec-Fetch-Site", "-", "Origin", "null"},
		{"Sec-Fetch-Site", "cross-site", "Origin", "http://" + host},
	} {
		shop.post(t, postList, refused...).failed(t, 403, "PERMISSION_DENIED")
	}
	is.New(t).Equal(len(api.got()), 0)
	for _, taken := range [][]string{
		{"Sec-Fetch-Site", "same-origin", "Origin", "http://" + host},
		{"Sec-Fetch-Site", "-", "Origin", "http://" + host},
		{"Sec-Fetch-Site", "-"}, // no browser
	} {
		shop.post(t, postList, taken...).ok(t, 200, shownPage)
	}
}

// The proxy makes the checks in the order of the package comment: of two reasons to refuse, the earlier one is
// returned.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	counter := &counter{}
	var log logOf
	shop := open(t, api.remote(t, nil), func(c *embedproxy.Config) {
		c.RequestsPerMinute, c.CheckoutsPerMinute, c.Counter = 1000, 1000, counter
		session := c.Session
		c.Session = func(r *http.Request) (string, error) {
			log.add("session")
			return session(r)
		}
		c.MayBuy = func(context.Context, embedproxy.Purchase) error {
			log.add(fmt.Sprint("may buy after ", len(api.got())))
			return embedproxy.ErrPaymentRequired
		}
	})
	counter.log = &log
	const address, session = "requests of address", "requests of session"
	for _, test := range []struct {
		name    string
		over    string // the limit that is exceeded
		method  string
		body    string
		headers []string
		status  int
		want    []string
	}{
		{"method", address, "GET", "", []string{"Sec-Fetch-Site", "cross-site"}, 405, nil},
		{"address", address, "POST", "", []string{"Sec-Fetch-Site", "cross-site"}, 429, []string{address}},
		{"origin", session, "POST", "", []string{"Sec-Fetch-Site", "cross-site", "Cookie", "-"}, 403, []string{address}},
		{"session", session, "POST", "", []string{"Cookie", "-"}, 401, []string{address, "session"}},
		{"limit of the session", session, "POST", "", nil, 429, []string{address, "session", session}},
		{"form", "checkouts of address", "POST", withLine("{}"), nil, 400, []string{address, "session", session}},
		{
			"checkouts of the address", "checkouts of address", "POST", postCheckout, nil, 429,
			[]string{address, "session", session, "checkouts of address"},
		},
		{
			"checkouts of the session", "checkouts of session", "POST", postCheckout, nil, 429,
			[]string{address, "session", session, "checkouts of address", "checkouts of session"},
		},
		{
			"proof and hook", "none", "POST", postCheckout, nil, 402,
			[]string{address, "session", session, "checkouts of address", "checkouts of session", "may buy after 1"},
		},
		{"no checkout", "checkouts of address", "POST", postQuote, nil, 200, []string{address, "session", session}},
	} {
		counter.over = test.over
		got, err := shop.send(t, test.method, test.body, test.headers...)
		is.NoErr(err)
		if got.status != test.status {
			t.Errorf("%s: status %d, want %d", test.name, got.status, test.status)
		}
		is.Equal(log.take(), test.want)
		is.Equal(got.header.Get("Retry-After") != "", test.status == 429)
	}
}

// counter counts nothing. It reports that one limit is exceeded.
type counter struct {
	log  *logOf
	over string
}

func (c *counter) Count(_ context.Context, key string, now time.Time) (int, time.Time, error) {
	words := strings.Fields(key)
	what := strings.Join(words[:3], " ")
	c.log.add(what)
	if what == c.over {
		return 1 << 20, now.Add(time.Second), nil
	}
	return 1, now.Add(time.Second), nil
}

// logOf is a list of what happened.
type logOf struct {
	mu    sync.Mutex
	lines []string
}

func (l *logOf) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *logOf) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// Without a session nothing is sent. No key of a counter contains the id of a session.
func TestSessions(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	var outcome atomic.Pointer[func() (string, error)]
	counted := &keys{}
	shop := open(t, api.remote(t, nil), func(c *embedproxy.Config) {
		c.Counter, c.RequestsPerMinute = counted, 10
		c.Session = func(*http.Request) (string, error) { return (*outcome.Load())() }
	})
	for _, none := range []func() (string, error){
		func() (string, error) { return "", nil },
		func() (string, error) { return "", embedproxy.ErrNoSession },
		func() (string, error) { return "s1", fmt.Errorf("expired: %w", embedproxy.ErrNoSession) },
	} {
		outcome.Store(&none)
		shop.post(t, postList).failed(t, 401, "AUTHENTICATION_FAILED")
	}
	is.Equal(shop.log.String(), "")
	broken := func() (string, error) { return "s1", errors.New("the database is down") }
	outcome.Store(&broken)
	is.Equal(shop.post(t, postList).failed(t, 500, "INTERNAL_ERROR"), "An unexpected error occurred.")
	is.Equal(len(api.got()), 0)
	lines := shop.log.lines(t)
	is.Equal(len(lines), 1)
	is.Equal(lines[0]["hook"], "Session")
	is.Equal(lines[0]["error"], "the database is down")

	secret := func() (string, error) { return "session-secret", nil }
	outcome.Store(&secret)
	shop.post(t, postList).ok(t, 200, shownPage)
	is.True(!strings.Contains(strings.Join(counted.all(), " "), "secret"))
	is.True(strings.Contains(strings.Join(counted.all(), " "), "requests of session "))
}

// keys records the keys that were counted.
type keys struct {
	log logOf
	err error
}

func (k *keys) Count(_ context.Context, key string, now time.Time) (int, time.Time, error) {
	k.log.add(key)
	return 1, now, k.err
}

func (k *keys) all() []string {
	k.log.mu.Lock()
	defer k.log.mu.Unlock()
	return k.log.lines
}

// A counter that fails lets the request pass, and is logged.
func TestCounterFails(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	shop := open(t, api.remote(t, nil), func(c *embedproxy.Config) {
		c.Counter, c.RequestsPerMinute = &keys{err: errors.New("no connection")}, 1
	})
	shop.post(t, postList).ok(t, 200, shownPage)
	lines := shop.log.lines(t)
	is.Equal(len(lines), 2) // of the address and of the session
	is.Equal(lines[0]["msg"], "rate limit not counted")
}

// MayBuy gets the basket after the event was found to be published. If it refuses, no checkout is sent.
func TestMayBuy(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, api *script, upstream embedproxy.Upstream) {
		is := is.New(t)
		var verdict atomic.Pointer[error]
		var got atomic.Pointer[embedproxy.Purchase]
		shop := open(t, upstream, func(c *embedproxy.Config) {
			c.MayBuy = func(_ context.Context, p embedproxy.Purchase) error {
				kept := p
				kept.Lines = slices.Clone(p.Lines)
				got.Store(&kept)
				p.Lines[0].Quantity = 50 // It changes nothing.
				return *verdict.Load()
			}
		})
		ask := func(err error, body string) answer {
			verdict.Store(&err)
			return shop.post(t, body)
		}
		ask(nil, postCheckout).ok(t, 201, `{"data":`+shownOrder+`,"meta":`+goodMeta+`}`)
		sent := api.got()
		is.True(strings.Contains(sent[1].body, `"quantity":1`))
		p := got.Load()
		is.Equal(p.Session, "s1")
		is.Equal(p.IdempotencyKey, "cart-1001")
		is.Equal(p.EventID.String(), eventID)
		is.Equal(p.Buyer, ticketing.BuyerParams{Email: "ada@example.com", Fullname: "Ada", Phone: "+234"})
		is.Equal(p.Lines, []ticketing.CheckoutLineParams{
			{Tier: "VIP", Quantity: 1, ExpectedUnitPrice: 5000_00, Currency: "NGN"},
		})
		is.Equal(p.Request.Header.Get("Cookie"), "session=s1")
		is.Equal(p.Total(), money.Amount(5000_00))

		const unpaid, unexpected = "This purchase is not paid yet.", "An unexpected error occurred."
		for _, test := range []struct {
			err     error
			status  int
			code    string
			message string
			logged  bool
		}{
			{embedproxy.ErrPaymentRequired, 402, "PAYMENT_REQUIRED", unpaid, false},
			{fmt.Errorf("cart: %w", embedproxy.ErrPaymentRequired), 402, "PAYMENT_REQUIRED", unpaid, false},
			{&embedproxy.Refusal{Status: 409, Code: "CLOSED", Message: "Too late."}, 409, "CLOSED", "Too late.", false},
			{
				fmt.Errorf("cart: %w", &embedproxy.Refusal{Status: 499, Code: "A", Message: "B"}), 499, "A", "B", false,
			},
			{&embedproxy.Refusal{Status: 200, Code: "A", Message: "B"}, 500, "INTERNAL_ERROR", unexpected, true},
			{&embedproxy.Refusal{Status: 500, Code: "A", Message: "B"}, 500, "INTERNAL_ERROR", unexpected, true},
			{&embedproxy.Refusal{Status: 409, Code: "a", Message: "B"}, 500, "INTERNAL_ERROR", unexpected, true},
			{&embedproxy.Refusal{Status: 409, Code: "A"}, 500, "INTERNAL_ERROR", unexpected, true},
			{errors.New("the till is down"), 500, "INTERNAL_ERROR", unexpected, true},
		} {
			before := len(shop.log.lines(t))
			is.Equal(ask(test.err, postCheckout).failed(t, test.status, test.code), test.message)
			is.Equal(api.routes(), []string{routeEvent})
			is.Equal(len(shop.log.lines(t)) > before, test.logged)
		}
		// The other operations do not call MayBuy.
		got.Store(nil)
		for _, post := range posts[:3] {
			is.Equal(ask(embedproxy.ErrPaymentRequired, post.body).status, 200)
		}
		is.True(got.Load() == nil)
		// The total may exceed the largest input.
		most := strings.NewReplacer(":1,", ":50,", "5000.00", "999999999999.99").Replace(aLine)
		ask(embedproxy.ErrPaymentRequired, withLine(most))
		is.Equal(got.Load().Total().String(), "49999999999999.50")
	})
}

// A panic of any hook is a 500 that is logged once, without its value, and the proxy continues to serve.
func TestHooksThatPanic(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*embedproxy.Config)
	}{
		{"Session", func(c *embedproxy.Config) { c.Session = func(*http.Request) (string, error) { panic("secret") } }},
		{"MayBuy", func(c *embedproxy.Config) {
			c.MayBuy = func(context.Context, embedproxy.Purchase) error { panic(errors.New("secret")) }
		}},
		{"Counter", func(c *embedproxy.Config) { c.Counter, c.RequestsPerMinute = panicking{}, 1 }},
		{"Clock", func(c *embedproxy.Config) { c.Clock = func() time.Time { panic("secret") } }},
		{"NewRequestID", func(c *embedproxy.Config) { c.NewRequestID = func() string { panic("secret") } }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			api := &script{}
			shop := open(t, api.remote(t, nil), test.change)
			for n := range 2 {
				shop.post(t, postCheckout).failed(t, 500, "INTERNAL_ERROR")
				lines := shop.log.lines(t)
				is.Equal(len(lines), n+1)
				is.True(strings.Contains(lines[n]["stack"].(string), "proxy_test.go"))
			}
			is.True(!strings.Contains(shop.log.String(), "secret"))
		})
	}
}

type panicking struct{}

func (panicking) Count(context.Context, string, time.Time) (int, time.Time, error) { panic("secret") }

// OnAnswer is called once for every answer, and its panic has no effect on the answer.
func TestOnAnswer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	called := make(chan embedproxy.Answer, 1)
	at := &clock{}
	shop := open(t, embedproxy.Local(api), func(c *embedproxy.Config) {
		c.Clock = at.now
		c.NewRequestID = func() string { return "made-1" }
		c.OnAnswer = func(_ context.Context, a embedproxy.Answer) {
			called <- a
			panic("secret")
		}
	})
	api.on(routeList, func(w http.ResponseWriter, _ *http.Request) {
		at.move(3 * time.Second)
		sendJSON(w, 200, goodPage)
	})
	shop.post(t, postList)
	is.Equal(<-called, embedproxy.Answer{
		Operation: "events.list", Status: 200, RequestID: "upstream-1", Duration: 3 * time.Second,
	})
	shop.post(t, "{}", "X-Request-Id", "browser-1")
	is.Equal(<-called, embedproxy.Answer{Status: 400, Code: "INVALID_REQUEST", RequestID: "browser-1"})
	api.send(routeEvent, 200, "{}")
	shop.post(t, postCheckout, "X-Request-Id", "browser-1")
	is.Equal(<-called, embedproxy.Answer{
		Operation: "checkout.create", Status: 502, Code: "INVALID_UPSTREAM_RESPONSE", RequestID: "made-1",
	})
	is.True(!strings.Contains(shop.log.String(), "secret"))
}

// The browser has its answer before OnAnswer returns. The hook's context outlives the browser.
func TestOnAnswerOutlivesTheBrowser(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	proceed, ended := make(chan struct{}), make(chan error, 1)
	shop := open(t, embedproxy.Local(&script{}), func(c *embedproxy.Config) {
		gone := make(chan struct{})
		c.Session = func(r *http.Request) (string, error) {
			context.AfterFunc(r.Context(), func() { close(gone) })
			return "s1", nil
		}
		c.OnAnswer = func(ctx context.Context, _ embedproxy.Answer) {
			<-proceed
			<-gone
			ended <- ctx.Err()
		}
	})
	visitor := &http.Client{Transport: &http.Transport{}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shop.url, strings.NewReader(postList))
	is.NoErr(err)
	request.Header.Set("Content-Type", "application/json")
	response, err := visitor.Do(request)
	is.NoErr(err)
	body, err := io.ReadAll(response.Body)
	is.NoErr(err)
	is.True(strings.Contains(string(body), `"data"`))
	is.NoErr(response.Body.Close())
	visitor.CloseIdleConnections() // It leaves, since it has the whole answer.
	close(proceed)
	is.NoErr(<-ended)
}

// clock is a time that tests move.
type clock struct{ since atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(c.since.Load()))
}

func (c *clock) move(by time.Duration) { c.since.Add(int64(by)) }

// The browser's request id is kept if it is well-formed and sent once. Otherwise the proxy makes one.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	api := &script{}
	ids := make(chan string, 1)
	shop := open(t, api.remote(t, nil), func(c *embedproxy.Config) {
		c.NewRequestID = func() string {
			select {
			case id := <-ids:
				return id
			default:
				return "made-1"
			}
		}
	})
	for _, test := range []struct{ sent, want string }{
		{"browser-1", "browser-1"},
		{strings.Repeat("a", 128), strings.Repeat("a", 128)},
		{"-", "made-1"},
		{"", "made-1"},
		{"a b", "made-1"},
		{"-a", "made-1"},
		{strings.Repeat("a", 129), "made-1"},
		{"browser-1|browser-2", "made-1"},
	} {
		is := is.New(t)
		shop.post(t, postInventory, "X-Request-Id", test.sent)
		for _, call := range api.got() {
			is.Equal(call.header["X-Request-Id"], []string{test.want})
		}
		is.Equal(shop.post(t, "{}", "X-Request-Id", test.sent).id(), test.want)
	}
	// A malformed id of the host's NewRequestID is not sent.
	ids <- "a b"
	shop.post(t, postList)
	is.New(t).True(api.got()[0].header.Get("X-Request-Id") != "a b")
}

// An operation takes no longer than its timeout, whichever of its calls or hooks does not return.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, post := range posts {
		t.Run(post.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, api *script, upstream embedproxy.Upstream) {
				is := is.New(t)
				shop := open(t, upstream, func(c *embedproxy.Config) { c.Timeout = 100 * time.Millisecond })
				api.on(post.routes[len(post.routes)-1], func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
				shop.post(t, post.body).failed(t, 502, "INVALID_UPSTREAM_RESPONSE")
				lines := shop.log.lines(t)
				is.Equal(len(lines), 1)
				is.Equal(lines[0]["reason"], "no answer in time")
			})
		})
	}
	t.Run("MayBuy", func(t *testing.T) {
		t.Parallel()
		api := &script{}
		shop := open(t, embedproxy.Local(api), func(c *embedproxy.Config) {
			c.Timeout = 100 * time.Millisecond
			c.MayBuy = func(ctx context.Context, _ embedproxy.Purchase) error {
				<-ctx.Done()
				return ctx.Err()
			}
		})
		shop.post(t, postCheckout).failed(t, 500, "INTERNAL_ERROR")
		is.New(t).Equal(len(shop.log.lines(t)), 1)
	})
}

// When the browser goes away, a read ends, which is not a failure. A checkout continues.
func TestBrowserGoesAway(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, api *script, upstream embedproxy.Upstream) {
		is := is.New(t)
		answered, request := make(chan embedproxy.Answer, 1), make(chan *http.Request, 1)
		shop := open(t, upstream, func(c *embedproxy.Config) {
			c.OnAnswer = func(_ context.Context, a embedproxy.Answer) { answered <- a }
			c.MayBuy = func(_ context.Context, p embedproxy.Purchase) error {
				request <- p.Request
				return nil
			}
		})
		leave := func(body, route string, answer http.HandlerFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			api.on(route, func(w http.ResponseWriter, r *http.Request) {
				cancel()
				answer(w, r)
			})
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, shop.url, strings.NewReader(body))
			is.NoErr(err)
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Cookie", "session=s1")
			response, err := browser.Do(request)
			is.True(err != nil)
			if err == nil {
				response.Body.Close()
			}
		}
		leave(postList, routeList, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		is.Equal((<-answered).Status, 502)
		ended := make(chan error, 1)
		leave(postCheckout, routeCheckout, func(w http.ResponseWriter, r *http.Request) {
			<-(<-request).Context().Done() // The proxy knows that the browser is gone.
			ended <- r.Context().Err()
			sendJSON(w, 201, goodSold)
		})
		is.NoErr(<-ended)
		is.Equal((<-answered).Status, 201)
		is.Equal(shop.log.String(), "")
	})
}
