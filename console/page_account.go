package console

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// accountPages returns the pages of the person who is signed in.
func accountPages() []page {
	return []page{
		{
			path: "/business", scope: scopeSelf, title: "Your companies", nav: "Companies", icon: "building",
			template: "companies.html", load: loadCompanies,
		},
		{
			path: accountPath, scope: scopeSelf, title: "Your account", template: "account.html",
			load: loadAccount,
		},
	}
}

// accountActs returns the acts of the person who is signed in.
func accountActs() []act {
	return append([]act{
		newAct(act{
			name: "sign_out", scope: scopeSelf, path: "/account/sign-out", page: "/account", done: "You are signed out.",
		}, noMembers, signOut),
		newAct(act{
			name: "session.end", scope: scopeSelf, path: "/account/sessions/{sessionId}/end", page: "/account",
			done: "The session is signed out.",
		}, noMembers, endSession),
		newAct(act{
			name: "session.end_others", scope: scopeSelf, path: "/account/sessions/end-others", page: "/account",
			done: "All other sessions are signed out.",
		}, noMembers, endOtherSessions),
		appearanceAct(),
	}, slices.Concat(passkeyActs(), confirmActs(), accountExportActs())...)
}

// companies are those that a person can choose from.
type companies struct {
	Companies []ticketing.Membership `json:"companies"`
	Staff     bool                   `json:"staff"`
	// Incomplete reports whether companies may be missing, because a node of the database does not respond.
	Incomplete bool `json:"incomplete"`
}

func loadCompanies(ctx context.Context, c *call) (view, error) {
	found, err := c.console.accounts.Companies(ctx, c.visitor.userID)
	shown := companies{Companies: found, Staff: c.visitor.isStaff()}
	// Without anything else to do here, the person gets the page about a database that is away.
	if shown.Incomplete = errors.Is(err, ticketing.ErrIncomplete); shown.Incomplete && (len(found) > 0 || shown.Staff) {
		err = nil
	}
	return view{data: shown}, err
}

// account is what a person sees of their own sign-in.
type account struct {
	Email    string              `json:"email"`
	UserID   uuid.UUID           `json:"userId"`
	Sessions []shownSession      `json:"sessions"`
	Passkeys []ticketing.Passkey `json:"passkeys"`
}

// shownSession is a session, and whether it is the current one.
type shownSession struct {
	ticketing.Session

	Current bool `json:"current"`
}

func loadAccount(ctx context.Context, c *call) (view, error) {
	shown := account{Email: c.visitor.email, UserID: c.visitor.userID, Sessions: []shownSession{}}
	if c.console.config.Identify != nil {
		return view{data: shown}, nil
	}
	sessions, err := c.console.accounts.ListSessions(ctx, c.visitor.userID)
	if err != nil {
		return view{}, err
	}
	for _, session := range sessions {
		shown.Sessions = append(shown.Sessions, shownSession{session, session.ID == c.visitor.sessionID})
	}
	shown.Passkeys, err = c.console.accounts.ListPasskeys(ctx, c.visitor.userID)
	return view{data: shown}, err
}

func signOut(ctx context.Context, c *call, _ none) (outcome, error) {
	err := c.console.accounts.EndSession(ctx, c.visitor.userID, c.visitor.sessionID)
	return outcome{data: struct{}{}, next: "/sign-in", signedOut: true}, err
}

func endSession(ctx context.Context, c *call, _ none) (outcome, error) {
	ended := c.pathID("sessionId")
	err := c.console.accounts.EndSession(ctx, c.visitor.userID, ended)
	return outcome{data: struct{}{}, signedOut: ended == c.visitor.sessionID}, err
}

func endOtherSessions(ctx context.Context, c *call, _ none) (outcome, error) {
	sessions, err := c.console.accounts.ListSessions(ctx, c.visitor.userID)
	if err != nil {
		return outcome{}, err
	}
	for _, session := range sessions {
		if session.ID == c.visitor.sessionID {
			continue
		}
		if err := c.console.accounts.EndSession(ctx, c.visitor.userID, session.ID); err != nil && refusalOf(err) == nil {
			return outcome{}, err
		}
	}
	return outcome{data: struct{}{}}, nil
}
