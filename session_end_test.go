package ticketing_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// Links and codes that were made and not used end with all sessions of their user, and those that are made afterwards
// count. They are no sign-in: somebody who only got a link is new to the next company that invites them.
func TestLinksAndCodesEndWithAllSessions(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		ada := e.join(t, company, "ada@adire.ng", ticketing.RoleOwner).UserID
		bola := e.join(t, company, "bola@adire.ng", ticketing.RoleOwner).UserID
		link, kept := e.link(t, ada), e.link(t, bola)
		e.clock.advance(time.Second)
		asked := e.ask(t, "ada@adire.ng", "laptop")
		e.clock.advance(time.Second)

		n, err := e.Accounts().EndSessionsAs(t.Context(), "command line", ada)
		is.NoErr(err)
		is.Equal(n, 0) // sessions
		act := e.acts(t, uuid.Nil)[0]
		is.Equal(act.Actor+" "+act.Action, "command line sign_out")
		// The mail of the code has a link, too.
		is.Equal(string(act.Changes),
			`{"linksAndCodes":{"before":3,"after":null},"sessions":{"before":0,"after":null}}`)
		for _, token := range []string{link.Token, asked.LinkToken} {
			is.Equal(said(second(e.Accounts().OpenLink(t.Context(), token, laptop))), linkRefused)
		}
		_, refusal := e.try(t, "ada@adire.ng", "laptop", asked.Code)
		is.Equal(refusal, codeRefused)
		is.NoErr(second(e.Accounts().OpenLink(t.Context(), kept.Token, laptop))) // of somebody else

		acts := len(e.acts(t, uuid.Nil))
		n, err = e.Accounts().EndSessions(t.Context(), ada)
		is.NoErr(err)
		is.Equal(n, 0)
		is.Equal(len(e.acts(t, uuid.Nil)), acts) // There was nothing to end.

		// A link that was never opened is no sign-in.
		invited, err := e.staff.InviteMember(t.Context(), company, ticketing.AddMemberParams{
			Email: "ada@adire.ng", Name: "Ada", Role: ticketing.RoleOwner,
		})
		is.NoErr(err)
		is.True(invited.Link != nil)
		begun, err := e.Accounts().OpenLink(t.Context(), invited.Link.Token, laptop)
		is.NoErr(err)
		e.goesOn(t, begun.Secret)

		// The limit of codes goes on.
		for range 4 {
			is.True(e.ask(t, "ada@adire.ng", "laptop").User != nil)
		}
		is.Equal(e.ask(t, "ada@adire.ng", "laptop").User, nil)
	})
}
