package main

import (
	"errors"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
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
	const primary = 0xff // Other bits give details that a person does not need.
	native, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return "it cannot be read or written"
	}
	switch native.Code() & primary {
	case sqlite3.SQLITE_FULL:
		return "its disk is full: free some space and try again; what was committed is safe"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return "it is read-only: let this user write the file and its folder"
	case sqlite3.SQLITE_CANTOPEN:
		return "it cannot be opened: check that its folder exists and can be written"
	case sqlite3.SQLITE_NOTADB:
		return "the file is not a SQLite database: check the path in --database"
	case sqlite3.SQLITE_CORRUPT:
		return "the file is damaged: restore it from a backup"
	case sqlite3.SQLITE_NOMEM:
		return "there is too little memory"
	default:
		return "its disk reports an error: check that the disk is not full and not failing"
	}
}
