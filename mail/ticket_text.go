package mail

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean returns an untrusted text on one line. Control characters and line separators become spaces. Characters that
// change the direction of the text after them are removed: a reader would see another text than the one that was
// checked. Invalid UTF-8 becomes U+FFFD.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case '\u202A' <= r && r <= '\u202E', '\u2066' <= r && r <= '\u2069', r == '\uFEFF':
			return -1
		}
		return r // of invalid UTF-8 it is U+FFFD
	}, text)
	return strings.TrimSpace(text)
}

// cleanHeader returns a text for a header, with at most limit characters. Nothing in it reads as an encoded word (RFC
// 2047), which a mail program would decode.
func cleanHeader(text string, limit int) string {
	return shorten(strings.ReplaceAll(clean(text), "=?", "= ?"), limit)
}

// shorten returns a text with at most limit characters. A shortened text ends with an ellipsis. It is not cut within a
// character that is composed of several, such as an emoji or a letter with combining marks.
func shorten(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	return cutAt(runes, limit-1)
}

// cutAt returns the first n characters and an ellipsis, and fewer where the cut would be within a composed character.
func cutAt(runes []rune, n int) string {
	for n > 0 && (joins(runes[n]) || runes[n-1] == zeroWidthJoiner) {
		n--
	}
	return strings.TrimSpace(string(runes[:n])) + "…"
}

// zeroWidthJoiner joins two emoji to one.
const zeroWidthJoiner = '\u200D'

// joins reports whether a character continues the one before it.
func joins(r rune) bool {
	return r == zeroWidthJoiner || unicode.IsMark(r) || '\U0001F3FB' <= r && r <= '\U0001F3FF'
}

// fit returns a text that takes at most limit bytes in HTML. A shortened text ends with an ellipsis.
func fit(text string, limit int) string {
	// An escaped byte takes five at most, so most texts are short enough without a look at each character.
	if 5*len(text) <= limit {
		return text
	}
	runes := []rune(text)
	size, last := 0, 0 // last is how many characters fit beside an ellipsis
	for i, r := range runes {
		if strings.ContainsRune(`"&'+<>`, r) {
			size += len("&#34;")
		} else {
			size += utf8.RuneLen(r)
		}
		if size <= limit-len("…") {
			last = i + 1
		}
		if size > limit {
			return cutAt(runes, last)
		}
	}
	return text
}
