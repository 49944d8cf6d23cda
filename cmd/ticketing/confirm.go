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

// codeNotConfirmed is the code of what was not confirmed, and not done.
const codeNotConfirmed = "NOT_CONFIRMED"

// finality is the flag of commands that move money, cut somebody off or cannot be undone. They ask on a terminal, and
// elsewhere are refused without it.
type finality struct {
	Yes bool `help:"Go ahead without asking for confirmation. Required where there is no terminal, and with --json."`
}

// unconfirmed reports whether the command has to ask.
func (f finality) unconfirmed() bool { return !f.Yes }

// confirm asks the question of [program.confirm] and says that its answer is final.
func (f finality) confirm(p *program, question func() (string, error)) error {
	return p.confirm(f.Yes, func() (string, error) {
		asked, err := question()
		return asked + " This cannot be undone.", err
	})
}

// A confirmer asks whether to go on.
type confirmer func(p *program, question func() (string, error)) error

// courtesy is the flag of commands that ask on a terminal, and elsewhere go ahead.
type courtesy struct {
	Yes bool `help:"Do not ask for confirmation."`
}

// confirm asks the question of [program.confirm].
func (c courtesy) confirm(p *program, question func() (string, error)) error {
	return p.confirm(c.Yes, question)
}

// unasked is the flag of commands that once asked: scripts still give it.
type unasked struct {
	Yes bool `help:"Has no effect: this command does not ask."`
}

// refuseUnconfirmed refuses a command that has to ask where nobody can be asked. It comes before the database is opened.
func (p *program) refuseUnconfirmed(command *kong.Node) error {
	target, ok := reflect.TypeAssert[interface{ unconfirmed() bool }](command.Target.Addr())
	if !ok || !target.unconfirmed() || p.canAsk() {
		return nil
	}
	name := strings.TrimPrefix(command.FullPath(), "ticketing ")
	why := "there is no terminal"
	if p.JSON {
		why = "nobody is asked with --json"
	}
	return &usageError{code: codeNotConfirmed, text: name + " needs a confirmation, and " + why + ": give --yes to go " +
		"ahead; nothing was done\nRun \"" + command.FullPath() + " --help\" for how it is used."}
}

// canAsk reports whether a person reads the question, which goes to standard error, and can answer it.
func (p *program) canAsk() bool { return !p.JSON && onTerminal(p.stdin) && onTerminal(p.stderr) }

// confirm asks whether to go on, where a person can answer and has not said yes already. The question names what it is
// about, which is looked up only then; what is not there is refused before anyone is asked. Anything but yes is no, the
// end of the input included; Ctrl-C ends the process, as nothing has begun yet.
func (p *program) confirm(yes bool, question func() (string, error)) error {
	if yes || !p.canAsk() {
		return nil
	}
	asked, err := question()
	if err != nil {
		return err
	}
	fmt.Fprint(p.stderr, visible(asked)+" [y/N] ")
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
		return &failure{code: codeNotConfirmed, text: "not confirmed, nothing was done"}
	}
}

// onTerminal reports whether a stream is a terminal.
func onTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && (isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd()))
}
