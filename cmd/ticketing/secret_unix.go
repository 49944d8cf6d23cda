//go:build unix

package main

import (
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// openSecretFile opens a file, and fails if the last element of its path is a symbolic link. It does not wait for the
// other end of a pipe.
func openSecretFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) //nolint:gosec // The operator names it.
}

// foreignOwner returns the owner of a file, or "" if it belongs to this user or to root.
func foreignOwner(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 || int(stat.Uid) == os.Geteuid() {
		return ""
	}
	uid := strconv.FormatUint(uint64(stat.Uid), 10)
	if owner, err := user.LookupId(uid); err == nil {
		return owner.Username
	}
	return "user " + uid
}
