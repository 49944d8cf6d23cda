// Package safename validates names that are safe in a header, a log and a URL: letters, digits and . _ : - after a
// first letter or digit.
package safename

// Valid reports whether s matches [A-Za-z0-9][A-Za-z0-9._:-]* and has least to most characters.
func Valid(s string, least, most int) bool {
	if len(s) < max(least, 1) || len(s) > most {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && (i == 0 || c != '.' && c != '_' && c != ':' && c != '-') {
			return false
		}
	}
	return true
}
