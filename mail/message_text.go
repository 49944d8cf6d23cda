package mail

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxName and maxSubject are in characters. They exceed what the service makes, and limit what a host can pass.
	maxName, maxSubject = 250, 500
	maxContentType      = 200
	maxID               = 250
	maxFileName         = 100

	// maxPlainWord is the length of a word that is written as it is, and maxEncodedWord that of an encoded one, of which
	// RFC 2047 allows 75. Headers are folded between words.
	maxPlainWord, maxEncodedWord = 60, 75
)

var (
	messageIDForm = regexp.MustCompile(`^<[^\s<>@]+@[^\s<>@]+>$`)
	contentIDForm = regexp.MustCompile(`^[A-Za-z0-9._+-]+(@[A-Za-z0-9.-]+)?$`)
	notInFileName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
)

func isMessageID(s string) bool {
	return len(s) <= maxID && isPrintable(s) && messageIDForm.MatchString(s)
}

func isContentID(s string) bool { return len(s) <= maxID && contentIDForm.MatchString(s) }

// fileName returns the name with an underscore for each character that could have a meaning to a mail program or a file
// system.
func fileName(s string) string {
	s = strings.TrimLeft(notInFileName.ReplaceAllString(s, "_"), ".")
	if s == "" {
		return "file"
	}
	return s[max(0, len(s)-maxFileName):]
}

// headerLine returns the text on one line of at most limit characters. Control characters and white space become single
// spaces. Characters that change or embed a direction are left out: in a name they would affect the text after it, too.
func headerLine(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
			return -1
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit-1]) + "…"
	}
	return s
}

// headerName returns the display name of an address, which the library quotes, or encodes if it is not ASCII. Many
// readers decode encoded words also between quotes, where RFC 2047 does not allow them, so a name that looks like one
// gets a space. The library does not escape a backslash in an encoded word, which would make the whole address
// malformed. There a full-width backslash replaces it.
func headerName(s string) string {
	s = strings.ReplaceAll(headerLine(s, maxName), "=?", "= ?")
	if !isPrintable(s) {
		s = strings.ReplaceAll(s, `\`, "\uFF3C")
	}
	return s
}

// headerSubject returns the subject as it is written to the header: as it is, or as encoded words of RFC 2047. It also
// encodes what a reader would decode, or what could not be folded.
func headerSubject(s string) string {
	s = headerLine(s, maxSubject)
	plain := isPrintable(s) && !strings.Contains(s, "=?")
	for word := range strings.SplitSeq(s, " ") {
		plain = plain && len(word) <= maxPlainWord
	}
	if plain {
		return s
	}
	return encodeWords(s)
}

// encodeWords returns the text as encoded words with a space between them, which a reader leaves out. No character is
// divided. They are in the encoding that is shorter for the text.
func encodeWords(s string) string {
	encode, prefix := encodeQ, "=?UTF-8?Q?"
	if 3*len(encodeQ([]byte(s))) > 4*len(s) {
		encode, prefix = base64.StdEncoding.EncodeToString, "=?UTF-8?B?"
	}
	const suffix = "?="
	room := maxEncodedWord - len(prefix) - len(suffix)
	var words []string
	from := 0
	for at, r := range s {
		if len(encode([]byte(s[from:at+utf8.RuneLen(r)]))) > room {
			words = append(words, prefix+encode([]byte(s[from:at]))+suffix)
			from = at
		}
	}
	words = append(words, prefix+encode([]byte(s[from:]))+suffix)
	return strings.Join(words, " ")
}

// encodeQ returns the text in the "Q" encoding of RFC 2047, in the form for all headers.
func encodeQ(s []byte) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == ' ':
			b.WriteByte('_')
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("!*+-/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// isPrintable reports whether the text is printable ASCII, or empty.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
