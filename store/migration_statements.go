package store

import "strings"

// statementsOf returns the statements of a migration. Citus sends a node the text of a schema change, and takes for
// that the whole message in which it is. So on a cluster each statement is a message of its own. A statement ends with
// a semicolon that is in no comment of one line, text, quoted name or dollar-quoted body. Migrations have no other
// comments and no texts with backslashes.
func statementsOf(migration string) []string {
	var statements []string
	start, at := 0, 0
	end := func() {
		if statement := strings.TrimSpace(migration[start:at]); statement != "" && !isComment(statement) {
			statements = append(statements, statement)
		}
		start = at + 1
	}
	for at < len(migration) {
		rest := migration[at:]
		switch {
		case strings.HasPrefix(rest, "--"):
			at = after(migration, at, "\n")
			continue
		case rest[0] == '\'' || rest[0] == '"': // A doubled quotation mark ends one text and begins the next.
			at = after(migration, at+1, rest[:1])
			continue
		case rest[0] == '$':
			if tag, _, found := strings.Cut(rest[1:], "$"); found && !strings.ContainsAny(tag, " \t\n';,") {
				mark := rest[:len(tag)+2]
				at = after(migration, at+len(mark), mark)
				continue
			}
		case rest[0] == ';':
			end()
		}
		at++
	}
	end()
	return statements
}

// after returns the place after the next mark, or the end.
func after(text string, from int, mark string) int {
	if i := strings.Index(text[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(text)
}

// isComment reports whether a text has only comments.
func isComment(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
			return false
		}
	}
	return true
}
