package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const members = "/business/{companyId}/members"

func TestMemberIsInvitedByALink(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	page := s.get(t, viewer, members)
	ok.True(page.has("3 people work"))
	ok.True(page.has("owner@example.com"))
	ok.True(!page.has("Invite a member"))
	ok.True(!s.get(t, administrator, members).has("Invite a member")) // Owners alone manage members.

	invited := s.post(t, owner, members+"/invite", "name", "Ada <b>Obi</b>", "email", "ada@example.com", "role", "VIEWER",
		"by", "link")
	ok.Equal(invited.StatusCode, http.StatusOK)
	ok.True(invited.has("Ada &lt;b&gt;Obi&lt;/b&gt;"))
	_, after, found := strings.Cut(invited.text, "/sign-in/link#")
	ok.True(found)
	token, _, _ := strings.Cut(after, "<")
	in, err := s.Accounts().OpenLink(t.Context(), token, ticketing.Client{Browser: "test"})
	ok.NoErr(err)
	user, err := s.Accounts().GetUser(t.Context(), in.Session.UserID)
	ok.NoErr(err)
	ok.Equal(user.Email, "ada@example.com")
	ok.True(!s.get(t, owner, members).has(token))
}

func TestMemberIsInvitedByMail(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	done := s.post(t, owner, members+"/invite", "name", "Ada", "email", "ada@example.com", "role", "VIEWER", "by", "mail")
	ok.True(s.follow(t, owner, done).has("The invitation was sent to ada@example.com."))
	sent := s.mail(t)
	ok.Equal(sent.To, "ada@example.com")
	ok.True(strings.Contains(sent.Subject, "Adire Concerts"))
	ok.True(strings.Contains(sent.Text, s.server.URL+"/sign-in/link#"))

	var result struct {
		Link   string `json:"link"`
		Mailed bool   `json:"mailed"`
	}
	s.postJSON(t, owner, members+"/invite", `{"name":"Eve","email":"eve@example.com","role":"VIEWER","by":"mail"}`).
		data(t, &result)
	ok.True(result.Mailed)
	ok.Equal(result.Link, "")
	ok.Equal(s.postJSON(t, owner, members+"/invite",
		`{"name":"Eve","email":"eve@example.com","role":"VIEWER","by":"post"}`).StatusCode, http.StatusBadRequest)
}

// TestInvitationsByMailAreLimited mails as many invitations as an address gets in a day, and as many as a company
// sends.
func TestInvitationsByMailAreLimited(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	invite := func(who string, company uuid.UUID, email string) page {
		path := strings.ReplaceAll(members, "{companyId}", company.String()) + "/invite"
		return s.post(t, who, path, "name", "Ada", "email", email, "role", "VIEWER", "by", "mail")
	}
	for range 5 {
		ok.Equal(invite(owner, s.company, "ada@example.com").StatusCode, http.StatusSeeOther)
		s.mail(t)
		// What is refused, here since they have another role, is not counted.
		ok.Equal(s.post(t, owner, members+"/invite", "name", "Ada", "email", "ada@example.com", "role", "OWNER",
			"by", "mail").StatusCode, http.StatusConflict)
		s.clock.advance(time.Second)
	}
	refused := invite(owner, s.company, " ADA@example.com")
	ok.Equal(refused.StatusCode, http.StatusTooManyRequests)
	ok.Equal(refused.Header.Get("Retry-After"), "86400")
	ok.True(refused.has("no further invitation can be mailed to this address today. Create a link instead"))
	ok.True(refused.has(`value="Ada"`))
	ok.Equal(invite(stranger, s.other, "ada@example.com").StatusCode, http.StatusTooManyRequests)
	for n := range 30 - 6 {
		ok.Equal(invite(owner, s.company, fmt.Sprintf("m%d@example.com", n)).StatusCode, http.StatusSeeOther)
		s.mail(t)
	}
	ok.True(invite(owner, s.company, "eve@example.com").has("this company has mailed 30 invitations within a day. Create"))
	unlinked := invite(onboarding, s.company, "eve@example.com") // They are shown no link.
	ok.True(unlinked.has("this company has mailed 30 invitations within a day.") && !unlinked.has("Create a link instead"))
	byLink := s.post(t, owner, members+"/invite", "name", "Eve", "email", "eve@example.com", "role", "VIEWER")
	ok.Equal(byLink.StatusCode, http.StatusOK)
	ok.Equal(invite(stranger, s.other, "eve@example.com").StatusCode, http.StatusSeeOther) // another company
	s.clock.advance(24 * time.Hour)
	s.signIn(t, owner)
	ok.Equal(invite(owner, s.company, "ada@example.com").StatusCode, http.StatusSeeOther)
}

func TestInvitationOfSomebodyElsewhereHasNoLink(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	invited := s.post(t, owner, members+"/invite", "name", "S", "email", address(stranger), "role", "VIEWER", "by", "link")
	ok.True(invited.has("already sign in with"))
	ok.True(!invited.has("/sign-in/link#"))
}

func TestRefusedInvitationKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	refused := s.post(t, owner, members+"/invite", "name", "Ada", "email", `"><script>`, "role", "ADMINISTRATOR",
		"by", "link")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`value="Ada"`))
	ok.True(refused.has(`value="ADMINISTRATOR" selected`))
	ok.True(!refused.has("<script>"))
	ok.True(refused.has(`<details open><summary>Invite a member`))
}

func TestRoleIsChangedAndMemberRemoved(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	of := func(who string) string { return members + "/" + s.users[who].String() }
	ok.True(s.follow(t, owner, s.post(t, owner, of(viewer)+"/role", "role", "ADMINISTRATOR")).has("The role was changed."))
	ok.True(s.get(t, viewer, webhooks).has("Register an endpoint")) // from the next request on
	last := s.post(t, owner, of(owner)+"/remove")
	ok.Equal(last.StatusCode, http.StatusConflict)
	ok.True(s.follow(t, owner, s.post(t, owner, of(viewer)+"/remove")).has("2 people work"))
	ok.True(s.get(t, viewer, members).StatusCode != http.StatusOK)
	ok.Equal(s.post(t, owner, members+"/"+uuid.NewString()+"/remove").StatusCode, http.StatusNotFound)

	s.post(t, owner, of(administrator)+"/role", "role", "OWNER")
	left := s.post(t, owner, of(owner)+"/remove")
	ok.Equal(left.Header.Get("Location"), "/business")
}

// TestRoleHasAButtonForEachOther reads the buttons that change a role: they leave out the role that the member has.
func TestRoleHasAButtonForEachOther(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	// panel returns what changes a member, from the mark of its details on.
	panel := func(shown page, who string) string {
		before, form, found := strings.Cut(shown.text, `action="`+strings.ReplaceAll(members, "{companyId}",
			s.company.String())+"/"+s.users[who].String()+`/role"`)
		ok.True(found)
		form, _, _ = strings.Cut(form, "</form>")
		return before[strings.LastIndex(before, "<details"):] + form
	}
	shown := s.get(t, owner, members)
	for who, roles := range map[string][]string{
		viewer: {"ADMINISTRATOR", "OWNER"}, administrator: {"VIEWER", "OWNER"}, owner: {"VIEWER", "ADMINISTRATOR"},
	} {
		got := panel(shown, who)
		ok.Equal(strings.Count(got, "<button"), len(roles))
		for _, role := range roles {
			ok.True(strings.Contains(got, `name="role" value="`+role+`"`))
		}
		ok.True(strings.HasPrefix(got, "<details><"))
		ok.Equal(strings.Contains(got, "You lose the permissions that the new role lacks."), who == owner)
	}
	refused := s.post(t, owner, members+"/"+s.users[owner].String()+"/role", "role", "VIEWER")
	ok.Equal(refused.StatusCode, http.StatusConflict)
	ok.True(strings.HasPrefix(panel(refused, owner), "<details open><"))
	ok.True(strings.HasPrefix(panel(refused, viewer), "<details><"))
	ok.Equal(strings.Count(refused.text, "Make somebody else an owner first."), 1)
}

func TestMembersHavePagesAndWereSeen(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for n := range 30 {
		_, err := s.staff.AddMember(t.Context(), s.company, ticketing.AddMemberParams{
			Email: fmt.Sprintf("m%d@example.com", n), Name: fmt.Sprintf("Member %02d \u202egpj", n), Role: ticketing.RoleViewer,
		})
		ok.NoErr(err)
	}
	first := s.get(t, viewer, members)
	ok.True(first.has("33 people work"))
	ok.Equal(strings.Count(first.text, "<bdi>Member "), 23) // after the owner and the administrator
	ok.True(first.has("21 Nov 2026, 10:30"))                // when the owner was last seen
	var list struct {
		Page struct {
			NextCursor string `json:"nextCursor"`
		} `json:"page"`
	}
	decode(t, s.get(t, viewer, "/api/v2"+members).text, &list)
	rest := s.get(t, viewer, members+"?cursor="+list.Page.NextCursor)
	ok.Equal(strings.Count(rest.text, "<bdi>Member "), 7)
	ok.True(!rest.has("Next page"))
	ok.Equal(s.get(t, viewer, members+"?cursor="+uuid.NewString()).StatusCode, http.StatusBadRequest)
}
