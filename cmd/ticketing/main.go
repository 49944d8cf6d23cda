// Command ticketing serves the public ticketing API and runs the companies that sell with it.
//
//	ticketing demo                                    a company that is ready to sell, and one ticket sold
//	ticketing serve                                   the public API
//	ticketing bench                                   how fast this machine sells
//	ticketing company create --name 'Lagos Live'      one of the operating commands; --help lists them all
//
// Every command works on the database named by --database, also while a server runs on it. Every flag can be given
// as an environment variable instead, --web-origin as TICKETING_WEB_ORIGIN. An empty variable counts as unset.
//
// With --json a command prints exactly one JSON value on standard output. Errors go to standard error. The exit
// status is 0 when it is done, 1 when it was refused or failed, 2 when it was called in the wrong way.
package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
)

// collectAt is how far the heap grows before it is collected, in percent of what lives in it. What lives is a few
// megabytes, which the default of 100 would have collected a hundred times a second under load.
const collectAt = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program; it touches nothing but what it is given and what the command line names. It returns the
// exit status. A server that it runs drains when ctx ends, as it does on a signal.
func run(
	ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer,
) int {
	p := &program{getenv: getenv, stdin: stdin, stdout: stdout, stderr: stderr}
	return p.fail(p.run(ctx, args))
}
