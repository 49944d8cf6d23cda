package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
	"golang.org/x/sys/unix"

	program "github.com/floatgate/ticketing/cmd/ticketing"
)

// firstFiles is how many files the process may open at its start. Go's runtime raises that.
const firstFiles = 128

// printTimers gives the process the timer slack of its first argument, after it has changed its file as the second one
// says. Without a slack it does what main does first. It prints the process id, the slack of another thread in
// nanoseconds, and whether it may open more than firstFiles.
func printTimers() {
	var err error
	switch os.Args[len(os.Args)-1] {
	case "locked":
		err = os.Chmod(os.Args[0], 0o600)
	case "removed":
		err = os.Remove(os.Args[0])
	}
	if err != nil {
		panic(err)
	}
	if slack, err := time.ParseDuration(os.Args[1]); err == nil {
		program.CoarsenTimers(slack)
	} else {
		program.SetTimerSlackEarly(os.Args[1:], os.Getenv)
	}
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
		args    string
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
		{"serve --addr :0", 50_000, "kept", 500_000},
		{"serve --timer-slack 0", 50_000, "kept", 50_000},
		{"serve --timer-slack=1ms", 50_000, "kept", 50_000}, // The flags are read first.
		{"company list", 50_000, "kept", 50_000},
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
				fmt.Sprintf(`ulimit -Sn %d && exec "$0" $1 "$2"`, firstFiles), binary, test.args, test.file)
			cmd.Env = []string{asTimers + "=1"}
			printed, err := cmd.Output()
			is.NoErr(err)
			is.Equal(string(printed), fmt.Sprint(cmd.Process.Pid, " ", test.want, " ", true))
		})
	}
}

// A variable chooses the slack, too, and the default is that of the flag.
func TestTimerSlackIsChosen(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	program.SetTimerSlackEarly([]string{"serve"}, func(name string) string { // It would not return.
		is.Equal(name, "TICKETING_TIMER_SLACK")
		return "0"
	})
	_, of, _ := strings.Cut(newShell(t).run("serve", "--help").stdout, "--timer-slack=")
	_, text, _ := strings.Cut(of, "Default: ")
	text, _, _ = strings.Cut(text, ".")
	slack, err := time.ParseDuration(text)
	is.NoErr(err)
	is.Equal(slack, program.DefaultTimerSlack)
}
