package group_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/floatgate/ticketing/internal/group"
)

// A withdrawal is a call: its input, and the outcome that a run writes.
type withdrawal struct {
	amount  int
	refused bool
}

// Many callers withdraw from one account. Each withdrawal is decided on the balance that the ones before it left. Many
// of them share the costly part: here it would be the transaction.
func Example() {
	balance := 100
	lanes := group.New(group.Config[string, *withdrawal]{
		Run: func(_ context.Context, _ time.Duration, calls []*withdrawal) error {
			left := balance // a scratch copy, since a run is kept completely or not at all
			for _, call := range calls {
				if call.refused = call.amount > left; !call.refused { // assigned each time, since a call may run again
					left -= call.amount
				}
			}
			balance = left // the commit
			return nil
		},
	})

	errRefused := errors.New("not enough")
	withdraw := func(ctx context.Context, amount int) error {
		call := &withdrawal{amount: amount}
		if err := lanes.Do(ctx, "account 7", 1, call); err != nil {
			return err
		}
		if call.refused {
			return errRefused
		}
		return nil
	}

	ctx := context.Background()
	var callers sync.WaitGroup
	for range 40 {
		callers.Go(func() {
			if err := withdraw(ctx, 3); err != nil && !errors.Is(err, errRefused) {
				fmt.Println(err)
			}
		})
	}
	callers.Wait()
	fmt.Println("left:", balance)
	fmt.Println("one more:", withdraw(ctx, 3))
	fmt.Println(lanes.Drain(ctx), lanes.Do(ctx, "account 7", 1, &withdrawal{}))
	// Output:
	// left: 1
	// one more: not enough
	// <nil> group: closed
}
