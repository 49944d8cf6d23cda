package testname_test

import (
	"os/exec"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/testname"
)

// A pattern is one argument for a shell, whatever the name of the test has in it.
func TestPattern(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(testname.Pattern("TestSale"), `'^TestSale$'`)
	said, err := exec.CommandContext(t.Context(), "sh", "-c",
		"printf %s "+testname.Pattern("TestSale/the_host's_own/2.5_(a)")).Output()
	is.NoErr(err)
	is.Equal(string(said), `^TestSale$/^the_host's_own$/^2\.5_\(a\)$`)
}
