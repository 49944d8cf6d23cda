package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// room is a body that records the size of the buffers that it was read into.
type room struct {
	io.Reader

	read int
	// most is how much the largest buffer was larger than twice what had been read by then.
	most int
}

func (r *room) Read(p []byte) (int, error) {
	r.most = max(r.most, len(p)-2*r.read)
	n, err := r.Reader.Read(p[:min(len(p), 1_000)]) // As it arrives over a network.
	r.read += n
	return n, err
}

func (*room) Close() error { return nil }

// Memory for a body grows with what arrives: a Content-Length alone, with or without a first byte, costs a few
// kilobytes.
func TestBodyGrowsWithWhatArrives(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	const limit = 256 << 10
	for _, test := range []struct {
		name, arrives string
	}{
		{"nothing", ""},
		{"a byte", "{"},
		{"all of it", `{"eventId":"` + strings.Repeat("x", limit-14) + `"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			r := d.request(t, http.MethodPost, "/pricing/quote", "")
			body := &room{Reader: strings.NewReader(test.arrives)}
			r.Body, r.ContentLength = body, limit
			is.Equal(d.serve(t, r).status, http.StatusBadRequest)
			is.Equal(body.read, len(test.arrives))
			is.True(body.most <= 8<<10)
		})
	}
}
