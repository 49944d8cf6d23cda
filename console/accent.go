package console

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// isReadable reports whether a colour such as "#2563EB" stands out from white by 4.5 to 1, so that it can be the colour
// of buttons with white text and of links on white.
func isReadable(text string) bool {
	digits, ok := strings.CutPrefix(text, "#")
	n, err := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil || len(digits) != 6 {
		return false
	}
	const white, offset, least = 1.0, 0.05, 4.5
	light := 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
	return (white+offset)/(light+offset) >= least
}

// linear returns the light of the lowest eight bits of a colour.
func linear(channel uint64) float64 {
	c := float64(channel&0xff) / 0xff
	if c <= 0.04045 {
		return c / 12.92
	}
	return math.Pow((c+0.055)/1.055, 2.4)
}

// accentStep returns a stylesheet that sets the accent, since the policy allows no style in a page.
func accentStep(_ context.Context, x *exchange) (answer, error) {
	color, isStyle := strings.CutSuffix(x.r.PathValue("color"), ".css")
	if !isStyle || !isReadable("#"+color) {
		return answer{}, errNoPage
	}
	return answer{
		status: http.StatusOK, contentType: "text/css; charset=utf-8", public: true,
		body: []byte("@layer accent{:root{--accent-light:#" + strings.ToLower(color) + "}}\n"),
	}, nil
}
