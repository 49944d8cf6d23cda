package main

import (
	"errors"
	"io/fs"
	"syscall"
)

// fileHint returns what to do about the database or its secret key if the file cannot be opened.
func fileHint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "free some space and try again"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "make its folder first, or correct the path in --database"
	case errors.Is(err, syscall.EISDIR):
		return "name a file with --database"
	case errors.Is(err, syscall.EROFS):
		return "choose a folder that can be written with --database"
	case errors.Is(err, fs.ErrPermission):
		return "let this user write to the folder, or choose another one with --database"
	default:
		return "try again, or choose another path with --database"
	}
}

// sqliteReason returns why a SQLite database cannot be used, and what to do.
func sqliteReason(err error) string {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err.Error() + ": " + fileHint(of.Err)
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
		return "it cannot be read or written: try again"
	}
	switch native.Code() & primary {
	case full:
		return "its disk is full: free some space and try again; what was committed is safe"
	case readOnly, perm:
		return "it is read-only: let this user write the file and its folder"
	case cantOpen:
		return "it cannot be opened: let this user write to its folder"
	case notADB:
		return "the file is not a SQLite database: check the path in --database"
	case corrupt:
		return "the file is damaged: restore it from a backup"
	case noMem:
		return "there is too little memory: stop other programs, or add some"
	default:
		return "its disk reports an error: free some space if it is full; if it is not, check whether it is failing"
	}
}
