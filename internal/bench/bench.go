// Package bench measures what a machine does with the service: how many operations a second, how long one takes, and
// how large the groups of calls become. The command "ticketing bench" runs it, and docs/performance.md explains the
// figures.
//
// [Run] works in a schema or a file of its own, and removes it at the end. It creates companies with an event on sale
// and sells the orders that exist before the measurement. Then clients call the service, or the API over HTTP, each of
// them waiting for its response before it calls again. What is compared, such as calls with group commit and without
// it, takes turns in short slices, so that other load on the machine affects both sides. At the end Run verifies that
// the books are in order, and that they contain every acknowledged order and validation.
//
// A bench measures one of these:
//   - calls of one [Op], with group commit and without it, in one process or several. On PostgreSQL, SQL alone can be
//     measured with them, which writes the rows of the same checkouts. Several processes or companies can be measured
//     beside one of each;
//   - calls for a company that the database has no statistics of, and for one that it has;
//   - the calls of a company while another company floods the server;
//   - the deliveries of webhooks, from the sale to the receiver;
//   - the pages of the console, in the server, with checkouts beside them or without;
//   - checkouts at full speed, beside the pages of the console and without them;
//   - ticket mails, from the sale to the mail server, and how fast they are rendered;
//   - checkouts beside the background work without mails, while mails are sent, and while the mail server is away.
package bench

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store"
)

// Config is what a bench measures, and where. [Run] does not check it: the program has checked the limits of each
// field, and that the fields can be combined.
type Config struct {
	// Database is memory:, sqlite:PATH or the URL of a PostgreSQL database.
	Database string

	Op         Op
	Clients    int           // callers in all; one for OpDispatch
	Companies  int           // which take turns call by call
	Qty        int           // admissions of a checkout or a quote
	Duration   time.Duration // of each side in each run
	Runs       int
	HTTP       bool  // calls go through the HTTP layer
	Preload    int   // orders of two admissions that exist before the measurement
	Processes  int   // which share the clients
	Endpoints  int   // of each company, for OpWebhook
	Rate       int   // events, sales or pages a second while latencies are measured, for OpWebhook, OpMail and OpPages
	Sales      int   // checkouts a second beside the pages, for OpPages
	Rush       bool  // compares checkouts at full speed beside the pages and without them, for OpPages
	Background bool  // the background work of a server is done, too
	Mails      bool  // compares checkouts beside background work with and without mails
	MailRate   int   // mails a second at most, with Mails
	MailQueue  int   // mails that wait while the mail server is away, with Mails
	Neighbour  Flood // measures a company's calls while another one floods the server; "" for no flood
	NoCompare  bool  // leaves out the same without group commit
	Stale      bool  // compares a company without statistics with one that has them
	Ceiling    bool  // measures SQL alone, too; with PostgreSQL only
	Baseline   bool  // measures one process with one company, too

	// RowGates and DirectNodes are those of [store.Config].
	RowGates, DirectNodes bool

	Connections  int                // to PostgreSQL of each process
	Grouping     ticketing.Grouping // its Off, Calls, Lanes and Queue
	CompanySlots int
}

// Program is what a bench needs of the program that runs it.
type Program struct {
	// Server completes the configuration of a service, and returns a function that returns a server of the public API for
	// that service, both as the program serves it: with all of its metrics.
	Server func(cfg *ticketing.Config) func(svc *ticketing.Service) *http.Server
	// OnStatement is called with each statement of such a service.
	OnStatement func(ctx context.Context, statement store.Statement)
	// Generator holds the arguments with which the program calls [Generate].
	Generator []string
	// OpenError returns the program's error for a database that could not be opened.
	OpenError func(err error) error
	// Progress is called with the current step, and with a format and its arguments for how far it is. Generate does
	// not call it.
	Progress func(step, format string, args ...any)
}

// Report is the result of a bench. Its JSON holds all figures.
type Report interface {
	// WriteTable writes what was measured, and the figures as a table.
	WriteTable(w io.Writer) error
	// Summary returns the lines that follow the table.
	Summary() []Line
}

// Line is one line of the summary of a report.
type Line struct{ Name, Value string }

// Error is an error with an error code of the command line, or the code that a failed call is counted under.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Text }

// The codes of completed benches that fail nevertheless.
const (
	codeBenchFailed    = "BENCH_FAILED"
	codeLedgerInvalid  = "LEDGER_INVALID"
	codeDeliveriesLost = "DELIVERIES_LOST"
	codeMailsLost      = "MAILS_LOST"
)
