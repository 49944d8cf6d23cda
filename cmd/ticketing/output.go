package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store"
)

// exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// Codes of the command line's own that several places use.
const (
	codeLedgerInvalid = "LEDGER_INVALID"
	codeOutput        = "OUTPUT"
	codeSecretKey     = "SECRET_KEY"
)

// failure is an error with a code of the command line's own.
type failure struct{ code, text string }

func (f *failure) Error() string { return f.text }

// fail tells an error on standard error and returns the exit status.
func (p *program) fail(err error) int {
	if err == nil {
		return exitDone
	}
	status, code, message := p.explain(err)
	if usage, ok := errors.AsType[*usageError](err); ok && usage == errNoCommand {
		return status
	}
	if p.JSON {
		var body struct {
			Error struct {
				Code    string `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		body.Error.Code, body.Error.Message = code, message
		_ = encode(p.stderr, body)
		return status
	}
	fmt.Fprintln(p.stderr, "ticketing: "+visible(message))
	return status
}

// explain is an error as it is told, and the exit status that goes with it.
func (p *program) explain(err error) (status int, code, message string) {
	status, code, message = exitFailed, string(ticketing.CodeInternal), withoutPackages(err.Error())
	if refused, ok := errors.AsType[*ticketing.Error](err); ok {
		code, message = string(refused.Code), sentence(refused)
	} else if own, ok := errors.AsType[*failure](err); ok {
		code = own.code
	} else if own := p.operational(err); own != nil {
		code, message = own.code, own.text
	} else if _, ok := errors.AsType[*valueError](err); ok {
		code = string(ticketing.CodeInvalidRequest)
	} else if usage, ok := errors.AsType[*usageError](err); ok {
		status, code = exitUsage, cmp.Or(usage.code, string(ticketing.CodeInvalidRequest))
	}
	return status, code, message
}

// operational is what a person is told of a failure of the database: what it means, not where in the program it was met.
func (p *program) operational(err error) *failure {
	switch {
	case errors.Is(err, ticketing.ErrSecretKeys):
		said := strings.TrimPrefix(ticketing.ErrSecretKeys.Error(), "ticketing: ")
		_, more, _ := strings.Cut(err.Error(), said)
		return &failure{code: codeSecretKey, text: said + more + ". Give all that it is used with, the newest first"}
	case errors.Is(err, ticketing.ErrBusy):
		return &failure{code: "BUSY", text: "the database is busy with another program's work: try again"}
	case errors.Is(err, store.ErrNoDatabase):
		return &failure{code: "NO_DATABASE", text: "there is no database in " + p.databaseName() + ": mind the path of " +
			"--database, or make one with \"ticketing migrate\" or \"ticketing company create\""}
	case errors.Is(err, store.ErrAccess):
		return &failure{code: "DATABASE_ACCESS", text: "the database " + p.databaseName() + " refuses access: " +
			after(err, store.ErrAccess) + accessHint(err)}
	case errors.Is(err, store.ErrUnsupported):
		return &failure{code: "DATABASE_UNSUPPORTED", text: "the database " + p.databaseName() + " cannot be used: " +
			after(err, store.ErrUnsupported)}
	case errors.Is(err, store.ErrNotDistributable):
		return &failure{code: "NOT_DISTRIBUTABLE", text: "the database " + p.databaseName() + " cannot be distributed: " +
			after(err, store.ErrNotDistributable)}
	case errors.Is(err, ticketing.ErrUnavailable):
		why := "it is damaged, of another kind, not to be written, or its disk is full"
		if of, ok := errors.AsType[*fs.PathError](err); ok {
			why = of.Err.Error()
		}
		if p.onServer() {
			why = after(err, ticketing.ErrUnavailable)
		}
		return &failure{code: "UNAVAILABLE", text: "the database " + p.databaseName() + " cannot be used: " + why}
	case errors.Is(err, ticketing.ErrLedgerBroken):
		return &failure{code: codeLedgerInvalid, text: withoutPackages(err.Error()) +
			"; \"ticketing ledger verify\" tells more"}
	case errors.Is(err, store.ErrNotMigrated):
		return errOutdated
	case errors.Is(err, store.ErrSchema):
		return &failure{code: "SCHEMA", text: "the tables of the database are not of this version of the program: a newer " +
			"version migrated them, or a migration was changed after it had been applied"}
	}
	return nil
}

// onServer tells whether --database names a server.
func (p *program) onServer() bool {
	scheme, _, _ := strings.Cut(p.Database, ":")
	return scheme == postgres || scheme == postgresql
}

// databaseName is --database without what may be secret in it.
func (p *program) databaseName() string {
	if path, ok := strings.CutPrefix(p.Database, sqlitePrefix); ok {
		return path
	}
	if u, err := url.Parse(p.Database); err == nil && p.onServer() {
		return u.Host + u.Path
	}
	scheme, _, _ := strings.Cut(p.Database, ":")
	return scheme
}

// after is what an error says after the words of one that it wraps.
func after(err, of error) string {
	said := err.Error()
	if _, why, found := strings.Cut(said, of.Error()+": "); found {
		return withoutPackages(why)
	}
	return withoutPackages(said)
}

// accessHint says what to do where it is not plain from what the server said.
func accessHint(err error) string {
	switch said := err.Error(); {
	case strings.Contains(said, "for schema"):
		return ". Let the role create tables there: it owns the database, or \"GRANT CREATE, USAGE ON SCHEMA … TO …\""
	case strings.Contains(said, "for database"):
		return ". The role needs CREATE on the database: GRANT CREATE ON DATABASE … TO …"
	case strings.Contains(said, "SQLSTATE 42501"):
		return ". The role that migrates must own the tables; one that serves with --no-migrate needs SELECT, INSERT " +
			"and UPDATE on them, and DELETE on four; docs/operating.md names them"
	case strings.Contains(said, "SQLSTATE 3D000"):
		return ". Create it: CREATE DATABASE … OWNER …"
	default:
		return ""
	}
}

// withoutPackages leaves out who says it: to a person it is all one program.
func withoutPackages(message string) string {
	return strings.NewReplacer("ticketing/store: ", "", "ticketing: ", "").Replace(message)
}

// sentence is what a person is told of a refusal: its violations where it has any, else its message.
func sentence(refused *ticketing.Error) string {
	if len(refused.Violations) == 0 {
		return refused.Message
	}
	said := make([]string, len(refused.Violations))
	for i, v := range refused.Violations {
		said[i] = v.Message
	}
	return strings.Join(said, "; ")
}

// encode writes one JSON value on one line.
func encode(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return written(encoder.Encode(value))
}

// written is what is told of output that could not be written.
func written(err error) error {
	if err == nil {
		return nil
	}
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return &failure{code: codeOutput, text: "the output could not be written: " + err.Error()}
}

// outlivePipe makes a pipe whose reader has gone a failure to write, not the end of the process, for commands that then
// have something to say.
func outlivePipe() { signal.Ignore(syscall.SIGPIPE) }

// unshown says, where the output of a command could not be written, what it had done by then.
func unshown(err error, done string) error {
	if lost, ok := errors.AsType[*failure](err); ok && lost.code == codeOutput {
		return &failure{code: codeOutput, text: done + " (" + lost.text + ")"}
	}
	return err
}

// field is one line of what a person reads about one thing.
type field struct{ name, value string }

// show prints one thing: value as JSON, or fields for a person.
func (p *program) show(value any, fields ...field) error {
	if p.JSON {
		return encode(p.stdout, value)
	}
	return p.printFields(fields...)
}

func (p *program) printFields(fields ...field) error {
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, f := range fields {
		fmt.Fprintf(w, "%s\t%s\n", f.name, visible(f.value))
	}
	return written(w.Flush())
}

// list prints things as they come, so that it never holds all of them: a JSON array, or a table for a person.
type list struct {
	json  bool
	out   *bufio.Writer
	table *tabwriter.Writer
	rows  int
}

// tableRows is how many rows of a table are aligned together.
const tableRows = 500

func (p *program) list(columns ...string) *list {
	l := &list{json: p.JSON, out: bufio.NewWriter(p.stdout)}
	if !l.json {
		l.table = tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
		l.row(columns)
	}
	return l
}

func (l *list) row(cells []string) { fmt.Fprintln(l.table, visible(strings.Join(cells, "\t"))) }

// add prints one thing: value as JSON, or cells for a person.
func (l *list) add(value any, cells ...string) error {
	l.rows++
	if !l.json {
		l.row(cells)
		if l.rows%tableRows == 0 {
			return written(l.table.Flush())
		}
		return nil
	}
	opening := ","
	if l.rows == 1 {
		opening = "["
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, _ = l.out.WriteString(opening)
	_, err = l.out.Write(text)
	return written(err)
}

// end completes the list. A list that failed on the way is left as it is.
func (l *list) end() error {
	switch {
	case !l.json:
		_ = l.table.Flush()
	case l.rows == 0:
		_, _ = l.out.WriteString("[]\n")
	default:
		_, _ = l.out.WriteString("]\n")
	}
	return written(l.out.Flush())
}

// orDash is a text, or a dash for none.
func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// timeOrDash is a time, or a dash for none.
func timeOrDash(t *ticketing.Time) string {
	if t == nil {
		return "-"
	}
	return t.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
