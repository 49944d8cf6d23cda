package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// TestFullPagesOfACompanyAreAccessible checks the pages of a company that sells, renews its verification and rotates
// its key, and a refused form.
func TestFullPagesOfACompanyAreAccessible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s, browser := is.New(t), newSite(t), browsertest.New(t)
	key := s.openShop(t, 500_00)
	s.post(t, owner, verificationPath+"/submit", facts()...)
	s.approve(t, s.clock.now().AddDate(0, 0, 20))
	s.postJSON(t, owner, brandingPath+"/save", `{"primaryColor":"#3b0764","accentColor":"#facc15",`+
		`"logoUrl":"https://cdn.adire.ng/logo.png","checkoutFooter":"No refunds","supportEmail":"help@adire.ng"}`)
	s.sell(t, key, 1)
	_, err := s.staff.RotateAPIKey(t.Context(), key.ID)
	ok.NoErr(err)
	s.schedule(t, "3", "PERCENT", s.clock.now().Add(time.Hour))
	p := s.open(t, browser, owner, "/account", browsertest.Desktop)
	for _, name := range []string{"", "/verification", "/branding", "/api-keys", "/commission"} {
		path := "/business/" + s.company.String() + name
		p.Text(`location.assign("` + path + `")`)
		p.Wait(`location.pathname === "` + path + `" && document.readyState === "complete"`)
		p.Text(`document.querySelectorAll("details").forEach(d => d.open = true)`)
		look(t, p, "console-full"+strings.ReplaceAll(name, "/", "-"))
	}
	p.IsClean()
}
