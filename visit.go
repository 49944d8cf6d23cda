package ticketing

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// VisitParams describe who asks for a page, and of which company.
type VisitParams struct {
	// Secret is that of a session. Without one, UserID names a user whom the host has identified.
	Secret string
	UserID uuid.UUID
	// CompanyID is the company whose page it is; zero: that of none.
	CompanyID uuid.UUID
	// Passive is set for a request that a page makes by itself: it does not count as a use of the session.
	Passive bool
	// Watched is what the page shows of the company and follows, see [Service.Watch]; none: nothing. WatchQueues is not
	// among it: only staff may have that read.
	Watched []Watched
}

// Visit is a user who asks for a page, and what decides what they may do there. [Accounts.Visit] returns it.
type Visit struct {
	Session Session // the zero one for a user whom the host has identified
	User    User
	States  []WatchedState // of what is watched

	roles    roles
	branding driver.Branding
}

// Visit returns the user of a session with their roles and the company that they ask for, all read in one message where
// the store can. It is what [Accounts.Session], [Accounts.GetUser], [Accounts.Staff], [Accounts.Actor],
// [Accounts.Caller] and [Service.Watch] return one by one. Call it for each request, before what the page shows is
// read.
//
// A session that has ended or never existed is SIGN_IN_REQUIRED, an unknown user NOT_FOUND. Neither the company nor a
// role needs to exist: see the methods of Visit.
func (a Accounts) Visit(ctx context.Context, params VisitParams) (Visit, error) {
	ref := driver.SessionRef{UserID: params.UserID}
	var given accountSecret
	if params.Secret != "" {
		var ok bool
		if ref.UserID, ref.ID, given, ok = parseAccountSecret(sessionPrefix, params.Secret); !ok {
			return Visit{}, errSignInRequired
		}
	}
	if err := checkTopics(params.Watched); err != nil {
		return Visit{}, err
	}
	if slices.ContainsFunc(params.Watched, func(one Watched) bool { return one.Topic == WatchQueues }) {
		return Visit{}, errors.New("ticketing: a visit does not watch the queues")
	}
	at := a.s.now()
	var found Visit
	var session driver.Session
	err := a.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
		found = Visit{}
		announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) {
			if ref.ID != uuid.Nil {
				_, _ = readSession(ctx, tx, ref, given)
			}
			_, _ = readRoles(ctx, tx, params.CompanyID, ref.UserID)
			_, _ = tx.Users(ctx, []uuid.UUID{ref.UserID})
			if version, known := a.s.brandingVersions.Get(params.CompanyID); known {
				_, _ = tx.Brandings(ctx, []driver.BrandingRef{{CompanyID: params.CompanyID, Version: version}})
			}
			_, _ = watch(ctx, tx, at, params.Watched, LowFloats{})
		})
		if ref.ID != uuid.Nil {
			session, err = readSession(ctx, tx, ref, given)
		}
		if err == nil {
			found.roles, err = readRoles(ctx, tx, params.CompanyID, ref.UserID)
		}
		if err == nil && ref.ID != uuid.Nil {
			err = a.checkSession(session, found.roles.staff, at)
		}
		var user driver.User
		if err == nil {
			user, err = firstRecord(tx.Users(ctx, []uuid.UUID{ref.UserID}))
		}
		if err == nil && user.ID == uuid.Nil {
			err = errNoUser
		}
		if err != nil {
			return err
		}
		found.User = showUser(user)
		if found.roles.company.ID != uuid.Nil {
			if found.branding, err = currentBranding(ctx, tx, found.roles.company); err != nil {
				return err
			}
		}
		found.States, err = watch(ctx, tx, at, params.Watched, LowFloats{})
		return err
	})
	if err != nil {
		return Visit{}, err
	}
	if company := found.roles.company; company.ID != uuid.Nil {
		a.s.brandingVersions.note(company.ID, company.BrandingVersion)
	}
	if ref.ID != uuid.Nil {
		if !params.Passive {
			session = a.use(ctx, session, at)
		}
		found.Session = a.showSession(session, found.roles.staff.Role != "")
	}
	return found, nil
}

// Staff returns the platform actor of the user, as [Accounts.Staff].
func (v Visit) Staff() (Actor, error) { return v.roles.staffActor() }

// Actor returns the actor of the user on the pages of the company, as [Accounts.Actor].
func (v Visit) Actor() (Actor, error) { return v.roles.actor() }

// Caller returns the caller of the user on the data plane of the company, as [Accounts.Caller].
func (v Visit) Caller() (Caller, error) { return v.roles.caller() }

// Company returns the company, and NOT_FOUND where there is none. Only who holds COMPANY:kyb:read may see it.
func (v Visit) Company() (Company, error) {
	if v.roles.company.ID == uuid.Nil {
		return Company{}, errNoCompany
	}
	return showCompany(v.roles.company), nil
}

// Branding returns the current branding of the company, and NOT_FOUND where there is no company. Only who holds
// COMPANY:branding:read may see it.
func (v Visit) Branding() (Branding, error) {
	if v.roles.company.ID == uuid.Nil {
		return Branding{}, errNoCompany
	}
	return showBranding(v.branding), nil
}

// roles are everything that a user holds at one moment: on the platform, and in a company.
type roles struct {
	userID, companyID uuid.UUID
	staff             driver.StaffMember // without a role: none
	member            driver.Member      // without a role: none
	company           driver.Company     // the zero one: it does not exist
}

// roles reads the roles of a user.
func (a Accounts) roles(ctx context.Context, companyID, userID uuid.UUID) (roles, error) {
	var found roles
	err := a.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
		announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) { _, _ = readRoles(ctx, tx, companyID, userID) })
		found, err = readRoles(ctx, tx, companyID, userID)
		return err
	})
	return found, err
}

// readRoles reads the roles of a user on the platform, and in a company unless its id is zero.
func readRoles(ctx context.Context, tx driver.ReadTx, companyID, userID uuid.UUID) (roles, error) {
	found := roles{userID: userID, companyID: companyID}
	var err error
	if found.staff, err = firstRecord(tx.StaffMembers(ctx, []uuid.UUID{userID})); err != nil || companyID == uuid.Nil {
		return found, err
	}
	member := driver.MemberRef{CompanyID: companyID, UserID: userID}
	if found.member, err = firstRecord(tx.Members(ctx, []driver.MemberRef{member})); err != nil {
		return found, err
	}
	found.company, err = firstRecord(tx.Companies(ctx, []uuid.UUID{companyID}))
	return found, err
}

// staffActor returns the actor of a user with a role on the platform.
func (r roles) staffActor() (Actor, error) {
	if r.staff.Role == "" {
		return Actor{}, errNoStaff
	}
	return Actor{Name: about("user", r.userID), Permissions: staffPermissions(r.staff.Role), userID: r.userID}, nil
}

// memberActor returns the actor of a member of the company. A removed member has no role.
func (r roles) memberActor() (Actor, error) {
	if r.member.Role == "" {
		return Actor{}, errNoCompany
	}
	return Actor{
		Name: about("user", r.userID), CompanyID: r.companyID, Permissions: permissionsOf(r.member.Role), userID: r.userID,
	}, nil
}

// actor returns the actor by both roles, for the company alone if the user is its member.
func (r roles) actor() (Actor, error) {
	staff, err := r.staffActor()
	if err != nil {
		return r.memberActor()
	}
	member, err := r.memberActor()
	if err != nil {
		return staff, nil //nolint:nilerr // The role of staff is enough.
	}
	// The order of the table of permissions stays.
	held := slices.Concat(member.Permissions, staff.Permissions)
	member.staff, member.Permissions = true, slices.DeleteFunc(AllPermissions(), func(p Permission) bool {
		return !slices.Contains(held, p)
	})
	return member, nil
}

// caller returns the caller on the data plane of the company.
func (r roles) caller() (Caller, error) {
	caller := Caller{companyID: r.companyID, userID: r.userID, grants: grantsOf(r.member.Role)}
	// Staff may name a company that does not exist.
	if r.member.Role == "" && r.staff.Role != "" && r.company.ID != uuid.Nil && r.company.Status != "" {
		caller.grants = readingGrants()
	}
	if len(caller.grants) == 0 {
		return Caller{}, errNoCompany
	}
	return caller, nil
}
