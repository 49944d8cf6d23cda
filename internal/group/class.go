package group

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Class is what an error of a run means for the calls in it.
type Class int

const (
	// Poison is an error that some call of the group brings, wherever it runs: a data error.
	Poison Class = iota
	// Busy is a lock that was not had in time.
	Busy
	// Gone is that nothing can run now: the database is away.
	Gone
)

// PanicError is what a call fails with whose run panicked or ended its goroutine (which may be that of a caller). Of the value it keeps the type, and
// the text where it is a runtime error: any other may hold what no log should.
type PanicError struct {
	Type  string // "runtime.Goexit" where the run ended its goroutine
	Text  string // of a runtime error
	Stack []byte // as [debug.Stack] gives it
}

// Error tells the text of a runtime error, else the type of the panic's value.
func (e *PanicError) Error() string {
	if e.Text != "" {
		return "group: panic: " + e.Text
	}
	return "group: panic of type " + e.Type
}

// newPanicError takes what recover returned: nil is a goroutine that ends.
func newPanicError(value any) *PanicError {
	e := &PanicError{Type: "runtime.Goexit", Stack: debug.Stack()}
	if value != nil {
		e.Type = fmt.Sprintf("%T", value)
	}
	if fault, ok := value.(runtime.Error); ok {
		e.Text = fault.Error()
	}
	return e
}
