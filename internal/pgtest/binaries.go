package pgtest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Binaries returns the folder of an installed PostgreSQL server. It searches $PATH first, then the folders of packages
// and builds, the highest version first. It reports false if there is none, and on Windows, where no server can be
// started.
func Binaries() (dir string, ok bool) {
	if runtime.GOOS == "windows" {
		return "", false
	}
	var candidates []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// The link is to one program; the others are beside its target.
		if path, err = filepath.EvalSymlinks(path); err == nil {
			candidates = append(candidates, filepath.Dir(path))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",         // Debian
		"/usr/pgsql-*/bin",                  // Red Hat
		"/usr/local/pgsql/bin",              // make install
		"/opt/homebrew/opt/postgresql*/bin", // Homebrew on ARM
		"/usr/local/opt/postgresql*/bin",    // Homebrew on Intel
		"/usr/libexec/postgresql*",          // Alpine
	} {
		found, _ := filepath.Glob(pattern) // Its only error is a malformed pattern.
		slices.SortFunc(found, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
		candidates = append(candidates, found...)
	}
	i := slices.IndexFunc(candidates, func(dir string) bool {
		return exists(filepath.Join(dir, "postgres")) && exists(filepath.Join(dir, "initdb"))
	})
	if i < 0 {
		return "", false
	}
	return candidates[i], true
}

// version returns the first number in a path, or 0 if there is none.
func version(path string) int {
	path = strings.TrimLeft(path, "/abcdefghijklmnopqrstuvwxyz.@-")
	digits := strings.IndexFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if digits >= 0 {
		path = path[:digits]
	}
	number, _ := strconv.Atoi(path) // Without a number it is 0.
	return number
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
