package scratch

import (
	"os"
	"syscall"
)

const (
	tmpfs = 0x01021994
	// room is several times what the tests of all packages keep at a time. A container often has less.
	room = 4 << 30
)

// inMemory returns the folder of shared memory, if it is a file system in memory where everybody may create files, and
// has room.
func inMemory() (folder string, ok bool) {
	const shared = "/dev/shm"
	var disk syscall.Statfs_t
	if err := syscall.Statfs(shared, &disk); err != nil || disk.Type != tmpfs {
		return "", false
	}
	info, err := os.Stat(shared)
	if err != nil || info.Mode()&(os.ModeSticky|0o777) != os.ModeSticky|0o777 {
		return "", false
	}
	return shared, disk.Bavail*uint64(disk.Bsize) >= room //nolint:gosec // The size of a block is positive.
}
