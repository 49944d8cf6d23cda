package main

// Run is the program without the process around it.
var Run = run
