package main

// Run runs the program as its users do.
var Run = run
