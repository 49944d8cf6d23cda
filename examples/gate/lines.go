package main

import (
	"bufio"
	"context"
	"io"
	"iter"
	"strings"
)

// maxLine is how many bytes of a line are kept. A code has 78.
const maxLine = 256

// Lines returns the lines of a scanner that are not blank, each as it ends, until the input or the context ends. A line
// feed or a carriage return ends a line, and the end of the input does. Of a line that is too long to be a code only
// the beginning is returned, which is no code either.
func Lines(ctx context.Context, input io.Reader) iter.Seq[string] {
	lines := make(chan string)
	ctx, stop := context.WithCancel(ctx)
	go func() { // Reading cannot be interrupted. At the end of the program this may still wait for a scan.
		defer close(lines)
		from := bufio.NewReader(input)
		for {
			line, err := nextLine(from)
			if strings.TrimSpace(line) != "" {
				select {
				case lines <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return func(yield func(string) bool) {
		defer stop()
		for {
			select {
			case <-ctx.Done():
				return
			case line, open := <-lines:
				// The context comes first where both are ready.
				if !open || ctx.Err() != nil || !yield(line) {
					return
				}
			}
		}
	}
}

// nextLine reads to the end of a line. It returns what it read with an error that ended it.
func nextLine(from *bufio.Reader) (string, error) {
	var line []byte
	for {
		b, err := from.ReadByte()
		if err != nil || b == '\n' || b == '\r' {
			return string(line), err
		}
		if len(line) < maxLine {
			line = append(line, b)
		}
	}
}
