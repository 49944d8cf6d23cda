package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/mail"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/store/memory"
)

// Run runs the program as its users do.
var Run = run

// RunWith runs the program with another DNS than that of the machine.
func RunWith(
	ctx context.Context, resolver mail.Resolver, args []string, getenv func(string) string, stdout, stderr io.Writer,
) int {
	p := &program{getenv: getenv, stdin: strings.NewReader(""), stdout: stdout, stderr: stderr, resolver: resolver}
	return p.fail(p.run(ctx, args))
}

// OpenOperator opens a database and returns an Operator for it, and a function that closes it.
func OpenOperator(ctx context.Context, database, secretKey string) (ticketing.Operator, func() error, error) {
	p := &program{flags: &flags{Database: database, SecretKey: secretKey}}
	opened, err := p.open(ctx, &store.Config{})
	if err != nil {
		return ticketing.Operator{}, nil, err
	}
	err = opened.migrate(ctx)
	if err != nil {
		return ticketing.Operator{}, nil, errors.Join(err, opened.close())
	}
	svc, err := opened.service(ctx, &ticketing.Config{})
	if err != nil {
		return ticketing.Operator{}, nil, errors.Join(err, opened.close())
	}
	return p.operator(svc), opened.close, nil
}

// PrintTable prints rows of an id, a name, a state and an amount on a terminal of so many columns. Zero is no terminal.
func PrintTable(w io.Writer, columns int, rows [][]string) error {
	t := &table{
		out: bufio.NewWriter(w), screen: screen{terminal: columns > 0, columns: columns}, now: time.Now(),
		columns: []column{ids("ID"), texts("NAME"), states("STATE"), numbers("AMOUNT")},
	}
	for _, row := range rows {
		t.add(row)
	}
	t.flush()
	return t.out.Flush()
}

// PrintError prints an error as a command with --json does, and returns its exit status.
func PrintError(err error, database string, stderr io.Writer) int {
	p := &program{flags: &flags{Database: database, JSON: true}, stderr: stderr}
	return p.fail(err)
}

// EndAtNext sets what commands do on the signals after the first.
var EndAtNext = endAtNext

// WriteFile writes a file completely or not at all.
var WriteFile = writeFile

// Serving returns the configuration of the service that the flags of a server lead to, with or without deliveries. It
// also returns a function that returns the metrics, and one that closes the sender.
func Serving(delivers bool) (
	cfg *ticketing.Config, metrics func(context.Context) string, closeSender func(), err error,
) {
	m := newMetrics()
	cfg = &ticketing.Config{MeterProvider: m.meters()}
	closeSender, err = (&webhookFlags{NoWebhooks: !delivers}).configure(cfg, m.webhooks)
	return cfg, m.scrape, closeSender, err
}

// Mailing is like Serving for mails. They are written to a folder; an empty one is none.
func Mailing(folder string) (
	cfg *ticketing.Config, metrics func(context.Context) string, closeMailer func(), err error,
) {
	m := newMetrics()
	cfg = &ticketing.Config{MeterProvider: m.meters()}
	closeMailer, err = (&mailFlags{mailerFlags: mailerFlags{MailFolder: folder}}).configure(cfg, m.mails)
	return cfg, m.scrape, closeMailer, err
}

// scrape returns the metrics as Prometheus reads them.
func (m *metrics) scrape(ctx context.Context) string {
	answer := httptest.NewRecorder()
	m.handler().ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody))
	return answer.Body.String()
}

// CSV writes a statement as comma-separated values.
func CSV(w io.Writer, lines ...ticketing.StatementLine) error {
	out := formatCSV.writer(w)
	for _, line := range lines {
		if err := out.add(line); err != nil {
			return err
		}
	}
	return out.end()
}

// OutcomeOf returns the label of an attempt's outcome.
var OutcomeOf = outcomeOf

// Outcomes are all outcome labels.
var Outcomes = outcomes

// Commands returns all commands of the command line, each with the help of its flag --yes, or "" if it has none.
func Commands() (map[string]string, error) {
	parser, err := grammar(&commands{})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, command := range parser.Model.Leaves(false) {
		found[strings.TrimPrefix(command.FullPath(), "ticketing ")] = ""
		for _, flag := range command.Flags {
			if flag.Name == "yes" {
				found[strings.TrimPrefix(command.FullPath(), "ticketing ")] = flag.Help
			}
		}
	}
	return found, nil
}

// ActorName returns the name in the audit log for a user, a host and a claimed name.
var ActorName = actorName

// SystemUser returns the operating system's name of a user id.
var SystemUser = systemUser

// NameIn returns the name of a user id in a file in the format of /etc/passwd.
var NameIn = nameIn

// Logger returns the logger of a server with a value of --log-level; empty is none.
func Logger(level string, w io.Writer) (*slog.Logger, error) {
	var s serving
	err := s.LogLevel.UnmarshalText([]byte(level))
	return s.logger(w), err
}

// AllMetrics returns a sample of every metric that a server can have, as Prometheus reads it, and the names of those
// that are registered. The folder is empty.
func AllMetrics(ctx context.Context, folder string) (text string, names []string, err error) {
	m := newMetrics()
	m.watch(func() sql.DBStats { return sql.DBStats{} })
	m.watchNodes(func() (nodes int, absent []int) { return 1, nil })
	m.watchClients(newConnections(1, slog.New(slog.DiscardHandler)))
	m.queues(1)
	for _, name := range []string{"t.db", "t.db-wal"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			return "", nil, err
		}
	}
	m.watchFiles(sqlitePrefix + filepath.Join(folder, "t.db"))
	m.webhooks.delivers()
	m.mails.sends()
	if _, err := ticketing.New(memory.New(), &ticketing.Config{MeterProvider: m.meters()}); err != nil {
		return "", nil, err
	}
	m.observe(ctx, httpapi.Answer{Method: http.MethodGet, Route: "/events", Status: http.StatusOK})
	m.console.observe(ctx, console.Answer{Method: http.MethodGet, Route: "/sign-in", Status: http.StatusOK})
	m.store.observe(store.Statement{Name: "begin"})
	for _, operation := range groupedOperations() {
		m.ran(ticketing.GroupRun{Operation: operation, Calls: 1})
	}
	m.serving("api", nil)
	m.serving("console", nil)

	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		m.registry.Describe(descriptions)
	}()
	for description := range descriptions {
		_, rest, _ := strings.Cut(description.String(), `fqName: "`)
		name, _, _ := strings.Cut(rest, `"`)
		names = append(names, name)
	}
	return m.scrape(ctx), names, nil
}

// Readiness returns the response of /readyz of a server whose cluster has absent nodes.
func Readiness(ctx context.Context, absent []int) (status int, body string) {
	recorder := httptest.NewRecorder()
	ready := plain(func(context.Context) error { return nil }, func() []int { return absent })
	ready.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", http.NoBody))
	return recorder.Code, recorder.Body.String()
}

// DefaultTimerSlack is the timer slack of a server by default.
const DefaultTimerSlack = defaultTimerSlack

// CoarsenTimers gives this process a timer slack. SetTimerSlackEarly gives it the default, if the arguments are a
// server's and choose none.
var (
	CoarsenTimers      = coarsenTimers
	SetTimerSlackEarly = setTimerSlackEarly
)
