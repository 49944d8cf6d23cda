package console_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

// TestWithoutMailPeopleLearnHowToComeBack compares a service that mails codes with one that sends no mail, where a
// person without a passkey depends on a link for each sign-in.
func TestWithoutMailPeopleLearnHowToComeBack(t *testing.T) {
	t.Parallel()
	for _, mails := range []bool{true, false} {
		ok, s := is.New(t), newSite(t, func(c *console.Config) {
			if !mails {
				c.Mailer = nil
			}
		})
		s.clients["visitor"] = s.newClient(t)
		link, err := s.Accounts().CreateLink(t.Context(), ticketing.LinkParams{UserID: s.users[owner], Actor: "test"})
		ok.NoErr(err)
		offered := s.follow(t, "visitor", s.post(t, "visitor", "/sign-in/link", "token", link.Token))
		ok.Equal(offered.has("Sign in faster next time"), mails)
		ok.Equal(offered.has("without a passkey you need a new link for each sign-in"), !mails)

		const command = "ticketing user link stranger@example.com"
		invited := s.post(t, owner, members+"/invite", "name", "S", "email", address(stranger), "role", "VIEWER")
		ok.True(invited.has("already sign in with"))
		ok.Equal(invited.has(command), !mails)
		added := s.post(t, chief, "/platform/staff/add", "name", "S", "email", address(stranger), "role", "SUPPORT")
		ok.True(added.has("already sign in with"))
		ok.Equal(added.has(command), !mails)
	}
}
