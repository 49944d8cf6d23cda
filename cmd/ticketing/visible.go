package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// visible is a text as a terminal may show it: a character that is not seen there is <U+202E>, its number, so that no name
// passes for another. Tabs and line breaks stay, as do the formats that are seen, such as the Arabic number sign. It is
// for people: JSON and what is stored keep a text as it is.
func visible(text string) string {
	if !strings.ContainsFunc(text, isUnseen) {
		return text
	}
	var shown strings.Builder
	for _, r := range text {
		if isUnseen(r) {
			fmt.Fprintf(&shown, "<U+%04X>", r)
		} else {
			shown.WriteRune(r)
		}
	}
	return shown.String()
}

// isUnseen reports whether a terminal does not show a character, or shows others in another order or place for it:
// controls (Cc), formats (Cf: zero-width spaces and joiners, marks, embeddings, overrides and isolates of direction, the
// byte order mark, tags), line and paragraph separators, variation selectors, and what Unicode calls
// Default_Ignorable_Code_Point beside these, such as fillers of Hangul.
func isUnseen(r rune) bool {
	return r != '\t' && r != '\n' && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && unicode.In(r,
		unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point)
}

// quoted is a name in a sentence for a person.
func quoted(name string) string { return strconv.Quote(visible(name)) }
