package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const apiKeysPath = "/business/{companyId}/api-keys"

var shownKey = regexp.MustCompile(`svc_live\.[0-9a-f-]{36}\.[A-Za-z0-9_-]{43}`)

func TestKeyIsIssuedAndItsSecretShownOnce(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.approve(t, time.Time{})
	got := s.post(t, administrator, apiKeysPath+"/issue", "name", "Web <i>shop</i>", "grants", "COMPANY:checkout:create",
		"grants", "COMPANY:event:read")
	ok.Equal(got.StatusCode, http.StatusOK)
	ok.Equal(got.Header.Get("Cache-Control"), "no-store")
	secret := shownKey.FindString(got.text)
	ok.Equal(strings.Count(got.text, secret), 1)
	ok.True(strings.Contains(words(got), "It is shown only once"))
	caller, err := s.Authenticate(t.Context(), secret)
	ok.NoErr(err)
	ok.Equal(caller.CompanyID(), s.company)

	page := s.get(t, administrator, apiKeysPath)
	ok.True(!shownKey.MatchString(page.text))
	ok.True(page.has("Web &lt;i&gt;shop&lt;/i&gt;"))
	text := words(page)
	ok.True(strings.Contains(text, "Active Grants COMPANY:checkout:create COMPANY:event:read Issued 21 Nov 2026, 10:30"))
	ok.True(!strings.Contains(s.log.String(), strings.Split(secret, ".")[2]))

	var issued ticketing.IssuedAPIKey
	s.postJSON(t, owner, apiKeysPath+"/issue", `{"name":"Kiosk","grants":["COMPANY:ticket:validate"]}`).data(t, &issued)
	ok.True(shownKey.MatchString(issued.Key))
	ok.True(!s.get(t, owner, "/api/v2"+apiKeysPath).has(issued.Key))
}

func TestKeyThatIsRefusedKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.approve(t, time.Time{})
	got := s.post(t, owner, apiKeysPath+"/issue", "name", "x", "grants", "COMPANY:order:read", "grants",
		"COMPANY:event:read")
	ok.Equal(got.StatusCode, http.StatusBadRequest)
	ok.True(got.has(`value="x"`))
	ok.True(got.has(`value="COMPANY:order:read" checked`))
	ok.True(got.has(`value="COMPANY:event:read" checked`))
	ok.Equal(strings.Count(got.text, " checked>"), 2)
	ok.True(strings.Contains(words(got), "2 to 80 characters. must be 2 to 80 characters"))
	got = s.post(t, owner, apiKeysPath+"/issue", "name", "Kiosk")
	ok.True(strings.Contains(words(got), "at the gate COMPANY:ticket:validate must have at least one grant"))
	got = s.post(t, owner, apiKeysPath+"/issue", "name", "Kiosk", "grants", "COMPANY:kyb:read")
	ok.True(strings.Contains(words(got), "must be one of the seven grants of a public API key Issue the key"))
	ok.True(!shownKey.MatchString(got.text))
}

// TestKeysNeedACurrentVerification checks section 5.1: "need current approval or rollout grace; otherwise internal v2
// 409 with message Current company verification is required"; "Revocation: idempotent; never KYB-gated".
func TestKeysNeedACurrentVerification(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const required = "Current company verification is required"
	page := s.get(t, owner, apiKeysPath)
	ok.True(strings.Contains(words(page), required+" to issue or rotate a key. Go to verification"))
	got := s.post(t, owner, apiKeysPath+"/issue", "name", "Web shop", "grants", "COMPANY:order:read")
	ok.Equal(got.StatusCode, http.StatusConflict)
	ok.True(got.has("<p>" + required + "</p>"))
	ok.True(got.has(`value="Web shop"`))
	refused := s.postJSON(t, owner, apiKeysPath+"/issue", `{"name":"Web shop","grants":["COMPANY:order:read"]}`)
	ok.Equal(refused.StatusCode, http.StatusConflict)
	ok.True(refused.has(`"message":"` + required + `"`))

	key := s.openShop(t, 3_000_00)
	ok.True(!s.get(t, owner, apiKeysPath).has(required))
	_, err := s.staff.RevokeVerification(t.Context(), s.company)
	ok.NoErr(err)
	ok.Equal(s.postJSON(t, owner, apiKeysPath+"/"+key.ID.String()+"/rotate", ``).StatusCode, http.StatusConflict)
	ok.Equal(s.post(t, owner, apiKeysPath+"/"+key.ID.String()+"/revoke").StatusCode, http.StatusSeeOther)
}

func TestKeyNeedsARecentSignIn(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	key := s.openShop(t, 3_000_00)
	s.clock.advance(10 * time.Minute)
	ok.True(s.get(t, owner, apiKeysPath).has("You will be asked to confirm your identity."))
	asked := s.post(t, owner, apiKeysPath+"/issue", "name", "Kiosk", "grants", "COMPANY:order:read")
	ok.Equal(asked.StatusCode, http.StatusForbidden)
	ok.True(asked.has("Confirm your identity"))
	ok.True(asked.has(`name="grants" value="COMPANY:order:read"`))
	path := apiKeysPath + "/" + key.ID.String()
	ok.Equal(s.postJSON(t, owner, path+"/rotate", ``).code(t), "CONFIRM_REQUIRED")
	ok.Equal(s.postJSON(t, owner, path+"/revoke", ``).StatusCode, http.StatusOK) // is urgent, and needs none
}

// steps returns the state of the five steps of the one rotation on the page: x for done, > for the current one.
func (s *site) steps(t *testing.T) string {
	t.Helper()
	var found struct {
		Rotations []struct {
			Steps []struct {
				Done, Current bool
			} `json:"steps"`
		} `json:"rotations"`
	}
	s.get(t, viewer, "/api/v2"+apiKeysPath).data(t, &found)
	var b strings.Builder
	for _, rotation := range found.Rotations {
		for _, step := range rotation.Steps {
			switch {
			case step.Done:
				b.WriteByte('x')
			case step.Current:
				b.WriteByte('>')
			default:
				b.WriteByte('-')
			}
		}
	}
	return b.String()
}

// TestRotationTicksItselfOff checks the sequence of section 5.1.
func TestRotationTicksItselfOff(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	key := s.openShop(t, 3_000_00)
	use := func(key string) {
		t.Helper()
		_, err := s.Authenticate(t.Context(), key)
		ok.NoErr(err)
	}
	use(key.Key)
	ok.Equal(s.steps(t), "")
	shown := s.post(t, owner, apiKeysPath+"/"+key.ID.String()+"/rotate")
	ok.Equal(shown.StatusCode, http.StatusOK)
	successor := shownKey.FindString(shown.text)
	ok.True(strings.Contains(words(shown), "The successor Web shop"))
	ok.True(strings.Contains(words(shown), "Then revoke "+key.ID.String()[:8]+" , which stays active until you do"))
	ok.Equal(s.steps(t), "xx>--")
	rotated := s.get(t, owner, apiKeysPath)
	ok.Equal(strings.Count(rotated.text, `data-copy="`+key.ID.String()+`"`), 3) // its own, its step, and its successor's
	page := s.get(t, owner, apiKeysPath)
	text := words(page)
	ok.True(strings.Contains(text, "Rotation of Web shop In progress"))
	ok.True(strings.Contains(text, "Send a real request with the new key Not used yet"))
	ok.True(!page.has("/rotate")) // there is no room for a third
	ok.True(strings.Contains(text, "Two keys are active, the maximum."))

	// The predecessor is quiet, but so is the successor, so nothing shows that it was deployed.
	s.clock.advance(11 * time.Minute)
	ok.Equal(s.steps(t), "xx>--")

	// The successor is in use, and the predecessor in some places, too.
	s.clock.advance(2 * time.Minute)
	use(successor)
	use(key.Key)
	ok.Equal(s.steps(t), "xx>x-")
	s.clock.advance(5 * time.Minute)
	use(key.Key)
	s.clock.advance(9 * time.Minute)
	use(successor)
	ok.Equal(s.steps(t), "xx>x-")
	s.clock.advance(2 * time.Minute)
	ok.Equal(s.steps(t), "xxxx>")
	ok.True(strings.Contains(words(s.get(t, owner, apiKeysPath)), "The old key is no longer used"))

	done := s.follow(t, owner, s.post(t, owner, apiKeysPath+"/"+key.ID.String()+"/revoke"))
	ok.True(done.has("The key is revoked. It no longer works."))
	ok.Equal(s.steps(t), "xxxxx")
	text = words(s.get(t, viewer, apiKeysPath))
	ok.True(strings.Contains(text, "Rotation of Web shop Finished"))
	ok.True(strings.Contains(text, "rotated from "+key.ID.String()[:8]))
	_, err := s.Authenticate(t.Context(), key.Key)
	ok.True(err != nil)
	s.clock.advance(24 * time.Hour)
	s.signIn(t, viewer)
	ok.Equal(s.steps(t), "")
}

// TestThirdActiveKeyIsRefused checks section 5.1: "at most 2; a third issue or rotation is refused".
func TestThirdActiveKeyIsRefused(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	key := s.openShop(t, 3_000_00)
	fields := []string{"name", "Kiosk", "grants", "COMPANY:order:read"}
	ok.Equal(s.post(t, owner, apiKeysPath+"/issue", fields...).StatusCode, http.StatusOK)
	got := s.post(t, owner, apiKeysPath+"/issue", fields...)
	ok.Equal(got.StatusCode, http.StatusConflict)
	ok.True(got.has("Revoke one first."))
	ok.True(got.has(`value="Kiosk"`))
	rotate := apiKeysPath + "/" + key.ID.String() + "/rotate"
	ok.Equal(s.post(t, owner, rotate).StatusCode, http.StatusConflict)
}

func TestKeyOfAnotherCompanyIsNotFound(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.openShop(t, 3_000_00)
	_, err := s.staff.ApproveVerification(t.Context(), s.other, ticketing.ApprovalParams{})
	ok.NoErr(err)
	other, err := s.staff.IssueAPIKey(t.Context(), s.other, "Other", ticketing.AllGrants())
	ok.NoErr(err)
	for _, who := range []string{owner, chief} { // Staff could reach it by its id alone.
		for _, verb := range []string{"/rotate", "/revoke"} {
			ok.Equal(s.postJSON(t, who, apiKeysPath+"/"+other.ID.String()+verb, ``).code(t), "NOT_FOUND")
			ok.Equal(s.postJSON(t, who, apiKeysPath+"/"+uuid.NewString()+verb, ``).code(t), "NOT_FOUND")
		}
	}
	_, err = s.Authenticate(t.Context(), other.Key)
	ok.NoErr(err)
}

func TestKeysOfAViewerHaveNoForm(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	ok.True(strings.Contains(words(s.get(t, viewer, apiKeysPath)), "An administrator of the company can issue a key."))
	key := s.openShop(t, 3_000_00)
	_, err := s.staff.RotateAPIKey(t.Context(), key.ID)
	ok.NoErr(err)
	page := s.get(t, viewer, apiKeysPath)
	ok.True(page.has("Web shop"))
	for _, act := range []string{"/issue", "/rotate", "/revoke"} {
		ok.True(!page.has(act))
		path := apiKeysPath + "/" + key.ID.String() + act
		if act == "/issue" {
			path = apiKeysPath + act
		}
		ok.Equal(s.post(t, viewer, path).StatusCode, http.StatusForbidden)
	}
}
