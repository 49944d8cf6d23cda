package main_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/matryer/is"

	gate "github.com/floatgate/ticketing/examples/gate"
)

// A scan is a line, whatever ends it. Blank lines are none, and of a very long line only the beginning is kept.
func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("SVC1:", 2_000)
	for name, test := range map[string]struct {
		input string
		lines []string
	}{
		"nothing":             {"", nil},
		"blank lines":         {"\n\r\n \t\r\r\n\n", nil},
		"a line":              {"one\n", []string{"one"}},
		"without an end":      {"one", []string{"one"}},
		"line feeds":          {"one\ntwo\n", []string{"one", "two"}},
		"carriage returns":    {"one\rtwo\r", []string{"one", "two"}},
		"both":                {"one\r\ntwo\r\n", []string{"one", "two"}},
		"the same line twice": {"one\none\n", []string{"one", "one"}},
		"white space":         {" one\t\n", []string{" one\t"}},
		"garbage":             {"\x00\xff\ufeff\n", []string{"\x00\xff\ufeff"}},
		"10,000 characters":   {long + "\none\n", []string{long[:256], "one"}},
		"a megabyte":          {strings.Repeat(long, 100) + "\rone", []string{long[:256], "one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			is.Equal(slices.Collect(gate.Lines(t.Context(), strings.NewReader(test.input))), test.lines)
			slow := iotest.OneByteReader(strings.NewReader(test.input))
			is.Equal(slices.Collect(gate.Lines(t.Context(), slow)), test.lines)
		})
	}
}

// A scanner that is pulled out ends the lines, after the one that it had sent.
func TestLinesOfAReaderThatFails(t *testing.T) {
	t.Parallel()
	input := io.MultiReader(strings.NewReader("one\ntwo"), iotest.ErrReader(errors.New("input/output error")))
	is.New(t).Equal(slices.Collect(gate.Lines(t.Context(), input)), []string{"one", "two"})
}

// Ctrl-C ends the lines while the gate waits for a scan, and before scans that were read ahead.
func TestLinesEndWithTheContext(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	input, scanner := io.Pipe()
	t.Cleanup(func() { _ = scanner.Close() })
	ctx, stop := context.WithCancel(t.Context())
	go func() { _, _ = io.WriteString(scanner, "one\ntwo\nthr") }()
	var seen []string
	for line := range gate.Lines(ctx, input) {
		seen = append(seen, line)
		stop()
	}
	is.Equal(seen, []string{"one"})

	ctx, stop = context.WithCancel(t.Context())
	lines := gate.Lines(ctx, input)
	stop()
	is.Equal(slices.Collect(lines), nil)
}
