package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

// TestCursorIsOfItsListAlone sends the cursor of each list to every other list, and to the same list of another
// company.
func TestCursorIsOfItsListAlone(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.fillShop(t)
	s.fillPlatform(t)
	s.books.Event(t)
	for range 2 {
		s.endpoint(t)
		s.sellTo(t, "ngozi@example.com", 1)
		_, err := s.staff.UpdateBranding(t.Context(), s.company, ticketing.UpdateBrandingParams{EmailFooter: new("x")})
		ok.NoErr(err)
	}
	s.signIn(t, chief)
	ask := func(path, query string) page { return s.get(t, chief, "/api/v2"+path+"?"+query) }
	cursors := map[string]string{}
	var paths []string
	for _, route := range console.Pages() {
		path := strings.ReplaceAll(route.Path, "{companyId}", s.company.String())
		if !slices.Contains(route.Query, "cursor") || strings.Contains(path, "{") {
			continue
		}
		paths = append(paths, path)
		first := ask(path, "limit=1")
		ok.Equal(first.StatusCode, http.StatusOK) // path
		if next := first.next(t); next != "" {
			cursors[path] = next
		}
	}
	ok.True(len(cursors) >= len(paths)-2) // A company has one open settlement.
	for from, cursor := range cursors {
		query := "cursor=" + url.QueryEscape(cursor)
		ok.Equal(ask(from, query).StatusCode, http.StatusOK) // from
		elsewhere := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == from })
		if other := strings.ReplaceAll(from, s.company.String(), s.other.String()); other != from {
			elsewhere = append(elsewhere, other)
		}
		for _, path := range elsewhere {
			if got := ask(path, query); got.StatusCode != http.StatusBadRequest {
				t.Errorf("%s gets %d with the cursor of %s, want 400", path, got.StatusCode, from)
			}
		}
	}
}

// next returns the cursor of the page after a page of a list; empty: there is none.
func (p page) next(t *testing.T) string {
	t.Helper()
	var body struct {
		Page struct {
			NextCursor string `json:"nextCursor"`
		} `json:"page"`
	}
	decode(t, p.text, &body)
	return body.Page.NextCursor
}
