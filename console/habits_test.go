package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// agoCases are times before now with their words. Without words only the moment is shown.
func agoCases() map[time.Duration]string {
	const day = 24 * time.Hour
	return map[time.Duration]string{
		0: "Just now", 59 * time.Second: "Just now", time.Minute: "1 min ago", 59*time.Minute + 59*time.Second: "59 min ago",
		time.Hour: "1 hour ago", day - time.Second: "23 hours ago", day: "1 day ago", 7*day - time.Minute: "6 days ago",
	}
}

func TestTimesSayHowLongAgoTheyWere(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	for past, want := range agoCases() {
		ok.Equal(console.FormatAgo(opening.Add(-past), opening), want) // past
	}
	ok.Equal(console.FormatAgo(opening.Add(time.Second), opening), "") // to come
	ok.Equal(console.FormatAgo(opening.AddDate(0, 0, -7), opening), "")
	ok.Equal(console.FormatAgo(time.Time{}, opening), "")

	s := newSite(t)
	_, err := s.staff.RenameCompany(t.Context(), s.company, "Adire Live")
	ok.NoErr(err)
	s.clock.advance(3 * time.Minute)
	shown := s.get(t, viewer, auditLog+"?action=company.rename")
	ok.True(shown.has(">3 min ago</span>"))
	ok.True(shown.has(opening.In(time.FixedZone("WAT", 60*60)).Format("2 Jan 2006, 15:04"))) // the moment beneath
}

// TestScriptSaysHowLongAgo checks that the script has the same rule as the server.
func TestScriptSaysHowLongAgo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newSite(t)
	p := s.open(t, browsertest.New(t), owner, "/account", browsertest.Desktop)
	ok.Equal(p.Text(`document.body.dataset.now`), s.clock.now().UTC().Format(time.RFC3339))
	for past, want := range agoCases() {
		if past%time.Minute == 59*time.Second {
			continue // The clock of the browser goes on.
		}
		p.Text(fmt.Sprintf(`(() => {
			const shown = document.querySelector("[data-ago]")
			shown.dataset.ago = new Date(Date.parse(document.body.dataset.now) - %d).toISOString()
			document.dispatchEvent(new Event("visibilitychange"))
		})()`, past.Milliseconds()))
		ok.Equal(p.Text(`document.querySelector("[data-ago]").textContent`), want)
	}
	p.IsClean()
}

func TestAuditNamesWhatWasActedOn(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.approve(t, opening.AddDate(1, 0, 0))
	key, err := s.staff.IssueAPIKey(t.Context(), s.company, "Web <b>shop</b>", ticketing.AllGrants())
	ok.NoErr(err)
	shown := s.get(t, viewer, auditLog)
	ok.True(shown.has("<bdi>Web &lt;b&gt;shop&lt;/b&gt;</bdi>"))
	ok.True(shown.has("<bdi>Adire Concerts</bdi></span>"))
	ok.True(!shown.has("key " + key.ID.String()))
	ok.True(shown.has(`data-copy="` + key.ID.String() + `"`)) // the whole id is still there
	ok.True(!s.get(t, chief, "/platform/audit").has("company " + s.company.String()))
}

// TestPhoneHasABarAndASheet opens all pages from the bar of a phone, without our script.
func TestPhoneHasABarAndASheet(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newSite(t)
	p := s.open(t, browsertest.New(t), owner, "/business/{companyId}/audit", browsertest.Phone)
	const seen = `[...document.querySelectorAll(".side a, .side button")].filter((e) => e.checkVisibility())
		.map((e) => e.innerText.trim()).filter((e) => e).join(",")`
	ok.Equal(p.Text(seen), "Ticketing,Overview,Events,Settlements,API keys,More")
	ok.Equal(p.Text(`(bar => bar.scrollWidth <= bar.clientWidth)(document.querySelector(".quick"))`), "true")
	p.Role("button", "^More").Click()
	p.Wait(`document.querySelector("#menu").matches(":popover-open")`)
	for _, name := range []string{
		"Branding", "Mail", "Webhooks", "Orders", "Commission", "Verification", "Members", "Audit", "Sign out",
	} {
		ok.True(strings.Contains(p.Text(seen), name)) // name
	}
	p.Contrast(show(p, "sheet", browsertest.Phone, true))
	show(p, "sheet", browsertest.Phone, false)
	browsertest.Axe(t, p)
	p.Press("\x1b")
	p.Wait(`!document.querySelector("#menu").matches(":popover-open")`)
	p.Resize(browsertest.Desktop)
	ok.Equal(p.Text(`[...document.querySelectorAll(".group")].map((e) => e.innerText).join(",")`),
		"Selling,Money,Integrations,Company")
	ok.True(!strings.Contains(p.Text(seen), "More"))
	ok.True(strings.Contains(p.Text(seen), "Members"))
	p.IsClean()
}

func TestIDsAreCopiedAndDaysChosen(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newSite(t)
	s.approve(t, opening.AddDate(1, 0, 0))
	key, err := s.staff.IssueAPIKey(t.Context(), s.company, "Web shop", ticketing.AllGrants())
	ok.NoErr(err)
	p := s.open(t, browsertest.New(t), owner, "/business/{companyId}/api-keys", browsertest.Desktop)
	p.Text(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve() }`)
	p.Role("button", "^Copy the id "+key.ID.String()[:8]).Click()
	p.Wait(`document.querySelector("#said").textContent === "Copied"`)
	ok.Equal(p.Text(`window.copied`), key.ID.String())

	path := "/business/" + s.company.String() + "/audit"
	p.Text(`location.assign("` + path + `")`)
	p.Wait(`location.pathname === "` + path + `" && document.readyState === "complete"`)
	p.Text(`(() => { const picker = document.querySelector(".picker"); picker.value = "2026-11-02";
		picker.dispatchEvent(new Event("change", { bubbles: true })) })()`)
	ok.Equal(p.Text(`document.querySelector("[name=since]").value`), "2026-11-02")
	p.IsClean()
}

// TestPlaceOfPasskeysIsNeverBlank signs in at an IP address, which cannot have passkeys.
func TestPlaceOfPasskeysIsNeverBlank(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newSite(t)
	p := browsertest.New(t).Open(t, s.server.URL+"/sign-in", browsertest.Desktop)
	p.Wait(`document.querySelector("#passkey.lacks") !== null`)
	ok.True(strings.Contains(p.Text(`document.querySelector("#passkey").innerText`),
		"This browser cannot use a passkey at this address."))
	ok.True(!strings.Contains(p.Text(`document.body.innerText`), "Sign in with a passkey"))
	p.IsClean()
}
