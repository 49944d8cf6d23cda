package console_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

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
var loaded = regexp.MustCompile(`(?:src|href)="(/console/[^"]+)"`)

// TestAssetsAreSmall limits what the pages of a company transfer: 70 KB at a first visit, and 15 KB later.
func TestAssetsAreSmall(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.submit(t, "Adire Concerts Limited")
	text := s.get(t, owner, "/business/{companyId}").text
	files := loaded.FindAllStringSubmatch(text, -1)
	ok.True(len(files) >= 4)
	assets := 0
	for _, file := range files {
		assets += s.transferred(t, owner, file[1])
	}
	for who, paths := range map[string][]string{
		owner: {
			"/business/{companyId}", "/business/{companyId}/branding", "/business/{companyId}/api-keys",
			"/business/{companyId}/audit", "/account",
		},
		chief: {"/platform", "/platform/companies", "/platform/audit", "/platform/companies/{companyId}/verification"},
	} {
		for _, path := range paths {
			size := s.transferred(t, who, path)
			if size > 15<<10 || size+assets > 70<<10 {
				t.Errorf("%s is %d bytes, and %d with what it loads", path, size, size+assets)
			}
		}
	}
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

// TestPagesDoNotShift sums the layout shifts of pages while they load.
func TestPagesDoNotShift(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s, browser := is.New(t), newSite(t), browsertest.New(t)
	for _, size := range sizes() {
		p := s.open(t, browser, owner, "/business/{companyId}", size)
		for _, path := range []string{"/account", "/business/{companyId}/branding", "/business/{companyId}"} {
			path = strings.ReplaceAll(path, "{companyId}", s.company.String())
			p.Text(`location.assign("` + path + `")`)
			p.Wait(`location.pathname === "` + path + `" && document.readyState === "complete"`)
			p.Text(`(() => {
				window.shift = 0
				new PerformanceObserver(list => list.getEntries().forEach(e => window.shift += e.value))
					.observe({ type: "layout-shift", buffered: true })
				requestAnimationFrame(() => requestAnimationFrame(() => window.seen = true))
			})()`)
			p.Wait(`window.seen === true`)
			ok.Equal(p.Text(`location.pathname + " " + window.shift`), path+" 0")
		}
		p.IsClean()
	}
}

// TestStreamsComeWithHtmx checks that one file has htmx and its extension for streams. htmx starts as soon as its file
// is loaded. On a slow network an extension in another file would come too late, and the page would open no stream.
func TestStreamsComeWithHtmx(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	page := s.get(t, owner, "/business/{companyId}").text
	ok.True(strings.Contains(page, `id="stream"`))
	ok.Equal(strings.Count(page, "<script"), 2)
	script := s.get(t, owner, "/console/htmx.js").text
	for _, name := range []string{"htmx.min.js", "hx-sse.min.js"} {
		text, err := os.ReadFile("assets/htmx/" + name)
		ok.NoErr(err)
		ok.True(strings.Contains(script, string(text))) // name
	}
}
