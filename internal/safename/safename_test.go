package safename_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/safename"
)

// Valid checks the characters, the first character, and the length at both ends.
func TestValid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		want bool
	}{
		{name: "az09AZ.:_-", want: true},
		{name: "12345678", want: true},
		{name: strings.Repeat("a", 16), want: true},
		{name: strings.Repeat("a", 17)},
		{name: "1234567"},
		{name: ""},
		{name: ".bcdefgh"},
		{name: "-bcdefgh"},
		{name: "abc defgh"},
		{name: "abcdefg\n"},
		{name: "abcdefgé"},
		{name: "abcdefg/"},
	} {
		is.New(t).Equal(safename.Valid(test.name, 8, 16), test.want)
	}
}
