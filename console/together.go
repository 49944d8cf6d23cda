package console

import (
	"context"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// maxTogether is how many of the functions run at a time. More make a page slower: the pool gives out the connection
// that was used last, and a server process of PostgreSQL that has slept for seconds takes ten times as long for a short
// statement as one that has just run another. docs/performance.md, "Pages of the console", has the figures.
const maxTogether = 3

// together runs the functions concurrently and waits for all of them. The first that fails ends the context of the
// others, and its error is returned. A panic becomes an error: in a goroutine of its own it would end the process.
//
// So a page that reads up to three things waits for the slowest of them. The functions start in their order.
func together(ctx context.Context, functions ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxTogether)
	for _, function := range functions {
		group.Go(func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = &panicError{text: panicText(v), stack: string(debug.Stack())}
				}
			}()
			return function(ctx)
		})
	}
	return group.Wait()
}
