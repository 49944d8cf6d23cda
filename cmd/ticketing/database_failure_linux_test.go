package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/matryer/is"
	"golang.org/x/sys/unix"

	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/testdb"
)

// smallDisk mounts a file system at a new folder and returns the folder.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	disk := t.TempDir()
	if err := unix.Mount("ticketing", disk, "tmpfs", 0, options); err != nil {
		t.Skipf("a small disk cannot be mounted (the test must run as root): %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(disk, 0)) })
	return disk
}

// databaseIn creates a database with its secret key in a folder, and returns a shell for it.
func databaseIn(t *testing.T, folder string) *shell {
	t.Helper()
	path := filepath.Join(folder, "t.db")
	testdb.SQLiteFile(t, path)
	must(t, os.WriteFile(path+".key", []byte(strings.Repeat("30", 32)+"\n"), 0o600))
	return newShellWithoutFile(t).with("TICKETING_DATABASE", "sqlite:"+path)
}

// remedied checks that a command fails with exit status 1 and a message that has a cause and a remedy.
func remedied(t *testing.T, did outcome, cause, remedy string) {
	t.Helper()
	if did.status != 1 || !strings.Contains(did.stderr, cause) || !strings.Contains(did.stderr, remedy) {
		t.Errorf("exit status %d and %q; want 1, %q and %q", did.status, did.stderr, cause, remedy)
	}
}

// On a full disk of the database, a command fails with exit status 1 and says to free some space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	disk := smallDisk(t, "size=4m")
	sh := databaseIn(t, disk)
	create := []string{"company", "create", "--name", "Lagos Live"}
	is.True(os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 8<<20), 0o600) != nil)
	remedied(t, sh.run(create...), "cannot be used: its disk ", "free some space")
	another := "sqlite:" + filepath.Join(disk, "new.db")
	remedied(t, sh.run("migrate", "--database", another), "no space left on device", "free some space")
	remedied(t, sh.with("TICKETING_SECRET_KEY", strings.Repeat("30", 32)).run("migrate", "--database", another),
		"its disk is full", "free some space")
	is.NoErr(os.Remove(filepath.Join(disk, "ballast")))
	is.Equal(sh.run(create...).status, 0)
}

// In a folder that is read-only, a command fails with exit status 1 and says what to change.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	disk := smallDisk(t, "size=4m")
	sh := databaseIn(t, disk)
	is.NoErr(unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	for _, command := range [][]string{{"company", "list"}, {"migrate"}, {"serve", "--addr", "127.0.0.1:0"}} {
		remedied(t, sh.run(command...), "cannot be used: ", "let this user write")
		another := append(slices.Clone(command), "--database", "sqlite:"+filepath.Join(disk, "new.db"))
		if command[0] == "company" {
			remedied(t, sh.run(another...), "there is no database", `make one with "ticketing migrate"`)
			continue
		}
		remedied(t, sh.run(another...), "read-only file system", "choose a folder that can be written with --database")
		given := sh.with("TICKETING_SECRET_KEY", strings.Repeat("30", 32))
		remedied(t, given.run(another...), "read-only file system", "choose a folder that can be written with --database")
	}
}

// The message to a user who may not write to the folder, read the secret key or use a privileged port has a remedy.
func TestUnprivilegedUser(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	leftOut(t)
	if os.Getuid() != 0 {
		t.Skip("only root runs a program as another user")
	}
	is := is.New(t)
	folder, err := os.MkdirTemp("/tmp", "ticketing-") //nolint:usetesting // Others may pass through /tmp.
	is.NoErr(err)
	t.Cleanup(func() { is.NoErr(os.RemoveAll(folder)) })
	is.NoErr(os.Chmod(folder, 0o755))
	sh := databaseIn(t, folder)
	given := sh.with("TICKETING_SECRET_KEY", strings.Repeat("30", 32))
	missing := "sqlite:" + filepath.Join(folder, "none", "t.db")
	another := "sqlite:" + filepath.Join(folder, "new.db")
	for _, test := range []struct {
		sh            *shell
		args          []string
		cause, remedy string
	}{
		{sh, []string{"company", "list"}, "the secret key " + folder + "/t.db.key cannot be read", "run as the owner"},
		{given, []string{"company", "list"}, "it cannot be opened", "let this user write to its folder"},
		{given, []string{"migrate", "--database", another}, "permission denied", "let this user write to the folder"},
		{sh, []string{"migrate", "--database", another}, "permission denied", "let this user write to the folder"},
		{given, []string{"migrate", "--database", missing}, "no such file or directory", "make its folder first"},
		{sh, []string{"migrate", "--database", missing}, "no such file or directory", "make its folder first"},
		{sh, []string{"serve", "--addr", "127.0.0.1:80"}, "this user may not listen on 127.0.0.1:80", "CAP_NET_BIND_SERVICE"},
	} {
		remedied(t, test.sh.runAsNobody(test.args...), test.cause, test.remedy)
	}
}

// runAsNobody runs a command as a process of a user without privileges.
func (s *shell) runAsNobody(args ...string) outcome {
	s.t.Helper()
	const nobody = 65534
	// The folder of the test binary may be closed to other users; this name of it is open.
	cmd := exec.CommandContext(s.t.Context(), "/proc/self/exe", args...)
	cmd.Dir, cmd.Env = "/", s.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	return outcome{status: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}
