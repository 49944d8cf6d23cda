// Package race says whether the race detector watches the tests. It makes everything several times slower, and finds
// nothing in what one goroutine does, so that a test which runs the same on several stores may leave some of them out
// under it. Whatever several goroutines do at once runs under it whole.
package race
