package main

// Run is the program without its process.
var Run = run
