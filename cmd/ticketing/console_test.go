package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"
)

// visitor is a browser of a person. It keeps cookies and follows redirects.
type visitor struct {
	t      *testing.T
	client *http.Client
}

func newVisitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	is.New(t).NoErr(err)
	return &visitor{t, &http.Client{Jar: jar}}
}

// visit requests a page and returns its status, its path and its text.
func (v *visitor) visit(address string) (status int, path, text string) {
	v.t.Helper()
	return v.do(http.MethodGet, address, nil)
}

// signIn opens a link as a browser does: its page, and then the button there.
func (v *visitor) signIn(link string) (status int, path, text string) {
	v.t.Helper()
	page, token, found := strings.Cut(link, "#")
	is.New(v.t).True(found)
	status, _, _ = v.visit(page)
	is.New(v.t).Equal(status, http.StatusOK)
	return v.do(http.MethodPost, page, url.Values{"token": {token}})
}

func (v *visitor) do(method, address string, form url.Values) (status int, path, text string) {
	v.t.Helper()
	ok := is.New(v.t)
	request, err := http.NewRequestWithContext(soon(v.t), method, address, strings.NewReader(form.Encode()))
	ok.NoErr(err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", request.URL.Scheme+"://"+request.URL.Host)
	}
	response, err := v.client.Do(request)
	ok.NoErr(err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	ok.NoErr(err)
	return response.StatusCode, response.Request.URL.Path, string(body)
}

// Two people open the links that a fresh demo prints. The owner sees the company's first page, the administrator that
// of the platform. Neither link works twice.
func TestDemoSignsItsPeopleIn(t *testing.T) {
	t.Parallel()
	leftOut(t)
	ok := is.New(t)
	p := newShell(t).start("demo", "--json", "--addr", "127.0.0.1:0")
	_, port, _ := strings.Cut(strings.TrimPrefix(p.listening(), "http://"), ":")
	line, err := p.stdout.ReadString('\n')
	ok.NoErr(err)
	var demo struct{ CompanyID, ConsoleURL, PlatformURL string }
	ok.NoErr(json.Unmarshal([]byte(line), &demo))
	origin := "http://localhost:" + port
	ok.True(strings.HasPrefix(demo.ConsoleURL, origin+"/sign-in/link#"))
	ok.True(strings.HasPrefix(demo.PlatformURL, origin+"/sign-in/link#"))

	owner, administrator := newVisitor(t), newVisitor(t)
	status, path, text := owner.signIn(demo.ConsoleURL)
	ok.Equal(status, http.StatusOK)
	ok.Equal(path, "/business/"+demo.CompanyID)
	ok.True(strings.Contains(text, "<title>Overview"))
	ok.True(strings.Contains(text, "owner@example.com"))
	ok.True(strings.Contains(text, "995,000.00")) // the float after the demo's sale
	status, _, _ = owner.visit(origin + "/platform")
	ok.Equal(status, http.StatusForbidden)

	status, path, text = administrator.signIn(demo.PlatformURL)
	ok.Equal(status, http.StatusOK)
	ok.Equal(path, "/platform")
	ok.True(strings.Contains(text, "administrator@example.com"))
	status, _, _ = administrator.visit(origin + "/business/" + demo.CompanyID)
	ok.Equal(status, http.StatusOK)

	status, _, _ = newVisitor(t).signIn(demo.ConsoleURL)
	ok.Equal(status, http.StatusUnauthorized)
	// Health and the API stay beside the console.
	status, _ = get(t, origin+"/healthz")
	ok.Equal(status, http.StatusOK)
	status, _ = get(t, origin+prefix+"/events")
	ok.Equal(status, http.StatusUnauthorized)
	p.signal(syscall.SIGTERM)
	ok.Equal(p.wait(), 0)
}

// A second demo on the database goes on with the people of the first, with the roles that they have now.
func TestDemoKeepsItsPeople(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	sh.object("staff", "add", "--email", "ada@example.com", "--name", "Ada Obi", "--role", "ADMINISTRATOR")
	sh.object("staff", "update", "administrator@example.com", "--role", "AUDITOR")
	sh.openShop()
	ok.Equal(sh.object("user", "show", "administrator@example.com")["role"], "AUDITOR")
	ok.Equal(len(sh.array("staff", "list")), 2)
	ok.Equal(len(sh.array("member", "list", shop.companyID)), 1)
	demo := sh.object("demo", "--once", "--addr", "127.0.0.1:0")
	ok.Equal(demo["consoleUrl"], nil) // It ends before anybody can open a link.
	ok.Equal(demo["platformUrl"], nil)
}

// What a demo prints for a person has both links, unless there is no console.
func TestDemoPrintsItsLinks(t *testing.T) {
	t.Parallel()
	leftOut(t)
	ok := is.New(t)
	sh := newShell(t).with("TICKETING_DATABASE", "memory:")
	for _, flags := range [][]string{nil, {"--no-console"}} {
		p := sh.start(append([]string{"demo", "--addr", "127.0.0.1:0"}, flags...)...)
		p.listening()
		links := 0
		for {
			line, err := p.stdout.ReadString('\n')
			ok.NoErr(err)
			if strings.HasPrefix(line, "    http://localhost:") && strings.Contains(line, "/sign-in/link#") {
				links++
			}
			if strings.HasPrefix(line, "The server runs") {
				break
			}
		}
		ok.Equal(links, 2-2*len(flags))
	}
}

// A server serves the console at localhost, and at the host of its web origin alone. The rate limit of the API is not
// that of the console.
func TestServeWithConsole(t *testing.T) {
	t.Parallel()
	leftOut(t)
	ok := is.New(t)
	sh := newShell(t)
	sh.object("migrate")
	added := sh.object("staff", "add", "--email", "ada@example.com", "--name", "Ada Obi", "--role", "ADMINISTRATOR")
	_, token, _ := strings.Cut(added["link"].(string), "#")
	p := sh.start("serve", "--addr", "127.0.0.1:0", "--rate-limit", "1")
	origin := p.listening()
	_, port, _ := strings.Cut(strings.TrimPrefix(origin, "http://"), ":")
	eventually(t, "it says where the console is", func() bool {
		return strings.Contains(p.errors(), `msg="the console is served" url=http://localhost:`+port+"/business\n")
	})

	ada := newVisitor(t)
	status, path, _ := ada.signIn(origin + "/sign-in/link#" + token)
	ok.Equal(status, http.StatusOK)
	ok.Equal(path, "/platform")
	for range 5 {
		status, _, _ = ada.visit(origin + "/api/v2/account")
		ok.Equal(status, http.StatusOK)
	}
	// The API answers under its own prefix alone, and a session opens nothing of it.
	status, _, _ = ada.visit(origin + prefix + "/events")
	ok.Equal(status, http.StatusUnauthorized)
	status, _, _ = ada.visit(origin + prefix + "/events")
	ok.Equal(status, http.StatusTooManyRequests)

	_, named := sh.serve("--web-origin", "https://tickets.example")
	status, _, _ = newVisitor(t).visit(named + "/sign-in")
	ok.Equal(status, http.StatusMisdirectedRequest)
	status, _ = get(t, named+prefix+"/events")
	ok.Equal(status, http.StatusUnauthorized)
}

// No path of /api/v2 is served below the prefix of the public API, not even to a key. No path of the public API is
// served below /api/v2, not even to an administrator. The paths are those of docs/console.md and of openapi.json.
func TestPlanesDoNotServeEachOther(t *testing.T) {
	t.Parallel()
	leftOut(t)
	ok := is.New(t)
	docs, err := os.ReadFile("../../docs/console.md")
	ok.NoErr(err)
	internal := regexp.MustCompile("`(GET|POST) /api/v2(/[^`]+)`").FindAllStringSubmatch(string(docs), -1)
	ok.True(len(internal) > 100)
	sh := newShell(t)
	sh.object("migrate")
	sold := sh.openShop()
	added := sh.object("staff", "add", "--email", "ada@example.com", "--name", "Ada Obi", "--role", "ADMINISTRATOR")
	_, token, _ := strings.Cut(added["link"].(string), "#")
	_, origin := sh.serve("--rate-limit", "0")
	named := strings.NewReplacer("{companyId}", sold.companyID, "{eventId}", sold.eventID)
	for _, route := range internal {
		status, _ := send(t, route[1], origin+prefix+named.Replace(route[2]), sold.key, "", "")
		ok.Equal(status, http.StatusNotFound) // route
	}
	status, text := get(t, origin+prefix+"/openapi.json")
	ok.Equal(status, http.StatusOK)
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	ok.NoErr(json.Unmarshal([]byte(text), &document))
	ok.True(len(document.Paths) > 5)
	ada := newVisitor(t)
	status, _, _ = ada.signIn(origin + "/sign-in/link#" + token)
	ok.Equal(status, http.StatusOK)
	for path, methods := range document.Paths {
		for method := range methods {
			status, _, _ = ada.do(strings.ToUpper(method), origin+"/api/v2"+named.Replace(path), nil)
			ok.Equal(status, http.StatusNotFound) // path, method
		}
	}
}

// Without the console its paths are unknown to the API. A server that would serve it over plain HTTP says so.
func TestServeWithoutConsole(t *testing.T) {
	t.Parallel()
	leftOut(t)
	ok := is.New(t)
	sh := newShell(t)
	const warning = "there is no console: at the web origin it would be served over plain HTTP"
	for _, test := range []struct {
		flags []string
		warns bool
	}{
		{[]string{"--no-console"}, false},
		{[]string{"--no-console", "--web-origin", "http://shop.example"}, false},
		{[]string{"--web-origin", "http://shop.example"}, true},
	} {
		p, origin := sh.serve(test.flags...)
		for _, path := range []string{"/business", "/platform", "/sign-in", "/api/v2/account"} {
			status, _, _ := newVisitor(t).visit(origin + path)
			ok.Equal(status, http.StatusNotFound) // path
		}
		p.signal(syscall.SIGTERM)
		ok.Equal(p.wait(), 0)
		ok.Equal(strings.Contains(p.errors(), warning), test.warns) // test.flags
	}
}

// A server that sends mails mails a link to those who ask for one, and to nobody that it does not know.
func TestServeMailsLinks(t *testing.T) {
	t.Parallel()
	leftOut(t)
	ok := is.New(t)
	sh := newShell(t)
	sh.object("migrate")
	sh.setSender()
	sh.object("staff", "add", "--email", "ada@example.com", "--name", "Ada Obi", "--role", "AUDITOR")
	folder := t.TempDir()
	_, origin := sh.serve("--mail-folder", folder)
	ada := newVisitor(t)
	for _, email := range []string{"nobody@example.com", "ada@example.com"} {
		status, path, text := ada.do(http.MethodPost, origin+"/sign-in", url.Values{"email": {email}})
		ok.Equal(status, http.StatusOK)
		ok.Equal(path, "/sign-in/code")
		ok.True(strings.Contains(text, email))
	}
	var mails []string
	eventually(t, "the mail is written", func() bool {
		var err error
		mails, err = filepath.Glob(filepath.Join(folder, "*.eml"))
		ok.NoErr(err)
		return len(mails) > 0
	})
	ok.Equal(len(mails), 1)
	mail, err := os.ReadFile(mails[0])
	ok.NoErr(err)
	ok.True(strings.Contains(string(mail), "To: <ada@example.com>"))
	_, rest, found := strings.Cut(string(mail), "Subject: Your code to sign in: ")
	ok.True(found)
	code, _, _ := strings.Cut(rest, "\r\n")
	_, path, _ := ada.do(http.MethodPost, origin+"/sign-in/code", url.Values{"code": {code}})
	ok.Equal(path, "/platform")
}

// A server that shuts down does not wait for pages that update by themselves.
func TestServerDrainsDespiteAnOpenStream(t *testing.T) {
	t.Parallel()
	leftOut(t)
	ok := is.New(t)
	sh := newShell(t)
	sh.object("migrate")
	added := sh.object("staff", "add", "--email", "ada@example.com", "--name", "Ada Obi", "--role", "ADMINISTRATOR")
	_, token, _ := strings.Cut(added["link"].(string), "#")
	p, origin := sh.serve()
	ada := newVisitor(t)
	status, _, _ := ada.signIn(origin + "/sign-in/link#" + token)
	ok.Equal(status, http.StatusOK)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/platform/live", nil)
	ok.NoErr(err)
	response, err := ada.client.Do(r)
	ok.NoErr(err)
	defer func() { _ = response.Body.Close() }()
	ok.Equal(response.StatusCode, http.StatusOK)
	begun := time.Now()
	p.signal(syscall.SIGTERM)
	ok.Equal(p.wait(), 0)
	ok.True(time.Since(begun) < 15*time.Second)
	_, err = io.Copy(io.Discard, response.Body)
	ok.NoErr(err) // The stream ended, and was not cut off.
}
