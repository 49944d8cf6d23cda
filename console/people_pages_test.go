package console_test

import (
	"net/http"
	"testing"

	"github.com/matryer/is"
)

func TestLimitIsOfListsAlone(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, path := range []string{"/account", "/business/{companyId}", "/business/{companyId}/webhooks", "/platform"} {
		got := s.get(t, chief, "/api/v2"+path+"?limit=5")
		ok.Equal(got.StatusCode, http.StatusBadRequest) // path
		ok.True(got.has("limit: is not a known query parameter"))
	}
	ok.Equal(s.postJSON(t, owner, "/account/sessions/end-others?limit=5", "").StatusCode, http.StatusBadRequest)
}

func TestPeopleAreListedByLimit(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for path, total := range map[string]int{"/business/{companyId}/members": 3, "/platform/staff": 5} {
		var some, rest []map[string]any
		first := s.get(t, chief, "/api/v2"+path+"?limit=2")
		first.data(t, &some)
		ok.Equal(len(some), 2)
		s.get(t, chief, "/api/v2"+path+"?limit=100&cursor="+some[1]["userId"].(string)).data(t, &rest)
		ok.Equal(len(rest), total-2)
		for _, bad := range []string{"0", "-1", "101", "x"} {
			ok.Equal(s.get(t, chief, "/api/v2"+path+"?limit="+bad).StatusCode, http.StatusBadRequest) // bad
		}
	}
}
