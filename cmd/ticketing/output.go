package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/bench"
	"github.com/floatgate/ticketing/store"
)

// The exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// The command line's own error codes that several places use.
const (
	codeLedgerInvalid = "LEDGER_INVALID"
	codeOutput        = "OUTPUT"
	codeSecretKey     = "SECRET_KEY"
)

// failure is an error with an error code of the command line.
type failure struct{ code, text string }

func (f *failure) Error() string { return f.text }

// fail prints an error on standard error and returns the exit status.
func (p *program) fail(err error) int {
	if err == nil {
		if len(p.warnings) > 0 {
			_ = encode(p.stderr, map[string][]string{"warnings": p.warnings})
		}
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
			Warnings []string `json:"warnings,omitempty"`
		}
		body.Warnings = p.warnings
		body.Error.Code, body.Error.Message = code, message
		_ = encode(p.stderr, body)
		return status
	}
	fmt.Fprintln(p.stderr, "ticketing: "+escape(message))
	return status
}

// explain returns the exit status, the code and the message of an error.
func (p *program) explain(err error) (status int, code, message string) {
	status, code, message = exitFailed, string(ticketing.CodeInternal), withoutPackages(err.Error())
	if refused, ok := errors.AsType[*ticketing.Error](err); ok {
		code, message = string(refused.Code), sentence(refused)
	} else if own, ok := errors.AsType[*failure](err); ok {
		code = own.code
	} else if measured, ok := errors.AsType[*bench.Error](err); ok {
		code = measured.Code
	} else if own := p.operational(err); own != nil {
		code, message = own.code, own.text
	} else if _, ok := errors.AsType[*valueError](err); ok {
		code = string(ticketing.CodeInvalidRequest)
	} else if usage, ok := errors.AsType[*usageError](err); ok {
		status, code = exitUsage, cmp.Or(usage.code, string(ticketing.CodeInvalidRequest))
	}
	return status, code, message
}

// operational returns the failure for an error of the database, or nil for any other error. Its text says what the
// error means to a person, not where in the program it occurred.
func (p *program) operational(err error) *failure {
	switch {
	case errors.Is(err, ticketing.ErrSecretKeys):
		said := strings.TrimPrefix(ticketing.ErrSecretKeys.Error(), "ticketing: ")
		_, more, _ := strings.Cut(err.Error(), said)
		return &failure{code: codeSecretKey, text: said + more + ": check TICKETING_SECRET_KEY, --secret-key or the file " +
			"beside the database; if several secrets are in use, give all, the newest first"}
	case errors.Is(err, ticketing.ErrBusy):
		return &failure{code: "BUSY", text: "another program keeps the database busy: try again"}
	case errors.Is(err, store.ErrNoDatabase):
		return &failure{code: "NO_DATABASE", text: "there is no database in " + p.databaseName() + ": check the path in " +
			"--database, or make one with \"ticketing migrate\" or \"ticketing company create\""}
	case errors.Is(err, store.ErrAccess):
		return &failure{code: "DATABASE_ACCESS", text: "the database " + p.databaseName() + " refuses access: " +
			after(err, store.ErrAccess) + accessHint(err)}
	case errors.Is(err, store.ErrUnsupported):
		return &failure{code: "DATABASE_UNSUPPORTED", text: "the database " + p.databaseName() + " cannot be used: " +
			after(err, store.ErrUnsupported)}
	case errors.Is(err, store.ErrNotCoordinator):
		return &failure{code: "NOT_COORDINATOR", text: "the database " + p.databaseName() + " cannot be used like this: " +
			after(err, store.ErrNotCoordinator)}
	case errors.Is(err, store.ErrNotDistributable):
		return &failure{code: "NOT_DISTRIBUTABLE", text: "the database " + p.databaseName() + " cannot be distributed: " +
			after(err, store.ErrNotDistributable)}
	case errors.Is(err, ticketing.ErrUnavailable):
		why := ""
		if p.onServer() {
			why = after(err, ticketing.ErrUnavailable)
		} else {
			why = sqliteReason(err)
		}
		return &failure{code: "UNAVAILABLE", text: "the database " + p.databaseName() + " cannot be used: " + why}
	case errors.Is(err, ticketing.ErrLedgerBroken):
		return &failure{code: codeLedgerInvalid, text: withoutPackages(err.Error()) +
			"; run \"ticketing ledger verify\" for details"}
	case errors.Is(err, store.ErrNotMigrated):
		return errOutdated
	case errors.Is(err, store.ErrSchema):
		return &failure{code: "SCHEMA", text: "the tables of the database are not of this version of the program: " +
			after(err, store.ErrSchema) + "; docs/upgrading.md says what to do"}
	}
	return nil
}

// onServer reports whether --database names a database server.
func (p *program) onServer() bool {
	scheme, _, _ := strings.Cut(p.Database, ":")
	return scheme == postgres || scheme == postgresql
}

// databaseName returns --database without the parts that may be secret.
func (p *program) databaseName() string {
	if path, ok := strings.CutPrefix(p.Database, sqlitePrefix); ok {
		return path
	}
	if u, err := url.Parse(p.Database); err == nil && p.onServer() {
		if socket := u.Query().Get("host"); strings.HasPrefix(socket, "/") {
			return strings.TrimPrefix(u.Path, "/") + " at " + socket
		}
		return u.Host + u.Path
	}
	scheme, _, _ := strings.Cut(p.Database, ":")
	return scheme
}

// after returns the text of an error that follows the text of the error it wraps.
func after(err, of error) string {
	said := err.Error()
	if _, why, found := strings.Cut(said, of.Error()+": "); found {
		return withoutPackages(why)
	}
	return withoutPackages(said)
}

// accessHint returns a remedy where the server's message does not suggest one.
func accessHint(err error) string {
	switch said := err.Error(); {
	case strings.Contains(said, "for schema"):
		return ". Let the role create tables there: it owns the database, or \"GRANT CREATE, USAGE ON SCHEMA … TO …\""
	case strings.Contains(said, "for database"):
		return ". The role needs CREATE on the database: GRANT CREATE ON DATABASE … TO …"
	case strings.Contains(said, "SQLSTATE 42501"):
		return ". The role that migrates must own the tables; one that serves with --no-migrate needs SELECT, INSERT " +
			"and UPDATE on them, and DELETE on some; docs/operating.md names them"
	case strings.Contains(said, "SQLSTATE 3D000"):
		return ". Create it: CREATE DATABASE … OWNER …"
	default:
		return ""
	}
}

// withoutPackages removes package names from a message. They mean nothing to a person.
func withoutPackages(message string) string {
	return strings.NewReplacer("ticketing/store: ", "", "ticketing: ", "").Replace(message)
}

// sentence returns the text of a refusal for a person: its violations if it has any, otherwise its message.
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
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return outputError(err)
	}
	_, err := w.Write(jsonFor(w, text.Bytes()))
	return outputError(err)
}

// jsonFor returns JSON as it is written to w: on a terminal with its invisible characters escaped.
func jsonFor(w io.Writer, text []byte) []byte {
	if !onTerminal(w) {
		return text
	}
	return escapeJSON(text)
}

// outputError returns the failure for output that could not be written.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return &failure{code: codeOutput, text: "the output could not be written: " + err.Error()}
}

// outlivePipe turns a write to a closed pipe into an error. By default it would end the process. Commands call it if
// they must still report something.
func outlivePipe() { signal.Ignore(syscall.SIGPIPE) }

// outputErrorAfter adds what a command had done to the error that its output could not be written.
func outputErrorAfter(err error, done string) error {
	if lost, ok := errors.AsType[*failure](err); ok && lost.code == codeOutput {
		return &failure{code: codeOutput, text: done + " (" + lost.text + ")"}
	}
	return err
}

// field is one line of the output about one thing.
type field struct{ name, value string }

// show prints one thing that has no id: value as JSON, fields for a person, or nothing with --quiet.
func (p *program) show(value any, fields ...field) error {
	return p.showRecord("", value, fields...)
}

// showRecord prints one record: value as JSON, fields for a person, or its id with --quiet. A secret that is shown only
// once takes the place of the id.
func (p *program) showRecord(id string, value any, fields ...field) error {
	switch {
	case p.JSON:
		return encode(p.stdout, value)
	case p.Quiet:
		return p.printID(id)
	default:
		return p.printFields(fields...)
	}
}

// printID prints an id alone on a line, if there is one.
func (p *program) printID(id string) error {
	if id == "" {
		return nil
	}
	_, err := fmt.Fprintln(p.stdout, escape(id))
	return outputError(err)
}

func (p *program) printFields(fields ...field) error {
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	screen := p.screen()
	for _, f := range fields {
		fmt.Fprintf(w, "%s\t%s\n", f.name, screen.paint(escape(f.value)))
	}
	return outputError(w.Flush())
}

// orDash returns the text, or a dash for nil.
func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// timeOrDash formats a time, or returns a dash for nil.
func timeOrDash(t *ticketing.Time) string {
	if t == nil {
		return "-"
	}
	return t.String()
}

// plural returns a number with the word for what it counts.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
