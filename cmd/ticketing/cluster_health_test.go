package main_test

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
)

// A server is ready while nodes of its cluster do not respond, and says which. The metrics count them.
func TestAbsentNodes(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for _, test := range []struct {
		absent []int
		body   string
	}{
		{nil, "ok\n"},
		{[]int{2}, "ok\nabsent nodes: 2\n"},
		{[]int{2, 5}, "ok\nabsent nodes: 2, 5\n"},
	} {
		status, body := program.Readiness(t.Context(), test.absent)
		is.Equal(status, http.StatusOK)
		is.Equal(body, test.body)
	}
}
