//go:build (cgo && !osusergo) || darwin || windows

package main

// asksSystem reports whether package user asks the operating system who a user is. The system may know users from a
// directory service.
const asksSystem = true
