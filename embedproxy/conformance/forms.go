package conformance

import "regexp"

// The lengths are compared apart from the forms, since a program that links this package would need a millisecond more
// to start with them in the expressions.
var (
	keyForm  = regexp.MustCompile(`^svc_live\.[^.\s]+\.[^.\s]+$`)
	codeForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	safeForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)
)

const maxCode, maxSafeID = 100, 128

func isCode(text string) bool { return len(text) <= maxCode && codeForm.MatchString(text) }

// isSafeID reports whether a text has the form of a request id.
func isSafeID(text string) bool { return len(text) <= maxSafeID && safeForm.MatchString(text) }
