package main

import (
	"errors"
	"io/fs"
	"syscall"
)

// writeHint returns what to do about a file that cannot be written.
func writeHint(err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return "free some space and try again"
	}
	return "let this user write to the folder, or choose another one with --database"
}

// sqliteReason returns why a SQLite database cannot be used, and what to do.
func sqliteReason(err error) string {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err.Error()
	}
	// The result codes of SQLite. Other bits than the primary ones say more than a person needs.
	const (
		primary                                                = 0xff
		perm, noMem, readOnly, corrupt, full, cantOpen, notADB = 3, 7, 8, 11, 13, 14, 26
	)
	native, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	if !ok {
		return "it cannot be read or written"
	}
	switch native.Code() & primary {
	case full:
		return "its disk is full: free some space and try again; what was committed is safe"
	case readOnly, perm:
		return "it is read-only: let this user write the file and its folder"
	case cantOpen:
		return "it cannot be opened: check that its folder exists and can be written"
	case notADB:
		return "the file is not a SQLite database: check the path in --database"
	case corrupt:
		return "the file is damaged: restore it from a backup"
	case noMem:
		return "there is too little memory"
	default:
		return "its disk reports an error: check that the disk is not full and not failing"
	}
}
