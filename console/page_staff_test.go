package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

func TestStaffAreAddedWithALinkOnce(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const path = "/platform/staff"
	shown := s.get(t, finance, path)
	ok.True(shown.has("5 people work for the platform.") && shown.has("chief@example.com"))
	ok.True(!shown.has("/staff/add") && !shown.has("/role"))
	refused := s.post(t, chief, path+"/add", "email", "no address", "name", "Ngozi", "role", "SUPPORT")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`value="no address"`) && refused.has("aria-invalid"))

	added := s.post(t, chief, path+"/add", "email", "ngozi@example.com", "name", "Ngozi <x>", "role", "SUPPORT")
	ok.True(added.has("Ngozi &lt;x&gt;</bdi> works for the platform"))
	_, after, found := strings.Cut(added.text, "/sign-in/link#")
	ok.True(found)
	token, _, _ := strings.Cut(after, "<")
	in, err := s.Accounts().OpenLink(t.Context(), token, ticketing.Client{})
	ok.NoErr(err)
	ok.True(!s.get(t, chief, path).has("sign-in/link"))

	// Who signs in already gets no link: it would let an administrator act as them.
	for _, known := range []string{owner, chief, "ngozi"} {
		role := "ADMINISTRATOR"
		if known == "ngozi" {
			role = "SUPPORT"
		}
		again := s.post(t, chief, path+"/add", "email", address(known), "name", known, "role", role)
		ok.Equal(again.StatusCode, http.StatusOK) // known
		ok.True(!again.has("/sign-in/link") && again.has("already sign in with"))
	}
	ngozi := path + "/" + in.Session.UserID.String()
	ok.True(s.follow(t, chief, s.post(t, chief, ngozi+"/role", "role", "AUDITOR")).has("The role was changed."))
	ok.True(!s.follow(t, chief, s.post(t, chief, ngozi+"/remove")).has("ngozi@example.com"))
	// They have no place left, so their session has ended.
	_, err = s.Accounts().Session(t.Context(), in.Secret)
	ok.True(err != nil)
}

func TestLastAdministratorStays(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	mine := "/platform/staff/" + s.users[chief].String()
	for _, got := range []page{s.post(t, chief, mine+"/remove"), s.post(t, chief, mine+"/role", "role", "SUPPORT")} {
		ok.Equal(got.StatusCode, http.StatusConflict)
		ok.True(got.has("Make somebody else an administrator first."))
	}
	s.post(t, chief, "/platform/staff/add", "email", address(finance), "name", "F", "role", "ADMINISTRATOR") // is FINANCE
	ok.Equal(s.post(t, chief, "/platform/staff/"+s.users[finance].String()+"/role", "role", "ADMINISTRATOR").StatusCode,
		http.StatusSeeOther)
	ok.Equal(s.post(t, chief, mine+"/remove").Header.Get("Location"), "/business")
	// They have no place left, so their session has ended.
	ok.True(strings.HasPrefix(s.get(t, chief, "/platform").Header.Get("Location"), "/sign-in"))
}
