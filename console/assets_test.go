package console_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// The version of htmx, whose README says where the files are from.
const htmxVersion = "4.0.1"

// TestAssetsOfOthersAreUnchanged checks the vendored files and that their licence is beside them.
func TestAssetsOfOthersAreUnchanged(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	for name, want := range map[string]string{
		"htmx.min.js":   "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
		"hx-sse.min.js": "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103",
	} {
		text, err := os.ReadFile("assets/htmx/" + name)
		ok.NoErr(err)
		sum := sha256.Sum256(text)
		ok.Equal(hex.EncodeToString(sum[:]), want) // name
		ok.Equal(bytes.Contains(text, []byte(htmxVersion)), name == "htmx.min.js")
	}
	readme, err := os.ReadFile("assets/htmx/README.md")
	ok.NoErr(err)
	ok.True(bytes.Contains(readme, []byte("`htmx.org` "+htmxVersion)))
	license, err := os.ReadFile("assets/htmx/LICENSE")
	ok.NoErr(err)
	ok.True(bytes.HasPrefix(license, []byte("Zero-Clause BSD")))
}

// transferred returns how many bytes a response has on the wire, without its headers.
func (s *site) transferred(t *testing.T, who, path string) int {
	t.Helper()
	r := s.request(t, http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", "gzip")
	got := s.do(t, who, r)
	is.New(t).Equal(got.StatusCode, http.StatusOK)
	return len(got.text)
}

// loaded matches the files that a page loads.
var loaded = regexp.MustCompile(`(?:src|href|data-htmx)="(/console/[^"]+)"`)

// busyShop returns a shop where each list has more than a page, with a replacer of the variables of paths.
func busyShop(t *testing.T) (*shop, *strings.Replacer) {
	t.Helper()
	ok, s := is.New(t), newShop(t)
	endpointID, deliveryID, orderID := s.fillShop(t)
	s.fillPlatform(t)
	for n := range 30 {
		name := fmt.Sprintf("Person %d of the Lagos Jazz Society", n)
		_, err := s.staff.AddMember(t.Context(), s.company, ticketing.AddMemberParams{
			Email: fmt.Sprintf("person-%d@example.com", n), Name: name, Role: ticketing.RoleViewer,
		})
		ok.NoErr(err)
		_, err = s.staff.AddStaff(t.Context(), ticketing.AddStaffParams{
			Email: fmt.Sprintf("staff-%d@example.com", n), Name: name, Role: ticketing.StaffAuditor,
		})
		ok.NoErr(err)
		_, err = s.staff.CreateCompany(t.Context(), name)
		ok.NoErr(err)
		_, err = s.staff.CreateCategory(t.Context(), name, fmt.Sprintf("category-%d", n))
		ok.NoErr(err)
		_, err = s.staff.CreditFloat(t.Context(), s.company, fmt.Sprintf("GTB-0091827-%d", n), 100_00)
		ok.NoErr(err)
		s.books.Event(t, func(p *ticketing.CreateEventParams) { p.Title = name })
		s.sellTo(t, fmt.Sprintf("buyer-%d@example.com", n), 2)
	}
	s.sendAll(t)
	s.sendMails(t)
	s.count(t)
	return s, strings.NewReplacer("{companyId}", s.company.String(), "{eventId}", s.event.ID.String(),
		"{orderId}", orderID, "{endpointId}", endpointID, "{deliveryId}", deliveryID)
}

// TestPagesAreSmall limits what the pages transfer where each list is full: 70 KB at a first visit, and 15 KB later.
func TestPagesAreSmall(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	s, names := busyShop(t)
	files := loaded.FindAllStringSubmatch(s.get(t, owner, "/business/{companyId}").text, -1)
	ok.True(len(files) >= 5)
	assets, visited := 0, 0
	for _, file := range files {
		assets += s.transferred(t, owner, file[1])
	}
	for _, route := range console.Pages() {
		path := names.Replace(route.Path)
		if strings.Contains(path, "{") {
			continue
		}
		who := owner
		if route.Platform {
			who = chief
		}
		if strings.HasSuffix(path, "/find") {
			path += "?q=person"
		}
		visited++
		size := s.transferred(t, who, path)
		if size > 15<<10 || size+assets > 70<<10 {
			t.Errorf("%s is %d bytes, and %d with what it loads; want at most 15 KB and 70 KB", route.Path, size, size+assets)
		}
	}
	ok.True(visited > 40)
	script, err := os.ReadFile("assets/console.js")
	ok.NoErr(err)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = io.Copy(w, bytes.NewReader(script))
	ok.NoErr(err)
	ok.NoErr(w.Close())
	ok.True(packed.Len() <= 8<<10)
}

// TestFilterChangesTheListInPlace filters a list with script. The page and the focus stay, and its address is that of
// the filtered list. Nothing in the page moves while it loads.
func TestFilterChangesTheListInPlace(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s, browser := is.New(t), newSite(t), browsertest.New(t)
	_, err := s.staff.SuspendCompany(t.Context(), s.other)
	ok.NoErr(err)
	for _, size := range sizes() {
		p := s.open(t, browser, chief, "/platform/companies", size)
		p.Wait(`typeof htmx === "object" && document.readyState === "complete"`)
		p.Text(`window.stays = "stays"`)
		ok.True(strings.Contains(p.Text(`document.querySelector("tbody").textContent`), "Adire Concerts"))
		p.Text(`(() => { const s = document.querySelector("[name=status]"); s.focus(); s.value = "SUSPENDED";
			s.dispatchEvent(new Event("change", { bubbles: true })) })()`)
		p.Wait(`!document.querySelector("tbody").textContent.includes("Adire Concerts")`)
		ok.True(strings.Contains(p.Text(`document.querySelector("tbody").textContent`), "Oja Nights"))
		p.Wait(`location.search.includes("status=SUSPENDED")`)
		ok.Equal(p.Text(`window.stays`), "stays")
		ok.Equal(p.Text(`document.activeElement.name`), "status")
		p.Text(`history.back()`)
		p.Wait(`location.search === "" && document.querySelector("tbody").textContent.includes("Adire Concerts") &&
			window.stays === undefined && typeof htmx === "object" && document.readyState === "complete"`)
		p.IsClean()
		// An ended session leads to another page.
		_, err := s.Accounts().EndSessions(t.Context(), s.users[chief])
		ok.NoErr(err)
		p.Text(`(() => { const s = document.querySelector("[name=status]"); s.value = "ACTIVE";
			s.dispatchEvent(new Event("change", { bubbles: true })) })()`)
		p.Wait(`location.pathname === "/sign-in"`)
	}
}

// TestPagesDoNotShift sums the layout shifts of pages with full lists while they load.
func TestPagesDoNotShift(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, browser := is.New(t), browsertest.New(t)
	s, names := busyShop(t)
	const company = "/business/{companyId}"
	for who, paths := range map[string][]string{
		owner: {
			"/account", company, company + "/branding", company + "/events", company + "/events/{eventId}", company + "/orders",
			company + "/orders/{orderId}", company + "/buyers", company + "/reports", company + "/ledger",
			company + "/webhooks/deliveries", company + "/mail", company + "/members", company + "/audit",
			company + "/find?q=person",
		},
		chief: {
			"/platform", "/platform/companies", "/platform/money", "/platform/audit", "/platform/books",
			"/platform/find?q=person",
		},
	} {
		for _, size := range sizes() {
			p := s.open(t, browser, who, "/account", size)
			for _, path := range paths {
				path = names.Replace(path)
				p.Text(`location.assign("` + path + `")`)
				p.Wait(`location.pathname + location.search === "` + path + `" && document.readyState === "complete"`)
				p.Text(`(() => {
					window.shift = 0
					new PerformanceObserver(list => list.getEntries().forEach(e => window.shift += e.value))
						.observe({ type: "layout-shift", buffered: true })
					requestAnimationFrame(() => requestAnimationFrame(() => window.seen = true))
				})()`)
				p.Wait(`window.seen === true`)
				ok.Equal(p.Text(`location.pathname + " " + window.shift`), strings.Split(path, "?")[0]+" 0")
			}
			p.IsClean()
		}
	}
}

// TestStreamsComeWithHtmx checks that one file has htmx and its extension for streams. htmx starts as soon as its file
// is loaded. On a slow network an extension in another file would come too late, and the page would open no stream.
func TestStreamsComeWithHtmx(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	page := s.get(t, owner, "/business/{companyId}").text
	ok.True(strings.Contains(page, `id="stream"`))
	ok.Equal(strings.Count(page, "<script"), 1)
	ok.Equal(strings.Count(page, ` data-htmx="/console/htmx.js?v=`), 1)
	script := s.get(t, owner, "/console/htmx.js").text
	for _, name := range []string{"htmx.min.js", "hx-sse.min.js"} {
		text, err := os.ReadFile("assets/htmx/" + name)
		ok.NoErr(err)
		ok.True(strings.Contains(script, string(text))) // name
	}
}

// TestBrowsersKeepWhatNeverChanges checks that the addresses of files have the version of the file, that a browser then
// keeps the file, and that a file of another version is not kept under such an address: while servers are upgraded, one
// may be asked for what another one's page names.
func TestBrowsersKeepWhatNeverChanges(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	_, err := s.staff.UpdateBranding(t.Context(), s.company, ticketing.UpdateBrandingParams{
		PrimaryColor: new("#2563EB"), AccentColor: new("#2563EB"),
	})
	ok.NoErr(err)
	files := loaded.FindAllStringSubmatch(s.get(t, owner, "/business/{companyId}").text, -1)
	versions := map[string]string{}
	for _, file := range files {
		path, version, _ := strings.Cut(file[1], "?v=")
		versions[path] = version
		ok.Equal(s.get(t, owner, file[1]).Header.Get("Cache-Control"), "public, max-age=31536000, immutable")
		for _, other := range []string{path, path + "?v=", path + "?v=" + strings.Repeat("0", len(version))} {
			ok.Equal(s.get(t, owner, other).Header.Get("Cache-Control"), "public, no-cache") // other
		}
	}
	ok.Equal(len(versions), 5) // the icon, the bar with the colour, console.css, console.js, htmx.js
	const colored = "/console/bar/2563eb.css"
	bar := s.get(t, owner, colored+"?v="+versions[colored]).text
	ok.Equal(bar, s.get(t, owner, "/console/bar.css").text+"@layer accent{:root{--accent-light:#2563eb}}\n")
}
