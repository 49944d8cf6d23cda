package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const brandingPath = "/business/{companyId}/branding"

func TestBrandingIsSavedAndShown(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.clock.advance(time.Minute)
	saved := s.post(t, administrator, brandingPath+"/save", "brandName", " Adire ", "primaryColor", "#3b0764",
		"accentColor", "#facc15", "logoUrl", "", "checkoutFooter", "No refunds", "ticketFooter", "Bring an id",
		"emailFooter", "Adire Ltd.", "supportEmail", "Help@Adire.ng")
	page := s.follow(t, administrator, saved)
	ok.True(page.has("The branding was saved. New sales use it."))
	text := words(page)
	for _, want := range []string{
		"Checkout Adire Sample event", "Buy 2 tickets No refunds Ticket mail Preview the ticket mail Adire",
		"Regular Bring an id Questions? Write to help@adire.ng. Adire Ltd. Sent by the platform on behalf of Adire",
		// Section 2.7 has colours in upper case. Contrasts are rounded down.
		"2 21 Nov 2026, 10:31 Current Adire #3B0764 #FACC15 name, primary colour, accent colour, checkout footer, " +
			"ticket footer, email footer, support email",
		"1 21 Nov 2026, 10:30 Adire Concerts #111827 #2563EB as the company began",
		"Marks in the accent colour Readable Text on it is black, at 13.7 to 1.",
		"Accent colour as text on white Hard to read It stands out at 1.5 to 1, and text needs 4.5 to 1. The mail " +
			"writes this text in dark grey instead.",
		"These pages Readable The accent colour is too pale for them, so they use the primary colour, at 14.9 to 1.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	ok.True(page.has(`href="/console/bar/3b0764.css?v=`))
	ok.True(page.has(`href="/console/look/3B0764-FACC15.css"`))
	style := s.get(t, nobody, "/console/look/3B0764-FACC15.css")
	ok.Equal(style.Header.Get("Content-Type"), "text/css; charset=utf-8")
	ok.True(style.has("--look-primary:#3B0764;--look-on-primary:#FFFFFF;--look-accent:#FACC15;--look-on-accent:#000000;" +
		"--look-text:#111827}"))
	for _, wrong := range []string{"3B0764.css", "3B0764-FACC1.css", "3B0764-FACC15", "3B0764-red;}a{.css", "-.css"} {
		ok.Equal(s.get(t, nobody, "/console/look/"+wrong).StatusCode, http.StatusNotFound) // wrong
	}
}

func TestBrandingThatIsRefusedKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	got := s.post(t, owner, brandingPath+"/save", "brandName", "  ", "primaryColor", "violet", "accentColor", "#2563EB",
		"logoUrl", "http://localhost/logo.png", "emailFooter", `"><script>alert(1)</script>`)
	ok.Equal(got.StatusCode, http.StatusBadRequest)
	ok.True(got.has(`value="violet"`))
	ok.True(got.has(`value="http://localhost/logo.png"`))
	ok.True(!got.has("<script>alert"))
	text := words(got)
	ok.True(strings.Contains(text, "Brand name must not be empty"))
	ok.True(strings.Contains(text, "For bars and buttons. must be # and six hexadecimal digits, such as #2563EB"))
	ok.True(strings.Contains(text, "must be an absolute https URL with a host"))
	var found struct {
		Versions []ticketing.BrandingVersion `json:"versions"`
	}
	s.get(t, owner, "/api/v2"+brandingPath).data(t, &found)
	ok.Equal(len(found.Versions), 1)
}

// TestBrandingIsPatched checks section 2.7: "In a patch, an omitted field keeps its value and null clears a nullable
// field".
func TestBrandingIsPatched(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	var saved ticketing.Branding
	s.postJSON(t, owner, brandingPath+"/save", `{"supportEmail":"help@adire.ng","ticketFooter":"Bring an id"}`).
		data(t, &saved)
	ok.Equal(saved.BrandName, "Adire Concerts")
	s.postJSON(t, owner, brandingPath+"/save", `{"supportEmail":null}`).data(t, &saved)
	ok.Equal(saved.SupportEmail, nil)
	ok.Equal(*saved.TicketFooter, "Bring an id")
	ok.Equal(s.postJSON(t, owner, brandingPath+"/save", `{"brandName":null}`).code(t), "INVALID_REQUEST")
}

func TestLogoIsLoadedOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	ok.True(!s.get(t, owner, brandingPath).has("Load the logo")) // there is none
	s.postJSON(t, owner, brandingPath+"/save", `{"logoUrl":"https://cdn.adire.ng:8443/logo.png?a=1&b=2"}`)
	page := s.get(t, owner, brandingPath)
	ok.True(page.has("Load the logo"))
	ok.True(!page.has("<img"))
	ok.True(!strings.Contains(page.Header.Get("Content-Security-Policy"), "adire"))

	page = s.get(t, owner, brandingPath+"?pictures=show")
	ok.True(page.has(`<img class="look-logo" src="https://cdn.adire.ng:8443/logo.png?a=1&amp;b=2" alt="Adire Concerts" ` +
		`referrerpolicy="no-referrer">`))
	policy := page.Header.Get("Content-Security-Policy")
	ok.True(strings.Contains(policy, "img-src 'self' data: https://cdn.adire.ng:8443;"))
	ok.True(page.has("Hide the logo"))
	ok.True(!strings.Contains(s.get(t, owner, brandingPath).Header.Get("Content-Security-Policy"), "adire"))
}

func TestBrandingHasEarlierVersionsInPages(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const versions = 5
	for i := 2; i <= versions; i++ {
		s.postJSON(t, owner, brandingPath+"/save", fmt.Sprintf(`{"checkoutFooter":"Footer %d"}`, i))
	}
	var numbers []int64
	path := brandingPath + "?limit=2"
	for path != "" {
		page := s.get(t, viewer, path)
		ok.Equal(page.StatusCode, http.StatusOK)
		ok.Equal(page.has("Current</span>"), len(numbers) == 0)
		var found struct {
			Versions []ticketing.BrandingVersion `json:"versions"`
		}
		s.get(t, viewer, "/api/v2"+path).data(t, &found)
		for _, version := range found.Versions {
			numbers = append(numbers, version.Version)
		}
		_, rest, more := strings.Cut(page.text, `<p class="more"><a class="button quiet" href="`)
		path = ""
		if more {
			path, _, _ = strings.Cut(rest, `"`)
			path = strings.ReplaceAll(path, "&amp;", "&")
		}
	}
	ok.Equal(numbers, []int64{5, 4, 3, 2, 1})
	ok.Equal(s.get(t, viewer, brandingPath+"?cursor=other").StatusCode, http.StatusBadRequest)
}

func TestBrandingOfAViewerHasNoForm(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	page := s.get(t, viewer, brandingPath)
	ok.True(!page.has("/branding/save"))
	ok.True(strings.Contains(words(page), "Fields Brand name Adire Concerts"))
}

func TestHostileBrandingIsText(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const hostile = `</style><script>alert(1)</script>` + "\u202e" + `{{.}}`
	for _, name := range []string{"brandName", "checkoutFooter", "ticketFooter", "emailFooter"} {
		ok.Equal(s.postJSON(t, owner, brandingPath+"/save", fmt.Sprintf(`{%q:%q}`, name, hostile)).StatusCode, http.StatusOK)
	}
	for _, path := range []string{brandingPath, overviewPath, apiKeysPath} {
		ok.True(!s.get(t, owner, path).has("<script>alert"))
	}
	ok.True(s.get(t, owner, brandingPath).has(`<p class="look-foot" dir="auto">&lt;/style&gt;`))
	long := strings.Repeat("x", 10_000)
	ok.Equal(s.post(t, owner, brandingPath+"/save", "brandName", long).StatusCode, http.StatusBadRequest)
}
