package console

import (
	"context"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// maxTogether is how many of the functions run at a time, so that a page uses only its share of the connections.
const maxTogether = 8

// together runs the functions concurrently and waits for all of them. The first that fails ends the context of the
// others, and its error is returned. A panic becomes an error: in a goroutine of its own it would end the process.
//
// So a page that reads several things waits only for the slowest of them.
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
