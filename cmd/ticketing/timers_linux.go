package main

import (
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// timerSlack is how much later than due the kernel may wake a thread of a server, so that it wakes several at a time.
// defaultTimerSlack is the kernel's own value. The monitor thread of Go's runtime sleeps for 20 µs at a time whenever
// the process was idle, as one is that waits for its database. These are half of all context switches where several
// server processes share two processors, and in a virtual machine each of them sets a timer of the host.
const timerSlack, defaultTimerSlack = 500 * time.Microsecond, 50 * time.Microsecond

// coarsenTimers starts the program again in this process, with timerSlack, if it is a server. A thread has the value of
// the one that started it, so this is the only way to give it to those of the runtime. A value that somebody has chosen
// stays, as with TimerSlackNSec of systemd. If anything refuses, the program goes on as it is.
func coarsenTimers(args []string) {
	if !slices.Contains(args, "serve") && (!slices.Contains(args, "bench") || !slices.Contains(args, "--http")) {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || now != int(defaultTimerSlack) {
		return
	}
	path, err := os.Executable()
	if err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) != nil {
		return
	}
	_ = unix.Exec(path, os.Args, os.Environ())
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(defaultTimerSlack), 0, 0, 0)
}
