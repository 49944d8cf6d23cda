//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// screenColumns returns the width of a terminal, or 0 if it is unknown.
func screenColumns(terminal *os.File) int {
	size, err := unix.IoctlGetWinsize(int(terminal.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
