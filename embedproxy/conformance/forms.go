package conformance

import "regexp"

var (
	keyForm  = regexp.MustCompile(`^svc_live\.[^.\s]+\.[^.\s]+$`)
	codeForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,99}$`)
	safeID   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`) // a request id
)
