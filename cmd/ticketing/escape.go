package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escape returns a text as it can be shown on a terminal. It replaces each invisible character by its number, such as
// <U+202E>, so that no name passes for another. It keeps tabs and line breaks, and visible format characters such as
// the Arabic number sign. It is for people: the database keeps a text as it is, and so does JSON, see [escapeJSON].
func escape(text string) string {
	if !strings.ContainsFunc(text, isInvisible) {
		return text
	}
	var shown strings.Builder
	for _, r := range text {
		if isInvisible(r) {
			fmt.Fprintf(&shown, "<U+%04X>", r)
		} else {
			shown.WriteRune(r)
		}
	}
	return shown.String()
}

// isInvisible reports whether a terminal does not show a character, or shows other characters in another order or place
// because of it. These are controls (Cc) and formats (Cf): zero-width spaces and joiners, marks, embeddings, overrides
// and isolates of direction, the byte order mark, and tags. They include line and paragraph separators, variation
// selectors, and the remaining characters with the property Default_Ignorable_Code_Point, such as the Hangul fillers.
func isInvisible(r rune) bool {
	return r != '\t' && r != '\n' && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && unicode.In(r,
		unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point)
}

// escapeJSON returns JSON with the same meaning and without invisible characters: they can only be in its texts, where
// each has an escape sequence such as \u202e.
func escapeJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, isInvisible) {
		return text
	}
	var shown []byte
	for _, r := range string(text) {
		if !isInvisible(r) {
			shown = utf8.AppendRune(shown, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			shown = fmt.Appendf(shown, `\u%04x`, unit)
		}
	}
	return shown
}

// quoted returns a name in quotes, for a sentence that a person reads.
func quoted(name string) string { return strconv.Quote(escape(name)) }
