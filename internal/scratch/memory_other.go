//go:build !linux

package scratch

func inMemory() (folder string, ok bool) { return "", false }
