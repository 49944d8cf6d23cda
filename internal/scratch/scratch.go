// Package scratch chooses where the databases of tests are.
package scratch

import (
	"os"
	"sync"
)

// Folder returns the folder for databases that end with a test. It is in memory where the system has such a folder with
// enough room, since on a disk every commit waits. Otherwise, and if $TMPDIR is set, it is the system's folder for
// temporary files.
func Folder() string {
	if os.Getenv("TMPDIR") != "" {
		return os.TempDir()
	}
	return chosen()
}

// chosen chooses once, so that the databases of a process are together.
var chosen = sync.OnceValue(func() string {
	if folder, ok := inMemory(); ok {
		return folder
	}
	return os.TempDir()
})
