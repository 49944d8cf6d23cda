package ticketing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// A company is found by its id, a beginning of it, or its exact name. A text that names several is refused with their
// ids.
func TestFindCompany(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ctx := t.Context()
		ids := make(map[string]uuid.UUID)
		long := strings.Repeat("Ọjà ", 20) // longer than what lists compare
		for _, name := range []string{"Lagos Live", "lagos live", "Lagos Live Ltd", long + "one", long + "two", "Twins"} {
			company, err := e.staff.CreateCompany(ctx, name)
			is.NoErr(err)
			ids[name] = company.ID
		}
		twin, err := e.staff.CreateCompany(ctx, "Twins")
		is.NoErr(err)
		lagos := ids["Lagos Live"]
		for _, test := range []struct {
			name, text string
			want       uuid.UUID
			refused    ticketing.Code
		}{
			{"by id", lagos.String(), lagos, ""},
			{"by id in capitals", strings.ToUpper(lagos.String()), lagos, ""},
			{"by the beginning of the id", lagos.String()[:35], lagos, ""},
			{"by that in capitals", strings.ToUpper(lagos.String()[:35]), lagos, ""},
			{"by name", " Lagos Live\n", lagos, ""},
			{"by a name of another case", "lagos live", ids["lagos live"], ""},
			{"by a long name", long + "two", ids[long+"two"], ""},
			{"by the beginning of a name", "Lagos", uuid.Nil, ticketing.CodeNotFound},
			{"by no name", "", uuid.Nil, ticketing.CodeNotFound},
			{"by an unknown id", uuid.NewString(), uuid.Nil, ticketing.CodeNotFound},
			{"by too short a beginning", lagos.String()[:3], uuid.Nil, ticketing.CodeNotFound},
			{"by the name of several", "Twins", uuid.Nil, ticketing.CodeConflict},
		} {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				found, err := e.staff.FindCompany(ctx, test.text)
				if test.refused != "" {
					is.True(errors.Is(err, test.refused))
				} else {
					is.NoErr(err)
				}
				is.Equal(found.ID, test.want)
			})
		}
		_, err = e.staff.FindCompany(ctx, "Twins")
		refused, ok := errors.AsType[*ticketing.Error](err)
		is.True(ok)
		is.True(strings.Contains(refused.Message, ids["Twins"].String()))
		is.True(strings.Contains(refused.Message, twin.ID.String()))
	})
}
