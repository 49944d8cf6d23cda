package ticketing

import (
	"strings"

	"github.com/google/uuid"
)

// admissionCodePrefix names the format of an admission's code and its version.
const admissionCodePrefix = "SVC1"

// FormatAdmissionCode returns the code of an admission, which its ticket shows as a QR code and a gate scans:
//
//	SVC1:<event id>:<admission id>
//
// Both ids are in upper case, with hyphens. So the code is 78 characters of the alphanumeric mode of a QR code, which
// then has 33 modules at error correction M; in lower case it would have 37.
//
// The code holds the two ids that a validation needs (section 4.9). It is not signed: the validation shows whether the
// admission exists. The service admits it once, so a copy of the code is worthless after the original was scanned.
func FormatAdmissionCode(eventID, admissionID uuid.UUID) string {
	return admissionCodePrefix + ":" + strings.ToUpper(eventID.String()) + ":" + strings.ToUpper(admissionID.String())
}

// ParseAdmissionCode returns the ids of the event and the admission in a scanned code. It is the exact inverse of
// [FormatAdmissionCode], except that it accepts either case and white space around the code: scanners add a line break,
// and with another keyboard layout or Caps Lock they change the case.
//
// Any other text is INVALID_REQUEST: another prefix or version, a third part, an id that is not a UUID of version 4 in
// its form of 36 characters, a byte order mark. The error never contains the text, so it may be logged.
func ParseAdmissionCode(text string) (eventID, admissionID uuid.UUID, err error) {
	prefix, ids, _ := strings.Cut(strings.TrimSpace(text), ":")
	event, admission, _ := strings.Cut(ids, ":")
	eventID, eventErr := ParseID(event)
	admissionID, admissionErr := ParseID(admission)
	if !isAdmissionCodePrefix(prefix) || eventErr != nil || admissionErr != nil {
		return uuid.Nil, uuid.Nil, errAdmissionCode
	}
	return eventID, admissionID, nil
}

// isAdmissionCodePrefix reports whether text is the prefix, in either case of ASCII. Without the length EqualFold would
// also take the long s (ſ) for an S.
func isAdmissionCodePrefix(text string) bool {
	return len(text) == len(admissionCodePrefix) && strings.EqualFold(text, admissionCodePrefix)
}

var errAdmissionCode = &Error{
	Code: CodeInvalidRequest, Message: "The text is not the code of an admission.",
	Violations: []Violation{{Message: "code: must be SVC1:<event id>:<admission id>"}},
}
