package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"
)

// codeNotConfirmed is the error code of a command that was not confirmed and did nothing.
const codeNotConfirmed = "NOT_CONFIRMED"

// requiredConfirm is the --yes flag of commands that move money, cut somebody off or cannot be undone. On a terminal
// they ask for confirmation. Elsewhere they are refused without the flag.
type requiredConfirm struct {
	Yes bool `help:"Do not ask for confirmation. Required without a terminal, and with --json."`
}

// unconfirmed reports whether the command must ask for confirmation.
func (f requiredConfirm) unconfirmed() bool { return !f.Yes }

// confirm asks the question with [program.confirm], and adds that the action cannot be undone.
func (f requiredConfirm) confirm(p *program, question func() (string, error)) error {
	return p.confirm(f.Yes, func() (string, error) {
		asked, err := question()
		return asked + " This cannot be undone.", err
	})
}

// A confirmer asks for confirmation.
type confirmer func(p *program, question func() (string, error)) error

// optionalConfirm is the --yes flag of commands that ask for confirmation on a terminal and go ahead elsewhere.
type optionalConfirm struct {
	Yes bool `help:"Do not ask for confirmation."`
}

// confirm asks the question with [program.confirm].
func (c optionalConfirm) confirm(p *program, question func() (string, error)) error {
	return p.confirm(c.Yes, question)
}

// ignoredYes is the --yes flag of commands that used to ask for confirmation. Scripts may still pass it.
type ignoredYes struct {
	Yes bool `help:"Has no effect: this command does not ask."`
}

// refuseUnconfirmed refuses a command that must ask for confirmation if nobody can be asked. It runs before the
// database is opened.
func (p *program) refuseUnconfirmed(command *kong.Node) error {
	target, ok := reflect.TypeAssert[interface{ unconfirmed() bool }](command.Target.Addr())
	if !ok || !target.unconfirmed() || p.canAsk() {
		return nil
	}
	name := strings.TrimPrefix(command.FullPath(), "ticketing ")
	why := "there is no terminal"
	if p.JSON {
		why = "--json cannot ask"
	}
	return &usageError{code: codeNotConfirmed, text: name + " asks for confirmation, and " + why + ": nothing was done; " +
		"add --yes to confirm\nRun \"" + command.FullPath() + " --help\" for how it is used."}
}

// canAsk reports whether a person can read the question, which goes to standard error, and answer it.
func (p *program) canAsk() bool { return !p.JSON && onTerminal(p.stdin) && onTerminal(p.stderr) }

// confirm asks for confirmation, unless yes is set or nobody can answer. It calls question only if it asks. The
// question names its subject, so a missing subject fails with an error before anyone is asked. Any answer but yes is a
// no, and so is the end of the input. Ctrl-C ends the process, since nothing has begun yet.
func (p *program) confirm(yes bool, question func() (string, error)) error {
	if yes || !p.canAsk() {
		return nil
	}
	asked, err := question()
	if err != nil {
		return err
	}
	fmt.Fprint(p.stderr, escape(asked)+" [y/N] ")
	answer, err := bufio.NewReader(p.stdin).ReadString('\n')
	if err != nil {
		fmt.Fprintln(p.stderr) // The cursor is still on the line of the question.
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	default:
		return &failure{code: codeNotConfirmed, text: "not confirmed: nothing was done"}
	}
}

// onTerminal reports whether a stream is a terminal.
func onTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && (isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd()))
}
