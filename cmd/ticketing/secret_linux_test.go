package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

// A key that another user may have put there is refused, without waiting: a file of theirs, a link or a pipe.
func TestSecretKeyOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	moved := func(path string) error { return os.Rename(path, path+".real") }
	for _, test := range []struct {
		name  string
		spoil func(path string) error
		want  string
		root  bool
	}{
		{
			"a link", func(path string) error { return errors.Join(moved(path), os.Symlink(path+".real", path)) },
			"is a symbolic link", false,
		},
		{
			"a link to nothing", func(path string) error { return errors.Join(moved(path), os.Symlink(path+".none", path)) },
			"is a symbolic link", false,
		},
		{
			"a pipe", func(path string) error { return errors.Join(moved(path), syscall.Mkfifo(path, 0o600)) },
			"is not a regular file", false,
		},
		{
			"of another user", func(path string) error { return os.Chown(path, 4242, 4242) },
			"belongs to user 4242, who is neither this user nor root", true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.root && os.Getuid() != 0 {
				t.Skip("only root gives files away")
			}
			is := is.New(t)
			sh := newShellWithoutFile(t)
			sh.object("company", "create", "--name", "Lagos Live")
			path := filepath.Join(sh.dir, "t.db.key")
			key, err := os.ReadFile(path)
			is.NoErr(err)
			is.NoErr(test.spoil(path))
			for _, args := range [][]string{{"company", "list"}, {"migrate"}, {"serve", "--addr", "127.0.0.1:0"}} {
				code, message := sh.refusal(args...)
				is.Equal(code, "SECRET_KEY")
				is.True(strings.Contains(message, "the secret key "+path+" "+test.want))
				is.True(!strings.Contains(message, strings.TrimSpace(string(key))))
			}
			given := sh.with("TICKETING_SECRET_KEY", string(key))
			is.Equal(len(given.array("company", "list")), 1) // The same key passed in the environment is accepted.
		})
	}
}

// A new key is not written through a link that exists at its path.
func TestSecretKeyIsNotMadeThroughALink(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShellWithoutFile(t)
	elsewhere := filepath.Join(t.TempDir(), "chosen")
	is.NoErr(os.Symlink(elsewhere, filepath.Join(sh.dir, "t.db.key")))
	code, message := sh.refusal("company", "create", "--name", "Lagos Live")
	is.Equal(code, "SECRET_KEY")
	is.True(strings.Contains(message, "is a symbolic link"))
	_, err := os.Lstat(elsewhere)
	is.True(os.IsNotExist(err))
	_, err = os.Lstat(filepath.Join(sh.dir, "t.db"))
	is.True(os.IsNotExist(err)) // A database never exists without its key.
}

// A second name of the key's file, as some backups create, has no effect.
func TestSecretKeyMayHaveASecondName(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShellWithoutFile(t)
	sh.object("company", "create", "--name", "Lagos Live")
	path := filepath.Join(sh.dir, "t.db.key")
	is.NoErr(os.Link(path, path+".backup"))
	is.Equal(len(sh.array("company", "list")), 1)
}
