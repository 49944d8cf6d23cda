package console_test

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

// people are all of a site with what they are.
func people() map[string]struct {
	member ticketing.Role
	staff  ticketing.StaffRole
} {
	type person = struct {
		member ticketing.Role
		staff  ticketing.StaffRole
	}
	return map[string]person{
		owner: {member: ticketing.RoleOwner}, administrator: {member: ticketing.RoleAdministrator},
		viewer: {member: ticketing.RoleViewer}, stranger: {},
		chief: {staff: ticketing.StaffAdministrator}, finance: {staff: ticketing.StaffFinance},
		onboarding: {staff: ticketing.StaffOnboarding}, support: {staff: ticketing.StaffSupport},
		auditor: {staff: ticketing.StaffAuditor}, both: {member: ticketing.RoleViewer, staff: ticketing.StaffSupport},
	}
}

// both is a person who works for the platform and for the company.
const both = "both"

// employ adds the person who has two roles.
func (s *site) employ(t *testing.T) {
	t.Helper()
	s.addMember(t, s.company, both, ticketing.RoleViewer)
	_, err := s.staff.AddStaff(t.Context(), ticketing.AddStaffParams{
		Email: address(both), Name: both, Role: ticketing.StaffSupport,
	})
	is.New(t).NoErr(err)
	s.clients[both] = s.newClient(t)
	s.signIn(t, both)
}

// expected returns the status that a person has to get at a route, and 0 where they may use it.
func expected(route console.Route, who string) int {
	p := people()[who]
	switch {
	case route.Company && p.member == "" && p.staff == "":
		return http.StatusNotFound
	case route.Platform && p.staff == "":
		return http.StatusForbidden
	}
	for _, rule := range ticketing.PermissionRules() {
		if !slices.Contains(route.Permissions, rule.Permission) {
			continue
		}
		if !slices.Contains(rule.Roles, p.member) && !slices.Contains(rule.StaffRoles, p.staff) {
			return http.StatusForbidden
		}
	}
	for _, grant := range route.Grants {
		manages := p.member == ticketing.RoleOwner || p.member == ticketing.RoleAdministrator
		if !manages && !strings.HasSuffix(string(grant), ":read") {
			return http.StatusForbidden
		}
	}
	return 0
}

var variable = regexp.MustCompile(`\{[^}]+\}`)

// filled returns the path of a route for the company of a site, with ids of nothing elsewhere.
func (s *site) filled(path string) string {
	path = strings.ReplaceAll(path, "{companyId}", s.company.String())
	return variable.ReplaceAllStringFunc(path, func(string) string { return uuid.NewString() })
}

// seen returns the status that a person gets at a page whose variables name nothing but the company.
func seen(route console.Route, who string) int {
	return cmp.Or(expected(route, who), map[bool]int{true: http.StatusNotFound, false: http.StatusOK}[namesMore(route)])
}

// namesMore reports whether the path of a route has variables beside the company.
func namesMore(route console.Route) bool {
	return strings.Contains(strings.ReplaceAll(route.Path, "{companyId}", ""), "{")
}

func TestPageIsForThoseWhoHoldItsPermissions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.employ(t)
	for _, route := range console.Pages() {
		ok, path := is.New(t), s.filled(route.Path)
		anybody := s.get(t, nobody, path)
		ok.Equal(anybody.StatusCode, http.StatusSeeOther) // route.Path
		ok.True(strings.HasPrefix(anybody.Header.Get("Location"), "/sign-in?next="))
		ok.Equal(s.get(t, nobody, "/api/v2"+path).StatusCode, http.StatusUnauthorized)
		for who := range people() {
			for _, prefix := range []string{"", "/api/v2"} {
				got, want := s.get(t, who, prefix+path), seen(route, who)
				if got.StatusCode != want {
					t.Errorf("%s gets %d at %s%s, want %d\n%s", who, got.StatusCode, prefix, route.Path, want, got.text)
				}
				if route.Document && prefix == "" && got.StatusCode == http.StatusOK {
					checkDocument(t, got)
				} else {
					checkPolicies(t, got)
				}
			}
		}
	}
}

func TestActIsForThoseWhoHoldItsPermission(t *testing.T) {
	t.Parallel()
	for _, route := range console.Acts() {
		t.Run(route.Name, func(t *testing.T) {
			t.Parallel()
			ok, s := is.New(t), newSite(t)
			s.employ(t)
			path := s.filled(route.Path)
			ok.Equal(s.postJSON(t, nobody, path, "{}").code(t), "SIGN_IN_REQUIRED")
			ok.True(strings.HasPrefix(s.post(t, nobody, path).Header.Get("Location"), "/sign-in"))
			for who := range people() {
				want := expected(route, who)
				got := s.postJSON(t, who, path, "{}")
				if want == 0 && (got.StatusCode == http.StatusForbidden || got.StatusCode >= 500) ||
					want != 0 && got.StatusCode != want {
					t.Errorf("%s gets %d, want %d\n%s", who, got.StatusCode, want, got.text)
				}
				checkPolicies(t, got)
			}
			for who := range people() {
				if want := expected(route, who); want != 0 {
					ok.Equal(s.post(t, who, path).StatusCode, want) // as a form
				}
			}
		})
	}
}

func TestActNeedsARequestOfThisSite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		status int
	}{
		{"cross-site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"same-site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
		{"null", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"null of the same origin", func(r *http.Request) {
			r.Header.Set("Origin", "null")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}, 403},
		{"another scheme", func(r *http.Request) { r.Header.Set("Origin", "https://"+r.URL.Host) }, 403},
		{"another host", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		{"another port", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		{"a rebound name", func(r *http.Request) { r.Host = "evil.example" }, 421},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, route := range console.Acts() {
				for _, prefix := range []string{"", "/api/v2"} {
					r := s.request(t, http.MethodPost, prefix+s.filled(route.Path), strings.NewReader("{}"))
					r.Header.Set("Content-Type", "application/json")
					tt.change(r)
					is.New(t).Equal(s.do(t, owner, r).StatusCode, tt.status) // route.Name
				}
			}
			for _, step := range console.Steps() {
				for _, who := range []string{nobody, owner} {
					r := s.request(t, http.MethodPost, step, strings.NewReader("email=owner@example.com"))
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					tt.change(r)
					is.New(t).Equal(s.do(t, who, r).StatusCode, tt.status) // step, who
				}
			}
		})
	}
}

// TestStepIsForThoseWhoAreSignedIn posts the steps that are no acts. Those of a person are refused to nobody and to a
// key, and those that make a new way in need a recent sign-in.
func TestStepIsForThoseWhoAreSignedIn(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.employ(t)
	ok.Equal(s.post(t, nobody, "/sign-in/passkey/begin").StatusCode, http.StatusConflict) // at an address of numbers
	s.server.URL = s.localhost()
	several := []string{owner, chief, both} // An address has 20 tries.
	for _, who := range several {
		s.signIn(t, who)
	}
	key := s.openShop(t, 100_00)
	steps := map[string]int{ // what a person gets who sends nothing
		"/sign-in": 400, "/sign-in/code": 303, "/sign-in/link": 401, "/sign-in/passkey/begin": 200, "/sign-in/passkey": 401,
		"/account/passkeys/begin": 200, "/account/passkeys/add": 409, "/account/confirm/begin": 200, "/account/confirm": 403,
	}
	ok.Equal(len(console.Steps()), len(steps))
	for _, step := range console.Steps() {
		for _, who := range several {
			got := s.post(t, who, step)
			if got.StatusCode != steps[step] {
				t.Errorf("%s gets %d at %s, want %d", who, got.StatusCode, step, steps[step])
			}
			checkPolicies(t, got)
		}
		if !strings.HasPrefix(step, "/account/") {
			continue
		}
		ok.Equal(s.post(t, nobody, step).code(t), "SIGN_IN_REQUIRED") // step
		r := s.request(t, http.MethodPost, step, nil)
		r.Header.Set("Authorization", "Bearer "+key.Key)
		ok.Equal(s.do(t, nobody, r).StatusCode, http.StatusUnauthorized)        // step
		ok.Equal(s.get(t, owner, step).StatusCode, http.StatusMethodNotAllowed) // step
	}
	s.clock.advance(11 * time.Minute)
	for _, step := range []string{"/account/passkeys/begin", "/account/passkeys/add"} {
		ok.Equal(s.post(t, owner, step).code(t), "CONFIRM_REQUIRED") // step
	}
}

func TestReboundNameGetsNothing(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, path := range []string{"/business", "/sign-in", "/console/console.js", "/api/v2/account"} {
		r := s.request(t, http.MethodGet, path, nil)
		r.Host = "evil.example"
		ok.Equal(s.do(t, owner, r).StatusCode, http.StatusMisdirectedRequest)
	}
	r := s.request(t, http.MethodGet, "/sign-in", nil)
	r.Host = "localhost:1234"
	ok.Equal(s.do(t, nobody, r).StatusCode, http.StatusOK)
}

func TestAPIKeyOpensNothing(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	_, err := s.staff.ApproveVerification(t.Context(), s.company, ticketing.ApprovalParams{
		ExpiresAt: new(opening.AddDate(1, 0, 0)),
	})
	ok.NoErr(err)
	key, err := s.staff.IssueAPIKey(t.Context(), s.company, "gate", ticketing.AllGrants())
	ok.NoErr(err)
	ask := func(method, path string) page {
		r := s.request(t, method, path, nil)
		r.Header.Set("Authorization", "Bearer "+key.Key)
		got := s.do(t, nobody, r)
		ok.True(!strings.HasPrefix(got.Header.Get("Set-Cookie"), "ticketing=")) // path
		return got
	}
	for _, route := range slices.Concat(console.Pages(), console.Acts()) {
		method := http.MethodGet
		if route.Name != "" {
			method = http.MethodPost
		}
		got := ask(method, "/api/v2"+s.filled(route.Path))
		ok.Equal(got.StatusCode, http.StatusUnauthorized) // route.Path
		ok.Equal(got.code(t), "SIGN_IN_REQUIRED")         // route.Path
		got = ask(method, s.filled(route.Path))           // the page, or the form
		ok.Equal(got.StatusCode, http.StatusSeeOther)     // route.Path
		ok.True(strings.HasPrefix(got.Header.Get("Location"), "/sign-in"))
	}
	for _, stream := range console.Streams() {
		got := ask(http.MethodGet, s.filled(stream.Path))
		ok.Equal(got.StatusCode, http.StatusUnauthorized) // stream.Path
		ok.Equal(got.code(t), "SIGN_IN_REQUIRED")         // stream.Path
	}
}

func TestNoGetDoesAnAct(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, route := range console.Acts() {
		for _, prefix := range []string{"", "/api/v2"} {
			got := s.get(t, owner, prefix+s.filled(route.Path))
			ok.Equal(got.StatusCode, http.StatusMethodNotAllowed)
			ok.Equal(got.Header.Get("Allow"), "POST")
		}
	}
	r := s.request(t, http.MethodDelete, "/business", nil)
	ok.Equal(s.do(t, owner, r).Header.Get("Allow"), "GET, HEAD")
}

func TestUnknownMemberOfTheQueryIsRefused(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, route := range console.Pages() {
		who := chief
		if expected(route, chief) != 0 {
			who = owner
		}
		got := s.get(t, who, "/api/v2"+s.filled(route.Path)+"?bogus=1")
		ok.Equal(got.StatusCode, http.StatusBadRequest)
		ok.True(got.has("bogus: is not a known query parameter"))
	}
}

func TestErrorsArePagesOfOurs(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for path, status := range map[string]int{
		"/business/" + s.other.String(): 404, "/business/x": 404, "/platform/nothing": 404, "/platform": 403,
		"/account?x=1": 400,
	} {
		got := s.get(t, owner, path)
		ok.Equal(got.StatusCode, status) // path
		ok.True(got.has("<h1>"))
		ok.True(got.has(got.Header.Get("X-Request-Id")))
		checkPolicies(t, got)
		ok.Equal(s.get(t, owner, "/api/v2"+path).StatusCode, status)
	}
	// Another company is as one that does not exist.
	ok.Equal(s.get(t, owner, "/api/v2/business/"+s.other.String()).text,
		s.get(t, owner, "/api/v2/business/"+uuid.NewString()).text)
}

// The policies of a page, and of a document that is none of ours.
const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	documentPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; " +
		"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

// checkPolicies checks the headers that every answer has.
func checkPolicies(t *testing.T, p page) {
	t.Helper()
	checkHeaders(t, p, pagePolicy)
}

// checkDocument checks the headers of a document that is no page of ours.
func checkDocument(t *testing.T, p page) {
	t.Helper()
	checkHeaders(t, p, documentPolicy)
}

func checkHeaders(t *testing.T, p page, policy string) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy":    policy,
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
		"Strict-Transport-Security": "",
	} {
		if got := p.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
