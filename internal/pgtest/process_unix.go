//go:build unix

package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// detach makes a command run in its own session, where an interrupt at the terminal does not reach it. It runs as
// another user unless that is nil.
func detach(command *exec.Cmd, as *user.User) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if as == nil {
		return nil
	}
	uid, err := strconv.ParseUint(as.Uid, 10, 32)
	if err != nil {
		return fmt.Errorf("user %s: %w", as.Username, err)
	}
	gid, err := strconv.ParseUint(as.Gid, 10, 32)
	if err != nil {
		return fmt.Errorf("user %s: %w", as.Username, err)
	}
	command.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}

// crash kills a postmaster and all its children. It stops the postmaster first, so that it can neither start another
// child nor clean up after one.
func crash(postmaster int) error {
	if err := syscall.Kill(postmaster, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop the postmaster: %w", err)
	}
	all, err := processes()
	if err != nil {
		return err
	}
	victims := []int{postmaster}
	for id, process := range all {
		if process.parent == postmaster {
			victims = append(victims, id)
		}
	}
	for _, id := range victims {
		_ = syscall.Kill(id, syscall.SIGKILL) // It may have ended by itself.
	}
	// A server does not start while a process of its predecessor holds their shared memory.
	const pause = time.Millisecond
	for begun := time.Now(); slices.ContainsFunc(victims, running); time.Sleep(pause) {
		if time.Since(begun) > patience {
			return fmt.Errorf("a killed process did not end in %v", patience)
		}
	}
	return nil
}

// process is the state of a process: its parent, and whether it has ended but not yet been waited for.
type process struct {
	parent int
	ended  bool
}

// processes lists the processes, from /proc if it exists, otherwise from ps.
func processes() (map[int]process, error) {
	found := map[int]process{}
	if paths, _ := filepath.Glob("/proc/[0-9]*/stat"); len(paths) > 0 {
		for _, path := range paths {
			if id, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				if p, ok := stat(id); ok {
					found[id] = p
				}
			}
		}
		return found, nil
	}
	text, err := exec.CommandContext(context.Background(), "ps", "-A", "-o", "pid=,ppid=,stat=").Output()
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		var id, parent int
		var state string
		if _, err := fmt.Sscan(line, &id, &parent, &state); err == nil {
			found[id] = process{parent: parent, ended: strings.HasPrefix(state, "Z")}
		}
	}
	return found, nil
}

// stat reads the state of a process from /proc: "id (name) state parent …", where the name may contain anything.
func stat(id int) (process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return process{}, false
	}
	rest := afterLast(string(text), ")")
	var state string
	var p process
	if _, err := fmt.Sscan(rest, &state, &p.parent); err != nil {
		return process{}, false
	}
	p.ended = state == "Z" || state == "X"
	return p, true
}

// running reports whether a process has not ended.
func running(id int) bool {
	if exists("/proc/self/stat") {
		p, ok := stat(id)
		return ok && !p.ended
	}
	all, err := processes()
	p, ok := all[id]
	return err != nil || ok && !p.ended
}
