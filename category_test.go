package ticketing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

func TestCategoriesHaveNamesAndSlugs(t *testing.T) {
	t.Parallel()
	const slug = "slug: must be 1 to 100 characters: words of a-z and 0-9, joined by single hyphens"
	tests := []struct {
		name     string
		category string
		slug     string
		want     string
	}{
		{name: "one of each", category: "A", slug: "a"},
		{name: "100 of each", category: strings.Repeat("é", 100), slug: strings.Repeat("b", 100)},
		{name: "words", category: " Live music ", slug: "live-music-2"},
		{name: "no name", category: " ", slug: "c", want: "name: must not be empty"},
		{name: "long name", category: strings.Repeat("a", 101), slug: "c", want: "name: must be at most 100 characters"},
		{name: "no slug", category: "C", slug: "", want: slug},
		{name: "long slug", category: "C", slug: strings.Repeat("a", 101), want: slug},
		{name: "upper case", category: "C", slug: "Live", want: slug},
		{name: "space", category: "C", slug: "live music", want: slug},
		{name: "hyphen before", category: "C", slug: "-live", want: slug},
		{name: "hyphen behind", category: "C", slug: "live-", want: slug},
		{name: "two hyphens", category: "C", slug: "live--music", want: slug},
		{name: "other letters", category: "C", slug: "musí", want: slug},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				_, err := e.staff.CreateCategory(t.Context(), test.category, test.slug)
				is.New(t).Equal(said(err), test.want)
			})
		}
	})
}

func TestASlugIsTakenForEver(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		music, err := e.staff.CreateCategory(t.Context(), "Music", "music")
		is.NoErr(err)
		art, err := e.staff.CreateCategory(t.Context(), "Art", "art")
		is.NoErr(err)
		music.Status = ticketing.CategoryInactive
		for range 2 {
			answer, err := e.staff.DeactivateCategory(t.Context(), music.ID)
			is.NoErr(err)
			is.Equal(answer, music)
		}
		_, err = e.staff.CreateCategory(t.Context(), "Musik", "music")
		is.Equal(code(err), ticketing.CodeConflict)
		_, err = e.staff.DeactivateCategory(t.Context(), uuid.New())
		is.Equal(code(err), ticketing.CodeNotFound)

		listed, err := e.staff.ListCategories(t.Context())
		is.NoErr(err)
		is.Equal(listed, []ticketing.Category{art, music})
		told, err := json.Marshal(listed[1])
		is.NoErr(err)
		is.Equal(string(told), fmt.Sprintf(`{"id":%q,"name":"Music","slug":"music","status":"INACTIVE"}`, music.ID.String()))
	})
}

// TestACategoryChangesOnceAtOnce checks concurrent calls that create a category of one slug, and concurrent calls that
// deactivate one. Only one of the calls makes the change, and only that one is in the audit log.
func TestACategoryChangesOnceAtOnce(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		const staff, rounds = 8, 5
		for round := range rounds {
			slug := fmt.Sprintf("music-%d", round)
			made, refused := make([]ticketing.Category, staff), make([]error, staff)
			var wg sync.WaitGroup
			for i := range staff {
				wg.Go(func() { made[i], refused[i] = e.staff.CreateCategory(t.Context(), "Music", slug) })
			}
			wg.Wait()
			var music ticketing.Category
			for i, err := range refused {
				if err == nil {
					is.Equal(music, ticketing.Category{}) // a second one was created
					music = made[i]
					continue
				}
				is.Equal(code(err), ticketing.CodeConflict)
			}
			errs := make([]error, staff)
			for i := range staff {
				wg.Go(func() { errs[i] = second(e.staff.DeactivateCategory(t.Context(), music.ID)) })
			}
			wg.Wait()
			is.NoErr(errors.Join(errs...))
		}
		page, err := e.staff.ListAudit(t.Context(), uuid.Nil, auditPage(ticketing.MaxPageLimit))
		is.NoErr(err)
		told := map[string]int{}
		for _, act := range page.Items {
			told[act.Action]++
		}
		is.Equal(told, map[string]int{"category.create": rounds, "category.deactivate": rounds})
	})
}

func TestCategoriesBeyondABatchAreListed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		listed, err := e.staff.ListCategories(t.Context())
		is.NoErr(err)
		is.True(listed != nil) // [] in JSON
		const count = 501
		for i := range count {
			_, err := e.staff.CreateCategory(t.Context(), "Category", fmt.Sprintf("c%03d", i))
			is.NoErr(err)
		}
		listed, err = e.staff.ListCategories(t.Context())
		is.NoErr(err)
		is.Equal(len(listed), count)
		is.Equal(listed[count-1].Slug, "c500")
	})
}
