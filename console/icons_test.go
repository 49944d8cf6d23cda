package console_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/console"
)

// Every icon that a template, a page or the navigation names is in icons.svg, or it would be shown as a circle.
func TestIconsExist(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	used := console.UsedIcons()
	ok.True(len(used) > 50)
	ok.True(strings.Contains(console.Icon("unknown"), "<circle"))
	for _, name := range used {
		if !slices.Contains(console.Icons(), name) {
			t.Errorf("icons.svg has no %q", name)
		}
	}
	for _, name := range console.Icons() {
		if !slices.Contains(used, name) && name != "none" {
			t.Errorf("nothing uses the icon %q", name)
		}
	}
}
