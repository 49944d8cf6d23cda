package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalEcho is how long repeated signals count as one. timeout(1) signals a process and also its group, and a terminal
// may do so too.
const signalEcho = time.Second

// interruptible returns a context that ends with a signal, for commands that must clean up before the process ends. The
// command calls stop when it returns.
func interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	return ctx, endAtNext(ctx, stop)
}

// endAtNext makes the next signal end the process at once, by calling restore. It does so signalEcho after the end of
// ctx, also where the command has returned by then: what it reports must not be lost to the echo of the first signal.
// The command calls onReturn, which restores at once if ctx has not ended.
func endAtNext(ctx context.Context, restore func()) (onReturn func()) {
	cancelEcho := context.AfterFunc(ctx, func() { time.AfterFunc(signalEcho, restore) })
	return func() {
		if cancelEcho() {
			restore()
		}
	}
}

// interrupted returns the error for a person: that of an interruption if their signal is the cause, and otherwise err.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &failure{code: "INTERRUPTED", text: "interrupted"}
	}
	return err
}
