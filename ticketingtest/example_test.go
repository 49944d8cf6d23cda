package ticketingtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/floatgate/ticketing/ticketingtest"
)

// A test makes a shop, sells, and asserts on what a user sees. When the test ends, the books are verified.
func Example() {
	testBoxOffice := func(t testing.TB) {
		t.Helper()
		shop := ticketingtest.New(t, nil)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 150_00, 100)

		order := shop.Sell(t, event.ID, "VIP", 2)
		fmt.Println(order.Gross, order.Commission.Amount, order.ConfirmedAt)

		validation := shop.Scan(t, event.ID, order.Lines[0].AdmissionID)
		fmt.Println(validation.Outcome)
	}
	run(testBoxOffice)
	// Output:
	// 300.00 7.50 2026-11-21T09:30:00.000Z
	// ADMITTED
}

// run runs a test as go test does.
func run(test func(t testing.TB)) {
	t := new(recorder)
	defer t.end()
	test(t)
}

// recorder is a testing.TB that records its failures.
type recorder struct {
	testing.TB

	cleanups []func()
	errors   []string
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return context.Background() }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

func (r *recorder) end() {
	for len(r.cleanups) > 0 {
		last := len(r.cleanups) - 1
		r.cleanups[last]()
		r.cleanups = r.cleanups[:last]
	}
}
