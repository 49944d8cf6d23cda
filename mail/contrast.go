package mail

import (
	"math"
	"strconv"
)

// minContrast is the least contrast of text with what is under it, by the Web Content Accessibility Guidelines (AA).
const minContrast = 4.5

// color is an opaque colour of sRGB.
type color struct{ R, G, B uint8 }

// parseColor parses # and six hexadecimal digits. It returns the fallback for anything else: the text goes into styles,
// so nothing but a colour may pass.
func parseColor(text string, fallback color) color {
	if len(text) != 7 || text[0] != '#' {
		return fallback
	}
	n, err := strconv.ParseUint(text[1:], 16, 24)
	if err != nil {
		return fallback
	}
	return color{uint8(n >> 16), uint8(n >> 8 & 0xFF), uint8(n & 0xFF)}
}

// String returns the colour as # and six hexadecimal digits.
func (c color) String() string {
	n := 1<<24 | uint64(c.R)<<16 | uint64(c.G)<<8 | uint64(c.B)
	return "#" + strconv.FormatUint(n, 16)[1:]
}

// luminance returns the relative luminance, from 0 for black to 1 for white.
func (c color) luminance() float64 {
	linear := func(part uint8) float64 {
		v := float64(part) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// contrast returns the contrast ratio of two colours, from 1 to 21.
func contrast(a, b color) float64 {
	lighter, darker := a.luminance(), b.luminance()
	if lighter < darker {
		lighter, darker = darker, lighter
	}
	return (lighter + 0.05) / (darker + 0.05)
}

// textOn returns the colour of text on a background: white or black, the one with more contrast. It is at least 4.58 on
// every background.
func textOn(background color) color {
	white, black := color{255, 255, 255}, color{}
	if contrast(white, background) >= contrast(black, background) {
		return white
	}
	return black
}

// readable returns a colour for text on a background, or the fallback if its contrast is too low.
func readable(text, background, fallback color) color {
	if contrast(text, background) < minContrast {
		return fallback
	}
	return text
}
