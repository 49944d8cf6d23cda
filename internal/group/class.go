package group

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Class is what an error of a run means for the calls in it.
type Class int

const (
	// Poison is an error that is caused by some call of the group, wherever the call runs: a data error.
	Poison Class = iota
	// Busy is a lock timeout.
	Busy
	// Gone means that nothing can run now: the database is unavailable.
	Gone
)

// PanicError is the error of a call whose run panicked or ended its goroutine (which may be that of a caller). It keeps
// the type of the panic's value, and its text if it is a runtime error. Any other value may contain what must not be
// logged.
type PanicError struct {
	Type  string // "runtime.Goexit" if the run ended its goroutine
	Text  string // of a runtime error
	Stack []byte // as [debug.Stack] returns it
}

// Error returns the text of a runtime error, otherwise the type of the panic's value.
func (e *PanicError) Error() string {
	if e.Text != "" {
		return "group: panic: " + e.Text
	}
	return "group: panic of type " + e.Type
}

// newPanicError returns the error for a value that recover returned. A nil value means that the goroutine ends.
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
