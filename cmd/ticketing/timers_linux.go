package main

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// kernelTimerSlack is the kernel's own timer slack: how much later than due it may wake a thread.
const kernelTimerSlack = 50 * time.Microsecond

// coarsenTimers gives the process the timer slack, unless its own is another one than the kernel's: then somebody has
// chosen it. A thread has the slack of the one that started it, so the program sets its own and executes itself once
// more, in the same process. If anything refuses that, it goes on as it is.
func coarsenTimers(slack time.Duration) {
	if now, err := timerSlackNow(); err != nil || now != kernelTimerSlack || slack <= 0 || slack == now {
		return
	}
	path, err := os.Executable()
	if err != nil || !isOwn(path) {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) != nil {
		return
	}
	// Without the comparison a system that only seems to set it would execute the program for ever.
	if now, err := timerSlackNow(); err == nil && now == slack {
		execute(path)
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(kernelTimerSlack), 0, 0, 0)
}

// timerSlackNow returns the timer slack of the thread.
func timerSlackNow() (time.Duration, error) {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	return time.Duration(slack), err
}

// isOwn reports whether a file is the one that this process executes. It may have been replaced.
func isOwn(path string) bool {
	file, err := os.Stat(path)
	own, errOwn := os.Stat("/proc/self/exe")
	return err == nil && errOwn == nil && os.SameFile(file, own)
}

// execute executes a file in place of this program, with the same arguments and environment. It returns only if that
// failed.
func execute(path string) {
	var files unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	_ = unix.Exec(path, os.Args, os.Environ())
	if err == nil {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &files) // Exec has set it to that of the start.
	}
}
