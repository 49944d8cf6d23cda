package browsertest

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// contrast is a script that lists the texts whose contrast to their background is less than WCAG 2.2 requires (1.4.3):
// a ratio of 4.5, or 3 for large letters.
//
//go:embed contrast.js
var contrast string

// Fits checks that the page does not scroll sideways.
func (p *Page) Fits() {
	p.tb.Helper()
	wider := p.Text(`document.documentElement.scrollWidth > innerWidth ||
		visualViewport.width < document.documentElement.clientWidth ?
		[...document.querySelectorAll("body *")]
			.filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth)
			.map(e => e.tagName + "." + e.className).slice(0, 9).join("\n") + " at " + innerWidth : ""`)
	if wider != "" {
		p.tb.Fatalf("the page scrolls sideways:\n%s", wider)
	}
}

// Readable checks the contrast of the page in the dark and the light color scheme, and saves a picture of both.
func (p *Page) Readable(name string) {
	p.tb.Helper()
	for _, media := range []Media{{Dark: true}, {}} {
		scheme := map[bool]string{false: "light", true: "dark"}[media.Dark]
		p.Show(media)
		p.Picture(name + "-" + scheme)
		p.Contrast(scheme)
	}
}

// Show changes the medium and waits until the scripts of the page have the event of another scheme, which comes with
// the next frame.
func (p *Page) Show(media Media) {
	p.tb.Helper()
	p.Media(media)
	p.Text(`window.framed = false, requestAnimationFrame(() => requestAnimationFrame(() => window.framed = true)), ""`)
	p.Wait(`window.framed`)
}

// Contrast checks the contrast of the page's texts in its current state. It takes much less time than [Axe], for this
// one rule. The failure names the color scheme.
func (p *Page) Contrast(scheme string) {
	p.tb.Helper()
	if faint := p.Text(contrast); faint != "" {
		p.tb.Fatalf("the contrast is too low, %s:\n%s", scheme, faint)
	}
}

// TabTo presses Tab until an element has the focus, and checks that the focus is visible.
func (p *Page) TabTo(selector string) {
	p.tb.Helper()
	for range 30 {
		p.Do(chromedp.KeyEvent(kb.Tab))
		if p.Text(`document.activeElement.matches("`+selector+`")`) != "true" {
			continue
		}
		if p.Text(`getComputedStyle(document.activeElement).outlineStyle`) == "none" {
			p.tb.Fatalf("%s has the focus and does not show it", selector)
		}
		return
	}
	p.tb.Fatalf("no %s is reached by Tab", selector)
}

// KeepsNothing checks that the browser has stored nothing for the page.
func (p *Page) KeepsNothing() {
	p.tb.Helper()
	stored := p.Text(`[localStorage.length, sessionStorage.length, (await indexedDB.databases()).length,
		(await caches.keys()).length].join(" ")`)
	cookies, err := chromedp.Call(p.ctx, network.GetCookies, network.GetCookiesParams{})
	p.must(err)
	if stored != "0 0 0 0" || len(cookies.Cookies) > 0 {
		p.tb.Fatalf("the page has stored %s in local and session storage, databases and caches, and %d cookies",
			stored, len(cookies.Cookies))
	}
}

// IsClean checks that the page and its frames have sent requests to their own origins only. It also checks that the
// browser reported no error, and no violation of a Content-Security-Policy.
func (p *Page) IsClean() {
	p.tb.Helper()
	elsewhere := p.Elsewhere()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(elsewhere) > 0 || len(p.messages) > 0 || len(p.violations) > 0 || len(p.asked) == 0 {
		p.tb.Fatalf("the page has sent %d requests; to other hosts:\n%s\nin its console:\n%s\nagainst its policies:\n%s",
			len(p.asked), strings.Join(elsewhere, "\n"), strings.Join(p.messages, "\n"), strings.Join(p.violations, "\n"))
	}
}

// clipboard is held while a page copies and pastes, since all pages of a process may share one.
var clipboard sync.Mutex

// Copied calls a function that copies a text, and returns the text that the clipboard has then. The page needs the
// permissions clipboard-read and clipboard-write.
func (p *Page) Copied(copies func()) string {
	p.tb.Helper()
	clipboard.Lock()
	defer clipboard.Unlock()
	copies()
	return p.Text(`await navigator.clipboard.readText()`)
}

// Allow grants the page permissions that a browser would ask its user for.
func (p *Page) Allow(names ...string) {
	p.tb.Helper()
	for _, name := range names {
		_, err := chromedp.Call(p.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted,
			BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID,
		})
		p.must(err)
	}
}
