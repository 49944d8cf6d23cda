package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/widget"
)

type serveCommand struct {
	serving
	mailFlags

	NoMigrate bool `help:"Do not migrate: refuse to start if the tables are not up to date." name:"no-migrate"`
}

func (*serveCommand) Help() string {
	return `The page at / links to everything else: /docs, /guide and /openapi.json lead to the documents of the API, ` +
		`which is under /api/public/v1. The embed SDK is at /embeds/v1/service.js; "ticketing embed snippet" prints ` +
		`how to use it. Three addresses are for the operator: /healthz answers while the process lives, /readyz while the ` +
		`database answers, and /metrics is Prometheus text. Hide these three from the public at your proxy, or move them ` +
		`to another address with --operator-addr.

It also delivers webhooks, and sends ticket mails if --smtp names a mail server.

The console for companies and staff is under /business and /platform, only at the host of --web-origin, or at ` +
		`localhost without that flag. It needs HTTPS, except on localhost. "ticketing staff add" prints the first sign-in ` +
		`link.

SIGTERM and SIGINT drain: requests in flight finish, requests that do not arrive completely within 3 seconds are ` +
		`dropped, and the exit status is 0. A second signal, at least a second later, ends the process at once.

Traces go to a collector if OTEL_EXPORTER_OTLP_ENDPOINT is set, as OpenTelemetry documents it.

With --tls-cert and --tls-key the server speaks only HTTPS; --operator-addr stays plain HTTP. Behind a proxy that ` +
		`speaks HTTPS it needs neither, but give its public origin as --web-origin.

    ticketing serve
    ticketing serve --addr 0.0.0.0:8080 --trusted-proxies 10.0.0.0/8 --log-format json
    ticketing serve --addr 0.0.0.0:8080 --operator-addr 10.0.0.5:9090
    ticketing serve --addr 0.0.0.0:443 --tls-cert chain.pem --tls-key key.pem --web-origin https://tickets.example
    TICKETING_DATABASE=sqlite:/var/lib/ticketing/live.db ticketing serve
    TICKETING_SMTP='smtps://USER:PASSWORD@smtp.lagos.example' ticketing serve --mail-rate 10
    TICKETING_DATABASE=postgres://… TICKETING_SECRET_KEY=… ticketing serve

With PostgreSQL, any number of servers can share one database.`
}

// serving holds the flags of the commands that serve the public API.
type serving struct {
	Addr           string         `default:"127.0.0.1:8080" help:"Address to listen on; port 0 picks a free port." placeholder:"HOST:PORT"`
	OperatorAddr   string         `help:"Separate address for health and metrics. The API's address then has none." placeholder:"HOST:PORT"`
	MaxConnections maxConnections `default:"4096" help:"Most clients connected at a time; more wait. 0 is no limit." placeholder:"N"`
	NoPrepare      bool           `help:"Keep no statements prepared in PostgreSQL: for a pooler in transaction mode."`
	Title          serviceTitle   `help:"Name of the service on all its pages, up to 60 characters. Defaults to Ticketing." placeholder:"NAME"`
	WebOrigin      webOrigin      `help:"Public origin of the service. Defaults to the server's address." placeholder:"URL"`
	RateLimit      count          `default:"100" help:"Requests per client in 60 seconds; 0 is no limit." placeholder:"N"`
	NoConsole      bool           `help:"Serve the API only, without the console." name:"no-console"`
	TrustedProxies prefixes       `help:"Address ranges of proxies whose X-Forwarded-For is trusted." placeholder:"CIDR,…"`
	LogFormat      logFormat      `default:"text" help:"text or json." placeholder:"FORMAT"`
	LogLevel       logLevel       `default:"${level=}" help:"debug, info, warn or error. Requests are logged at info. Defaults to info, or to warn where standard error is a terminal." placeholder:"LEVEL"`

	issuerFlags
	tlsFlags
	webhookFlags
	sharing
}

// sharing holds the flags about what calls share: connections and transactions.
type sharing struct {
	Connections connectionCount `default:"16" help:"Most connections of this process to PostgreSQL, 1 to 1000. All processes together must fit into its max_connections." placeholder:"N"`
	GroupCalls  groupCalls      `default:"64" help:"Most calls that share a transaction, 1 to 1000; 1 gives each call its own." placeholder:"N"`
	GroupLanes  groupLanes      `help:"Groups that run at the same time, at most 64. Defaults to 2, and to 1 with SQLite." placeholder:"N"`
	GroupQueue  groupQueue      `default:"4096" help:"Calls of an operation that may wait, 1 to 1000000. After that, a call of the company with the most waiting calls gets 503 at once." placeholder:"N"`

	TimerSlack   timerSlack   `default:"500us" help:"On Linux: how much later than due the kernel may wake a thread of a server, so that several wake together; at most 10ms. 0 leaves it alone, and so does a slack that is set from outside." placeholder:"TIME"`
	CompanySlots companySlots `default:"4" help:"Calls of a company that run at the same time, 1 to 1000, of those that share no transaction. Others wait up to 2 seconds and then get 503." placeholder:"N"`
}

// grouping returns the limits of groups.
func (s *sharing) grouping() ticketing.Grouping {
	return ticketing.Grouping{
		Off: s.GroupCalls == 1, Calls: int(s.GroupCalls), Lanes: int(s.GroupLanes), Queue: int(s.GroupQueue),
	}
}

func (c *serveCommand) Run(ctx context.Context, p *program) error {
	if err := c.check(); err != nil {
		return err
	}
	c.TimerSlack.set(p)
	return p.serve(ctx, &c.serving, &c.mailFlags, c.NoMigrate, func(ctx context.Context, opened *database) error {
		if !c.NoMigrate {
			return opened.migrate(ctx)
		}
		pending, err := opened.pending(ctx)
		if err == nil && len(pending) > 0 {
			err = errOutdated
		}
		return err
	}, func(ctx context.Context, r *running) error {
		c.warn(ctx, p.operator(r.svc), r.logger)
		<-ctx.Done()
		return nil
	})
}

// running is a server that listens.
type running struct {
	svc       *ticketing.Service
	metrics   *metrics
	logger    *slog.Logger
	baseURL   string // of the public API, for a client on this machine
	webOrigin string
	transport transport
	clients   *connections
	tracing   *tracing     // nil: spans go nowhere
	operator  net.Listener // for health and metrics; if nil, the API's listener serves them

	home          *home
	console       http.Handler // nil: there is none
	consoleOrigin string       // at which browsers use it; empty: there is none
}

// serve prepares the database and serves the public API while meanwhile runs. With mustExist, the database must exist.
// It drains after meanwhile returns or a signal arrives. A signal ends the context of meanwhile.
func (p *program) serve(
	ctx context.Context, s *serving, mails *mailFlags, mustExist bool, prepare func(context.Context, *database) error,
	meanwhile func(context.Context, *running) error,
) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	defer func() {
		// A signal that arrived before the server listened.
		if ctx.Err() != nil {
			err = ignoring(err, context.Canceled)
		}
	}()

	logger := s.logger(p.stderr)
	certificate, err := s.load()
	if err != nil {
		return err
	}
	speaks := transport{certificate}
	// Listen first: without the port, the database must not be touched.
	listener, err := listen(ctx, "--addr", s.Addr)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	var operator net.Listener
	if s.OperatorAddr != "" {
		if operator, err = listen(ctx, "--operator-addr", s.OperatorAddr); err != nil {
			return err
		}
		defer func() { _ = operator.Close() }()
	}
	m := newMetrics()
	traces, err := p.openTracing(ctx, s.TrustedProxies, m.untraced, logger)
	if err != nil {
		return err
	}
	logger = traces.logger(logger)
	opened, err := p.open(ctx, &store.Config{
		Logger: logger, Connections: int(s.Connections), NoPrepare: s.NoPrepare, MustExist: mustExist,
		OnStatement: func(ctx context.Context, statement store.Statement) {
			m.store.observe(statement)
			traces.statement(ctx, statement)
		},
	})
	if errors.Is(err, store.ErrNoDatabase) {
		return errOutdated
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	if err := prepare(ctx, opened); err != nil {
		return err
	}
	clients := newConnections(int(s.MaxConnections), logger)
	m.watchClients(clients)
	if opened.sql != nil {
		m.watch(opened.sql.Connections)
		m.watchFiles(p.Database)
		m.watchNodes(opened.sql.AbsentNodes)
	}
	m.queues(int(s.GroupQueue))
	grouping := s.grouping()
	grouping.OnGroup, grouping.OnQueueFull = m.ran, m.refused
	cfg := &ticketing.Config{
		Logger: logger, Grouping: grouping, CompanySlots: int(s.CompanySlots), OnSlotsFull: m.slotsFull,
		MeterProvider: m.meters(), TracerProvider: traces.tracerProvider(),
	}
	closeSender, err := s.configure(cfg, m.webhooks)
	if err != nil {
		return err
	}
	defer closeSender()
	// Mails are sent until the background work has ended.
	closeMailer, err := mails.configure(cfg, m.mails)
	if err != nil {
		return err
	}
	defer closeMailer()
	svc, err := opened.service(ctx, cfg)
	if err != nil {
		return err
	}
	local := localOrigin(speaks.scheme(), listener.Addr())
	r := &running{
		svc: svc, metrics: m, logger: logger, baseURL: local + httpapi.DefaultPrefix,
		webOrigin: cmp.Or(s.WebOrigin.origin, local), transport: speaks, clients: clients, operator: operator,
		tracing: traces,
	}
	if err := s.openConsole(r, p.getenv(oidcSecret), cfg.Mailer, listener.Addr()); err != nil {
		return err
	}
	r.home = newHome(r, s.Title.String(), len(s.TrustedProxies) > 0, logger)
	return p.work(ctx, s, r, speaks.listener(clients.listener(listener)), meanwhile)
}

// work runs the server, the background work and meanwhile until the first of them or ctx ends, and then stops all of
// them.
func (p *program) work(
	ctx context.Context, s *serving, r *running, listener net.Listener,
	meanwhile func(context.Context, *running) error,
) error {
	logger := r.logger
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	health := newHealth(ctx, r.svc, r.metrics, logger)
	api := r.metrics.serving("api", s.handler(r.svc, r.metrics, logger))
	handler := r.home.before(r.tracing.requests(r.withConsole(api)))
	if r.operator == nil {
		handler = health.before(handler)
	}
	defer health.serveHealth(ctx, r.operator, logger)()
	server := newServer(handler, logger)
	r.clients.watch(server.Server)
	ended := make(chan error, 3) // one for each goroutine
	go func() { ended <- ignoring(server.Serve(listener), http.ErrServerClosed) }()
	go func() { ended <- ignoring(r.svc.Run(ctx), context.Canceled) }()
	if r.operator != nil {
		fmt.Fprintln(p.stderr, "health and metrics on http://"+r.operator.Addr().String())
	}
	fmt.Fprintln(p.stderr, "listening on "+r.transport.scheme()+"://"+listener.Addr().String())
	s.logConsole(ctx, r)
	if s.WebhookAllowPrivate {
		logger.WarnContext(ctx, privateWarning)
	}
	idle := make(chan struct{}) // closed when meanwhile has returned
	go func() {
		defer close(idle)
		ended <- ignoring(meanwhile(ctx, r), context.Canceled)
	}()

	err := <-ended
	logger.InfoContext(ctx, "draining")
	cancel()
	drained := time.Now().Add(drainTimeout)
	err = errors.Join(err, drain(ctx, server, idle, r.svc))
	for range 2 {
		if other := <-ended; !errors.Is(err, other) { // The API and a shop may both be cut off.
			err = errors.Join(err, other)
		}
	}
	r.tracing.flush(ctx, drained, logger)
	logger.InfoContext(ctx, "stopped")
	return err
}

// drain accepts no new requests and waits for the requests in flight, and until idle is closed: after that, nothing
// calls the service any more. Then it waits for the groups whose callers have left. After it returns, the store may be
// closed. It works with a context that has ended, and takes at most drainTimeout.
func drain(ctx context.Context, server *server, idle <-chan struct{}, svc *ticketing.Service) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := server.drain(ctx)
	select {
	case <-idle:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	if errors.Join(err, svc.Drain(ctx)) != nil {
		return errDrainTimeout
	}
	return nil
}

// handler returns the handler of the public API, with the embed SDK beside it. The SDK's files are for every site's
// buyers, and do not count against the rate limit.
func (s *serving) handler(svc *ticketing.Service, m *metrics, logger *slog.Logger) http.Handler {
	limit := int(s.RateLimit)
	if limit == 0 {
		limit = -1
	}
	return widget.New(&widget.Config{Title: s.Title.String(), Other: httpapi.New(svc, &httpapi.Config{
		Title: s.Title.String(), RateLimit: limit, TrustedProxies: s.TrustedProxies, Logger: logger, OnRequest: m.observe,
	})})
}

// listen listens on the address of a flag.
func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, badValue("%s: must be HOST:PORT, such as 127.0.0.1:8080", flag)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &failure{code: "ADDRESS_IN_USE", text: "another program listens on " + address +
			": choose another address with " + flag + ", such as " + flag + " 127.0.0.1:0 for any free port"}
	}
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return nil, &failure{code: "ADDRESS", text: flag + ": this machine does not have the address " + address +
			": choose one that it has, or 0.0.0.0 for all"}
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, &failure{code: "ADDRESS", text: flag + ": this user may not listen on " + address +
			": choose a port from 1024, or give the program the capability CAP_NET_BIND_SERVICE"}
	}
	if err != nil {
		why := err
		if of, ok := errors.AsType[*os.SyscallError](err); ok {
			why = of.Err
		}
		return nil, &failure{code: "ADDRESS", text: flag + ": cannot listen on " + address + ": " + why.Error()}
	}
	return listener, nil
}

// localOrigin returns the origin at which a client on this machine reaches a listener. For a listener on all addresses
// it uses 127.0.0.1.
func localOrigin(scheme string, listening net.Addr) string {
	if tcp, ok := listening.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return scheme + "://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return scheme + "://" + listening.String()
}

// logger returns a logger that writes to w in the configured format and level.
func (s *serving) logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: s.LogLevel.or(w)}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// ignoring returns err, or nil if it is the expected error.
func ignoring(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
