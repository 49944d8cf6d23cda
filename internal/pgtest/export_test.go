package pgtest

// Running reports whether a process has not ended.
func Running(id int) bool { return running(id) }
