package ticketing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
)

const (
	codeEvent     = "9a1f5f0e-2b7c-4d8e-a1b2-c3d4e5f60718"
	codeAdmission = "3f0c2a52-4f3e-4f5e-8f43-1d1c0b9a8e77"
)

// A code is on tickets that were printed long ago. So the texts of testdata are made and read for ever.
func TestAdmissionCodeGolden(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text, err := os.ReadFile("testdata/admission_codes.json")
	is.NoErr(err)
	var golden struct {
		Codes []struct {
			Name, Code       string
			Event, Admission uuid.UUID
		}
		Reads []struct{ Name, Text string }
	}
	is.NoErr(json.Unmarshal(text, &golden))
	is.True(len(golden.Codes) >= 5 && len(golden.Reads) >= 10)
	// The 45 characters of a QR code's alphanumeric mode.
	alphanumeric := regexp.MustCompile(`^[0-9A-Z $%*+./:-]{78}$`)
	for _, row := range golden.Codes {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			is.Equal(ticketing.FormatAdmissionCode(row.Event, row.Admission), row.Code)
			is.True(alphanumeric.MatchString(row.Code))
			reads(t, row.Code, row.Event, row.Admission)
		})
	}
	for _, row := range golden.Reads {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			reads(t, row.Text, golden.Codes[0].Event, golden.Codes[0].Admission)
		})
	}
}

// Format and Parse are inverses: every pair of ids comes back, in either case and between any white space.
func TestAdmissionCodeComesBack(t *testing.T) {
	t.Parallel()
	spaces := rapid.StringOf(rapid.RuneFrom(nil, unicode.White_Space))
	rapid.Check(t, func(r *rapid.T) {
		event, admission := drawID(r, "event"), drawID(r, "admission")
		code := ticketing.FormatAdmissionCode(event, admission)
		scanned := strings.Map(func(letter rune) rune {
			if rapid.Bool().Draw(r, "lower") {
				return unicode.ToLower(letter)
			}
			return letter
		}, code)
		scanned = spaces.Draw(r, "before") + scanned + spaces.Draw(r, "after")
		gotEvent, gotAdmission, err := ticketing.ParseAdmissionCode(scanned)
		if err != nil || gotEvent != event || gotAdmission != admission {
			r.Fatalf("%q is read as %s and %s, %v", scanned, gotEvent, gotAdmission, err)
		}
	})
}

// A text with one character changed is refused, or is the code of other ids. It is never read as the same ids.
func TestAdmissionCodeWithAnotherCharacter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		code := []rune(ticketing.FormatAdmissionCode(drawID(r, "event"), drawID(r, "admission")))
		at := rapid.IntRange(0, len(code)-1).Draw(r, "at")
		other := rapid.Rune().Filter(func(letter rune) bool { return letter != unicode.ToLower(code[at]) }).Draw(r, "other")
		if other == code[at] {
			return
		}
		code[at] = other
		holdsCode(r, string(code))
	})
}

// Whatever is not exactly a code is refused, without any of it in the error.
func TestTextsThatAreNoAdmissionCode(t *testing.T) {
	t.Parallel()
	event, admission := strings.ToUpper(codeEvent), strings.ToUpper(codeAdmission)
	code := "SVC1:" + event + ":" + admission
	reads(t, code, uuid.MustParse(codeEvent), uuid.MustParse(codeAdmission))
	bare := strings.ReplaceAll(admission, "-", "")
	version1 := "9A1F5F0E-2B7C-1D8E-A1B2-C3D4E5F60718"
	tests := map[string]string{
		"nothing":                     "",
		"white space alone":           " \t\r\n",
		"a colon":                     ":",
		"two colons":                  "::",
		"the prefix alone":            "SVC1",
		"the prefix and two colons":   "SVC1::",
		"no prefix":                   event + ":" + admission,
		"an empty prefix":             ":" + event + ":" + admission,
		"another version":             "SVC2:" + event + ":" + admission,
		"a longer prefix":             "SVC10:" + event + ":" + admission,
		"a shorter prefix":            "SVC:" + event + ":" + admission,
		"a long s in the prefix":      "ſVC1:" + event + ":" + admission,
		"a Cyrillic letter":           "SVС1:" + event + ":" + admission,
		"no admission":                "SVC1:" + event,
		"an empty admission":          "SVC1:" + event + ":",
		"an empty event":              "SVC1::" + admission,
		"a third part":                code + ":" + admission,
		"an empty third part":         code + ":",
		"two codes in a line":         code + code,
		"two codes with a line break": code + "\r\n" + code,
		"a URL":                       "https://tickets.example/" + code,
		"a symbology identifier":      "]Q1" + code,
		"urn: event":                  "SVC1:urn:uuid:" + event + ":" + admission,
		"urn: admission":              "SVC1:" + event + ":urn:uuid:" + admission,
		"braced event":                "SVC1:{" + event + "}:" + admission,
		"braced admission":            "SVC1:" + event + ":{" + admission + "}",
		"unhyphenated event":          "SVC1:" + strings.ReplaceAll(event, "-", "") + ":" + admission,
		"unhyphenated admission":      "SVC1:" + event + ":" + bare,
		"unhyphenated, of 36":         "SVC1:" + event + ":" + bare + "0000",
		"hyphens elsewhere":           "SVC1:" + event + ":3F0C-2A524F3E-4F5E-8F431D1C-0B9A8E77",
		"event of version 1":          "SVC1:" + version1 + ":" + admission,
		"admission of version 1":      "SVC1:" + event + ":" + version1,
		"version 7":                   "SVC1:" + event + ":3F0C2A52-4F3E-7F5E-8F43-1D1C0B9A8E77",
		"the nil UUID":                "SVC1:" + event + ":" + uuid.Nil.String(),
		"the highest UUID":            "SVC1:" + event + ":" + uuid.Max.String(),
		"variant of Microsoft":        "SVC1:" + event + ":3F0C2A52-4F3E-4F5E-CF43-1D1C0B9A8E77",
		"too short":                   code[:len(code)-1],
		"too long":                    code + "0",
		"not hexadecimal":             code[:len(code)-1] + "G",
		"a space after a colon":       "SVC1: " + event + ":" + admission,
		"a space before a colon":      "SVC1:" + event + " :" + admission,
		"a space in an id":            code[:20] + " " + code[20:],
		"a space for a hyphen":        strings.Replace(code, "-", " ", 1),
		"a line break within":         "SVC1:" + event + ":\n" + admission,
		"semicolons":                  strings.ReplaceAll(code, ":", ";"),
		"full-width letters":          "ＳＶＣ１:" + event + ":" + admission,
		"full-width colons":           strings.ReplaceAll(code, ":", "："),
		"full-width digits":           strings.ReplaceAll(code, "0", "０"),
		"another hyphen":              strings.Replace(code, "-", "‐", 1),
		"a German keyboard's hyphens": strings.ReplaceAll(code, "-", "ß"),
		"byte order mark":             "\ufeff" + code,
		"byte order mark at the end":  code + "\ufeff",
		"zero-width space":            "\u200b" + code,
		"right-to-left mark":          code + "\u200f",
		"NUL before":                  "\x00" + code,
		"NUL after":                   code + "\x00",
		"escape":                      "\x1b[0m" + code,
		"not UTF-8":                   code + "\xff",
		"very long":                   strings.Repeat(code, 10_000),
		"many colons":                 "SVC1" + strings.Repeat(":", 1<<20),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			gotEvent, gotAdmission, err := ticketing.ParseAdmissionCode(text)
			is.Equal(gotEvent, uuid.Nil)
			is.Equal(gotAdmission, uuid.Nil)
			refused, ok := errors.AsType[*ticketing.Error](err)
			is.True(ok)
			is.Equal(*refused, ticketing.Error{
				Code: ticketing.CodeInvalidRequest, Message: "The text is not the code of an admission.",
				Violations: []ticketing.Violation{{Message: "code: must be SVC1:<event id>:<admission id>"}},
			})
		})
	}
}

// FuzzParseAdmissionCode holds every text against the form of a code. What is accepted formats to the text again, but
// for case and white space around it. What is refused does not have the form, and is not in the error.
func FuzzParseAdmissionCode(f *testing.F) {
	event, admission := uuid.MustParse(codeEvent), uuid.MustParse(codeAdmission)
	code := ticketing.FormatAdmissionCode(event, admission)
	for _, text := range []string{
		"", "SVC1", "SVC1::", code, strings.ToLower(code), " " + code + "\r\n", code + ":", "SVC2" + code[4:], code[:77],
		"ſVC1" + code[4:], "\ufeff" + code, strings.ReplaceAll(code, "-", ""), "SVC1:{" + codeEvent + "}:" + codeAdmission,
		"SVC1:urn:uuid:" + codeEvent + ":" + codeAdmission, strings.ReplaceAll(code, "-4", "-1"),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { holdsCode(t, text) })
}

var codePattern = regexp.MustCompile(
	`^[Ss][Vv][Cc]1(:[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-4[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}){2}$`)

// holdsCode checks ParseAdmissionCode of any text against the pattern of a code and against FormatAdmissionCode.
func holdsCode(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text string,
) {
	t.Helper()
	event, admission, err := ticketing.ParseAdmissionCode(text)
	trimmed := strings.TrimFunc(text, unicode.IsSpace)
	switch formed := codePattern.MatchString(trimmed); {
	case (err == nil) != formed:
		t.Fatalf("%q has the form: %v, and gives %v", text, formed, err)
	case err == nil && ticketing.FormatAdmissionCode(event, admission) != strings.ToUpper(trimmed):
		t.Fatalf("%q is read as %s and %s", text, event, admission)
	case err != nil && len(trimmed) > 36 && strings.Contains(err.Error(), trimmed):
		t.Fatalf("the error repeats %q", text)
	}
}

// drawID draws a UUID of version 4.
func drawID(r *rapid.T, label string) (id uuid.UUID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), len(id), len(id)).Draw(r, label))
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// reads checks that a text is read as the code of these ids.
func reads(t *testing.T, text string, event, admission uuid.UUID) {
	t.Helper()
	is := is.New(t)
	gotEvent, gotAdmission, err := ticketing.ParseAdmissionCode(text)
	is.NoErr(err)
	is.Equal(gotEvent, event)
	is.Equal(gotAdmission, admission)
}

// This example makes the code that a ticket shows, and reads what a scanner makes of it.
func ExampleParseAdmissionCode() {
	event, admission := uuid.MustParse(codeEvent), uuid.MustParse(codeAdmission)
	fmt.Println(ticketing.FormatAdmissionCode(event, admission))

	eventID, admissionID, err := ticketing.ParseAdmissionCode(
		"svc1:9a1f5f0e-2b7c-4d8e-a1b2-c3d4e5f60718:3f0c2a52-4f3e-4f5e-8f43-1d1c0b9a8e77\r\n")
	fmt.Println(eventID, admissionID, err)

	_, _, err = ticketing.ParseAdmissionCode("5901234123457") // the barcode of a bottle
	fmt.Println(err)
	// Output:
	// SVC1:9A1F5F0E-2B7C-4D8E-A1B2-C3D4E5F60718:3F0C2A52-4F3E-4F5E-8F43-1D1C0B9A8E77
	// 9a1f5f0e-2b7c-4d8e-a1b2-c3d4e5f60718 3f0c2a52-4f3e-4f5e-8f43-1d1c0b9a8e77 <nil>
	// INVALID_REQUEST: code: must be SVC1:<event id>:<admission id>
}
