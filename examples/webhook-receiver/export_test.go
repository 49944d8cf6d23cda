package main

// Run is the program without the process around it, Verify its check of a signature.
var (
	Run    = run
	Verify = verify
)
