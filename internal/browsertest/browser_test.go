package browsertest_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// A page is opened from a server, in a window of the size and for the medium that the test asks for.
func TestOpen(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		_, _ = w.Write([]byte(good))
	}))
	t.Cleanup(server.Close)
	p := browsertest.New(t).Open(t, server.URL, browsertest.Phone)
	is.Equal(p.Text(`document.querySelector("h1").innerText`), "Ọ̀ṣun Night")
	is.Equal(p.Text(`innerWidth + " " + innerHeight`), "360 740")
	p.Resize(browsertest.Desktop)
	is.Equal(p.Text(`innerWidth + " " + innerHeight`), "1280 900")
	const media = `["(prefers-color-scheme: dark)", "print"].map(query => matchMedia(query).matches)`
	is.Equal(p.Text(media), "false,false")
	p.Media(browsertest.Media{Dark: true})
	is.Equal(p.Text(media), "true,false")
	p.Media(browsertest.Media{Print: true})
	is.Equal(p.Text(media), "false,true")
	p.Media(browsertest.Media{})
	is.Equal(p.Text(media), "false,false")
	is.Equal(p.Text(`await Promise.resolve(7)`), "7")
	p.Fits()
	p.KeepsNothing()
}

// A document of no server is shown with the pictures that the test gives, or with none. Nothing else of another host
// is reached.
func TestShow(t *testing.T) {
	t.Parallel()
	browser := browsertest.New(t)
	const logo, other = "https://logo.example/logo.png", "https://other.example/pixel.png"
	inline := "data:image/png;base64," + base64.StdEncoding.EncodeToString(square(t))
	body := `<!doctype html><title>Ticket</title><p>Ọ̀ṣun<img id="inline" src="` + inline + `">
		<img id="logo" src="` + logo + `"><img id="other" src="` + other + `">`
	remote := map[string][]byte{logo: square(t)}
	const shown = `["inline", "logo", "other"].filter(id => document.getElementById(id).naturalWidth === 5)`
	for name, test := range map[string]struct {
		document browsertest.HTML
		shown    string
		asked    []string
	}{
		"as it is": {browsertest.HTML{Text: body}, "inline", []string{logo, other}},
		"with a picture of another host": {
			browsertest.HTML{Text: body, Remote: remote}, "inline,logo", []string{logo, other},
		},
		"without pictures": {
			browsertest.HTML{Text: body, Remote: remote, NoPictures: true}, "", []string{logo, other},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			p := browser.Show(t, test.document, browsertest.Phone)
			is.Equal(p.Text(shown), test.shown)
			is.Equal(p.Elsewhere(), test.asked)
			is.True(strings.HasPrefix(p.Text(`document.querySelector("p").innerText`), "Ọ̀ṣun"))
		})
	}
}

// What a page shows can be looked at: as a picture of the window, and as sheets of paper.
func TestPictures(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := browsertest.New(t).Show(t, browsertest.HTML{Text: `<!doctype html><title>Sheets</title>
		<style>body { margin: 0; background: #0a0 } div { height: 10px } div + div { break-before: page }</style>
		<div>1</div><div>2</div><div>3</div>`}, browsertest.Size{Width: 700, Height: 500})
	seen, err := png.Decode(bytes.NewReader(p.Screenshot()))
	is.NoErr(err)
	is.Equal(seen.Bounds(), image.Rect(0, 0, 700, 500))
	is.Equal(color.RGBAModel.Convert(seen.At(600, 400)), color.RGBA{0, 0xaa, 0, 0xff})
	is.Equal(p.Print("sheets"), 3)
}

// axe-core finds what is wrong, and says where and what to do. What is excepted is not reported, and nothing else with
// it.
func TestAxe(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	browser := browsertest.New(t)
	p := browser.Show(t, browsertest.HTML{Text: good}, browsertest.Desktop)
	browsertest.Axe(t, p)
	p.IsClean()

	const source = `<!doctype html><html lang="en"><title>Ticket</title>` +
		`<main><h1>Ticket</h1><p id="faint" style="color:#ccc">faint</p>` +
		`<div class="frame"><img id="first" src="data:,"></div><img id="second" src="data:,"></main>`
	p = browser.Show(t, browsertest.HTML{Text: source}, browsertest.Desktop)
	rules := func(found []browsertest.Violation) (rules []string) {
		for _, violation := range found {
			for _, node := range violation.Nodes {
				rules = append(rules, violation.Rule+" "+strings.Join(node.Target, " "))
			}
		}
		return rules
	}
	found := p.Violations()
	is.Equal(rules(found), []string{"color-contrast #faint", "image-alt #first", "image-alt #second"})
	report := found[1].String()
	for _, part := range []string{
		"image-alt (critical): ", "\n  https://dequeuniversity.com/rules/axe/", "\n  #first\n",
		`<img id="first" src="data:,">`, "Fix any of",
	} {
		is.True(strings.Contains(report, part))
	}
	except := browsertest.Except{Rule: "image-alt", Selector: ".frame", Reason: "the test's own"}
	is.Equal(rules(p.Violations(except)), []string{"color-contrast #faint", "image-alt #second"})
	whole := browsertest.Except{Rule: "color-contrast", Selector: "html", Reason: "the test's own"}
	is.Equal(rules(p.Violations(except, whole)), []string{"image-alt #second"})
	is.Equal(p.Text(`axe.version`), version(t))
}

// version returns the version of axe-core that its README names.
func version(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("axe/README.md")
	is.New(t).NoErr(err)
	named := regexp.MustCompile("`axe-core` ([0-9.]+) ").FindSubmatch(text)
	is.New(t).True(named != nil)
	return string(named[1])
}

// good is a page on which nothing is to be found.
const good = `<!doctype html><html lang="en"><title>Ticket</title><meta name="viewport" content="width=device-width">
	<link rel="icon" href="data:,"><main><h1>Ọ̀ṣun Night</h1><p>Gate 1</p></main></html>`

// square returns a PNG of 5 by 5.
func square(t *testing.T) []byte {
	t.Helper()
	var text bytes.Buffer
	is.New(t).NoErr(png.Encode(&text, image.NewGray(image.Rect(0, 0, 5, 5))))
	return text.Bytes()
}
