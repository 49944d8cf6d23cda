package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/matryer/is"
	"golang.org/x/sys/unix"

	program "github.com/floatgate/ticketing/cmd/ticketing"
)

// firstFiles is how many files the process may open at its start. Go's runtime raises that.
const firstFiles = 128

// printTimers gives the process the timer slack of its first argument, after it has changed its file as the second one
// says. It prints the process id, the slack of another thread in nanoseconds, and whether it may open more than
// firstFiles.
func printTimers() {
	slack, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	switch os.Args[2] {
	case "locked":
		err = os.Chmod(os.Args[0], 0o600)
	case "removed":
		err = os.Remove(os.Args[0])
	}
	if err != nil {
		panic(err)
	}
	program.CoarsenTimers(slack)
	runtime.LockOSThread() // So the goroutine runs on another thread.
	now := make(chan int)
	go func() {
		value, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		now <- value
	}()
	var files unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	fmt.Print(os.Getpid(), " ", <-now, " ", files.Cur > firstFiles)
}

// The process that was started has the timer slack in all of its threads, unless somebody has chosen another one, or it
// is to have none, or the program cannot be executed again. Then it goes on as it is, and may open as many files.
func TestCoarseTimers(t *testing.T) {
	t.Parallel()
	leftOut(t)
	for _, test := range []struct {
		slack   string
		outside int // the slack of the one who starts it
		file    string
		want    int
	}{
		{"500us", 50_000, "kept", 500_000},
		{"500us", 70_000, "kept", 70_000},
		{"0", 50_000, "kept", 50_000},
		{"50us", 50_000, "kept", 50_000},
		{"500us", 50_000, "locked", 50_000},
		{"500us", 50_000, "removed", 50_000},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			binary := os.Args[0]
			if test.file != "kept" {
				content, err := os.ReadFile(binary)
				is.NoErr(err)
				binary = filepath.Join(t.TempDir(), "ticketing")
				is.NoErr(os.WriteFile(binary, content, 0o700))
			}
			runtime.LockOSThread() // A child has the slack of the thread that starts it. The thread ends with the test.
			is.NoErr(unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(test.outside), 0, 0, 0))
			cmd := exec.CommandContext(t.Context(), "sh", "-c",
				fmt.Sprintf(`ulimit -Sn %d && exec "$0" "$@"`, firstFiles), binary, test.slack, test.file)
			cmd.Env = []string{asTimers + "=1"}
			printed, err := cmd.Output()
			is.NoErr(err)
			is.Equal(string(printed), fmt.Sprint(cmd.Process.Pid, " ", test.want, " ", true))
		})
	}
}
