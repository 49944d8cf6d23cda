package console

import (
	"context"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// maxTogether is how many of the functions run at a time: a page has its share of the connections, and no more.
const maxTogether = 8

// together runs the functions at the same time and waits for all of them. The first that fails ends the context of the
// others, and its error is returned. A panic becomes an error: in a goroutine of its own it would end the process.
//
// A page that needs several answers of the service waits for the slowest of them and not for all in turn.
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
