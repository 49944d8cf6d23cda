// Package contrast compares colours, by the Web Content Accessibility Guidelines.
package contrast

import (
	"math"
	"strconv"
)

// Least is the least contrast of text with its background, by the Web Content Accessibility Guidelines (AA).
const Least = 4.5

// Color is an opaque colour of sRGB.
type Color struct{ R, G, B uint8 }

// Parse parses # and six hexadecimal digits. It returns the fallback for anything else: the text is put into styles, so
// only a colour may pass.
func Parse(text string, fallback Color) Color {
	if len(text) != 7 || text[0] != '#' {
		return fallback
	}
	n, err := strconv.ParseUint(text[1:], 16, 24)
	if err != nil {
		return fallback
	}
	return Color{uint8(n >> 16), uint8(n >> 8 & 0xFF), uint8(n & 0xFF)}
}

// String returns the colour as # and six hexadecimal digits.
func (c Color) String() string {
	n := 1<<24 | uint64(c.R)<<16 | uint64(c.G)<<8 | uint64(c.B)
	return "#" + strconv.FormatUint(n, 16)[1:]
}

// luminance returns the relative luminance, from 0 for black to 1 for white.
func (c Color) luminance() float64 {
	linear := func(part uint8) float64 {
		v := float64(part) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// Ratio returns the contrast ratio of two colours, from 1 to 21.
func Ratio(a, b Color) float64 {
	lighter, darker := a.luminance(), b.luminance()
	if lighter < darker {
		lighter, darker = darker, lighter
	}
	return (lighter + 0.05) / (darker + 0.05)
}

// TextOn returns the colour of text on a background: white or black, the one with more contrast. It is at least 4.58 on
// every background.
func TextOn(background Color) Color {
	white, black := Color{255, 255, 255}, Color{}
	if Ratio(white, background) >= Ratio(black, background) {
		return white
	}
	return black
}

// Readable returns a colour for text on a background, or the fallback if its contrast is too low.
func Readable(text, background, fallback Color) Color {
	if Ratio(text, background) < Least {
		return fallback
	}
	return text
}
