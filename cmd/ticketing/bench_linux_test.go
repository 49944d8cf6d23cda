package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/matryer/is"
)

// A bench whose child process is killed first reports how that process ended, not the consequences, and leaves nothing
// in the database.
func TestBenchProcessKilled(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh, left := benchPlaces()[1].open(t)
	p := sh.start("bench", "--processes", "2", "--duration", "1h", "--preload", "0")
	p.waitsFor("run 1 of 1")
	is.NoErr(syscall.Kill(child(t, p.cmd.Process.Pid), syscall.SIGKILL))
	is.Equal(p.wait(), 1)
	_, output, _ := strings.Cut(p.errors(), "removing what was made\n")
	is.True(strings.HasPrefix(output, "ticketing: a process of the bench ended (signal: killed) while it was needed: "))
	is.Equal(strings.Count(output, "killed"), 1)
	is.Equal(left(), nil)
}

// The baseline is measured in one process, which is that of the bench. An interrupt leaves nothing of it.
func TestBenchBaselineIsOneProcess(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh, left := benchPlaces()[1].open(t)
	p := sh.start("bench", "--processes", "2", "--baseline", "--duration", "1h", "--preload", "0")
	p.waitsFor("run 1 of 1")
	child(t, p.cmd.Process.Pid)
	p.signal(syscall.SIGINT)
	is.Equal(p.wait(), 1)
	is.Equal(left(), nil)
}

// child returns the id of the only child of a process.
func child(t *testing.T, parent int) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	must(t, err)
	var ids []string
	for _, list := range lists {
		text, err := os.ReadFile(list)
		must(t, err)
		ids = append(ids, strings.Fields(string(text))...)
	}
	if len(ids) != 1 {
		t.Fatalf("the children of the bench are %v", ids)
	}
	id, err := strconv.Atoi(ids[0])
	must(t, err)
	return id
}
