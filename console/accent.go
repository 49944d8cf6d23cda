package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/floatgate/ticketing/internal/contrast"
	"github.com/floatgate/ticketing/internal/webfile"
)

// isReadable reports whether a colour such as "#2563EB" stands out from white by 4.5 to 1, so that it can be the colour
// of buttons with white text and of links on white.
func isReadable(text string) bool {
	digits, ok := strings.CutPrefix(text, "#")
	return ok && isColor(digits) && contrastOf(text, white) >= contrast.Least
}

// coloredBar returns the stylesheet of the bar and one rule that sets the accent, since the policy allows no style in a
// page. It is one file, because each file that comes before the first paint delays it.
func coloredBar(color string) []byte {
	return slices.Concat(barText, []byte("@layer accent{:root{--accent-light:#"+strings.ToLower(color)+"}}\n"))
}

// barVersion is the version of all these files: that of the one in white.
var barVersion = sync.OnceValue(func() string {
	return webfile.New(coloredBar("ffffff")).Version()
})

// barStep returns the stylesheet of the bar in a colour.
func barStep(_ context.Context, x *exchange) (answer, error) {
	color, isStyle := strings.CutSuffix(x.r.PathValue("color"), ".css")
	if !isStyle || !isReadable("#"+color) {
		return answer{}, errNoPage
	}
	return answer{
		status: http.StatusOK, contentType: "text/css; charset=utf-8", caching: cacheControl(x.r, barVersion()),
		body: coloredBar(color),
	}, nil
}
