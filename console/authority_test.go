package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestOnboardingInvitesByMailAlone checks that staff who are not administrators see no link of a member whom they
// invite, and that they cannot add themselves.
func TestOnboardingInvitesByMailAlone(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	invite := func(who, email, by string) page {
		return s.post(t, who, members+"/invite", "name", "Ada", "email", email, "role", "OWNER", "by", by)
	}
	shown := invite(onboarding, "ada@example.com", "link")
	ok.Equal(shown.StatusCode, http.StatusOK)
	ok.True(shown.has("You get no link, because you could open it yourself."))
	ok.True(!shown.has("/sign-in/link#"))
	mailed := invite(onboarding, "ada@example.com", "mail")
	ok.True(s.follow(t, onboarding, mailed).has("The invitation was sent to ada@example.com."))
	ok.True(strings.Contains(s.mail(t).Text, "/sign-in/link#"))
	ok.True(invite(chief, "eve@example.com", "link").has("/sign-in/link#"))

	own := invite(onboarding, address(onboarding), "link")
	ok.Equal(own.StatusCode, http.StatusForbidden)
	ok.True(own.has("Staff do not decide about their own membership"))
}

// TestStaffWhoAreMembersHoldBoth checks that a membership does not reduce the permissions of a role on the platform.
func TestStaffWhoAreMembersHoldBoth(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.addMember(t, s.company, chief, ticketing.RoleViewer)
	s.addMember(t, s.company, auditor, ticketing.RoleOwner)
	for _, who := range []string{chief, auditor} {
		ok.True(s.get(t, who, webhooks).has("Register an endpoint"))
		ok.Equal(s.get(t, who, "/platform").StatusCode, http.StatusOK)
	}
	ok.Equal(s.post(t, auditor, "/platform/companies/{companyId}/suspend").StatusCode, http.StatusForbidden)
}
