package console_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// submit posts a form from a page in a browser, and waits for a response with a text.
func submit(t *testing.T, p *browsertest.Page, path, text string, fields ...string) {
	t.Helper()
	pairs := [][2]string{}
	for i := 0; i+1 < len(fields); i += 2 {
		pairs = append(pairs, [2]string{fields[i], fields[i+1]})
	}
	encoded, err := json.Marshal(pairs)
	is.New(t).NoErr(err)
	p.Text(`(() => {
		window.left = true
		const form = document.createElement("form")
		form.method = "post"
		form.action = "` + path + `"
		for (const [name, value] of ` + string(encoded) + `) {
			const field = document.createElement("input")
			field.type = "hidden"
			field.name = name
			field.value = value
			form.append(field)
		}
		document.body.append(form)
		form.submit()
	})()`)
	p.Wait(`!window.left && document.readyState === "complete" && document.querySelector("h1") !== null`)
	p.Wait(`document.body.innerText.includes("` + text + `")`)
}

// TestAnswersOfActsAreAccessible checks the pages that no address leads to: the response of an act, the question before
// one, and the refusal of one.
func TestAnswersOfActsAreAccessible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s, browser := is.New(t), newShop(t), browsertest.New(t)
	endpointID, _, _ := s.fillShop(t)
	company, float := "/business/"+s.company.String(), "/platform/companies/"+s.company.String()+"/float"
	type answer struct {
		name, path, text string
		fields           []string
	}
	for who, answers := range map[string][]answer{
		owner: {
			{"issued-key", company + "/api-keys/issue", "svc_", []string{"name", "Shop", "grants", "COMPANY:event:read"}},
			{"webhook-created", company + "/webhooks/create", "Endpoint registered", []string{
				"url", "https://example.com/in", "events", "order.created",
			}},
			{"webhook-secret", company + "/webhooks/" + endpointID + "/secret/prepare", "Next signing secret", nil},
			{"invited", company + "/members/invite", "/sign-in/link#", []string{
				"name", "Ada", "email", "ada@example.com", "role", "VIEWER", "by", "link",
			}},
			{"buyer-erase", company + "/buyers/erase/ask", "Tickets stay valid", []string{"email", "ada@example.com"}},
			{"refused", company + "/branding/save", "Primary colour: must be", []string{
				"brandName", "", "primaryColor", "red",
			}},
			{"failure", company + "/events/x/publish", "There is no page at this address.", nil},
		},
		chief: {
			{"staff-added", "/platform/staff/add", "/sign-in/link#", []string{
				"name", "Ngozi", "email", "ngozi@example.com", "role", "SUPPORT",
			}},
			{"float-confirm", float + "/credit", "Credit ₦100.00?", []string{"amount", "100", "reference", "GTB-0091827"}},
		},
	} {
		p := s.open(t, browser, who, "/account", browsertest.Desktop)
		for _, one := range answers {
			submit(t, p, one.path, one.text, one.fields...)
			look(t, p, "answer-"+one.name)
		}
		ok.Equal(len(p.PolicyViolations()), 0) // who
		ok.Equal(len(p.Elsewhere()), 0)        // who
	}
	p := s.open(t, browser, owner, "/account", browsertest.Desktop)
	for name, path := range map[string]string{
		"mail-resend": company + "/mail/resend", "event-report": company + "/reports?event=" + s.event.ID.String(),
	} {
		p.Text(`location.assign("` + path + `")`)
		p.Wait(`location.pathname + location.search === "` + path + `" && document.readyState === "complete"`)
		look(t, p, "answer-"+name)
	}

	// A download continues after a confirmation by mail.
	s.books.Clock.Advance(11 * time.Minute)
	download := []string{"email", "ada@example.com", "_asked", "true"}
	submit(t, p, company+"/orders/export", "Confirm your identity", "email", "ada@example.com")
	look(t, p, "answer-confirm")
	submit(t, p, company+"/orders/export", "We have sent a code", append(download, "_confirm", "mail")...)
	look(t, p, "answer-confirm-code")
	var code string
	for code == "" {
		code = codeInSubject.FindString(s.mail(t).Subject)
	}
	submit(t, p, company+"/orders/export", "Download the file now.", append(download, "_code", code)...)
	look(t, p, "answer-download")

	p = browser.Open(t, s.localhost()+"/sign-in", browsertest.Desktop)
	submit(t, p, "/sign-in", "Enter your code", "email", address(owner))
	look(t, p, "answer-sign-in-code")
	p.IsClean()
}
