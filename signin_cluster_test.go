package ticketing_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
)

// memberOfNodes is a user whose companies are on several nodes.
type memberOfNodes struct {
	id      uuid.UUID
	email   string
	onAway  bool        // whether the node of the user is the absent one
	present []uuid.UUID // their companies on the other nodes
	absent  []uuid.UUID
}

// TestClusterSignInWithoutANode checks that an absent node stops the sign-in of its own users, and of those who may
// have companies there alone. Others sign in and work in the companies that are left. Nobody loses a session by it.
func TestClusterSignInWithoutANode(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	e := newEnv(t, postgres(t, dsn, nil))
	worker := testdb.WorkerOf(t, dsn, uuid.Nil) // The node of what is about no company and no user.
	onAway := func(id uuid.UUID) bool { return testdb.WorkerOf(t, dsn, id) == worker }
	var present, absent []uuid.UUID
	for len(present) < 2 || len(absent) < 1 {
		company := e.unverified(t)
		if onAway(company) {
			absent = append(absent, company)
		} else {
			present = append(present, company)
		}
		e.join(t, company, "owner@adire.ng", ticketing.RoleOwner)
	}
	present, absent = present[:2], absent[:1]
	accounts := e.Accounts()

	// A user of each node for each kind of companies.
	var people []*memberOfNodes
	find := func(away bool, of, lost int) *memberOfNodes {
		at := slices.IndexFunc(people, func(m *memberOfNodes) bool {
			return m.onAway == away && len(m.present) == of && len(m.absent) == lost
		})
		if at < 0 {
			return nil
		}
		return people[at]
	}
	for n := 0; find(true, 1, 0) == nil || find(false, 2, 0) == nil || find(false, 1, 0) == nil ||
		find(false, 1, 1) == nil || find(false, 0, 1) == nil; n++ {
		m := &memberOfNodes{email: fmt.Sprintf("user%d@adire.ng", n)}
		switch n % 4 {
		case 0:
			m.present = present[:1]
		case 1:
			m.present = present
		case 2:
			m.present, m.absent = present[:1], absent
		case 3:
			m.absent = absent
		}
		for _, company := range slices.Concat(m.present, m.absent) {
			m.id = e.join(t, company, m.email, ticketing.RoleAdministrator).UserID
		}
		m.onAway = onAway(m.id)
		people = append(people, m)
	}
	ofAway, ofTwo, ofOne, ofBoth, ofLost := find(true, 1, 0), find(false, 2, 0), find(false, 1, 0), find(false, 1, 1),
		find(false, 0, 1)
	secrets := make(map[*memberOfNodes]string)
	for _, m := range []*memberOfNodes{ofAway, ofTwo, ofOne, ofBoth, ofLost} {
		secrets[m] = e.signIn(t, m.id).Secret
		is.NoErr(second(accounts.AddPasskey(t.Context(), m.id, phoneKey("cGhvbmU"))))
	}
	var staff uuid.UUID
	for n := 0; staff == uuid.Nil; n++ {
		employed := e.employ(t, fmt.Sprintf("staff%d@adire.ng", n), ticketing.StaffAuditor).UserID
		if !onAway(employed) {
			staff = employed
		}
	}

	start := testdb.StopWorker(t, worker)

	ways := func(m *memberOfNodes, count int64) []error {
		byCode := func() error {
			browser := fmt.Sprint(m.email, count)
			asked, err := accounts.RequestCode(t.Context(), m.email, browserSecret(browser))
			if err != nil {
				return err
			}
			_, err = accounts.UseCode(t.Context(), m.email, browserSecret(browser), asked.Code, laptop)
			return err
		}
		byLink := func() error {
			link, err := accounts.CreateLink(t.Context(), ticketing.LinkParams{UserID: m.id, Actor: "test"})
			if err != nil {
				return err
			}
			return second(accounts.OpenLink(t.Context(), link.Token, laptop))
		}
		return []error{
			byCode(), byLink(), second(accounts.SignIn(t.Context(), m.id, ticketing.SignInOIDC, laptop)),
			second(accounts.SignInByPasskey(t.Context(), m.id, e.use("cGhvbmU", "{}", count), laptop)),
		}
	}
	for _, m := range []*memberOfNodes{ofTwo, ofOne, ofBoth} {
		is.Equal(ways(m, 6), []error{nil, nil, nil, nil})
		session, err := accounts.Session(t.Context(), secrets[m])
		is.NoErr(err)
		is.NoErr(second(accounts.Confirm(t.Context(), secrets[m], ticketing.SignInPasskey)))
		companies, err := accounts.Companies(t.Context(), m.id)
		is.True(errors.Is(err, ticketing.ErrIncomplete))
		var found []uuid.UUID
		for _, company := range companies {
			found = append(found, company.CompanyID)
		}
		is.Equal(len(found), len(m.present))
		for _, company := range m.present {
			is.True(slices.Contains(found, company))
		}
		actor, err := accounts.Actor(t.Context(), m.present[0], m.id)
		is.NoErr(err)
		is.NoErr(second(e.As(actor).GetBranding(t.Context(), m.present[0])))
		is.NoErr(accounts.EndSession(t.Context(), m.id, session.ID))
	}
	is.NoErr(second(accounts.SignIn(t.Context(), staff, ticketing.SignInOIDC, laptop)))
	// Whether they may sign in is not known. They are not refused, and keep what they have.
	for _, m := range []*memberOfNodes{ofLost, ofAway} {
		for _, err := range ways(m, 6) {
			is.True(errors.Is(err, ticketing.ErrUnavailable))
		}
	}
	is.NoErr(second(accounts.Session(t.Context(), secrets[ofLost])))
	companies, err := accounts.Companies(t.Context(), ofLost.id)
	is.Equal(len(companies), 0)
	is.True(errors.Is(err, ticketing.ErrUnavailable))
	is.True(errors.Is(second(accounts.Session(t.Context(), secrets[ofAway])), ticketing.ErrUnavailable))
	// A code for an unknown address is refused, or not checked, and the same address gets the same answer.
	for n := range 4 {
		address := fmt.Sprintf("nobody%d@adire.ng", n)
		before := false
		for again := range 2 {
			err := second(accounts.UseCode(t.Context(), address, browserSecret("b"), "34679ACD", laptop))
			away := errors.Is(err, ticketing.ErrUnavailable)
			is.True(away || code(err) == ticketing.CodeSignInRequired)
			is.True(again == 0 || away == before)
			before = away
		}
	}
	// A membership ends if another one is left. It does not end if that is not known.
	is.NoErr(second(e.staff.RemoveMember(t.Context(), ofTwo.present[0], ofTwo.id)))
	is.NoErr(second(accounts.SignIn(t.Context(), ofTwo.id, ticketing.SignInOIDC, laptop)))
	for _, m := range []*memberOfNodes{ofBoth, ofOne} {
		err := second(e.staff.RemoveMember(t.Context(), m.present[0], m.id))
		is.True(errors.Is(err, ticketing.ErrUnavailable))
		sessions, err := accounts.ListSessions(t.Context(), m.id)
		is.NoErr(err)
		is.True(len(sessions) > 0)
	}

	start()
	e.clock.advance(time.Minute)
	for _, m := range []*memberOfNodes{ofTwo, ofOne, ofBoth, ofLost, ofAway} {
		eventually(t, func() bool {
			_, err := accounts.Companies(t.Context(), m.id)
			return err == nil
		})
		is.Equal(ways(m, 7), []error{nil, nil, nil, nil})
	}
	is.NoErr(second(e.staff.RemoveMember(t.Context(), ofOne.present[0], ofOne.id)))
	sessions, err := accounts.ListSessions(t.Context(), ofOne.id)
	is.NoErr(err)
	is.Equal(len(sessions), 0)
	// The log has all that they did, about no company.
	log, err := e.staff.ListAudit(t.Context(), uuid.Nil, ticketing.AuditFilter{
		Actor: "user " + ofBoth.id.String(), PageParams: ticketing.PageParams{Limit: 100},
	})
	is.NoErr(err)
	is.Equal(len(log.Items), 12) // Nine sign-ins, a passkey, a confirmation, a session that ended.
	for _, entry := range log.Items {
		is.Equal(entry.CompanyID, nil)
	}
}
