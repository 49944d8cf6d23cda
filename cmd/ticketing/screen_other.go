//go:build !unix

package main

import "os"

// screenColumns returns the width of a terminal, or 0 if it is unknown.
func screenColumns(*os.File) int { return 0 }
