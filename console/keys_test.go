package console_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// TestKeysLeadAround goes through pages by keys alone, lists the keys, and turns them off.
func TestKeysLeadAround(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newSite(t)
	p := s.open(t, browsertest.New(t), chief, "/platform", browsertest.Desktop)
	// at waits until the page at a path is open, which a key has led to.
	at := func(path string) {
		t.Helper()
		p.Wait(`location.pathname === "` + path + `" && document.readyState === "complete"`)
	}
	p.Press("gc")
	at("/platform/companies")
	p.Press("/")
	ok.Equal(p.Text(`document.activeElement.id`), "find")
	p.Text(`document.activeElement.value = ""`) // A key of a test is typed although the page prevents it.
	p.Press("g/?")                              // In a field they are typed.
	ok.Equal(p.Text(`document.activeElement.value`), "g/?")
	ok.Equal(p.Text(`document.querySelectorAll("#shortcuts").length + ""`), "0")
	p.Text(`document.activeElement.blur()`)
	p.Press("?")
	p.Wait(`document.querySelector("#shortcuts")?.open === true`)
	list := p.Text(`document.querySelector("#shortcuts").innerText.replace(/\s+/g, " ")`)
	for _, want := range []string{"/ Find", "? This list", "g c Companies", "Use these keys"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %q: %s", want, list)
		}
	}
	look(t, p, "console-keys")
	p.Press("gt") // The list takes only its own keys.
	p.Press("\x1b")
	p.Wait(`!document.querySelector("#shortcuts").open`)
	ok.Equal(p.Text(`location.pathname`), "/platform/companies")
	p.Press("x") // Nothing follows from a letter alone, nor from one that leads nowhere.
	p.Press("c")
	ok.Equal(p.Text(`location.pathname`), "/platform/companies")

	p.Press("?")
	p.Element(`document.querySelector("#shortcuts input")`).Click()
	p.Element(`document.querySelector("#shortcuts button")`).Click()
	p.Press("?")
	ok.Equal(p.Text(`document.querySelector("#shortcuts").open + ""`), "false")
	p.Element(`document.querySelector("#list-shortcuts")`).Click() // The button is still there.
	p.Wait(`document.querySelector("#shortcuts").open && !document.querySelector("#shortcuts input").checked`)
	p.Element(`document.querySelector("#shortcuts input")`).Click()
	p.Press("\x1b")

	// A company is found and opened without a mouse.
	p.Press("/")
	p.Text(`document.activeElement.value = ""`)
	p.Press("adire\r")
	at("/platform/find")
	ok.True(strings.Contains(p.Text(`document.querySelector("main").innerText`), "Adire Concerts"))
	p.Press("/")
	ok.Equal(p.Text(`document.activeElement.id`), "find") // the field of the page itself
	p.Text(`document.activeElement.value = ""`)
	p.Press(s.company.String() + "\r")
	at("/platform/companies/" + s.company.String())
	// The list takes nothing away from a page that has keys of another kind.
	p.Text(`location.assign("/business/` + s.company.String() + `/api-keys")`)
	at("/business/" + s.company.String() + "/api-keys")
	p.Press("?")
	p.Wait(`document.querySelector("#shortcuts")?.open === true`)
	ok.Equal(p.Text(`document.querySelector("h2#keys").textContent`), "Active keys")
	p.IsClean()
}
