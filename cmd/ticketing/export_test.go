package main

import "io"

// Run is the whole program, for tests in the place of its users.
var Run = run

// Tell tells an error as a command with --json does, and returns its exit status.
func Tell(err error, database string, stderr io.Writer) int {
	p := &program{flags: &flags{Database: database, JSON: true}, stderr: stderr}
	return p.fail(err)
}
