package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/ledger"
)

// TestSaleAppearsOnTheOverview sells while an owner has the overview open. It shows the sale without a reload, and
// keeps the focus and the opened boxes. When the session ends, the page leads to the sign-in page.
func TestSaleAppearsOnTheOverview(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s, browser := is.New(t), newSite(t), browsertest.New(t)
	key := s.openShop(t, 500_00)
	s.clock.advance(time.Hour)
	p := s.open(t, browser, owner, overviewPath, browsertest.Desktop)
	p.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
	ok.True(strings.Contains(p.Text(`document.querySelector("#money").textContent`), "₦500.00"))
	p.Text(`(() => {
		window.stays = "stays"
		document.querySelector("details").open = true
		document.querySelector("#live a[href$=settlements]").focus()
	})()`)
	s.clock.advance(time.Minute)
	s.sell(t, key, 120_00)
	p.Wait(`document.querySelector("#money").textContent.includes("₦380.00")`)
	p.Wait(`/[-−]₦120\.00/.test(document.querySelector("[aria-labelledby=movements] tbody").textContent)`)
	ok.Equal(p.Text(`window.stays`), "stays")
	ok.Equal(p.Text(`document.activeElement.getAttribute("href").split("/").pop()`), "settlements")
	ok.Equal(p.Text(`document.querySelector("details").open + ""`), "true")
	ok.Equal(p.Text(`document.querySelectorAll("#live").length + ""`), "1")
	p.IsClean()
	_, err := s.staff.SuspendWallet(t.Context(), s.company, ledger.Float)
	ok.NoErr(err)
	p.Wait(`document.querySelector(".head").textContent.includes("Not ready to sell")`)
	p.Wait(`document.querySelector("#readiness")?.closest("section").textContent.includes("Missing")`)
	_, err = s.Accounts().EndSessions(t.Context(), s.users[owner])
	ok.NoErr(err)
	p.Wait(`location.pathname === "/sign-in"`)
	p.IsClean()
}

// TestPageOfAnEndedSessionShowsNothingWhenItComesBack hides a page, which ends its stream, ends the session and shows
// the page again: it leads to the sign-in page.
func TestPageOfAnEndedSessionShowsNothingWhenItComesBack(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	s, browser := newSite(t), browsertest.New(t)
	ended := make(chan struct{}, 100)
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.handler.ServeHTTP(w, r)
		if strings.HasSuffix(r.URL.Path, "/live") {
			ended <- struct{}{}
		}
	}))
	t.Cleanup(s.server.Close)
	p := s.open(t, browser, owner, overviewPath, browsertest.Phone)
	p.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
	const turn = `(() => {
		Object.defineProperty(document, "hidden", { value: %t, configurable: true })
		document.dispatchEvent(new Event("visibilitychange"))
	})()`
	p.Text(fmt.Sprintf(turn, true))
	<-ended
	_, err := s.Accounts().EndSessions(t.Context(), s.users[owner])
	is.New(t).NoErr(err)
	p.Text(fmt.Sprintf(turn, false))
	p.Wait(`location.pathname === "/sign-in"`)
}

// TestQueueCountsUp submits a case while staff have their work list open.
func TestQueueCountsUp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	s, browser := newSite(t), browsertest.New(t)
	p := s.open(t, browser, chief, "/platform", browsertest.Phone)
	p.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
	p.Text(`window.stays = "stays"`)
	s.submit(t, "Adire Concerts Limited")
	p.Wait(`document.querySelector("#cases")?.closest("section").textContent.includes("Adire Concerts")`)
	is.New(t).Equal(p.Text(`window.stays`), "stays")
	p.IsClean()
}

// TestPageWithoutAStreamOpensOneLater refuses a page its stream, since the person has too many, and ends the others.
// The page tries again after a while, which the test shortens.
func TestPageWithoutAStreamOpensOneLater(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s, browser := is.New(t), newSite(t), browsertest.New(t)
	p := s.open(t, browser, owner, "/account", browsertest.Desktop)
	var feeds []*feed
	for range 20 {
		feeds = append(feeds, s.listen(t, owner, liveOverview).opened(t))
	}
	_, err := chromedp.Call(p.Context(), cdp.AddScriptToEvaluateOnNewDocument,
		cdp.AddScriptToEvaluateOnNewDocumentParams{Source: `{
			const slow = window.setTimeout
			window.later = 0
			window.setTimeout = (f, ms, ...rest) => {
				window.later += ms === 30_000
				return slow(f, ms === 30_000 ? 100 : ms, ...rest)
			}
		}`})
	ok.NoErr(err)
	p.Text(`location.assign("` + strings.ReplaceAll(overviewPath, "{companyId}", s.company.String()) + `")`)
	p.Wait(`window.later > 0`)
	for _, one := range feeds {
		ok.NoErr(one.Body.Close())
	}
	p.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
}

// TestOpenQuestionStaysAsItIs changes the bank account while a person reads the question before a settlement: the
// question keeps the account that they agree to, until they close it.
func TestOpenQuestionStaysAsItIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newShop(t)
	set := func(number ticketing.AccountNumber) {
		s.books.Clock.Advance(time.Minute)
		_, err := s.staff.SetBankAccount(t.Context(), s.company, ticketing.BankAccountParams{
			Bank: "Zuma Bank", AccountNumber: number, AccountName: "Adire Concerts Ltd",
		})
		ok.NoErr(err)
	}
	set("0123456789")
	s.sell(t)
	path := strings.ReplaceAll(settlements, "{companyId}", s.company.String())
	p := s.open(t, browsertest.New(t), owner, path, browsertest.Desktop)
	p.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
	const question = `document.querySelector("[action$='/settlements/request']").closest("details")`
	p.Text(`(() => {
		const { ajax } = htmx
		htmx.ajax = (...all) => { window.fetched = true; return ajax.apply(htmx, all) }
		document.addEventListener("live", () => window.heard = true)
		` + question + `.open = true
	})()`)
	set("9876543210")
	p.Wait(`window.heard === true`)
	ok.Equal(p.Text(`window.fetched + ""`), "undefined")
	ok.Equal(p.Text(question+`.querySelector("[name=bankAccountLast4]").value`), "6789")
	ok.True(strings.Contains(p.Text(question+`.textContent`), "6789"))
	p.Text(`(() => { ` + question + `.open = false })()`)
	p.Wait(question + `.querySelector("[name=bankAccountLast4]").value === "3210"`)
	p.IsClean()
}

// heldRefreshes are scripts that hold the response to a refresh, by where they hold it.
var heldRefreshes = map[string]string{
	"before its headers": `const r = await fetched(...all); await hold(); return r`,
	"before its body": `const r = await fetched(...all), text = r.text.bind(r)
		r.text = async () => { await hold(); return text() }
		return r`,
}

// holdRefreshes holds each refresh from now on until window.go is called. A refresh may be on its way already: one more
// follows it, and what is fetched after that is held.
func holdRefreshes(p *browsertest.Page, held string) {
	p.Text(`await new Promise((ready) => {
		const fetched = window.fetch.bind(window)
		const hold = () => new Promise((go) => { window.go = go })
		const { ajax } = htmx
		htmx.ajax = (...all) => ajax.apply(htmx, all).finally(() => {
			window.fetch = async (...all) => {
				if (!("X-Console-Live" in all[1].headers)) return fetched(...all)
				` + held + `
			}
			htmx.ajax = (...all) => ajax.apply(htmx, all).finally(() => { window.finished = true })
			ready("")
		})
		document.dispatchEvent(new Event("live"))
	})`)
}

// TestFilterDuringARefreshKeepsItsList filters a list while the response of a refresh of the whole list is on its way,
// before and after its headers: the filtered list stays.
func TestFilterDuringARefreshKeepsItsList(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	for name, held := range heldRefreshes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ok, s := is.New(t), newShop(t)
			s.sellTo(t, "ngozi@example.com", 1)
			s.sellTo(t, "ada@example.com", 1)
			p := s.open(t, browsertest.New(t), owner, "/business/{companyId}/buyers", browsertest.Desktop)
			p.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
			const rows = `[...document.querySelectorAll("#live tbody tr td:first-child")].map((td) => td.innerText).join()`
			holdRefreshes(p, held)
			p.Text(`document.dispatchEvent(new Event("live"))`)
			p.Wait(`window.go !== undefined`)
			p.Role("textbox", "^Email starts with").Type("ng")
			p.Role("button", "^Show$").Click()
			p.Wait(rows + ` === "ngozi@example.com"`)
			const release = `(() => { const { go } = window; window.go = undefined; window.finished = false; go() })()`
			p.Text(release)
			p.Wait(`window.finished === true`)
			ok.Equal(p.Text(rows), "ngozi@example.com")
			p.Wait(`window.go !== undefined`) // It is fetched once more, as it is filtered now.
			p.Text(release)
			p.Wait(`window.finished === true`)
			ok.Equal(p.Text(rows), "ngozi@example.com")
			p.IsClean()
		})
	}
}

// TestQuestionThatIsOpenedDuringARefreshStaysAsItIs opens the question before an approval while the response of a
// refresh is on its way, before and after its headers: the list stays as it is until the question is closed.
func TestQuestionThatIsOpenedDuringARefreshStaysAsItIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	for name, held := range heldRefreshes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ok, s := is.New(t), newShop(t)
			request := func(company uuid.UUID) {
				t.Helper()
				s.books.Clock.Advance(time.Minute)
				_, err := s.staff.SetBankAccount(t.Context(), company, ticketing.BankAccountParams{
					Bank: "Zuma Bank", AccountNumber: "0123456789", AccountName: "Adire Concerts Ltd",
				})
				ok.NoErr(err)
				_, err = s.staff.RequestSettlement(t.Context(), company)
				ok.NoErr(err)
			}
			s.sell(t)
			event := s.neighbor.Event(t)
			s.neighbor.Inventory(t, event.ID, "VIP", 150_00, 10)
			s.neighbor.Sell(t, event.ID, "VIP", 1)
			request(s.company)
			p := s.open(t, browsertest.New(t), chief, "/platform/settlements", browsertest.Desktop)
			p.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
			const question = `document.querySelector("[action$='/approve']").closest("details")`
			const rows = `document.querySelectorAll("tr[id^=settlement]").length`
			holdRefreshes(p, held)
			ok.Equal(p.Text(rows+` + ""`), "1")
			request(s.other)
			p.Wait(`window.go !== undefined`)
			p.Text(`(() => { ` + question + `.open = true; go() })()`)
			p.Wait(`window.finished === true`)
			ok.Equal(p.Text(rows+` + ""`), "1")
			ok.Equal(p.Text(question+`.open + ""`), "true")
			p.Text(`(() => { ` + question + `.open = false })()`)
			p.Wait(`(window.go?.(), ` + rows + ` === 2)`)
			p.IsClean()
		})
	}
}

// TestOpenDecisionStaysAsItIs requests a settlement of another company while staff read the question before they
// approve one: the list stays as it is, so that the button keeps its place, until they close the question.
func TestOpenDecisionStaysAsItIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s := is.New(t), newShop(t)
	request := func(company uuid.UUID) {
		t.Helper()
		s.books.Clock.Advance(time.Minute)
		_, err := s.staff.SetBankAccount(t.Context(), company, ticketing.BankAccountParams{
			Bank: "Zuma Bank", AccountNumber: "0123456789", AccountName: "Adire Concerts Ltd",
		})
		ok.NoErr(err)
		_, err = s.staff.RequestSettlement(t.Context(), company)
		ok.NoErr(err)
	}
	s.sell(t)
	event := s.neighbor.Event(t)
	s.neighbor.Inventory(t, event.ID, "VIP", 150_00, 10)
	s.neighbor.Sell(t, event.ID, "VIP", 1)
	request(s.company)
	p := s.open(t, browsertest.New(t), chief, "/platform/settlements", browsertest.Desktop)
	p.Wait(`document.querySelector("#stream")?._htmx?.sse !== undefined`)
	const question = `document.querySelector("[action$='/approve']").closest("details")`
	const rows = `document.querySelectorAll("tr[id^=settlement]").length`
	p.Text(`(() => {
		const { ajax } = htmx
		htmx.ajax = (...all) => { window.fetched = true; return ajax.apply(htmx, all) }
		document.addEventListener("live", () => window.heard = true)
		` + question + `.open = true
	})()`)
	request(s.other)
	p.Wait(`window.heard === true`)
	ok.Equal(p.Text(`window.fetched + ""`), "undefined")
	ok.Equal(p.Text(rows+` + ""`), "1")
	ok.Equal(p.Text(question+`.open + ""`), "true")
	p.Text(`(() => { ` + question + `.open = false })()`)
	p.Wait(rows + ` === 2`)
	p.IsClean()
}
