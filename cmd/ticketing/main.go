// Command ticketing serves the public ticketing API and operates the companies that sell with it.
//
//	ticketing demo                                    a company that is ready to sell, and one ticket sold
//	ticketing serve                                   the public API
//	ticketing bench                                   how fast this machine sells
//	ticketing company create --name 'Lagos Live'      one of the operating commands; --help lists them all
//
// Every command works on the database named by --database, also while a server runs on it. Every flag can be given as
// an environment variable instead, --web-origin as TICKETING_WEB_ORIGIN. An empty variable counts as unset.
//
// With --json a command prints exactly one JSON value on standard output. Errors go to standard error. The exit status
// is 0 for success, 1 if the command was refused or failed, and 2 for a usage error.
package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
)

// collectAt is the value of GOGC: how far the heap grows before a collection, in percent of the live heap. The live
// heap is a few megabytes, so the default of 100 would cause a hundred collections a second under load.
const collectAt = 400

func main() {
	setTimerSlackEarly(os.Args[1:], os.Getenv)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	p := &program{getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, sole: true}
	os.Exit(p.fail(p.run(context.Background(), os.Args[1:])))
}

// run runs the program in a process that may do other things, too, and returns its exit status. It uses only its
// arguments and what the command line names. A server that it runs drains when ctx ends, for example on a signal.
func run(
	ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer,
) int {
	p := &program{getenv: getenv, stdin: stdin, stdout: stdout, stderr: stderr}
	return p.fail(p.run(ctx, args))
}
