// Package race says whether the race detector watches the tests. It makes everything several times slower, and finds
// nothing in what one goroutine does, so that a test which runs the same on several stores may leave some of them out
// under it, and one in which nothing happens at once may leave itself out. Whatever several goroutines do at once runs
// under it whole.
package race

import "testing"

// Leave skips a test under the race detector, which finds nothing in what it does.
func Leave(tb testing.TB, what string) {
	tb.Helper()
	if Enabled {
		tb.Skip("the race detector leaves out " + what)
	}
}
