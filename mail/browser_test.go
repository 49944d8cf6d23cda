package mail_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strconv"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/mail"
)

// sampleLogo is where the logo of the mails in the browser is.
const sampleLogo = "https://cdn.harmattan.example/logo.png"

// browserMails are the mails that a browser shows, by name and number of admissions.
func browserMails() map[string]map[int]ticketing.TicketMail {
	english := func(n int) ticketing.TicketMail { return lagosMail(seats(n, "Lagos Jazz Night", "VIP", 25_000_00)...) }
	mails := make(map[string]map[int]ticketing.TicketMail)
	for name, mailOf := range map[string]func(int) ticketing.TicketMail{
		"english": english, "yoruba": yoruba, "arabic": arabic,
	} {
		mails[name] = map[int]ticketing.TicketMail{1: mailOf(1), 50: mailOf(50)}
	}
	return mails
}

// A mail is accessible, fits its window and loads nothing but the logo: on a phone and on a desktop, in the light and
// in the dark scheme, and with blocked pictures. Each admission is printed on a separate sheet. TICKETING_TEST_PICTURES
// names a folder for pictures of all of these.
func TestMailsInABrowser(t *testing.T) {
	t.Parallel()
	browser := browsertest.New(t)
	logo := plainPicture(is.New(t), 160, 44)
	renderer := mail.NewRenderer()
	for language, mails := range browserMails() {
		for admissions, tickets := range mails {
			// Fifty tickets look the same in each language, and take a browser seconds.
			if admissions > 1 && language != "english" && !search.Everywhere() {
				continue
			}
			tickets.Order.Branding.LogoURL = new(sampleLogo)
			name := fmt.Sprintf("%s-%d", language, admissions)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				document := browsertest.HTML{
					Text:   render(is, renderer, tickets).Page(),
					Remote: map[string][]byte{sampleLogo: logo},
				}
				p := browser.Show(t, document, browsertest.Phone)
				looksGood(t, p, name, admissions == 1)
				is.Equal(p.Elsewhere(), []string{sampleLogo})
				is.Equal(p.Text(`[...document.images].filter(image => image.naturalWidth > 0).length`),
					strconv.Itoa(1+admissions))
				// The first sheet has the head of the mail, and the order follows the last ticket.
				is.Equal(p.Print(name), admissions+1)

				if admissions > 1 {
					return // The codes are alike without their pictures, too.
				}
				document.NoPictures = true
				p = browser.Show(t, document, browsertest.Phone)
				looksGood(t, p, name+"-blocked", admissions == 1)
				is.Equal(p.Text(`[...document.images].filter(image => image.naturalWidth > 0).length`), "0")
			})
		}
	}
}

// looksGood checks a mail in each window and color scheme. axe takes seconds for 50 similar admissions, so these are
// checked in one window and scheme.
func looksGood(t *testing.T, p *browsertest.Page, name string, everywhere bool) {
	t.Helper()
	for _, window := range []struct {
		name string
		size browsertest.Size
	}{{"phone", browsertest.Phone}, {"desk", browsertest.Desktop}} {
		p.Resize(window.size)
		p.Fits()
		for _, scheme := range []string{"light", "dark"} {
			p.Media(browsertest.Media{Dark: scheme == "dark"})
			p.FullPicture(name + "-" + window.name + "-" + scheme)
			if everywhere || window.name == "desk" && scheme == "dark" {
				browsertest.Axe(t, p)
			}
		}
	}
	if everywhere {
		p.Readable(name)
	}
}

// plainPicture returns a PNG of one color.
func plainPicture(is *is.I, width, height int) []byte {
	is.Helper()
	var data bytes.Buffer
	is.NoErr(png.Encode(&data, image.NewGray(image.Rect(0, 0, width, height))))
	return data.Bytes()
}
