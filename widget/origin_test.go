package widget_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/widget"
)

// query returns the query of the frame's document as the SDK writes it.
func query(origin string) string { return "origin=" + url.QueryEscape(origin) }

// FuzzFrameOrigin checks that what is served has an origin that cannot leave its place in the header or in the text,
// and that a URL parser reads as nothing but an https origin with that host.
func FuzzFrameOrigin(f *testing.F) {
	for origin := range origins {
		f.Add(origin)
	}
	handler := widget.New(nil)
	safe := regexp.MustCompile(`^https://([a-z0-9._-]+|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?$`)
	f.Fuzz(func(t *testing.T, origin string) {
		is := is.New(t)
		response := request(t, handler, "GET", "/embed/v1/events?"+query(origin), nil)
		policy := response.header.Get("Content-Security-Policy")
		_, ancestors, _ := strings.Cut(policy, "; frame-ancestors ")
		if response.status != http.StatusOK {
			is.Equal(response.status, 400)
			is.Equal(ancestors, "'none'")
			return
		}
		is.Equal(ancestors, origin)
		is.True(safe.MatchString(origin))
		is.True(strings.Contains(response.body, ` data-frame="`+origin+`" defer>`))
		u, err := url.Parse(origin)
		is.NoErr(err)
		is.Equal(u.Scheme+"://"+u.Host, origin)
		is.True(u.Port() != "443")
		if strings.Contains(u.Host, "[") {
			ip, err := netip.ParseAddr(u.Hostname())
			is.NoErr(err)
			is.True(ip.Is6())
		}
	})
}
