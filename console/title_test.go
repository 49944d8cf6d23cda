package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/console"
)

// TestTitle holds that the title of the configuration is the one name of the service that a person sees.
func TestTitle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, title, text, html string }{
		{name: "default", title: "", text: "Ticketing", html: "Ticketing"},
		{name: "of the operator", title: " Ìrìn & Co. Tickets ", text: "Ìrìn & Co. Tickets", html: "Ìrìn &amp; Co. Tickets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ok, s := is.New(t), newSite(t, func(config *console.Config) { config.Title = tt.title })
			for _, one := range []struct{ who, path, title string }{
				{nobody, "/sign-in", "Sign in"},
				{owner, "/business/{companyId}/api-keys", "API keys · Adire Concerts"},
				{chief, "/platform/companies", "Companies"},
				{owner, "/nowhere", "Not found"},
			} {
				got := s.get(t, one.who, one.path)
				if !got.has("<title>"+one.title+" · "+tt.html+"</title>") || !got.has("<bdi>"+tt.html+"</bdi>") {
					t.Errorf("%s does not show %q as its service:\n%.600s", one.path, tt.html, got.text)
				}
			}
			got := s.post(t, nobody, "/sign-in", "email", address(owner))
			ok.Equal(got.StatusCode, http.StatusSeeOther)
			mail := s.mail(t)
			ok.True(strings.Contains(mail.Text, "sign in to "+tt.text))
			ok.True(strings.Contains(mail.HTML, "sign in to "+tt.html))
			// The question of a browser for a new passkey names the service.
			var options struct {
				Data struct {
					RP struct {
						Name string `json:"name"`
					} `json:"rp"`
				} `json:"data"`
			}
			r := s.request(t, http.MethodPost, "/account/passkeys/begin", nil)
			r.Host = "localhost:" + s.address(t).Port()
			r.Header.Set("Origin", "http://"+r.Host)
			for _, cookie := range s.clients[owner].Jar.Cookies(s.address(t)) {
				r.AddCookie(cookie)
			}
			ok.NoErr(json.Unmarshal([]byte(s.do(t, owner, r).text), &options))
			ok.Equal(options.Data.RP.Name, tt.text)
		})
	}
	for _, title := range []string{strings.Repeat("x", 61), "two\nlines", "back\u202ewards", "\xff"} {
		_, err := console.New(newSite(t).Service, &console.Config{Title: title})
		is.New(t).True(err != nil) // not a title
	}
}
