package widget_test

import (
	"testing"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// What a person sees of the widget, and what the widget sends, in a browser that these tests share.
func TestView(t *testing.T) {
	t.Parallel()
	browser := browsertest.New(t)
	for name, test := range map[string]func(*testing.T, browsertest.Browser){
		"access": testAccess, "codes": testCodes, "details": testDetails, "doubt": testDoubt, "entries": testEntries,
		"event": testEvent, "hostile": testHostile,
		"keyboard": testKeyboard, "list": testList, "purchase": testPurchase, "refusals": testRefusals,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, browser)
		})
	}
}
