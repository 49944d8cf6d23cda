// Package race reports whether the tests run under the race detector. The detector makes everything several times
// slower, and finds nothing in the work of a single goroutine. So a test that runs the same on several stores may leave
// some of them out under it. A test without concurrency may skip itself. Everything that several goroutines do
// concurrently runs completely under it.
package race

import "testing"

// Leave skips a test under the race detector, which would find nothing in it.
func Leave(tb testing.TB, what string) {
	tb.Helper()
	if Enabled {
		tb.Skip("the race detector leaves out " + what)
	}
}
