package pgtest

import (
	"errors"
	"os/exec"
	"os/user"
)

func detach(*exec.Cmd, *user.User) error { return errors.ErrUnsupported }

func crash(int) error { return errors.ErrUnsupported }

func running(int) bool { return false }
