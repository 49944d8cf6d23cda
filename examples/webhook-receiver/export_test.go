package main

// Run is the program without its process, and Verify its check of a signature.
var (
	Run    = run
	Verify = verify
)
