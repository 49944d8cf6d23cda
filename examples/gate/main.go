// Command gate is a gate for a scanner that types, as those with USB and most with Bluetooth do: each scan is a line on
// standard input. It validates the ticket through the public API, which package client calls, and shows what to do.
//
//	export TICKETING_BASE_URL=http://127.0.0.1:8080/api/public/v1
//	export TICKETING_API_KEY=svc_live.…   # It needs COMPANY:ticket:validate and nothing else.
//	export GATE_EVENT=…                   # the id of the event
//	export GATE_LOCATION='Gate 1'         # optional: where the validations are recorded
//	go run ./examples/gate 2>gate.log
//
// It shows one line for each scan, with a color and, except for ADMITTED, the bell where it runs in a terminal:
//
//	ADMITTED       VIP · VIP seat
//	ALREADY IN     VIP · VIP seat · 19:02:11 at Gate 1, 12 s ago
//	REFUNDED       the order was refunded or cancelled
//	UNKNOWN        no ticket of this event was sold with this code
//	OTHER EVENT    this is the ticket of another event
//	NOT A TICKET   this is not the code of a ticket
//	TRY AGAIN      the service could not say: scan once more
//	NOT WORKING    the service refuses this gate: call for help
//
// While it waits for a response it shows WAIT. Ctrl-C ends it after the present scan, or at once if pressed again.
//
// What is worth copying:
//
//   - gate.go validates. Each scan has an idempotency key of its own, which all retries of the scan share. So an answer
//     that was lost does not make a ticket look used, and a second scan of a ticket is ALREADY IN.
//   - lines.go reads what a scanner sends, whatever its line end is, with a bound on its length.
//   - screen.go shows no text of a scan, and no control character of a ticket.
//
// The gate remembers nothing. The service knows who is in, so any number of gates agree, and each may be restarted at
// any time. It follows that a ticket may be ALREADY IN after TRY AGAIN: its validation had arrived, and its answer had
// not. The line shows where and how many seconds ago, so that the person at the gate can decide.
//
// Set the scanner to the keyboard layout of the machine: otherwise it types other characters for ":" and "-". A
// terminal shows what the scanner types, unless "stty -echo" ran before.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/floatgate/ticketing"
)

func main() {
	if err := run(context.Background(), os.Getenv, os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run validates scans until the input ends, the context ends or a signal arrives.
func run(ctx context.Context, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second Ctrl-C ends the process.
	baseURL, key := getenv("TICKETING_BASE_URL"), getenv("TICKETING_API_KEY")
	if baseURL == "" || key == "" {
		return errors.New("set TICKETING_BASE_URL and TICKETING_API_KEY")
	}
	event, err := ticketing.ParseID(getenv("GATE_EVENT"))
	if err != nil {
		return fmt.Errorf("GATE_EVENT: %w", err)
	}
	location := strings.TrimSpace(getenv("GATE_LOCATION"))
	if utf8.RuneCountInString(location) > 200 {
		return errors.New("GATE_LOCATION: must have at most 200 characters")
	}
	screen := NewScreen(stdout, isTerminal(stdout) && getenv("NO_COLOR") == "")
	gate, err := NewGate(baseURL, key, event, location, &Config{
		Waiting: screen.Wait, Logger: slog.New(slog.NewTextHandler(stderr, nil)),
	})
	if err != nil {
		return err
	}
	if err := gate.Check(ctx); err != nil {
		return err
	}
	fmt.Fprintln(stderr, "ready for event", event)
	for text := range Lines(ctx, stdin) {
		// Ctrl-C does not cut off the scan under way: whether it let somebody in would not be known.
		if err := screen.Show(gate.Scan(context.WithoutCancel(ctx), text)); err != nil {
			return fmt.Errorf("show a result: %w", err)
		}
	}
	return nil
}

// isTerminal reports whether people see what is written to w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	about, err := file.Stat()
	return err == nil && about.Mode()&os.ModeCharDevice != 0
}
