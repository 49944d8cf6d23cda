//go:build (cgo && !osusergo) || darwin || windows

package main

// asksSystem reports whether package user asks the operating system who a user is, which may know users of a directory.
const asksSystem = true
