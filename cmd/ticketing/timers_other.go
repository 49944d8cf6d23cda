//go:build !linux

package main

import "time"

// coarsenTimers does nothing: only Linux has a timer slack.
func coarsenTimers(time.Duration) {}
