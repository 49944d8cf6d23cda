package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/bench"
	"github.com/floatgate/ticketing/store"
)

type benchCommand struct {
	Op         benchOp   `default:"checkout" help:"What is measured: checkout, validate, quote, read (orders and events, mixed), order (one), orders (a page), dispatch (facts), webhook (deliveries), mail (ticket mails), or pages (of the console)." placeholder:"OPERATION"`
	Clients    count     `default:"64" help:"Callers in all; each waits for its answer before it calls again." placeholder:"N"`
	Companies  count     `default:"1" help:"Companies, which take turns call by call." placeholder:"N"`
	Qty        count     `default:"2" help:"Admissions of a checkout or a quote, 1 to 50." placeholder:"N"`
	Duration   span      `default:"10s" help:"How long a run measures each way." placeholder:"TIME"`
	Runs       count     `default:"1" help:"How many runs; the figures are their medians." placeholder:"N"`
	HTTP       bool      `help:"Through the HTTP layer, over TCP connections that are kept alive, instead of calling the library." name:"http"`
	Preload    count     `default:"1000" help:"Orders of two admissions that are there before anything is measured." placeholder:"N"`
	Processes  count     `default:"1" help:"Server processes that share the clients." placeholder:"N"`
	Endpoints  count     `default:"1" help:"With webhook: endpoints of each company, 1 to 10." placeholder:"N"`
	Rate       benchRate `help:"Events a second with webhook, sales with mail, or pages with pages, while latencies are measured. Defaults to 200 events, 50 sales, or 10 pages." placeholder:"N"`
	Sales      count     `help:"With pages: checkouts a second beside them, 0 to 10000." placeholder:"N"`
	Rush       bool      `help:"With pages: --clients callers sell as fast as they can, and the pages are asked for in half of the turns: the ratio is how many checkouts are left."`
	Background bool      `help:"Beside it, do the background work that a server does, in one of the processes."`
	Mails      bool      `help:"With --background: compare checkouts without mails, while mails are sent, and while the mail server is away."`
	MailRate   benchRate `default:"50" help:"With --mails: mails a second at most." placeholder:"N"`
	MailQueue  count     `default:"100000" help:"With --mails: mails that wait while the mail server is away." placeholder:"N"`
	Neighbour  neighbour `help:"Instead: how a company's calls fare beside another company that floods the server with this: read, order, quote, patch, checkout or unknown-keys. The calls are those of --op checkout, quote, order, orders or read." placeholder:"FLOOD"`
	NoCompare  bool      `help:"Leave out the same without group commit." name:"no-compare"`
	Stale      bool      `help:"Measure a company that PostgreSQL has no statistics of beside one that it has."`
	Ceiling    bool      `help:"With PostgreSQL: also measure how fast SQL alone writes the rows of 64 checkouts."`
	Baseline   bool      `help:"With --processes or --companies: also measure one process with one company, called by as many clients."`

	sharing

	Generator bool `help:"Be one of the processes of another bench, which speaks through the pipes." hidden:"" name:"bench-generator"`
}

func (*benchCommand) Help() string {
	return `It measures the machine: how many operations a second, how long one takes, how large groups become, and ` +
		`the same without group commit, in short turns, so that what else happens meets both. Then it verifies the ` +
		`ledger and the stock, and fails if anything is off.

It works in a schema (PostgreSQL) or a file beside the one that is named (SQLite) of its own, and removes it at ` +
		`the end, on Ctrl-C, and when it fails. What is in the database stays untouched. docs/performance.md explains each ` +
		`figure.

With --op webhook one process sells, delivers and receives, over TLS: first as fast as it can what was sold before, ` +
		`then what is sold at --rate, from the commit to the receiver. At the end each event has to have reached each ` +
		`endpoint.

With --op mail one process sells, renders, sends and receives: first it renders mails of 50 tickets, then it ` +
		`sends what was sold before to a mail server on this machine, as fast as it can, then what is sold at --rate, ` +
		`from the commit to the acceptance. At the end each sale has to have its mail once.

With --op pages one process serves the console and asks for each of its pages in turn, at --rate, at a company with ` +
		`--preload orders and two deliveries for each, at most 100,000. The figures are the server's time. With --sales it ` +
		`sells beside it. With --rush it sells as fast as it can, beside the pages and without them in turns.

With --background --mails the three kinds of background work take turns, each with the same clients.

With --baseline as many clients also call one process for another company, in turns. The ratio is the speed of ` +
		`several processes or companies by that of one.

With --op dispatch one caller marks facts, 20 a call, as a server does for a company.

With --stale it sells to one company, analyses the tables, sells as much to another, and measures the two in turns: ` +
		`the ratio is that of the newcomer to the one that is known.

    ticketing bench --database postgres://ticketing@localhost/ticketing --clients 64
    ticketing bench --database postgres://ticketing@localhost/ticketing --stale --op validate
    ticketing bench --op validate --clients 256 --http --runs 5 --json
    ticketing bench --op pages --preload 1000000 --sales 500 --duration 60s
    ticketing bench --op pages --rush --background --duration 30s --runs 5
    ticketing bench --background --mails --duration 30s`
}

// Limits of a bench.
const (
	maxBenchClients    = 10_000
	maxBenchCompanies  = 10_000
	maxBenchQty        = 50
	maxBenchRuns       = 100
	maxBenchPreload    = 10_000_000
	maxBenchProcesses  = 64
	maxBenchRate       = 10_000
	leastBenchDuration = 10 * time.Millisecond
	mostBenchDuration  = time.Hour
)

func (c *benchCommand) Run(ctx context.Context, p *program) error {
	outlivePipe() // The bench removes what it made, even after its output was closed.
	ctx, stop := interruptible(ctx)
	defer stop()
	progress := newProgress(p)
	defer progress.end()
	program := &bench.Program{
		Server: benchServer, OnStatement: benchStatements(), Generator: []string{"bench", "--bench-generator"},
		OpenError: named, Progress: progress.report,
	}
	if c.Generator {
		return bench.Generate(ctx, program, p.stdin, p.stdout)
	}
	if err := c.check(p); err != nil {
		return err
	}
	if c.HTTP || c.Neighbour.Flood != "" || c.Op.Op == bench.OpPages {
		c.TimerSlack.set(p)
	}
	if c.Op.Op == bench.OpDispatch {
		c.Clients = 1
	}
	report, err := bench.Run(ctx, program, c.config(p))
	left, isLeft := errors.AsType[*bench.LeftError](err)
	if ctx.Err() != nil {
		removed := "what it had made is removed"
		if isLeft {
			removed = left.Error()
		}
		return &failure{code: "INTERRUPTED", text: "interrupted; " + removed}
	}
	if isLeft {
		err = p.leftBehind(left)
	}
	progress.end()
	if report != nil {
		if shown := p.printReport(report); shown != nil {
			return shown
		}
	}
	return err
}

// leftBehind returns the failure for what could not be removed, preceded by the earlier failure if there was one.
func (p *program) leftBehind(left *bench.LeftError) error {
	if left.After == nil {
		return &failure{code: "LEFT_BEHIND", text: left.Error()}
	}
	_, code, message := p.explain(left.After)
	return &failure{code: code, text: message + "; " + left.Error()}
}

// check checks the flags that the parser cannot check by itself.
func (c *benchCommand) check(p *program) error {
	for _, flag := range []struct {
		name        string
		value       count
		least, most int
	}{
		{"--clients", c.Clients, 1, maxBenchClients},
		{"--companies", c.Companies, 1, maxBenchCompanies},
		{"--qty", c.Qty, 1, maxBenchQty},
		{"--runs", c.Runs, 1, maxBenchRuns},
		{"--preload", c.Preload, 0, maxBenchPreload},
		{"--processes", c.Processes, 1, maxBenchProcesses},
		{"--endpoints", c.Endpoints, 1, ticketing.MaxWebhookEndpoints},
		{"--mail-queue", c.MailQueue, 0, maxBenchPreload},
		{"--sales", c.Sales, 0, maxBenchRate},
	} {
		if int(flag.value) < flag.least || int(flag.value) > flag.most {
			return badValue("%s: must be from %d to %d", flag.name, flag.least, flag.most)
		}
	}
	op := c.Op.Op
	switch {
	case c.Neighbour.Flood != "" && (c.Stale || c.Processes > 1 || c.Companies > 1 || c.Ceiling):
		return badValue("--neighbour: is measured with one company in one process: without --companies, --processes, " +
			"--stale and --ceiling")
	case c.Neighbour.Flood != "" && !besideNeighbour(op):
		return badValue("--neighbour: is measured with --op checkout, quote, order, orders or read")
	case c.Processes > c.Clients:
		return badValue("--processes: must not be more than --clients, which they share")
	case c.Processes > 1 && p.Database == inMemory:
		return badValue("--processes: processes cannot share memory: name a database")
	case op == bench.OpWebhook && (c.Processes > 1 || c.HTTP || c.Ceiling || c.Background):
		return badValue("--op: webhook is measured in one process: without --processes, --http, --background and --ceiling")
	case op == bench.OpMail && (c.Processes > 1 || c.HTTP || c.Ceiling || c.Background):
		return badValue("--op: mail is measured in one process: without --processes, --http, --background and --ceiling")
	case op == bench.OpPages && (c.Processes > 1 || c.HTTP || c.Ceiling):
		return badValue("--op: pages are measured in one process: without --processes, --http and --ceiling")
	case op != bench.OpPages && c.Sales > 0:
		return badValue("--sales: go on beside --op pages alone")
	case c.Rush && (op != bench.OpPages || c.Sales > 0):
		return badValue("--rush: is measured with --op pages, as fast as it goes: without --sales")
	case c.Mails && (op != bench.OpCheckout || !c.Background || c.Stale || c.Neighbour.Flood != "" || c.Ceiling):
		return badValue("--mails: is measured with checkouts beside --background: without --op, --stale, --neighbour " +
			"and --ceiling")
	case op == bench.OpDispatch && (c.HTTP || c.Processes > 1 || c.Background):
		return badValue("--op: dispatch is measured in one process: without --processes, --http and --background")
	case c.Baseline && (c.Processes == 1 && c.Companies == 1 || !c.hasBaseline()):
		return badValue("--baseline: compares calls of several --processes or --companies with one: " +
			"without --op dispatch, webhook, mail or pages, --neighbour, --mails and --stale")
	case c.Stale:
		if err := c.checkStale(p); err != nil {
			return err
		}
	case c.Ceiling && !p.onServer():
		return badValue("--ceiling: measures PostgreSQL alone: name one with --database")
	}
	return p.checkDatabase()
}

// besideNeighbour reports whether an operation is measured beside a neighbour.
func besideNeighbour(op bench.Op) bool {
	switch op {
	case bench.OpCheckout, bench.OpQuote, bench.OpOrder, bench.OpOrders, bench.OpRead:
		return true
	default:
		return false
	}
}

// hasBaseline reports whether one process with one company can be measured, too.
func (c *benchCommand) hasBaseline() bool {
	return (c.Op.Op == bench.OpValidate || besideNeighbour(c.Op.Op)) && c.Neighbour.Flood == "" && !c.Mails && !c.Stale
}

// checkStale checks the flags beside --stale.
func (c *benchCommand) checkStale(p *program) error {
	switch {
	case p.Database == inMemory:
		return badValue("--stale: memory has no statistics: name a database")
	case c.Op.Op == bench.OpWebhook || c.Op.Op == bench.OpMail || c.Op.Op == bench.OpPages:
		return badValue("--stale: cannot measure webhook, mail and pages")
	case c.Companies > 1 || c.Processes > 1 || c.Ceiling || c.Background:
		return badValue("--stale: measures two companies in one process: " +
			"without --companies, --processes, --ceiling and --background")
	}
	return nil
}

// config returns the configuration of the bench.
func (c *benchCommand) config(p *program) *bench.Config {
	return &bench.Config{
		Database: p.Database, Op: c.Op.Op, Clients: int(c.Clients), Companies: int(c.Companies), Qty: int(c.Qty),
		Duration: c.Duration.Duration, Runs: int(c.Runs), HTTP: c.HTTP, Preload: int(c.Preload),
		Processes: int(c.Processes), Endpoints: int(c.Endpoints), Rate: c.rate(), Sales: int(c.Sales),
		Rush: c.Rush, Background: c.Background, Mails: c.Mails, MailRate: int(c.MailRate), MailQueue: int(c.MailQueue),
		Neighbour: c.Neighbour.Flood, NoCompare: c.NoCompare, Stale: c.Stale, Ceiling: c.Ceiling,
		Baseline:    c.Baseline,
		Connections: int(c.Connections), Grouping: c.grouping(), CompanySlots: int(c.CompanySlots),
		RowGates: p.rowGates(), DirectNodes: p.Gates == nodeGates,
	}
}

// rate returns how many events, sales or pages there are a second.
func (c *benchCommand) rate() int {
	const events, sales, pages = 200, 50, 10
	switch c.Op.Op {
	case bench.OpMail:
		return cmp.Or(int(c.Rate), sales)
	case bench.OpPages:
		return cmp.Or(int(c.Rate), pages)
	default:
		return cmp.Or(int(c.Rate), events)
	}
}

// benchServer returns a server like that of "ticketing serve", except for the log.
func benchServer(cfg *ticketing.Config) func(svc *ticketing.Service) *http.Server {
	m, count := newMetrics(), cfg.Grouping.OnGroup
	cfg.MeterProvider = m.meters()
	cfg.Grouping.OnGroup = func(run ticketing.GroupRun) {
		m.ran(run)
		if count != nil {
			count(run)
		}
	}
	return func(svc *ticketing.Service) *http.Server {
		server := &http.Server{
			Handler:           m.serving("api", (&serving{}).handler(svc, m, slog.New(slog.DiscardHandler))),
			ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
			IdleTimeout: mostBenchDuration, MaxHeaderBytes: maxHeaderBytes,
		}
		newPendingBodies().watch(server)
		return server
	}
}

// benchStatements returns a function that counts statements as a server does.
func benchStatements() func(context.Context, store.Statement) {
	m := newStoreMetrics(prometheus.NewRegistry())
	return func(_ context.Context, statement store.Statement) { m.observe(statement) }
}

// printReport prints the report of a bench: as JSON, or as a table.
func (p *program) printReport(report bench.Report) error {
	if p.JSON {
		return encode(p.stdout, report)
	}
	if err := report.WriteTable(p.stdout); err != nil {
		return outputError(err)
	}
	var fields []field
	for _, line := range report.Summary() {
		fields = append(fields, field{line.Name, line.Value})
	}
	fmt.Fprintln(p.stdout)
	return p.printFields(fields...)
}

// benchOp is the operation that a bench measures.
type benchOp struct{ bench.Op }

func (v *benchOp) UnmarshalText(text []byte) error {
	switch v.Op = bench.Op(text); v.Op {
	case bench.OpCheckout, bench.OpValidate, bench.OpQuote, bench.OpRead, bench.OpOrder, bench.OpOrders,
		bench.OpDispatch, bench.OpWebhook, bench.OpMail, bench.OpPages:
		return nil
	default:
		return badValue("must be checkout, validate, quote, read, order, orders, dispatch, webhook, mail or pages")
	}
}

// benchRate is how much happens in a second. 0, which cannot be given, means the default.
type benchRate int

func (v *benchRate) UnmarshalText(text []byte) (err error) {
	*v, err = parseInteger[benchRate](text, 1, maxBenchRate)
	return err
}

// neighbour is the flood that a bench measures a company beside.
type neighbour struct{ bench.Flood }

func (v *neighbour) UnmarshalText(text []byte) error {
	switch v.Flood = bench.Flood(text); v.Flood {
	case bench.FloodRead, bench.FloodOrder, bench.FloodQuote, bench.FloodPatch, bench.FloodCheckout,
		bench.FloodUnknownKeys:
		return nil
	default:
		return badValue("must be read, order, quote, patch, checkout or unknown-keys")
	}
}

// span is the duration of a measurement.
type span struct{ time.Duration }

func (v *span) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < leastBenchDuration || parsed > mostBenchDuration {
		return badValue("must be a duration such as 10s, from %s to %s", leastBenchDuration, mostBenchDuration)
	}
	v.Duration = parsed
	return nil
}
