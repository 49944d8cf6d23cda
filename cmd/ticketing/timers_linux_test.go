package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/matryer/is"
	"golang.org/x/sys/unix"

	program "github.com/floatgate/ticketing/cmd/ticketing"
)

// printTimers does what main does first, and prints the process id, the timer slack in nanoseconds and the arguments.
func printTimers() {
	program.CoarsenTimers(os.Args[1:])
	slack := make(chan int)
	go func() { // A thread other than the first one has it, too.
		runtime.LockOSThread()
		value, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		slack <- value
	}()
	fmt.Print(os.Getpid(), " ", <-slack, " ", strings.Join(os.Args[1:], " "))
}

// A server runs with coarse timers, in the process that was started, unless somebody has chosen others. Other commands
// leave them alone.
func TestServersHaveCoarseTimers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  string
		slack int // of the one who starts it; 0 for that of the kernel
		want  int
	}{
		{"serve --addr :0", 0, 500_000},
		{"--json bench --http", 0, 500_000},
		{"bench", 0, 50_000},
		{"company list", 0, 50_000},
		{"serve", 70_000, 70_000},
	} {
		t.Run(fmt.Sprint(test.args, test.slack), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			runtime.LockOSThread() // A child has the slack of the thread that starts it. The thread ends with the test.
			is.NoErr(unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(max(test.slack, 50_000)), 0, 0, 0))
			cmd := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(test.args)...)
			cmd.Env = []string{asTimers + "=1"}
			printed, err := cmd.Output()
			is.NoErr(err)
			is.Equal(string(printed), fmt.Sprint(cmd.Process.Pid, " ", test.want, " ", test.args))
		})
	}
}
