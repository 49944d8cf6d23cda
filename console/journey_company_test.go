package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// TestBrandingIsSavedAndSeenInATicketMail changes the branding and checks the mail of the next sale.
func TestBrandingIsSavedAndSeenInATicketMail(t *testing.T) {
	t.Parallel()
	bothWays(t, brandingIsSavedAndSeenInATicketMail)
}

func brandingIsSavedAndSeenInATicketMail(t *testing.T, by means) {
	t.Helper()
	browser := browsertest.New(t)
	ok, s := is.New(t), newShop(t)
	p := s.travelAs(t, browser, administrator, by)
	p.follow("Branding")
	p.fill("Brand name", "Adire Live")
	p.fill("Primary colour", "#3b0764")
	p.fill("Support email", "help@adire.example")
	p.fill("Mail footer", "See you there")
	p.press("button", "^Save$")
	p.sees("The branding was saved. New sales use it.", "Adire Live", "See you there", "Current")

	s.sell(t)
	s.sendMails(t)
	mail := s.mail(t)
	ok.True(strings.Contains(mail.FromName, "Adire Live"))
	ok.Equal(mail.ReplyTo, "help@adire.example")
	ok.True(strings.Contains(mail.HTML, "#3b0764"))
	shown := browser.Show(t, browsertest.HTML{Text: mail.HTML}, browsertest.Phone)
	seen := shown.Text(`document.body.innerText`)
	ok.True(strings.Contains(seen, "Adire Live"))
	ok.True(strings.Contains(seen, "See you there"))
	p.staysHere()
}

// TestKeyIsIssuedAndRotatedThroughItsSteps issues and rotates a key. The steps are ticked off as the keys are used.
func TestKeyIsIssuedAndRotatedThroughItsSteps(t *testing.T) {
	t.Parallel()
	bothWays(t, keyIsIssuedAndRotatedThroughItsSteps)
}

func keyIsIssuedAndRotatedThroughItsSteps(t *testing.T, by means) {
	t.Helper()
	browser := browsertest.New(t)
	ok, s := is.New(t), newSite(t)
	s.approve(t, time.Time{})
	uses := func(key string) int {
		status, _ := s.backend(t, key).call(http.MethodGet, "/events", "")
		return status
	}
	p := s.travelAs(t, browser, administrator, by)
	p.follow("API keys")
	p.fill("Name", "Web shop")
	p.tick("event:read")
	p.press("button", "^Issue the key")
	old := p.secret(shownKey)
	p.follow("I have stored it")
	ok.Equal(uses(old), http.StatusOK)

	s.clock.advance(11 * time.Minute)
	p.unfold("Rotate")
	p.prove("^Create the successor")
	p.sees("Store this secret now.", "send a real request with it. Then revoke")
	fresh := p.secret(shownKey)
	ok.True(fresh != old)
	p.follow("I have stored it")
	p.sees("In progress", "Done: Keep one key active", "Done: Rotate the key and store the new secret",
		"To do: Deploy the new key", "To do: Send a real request with the new key", "To do: Revoke the old key")

	p.FullPicture("journey-rotation")
	ok.Equal(uses(old), http.StatusOK) // somewhere it is not deployed yet
	s.clock.advance(time.Minute)
	ok.Equal(uses(fresh), http.StatusOK)
	p.follow("API keys")
	p.sees("To do: Deploy the new key", "Done: Send a real request with the new key", "To do: Revoke the old key")
	s.clock.advance(10 * time.Minute)
	p.follow("API keys")
	p.sees("Done: Deploy the new key", "Done: Send a real request with the new key", "To do: Revoke the old key")
	p.unfold("Revoke")
	p.press("button", "^Revoke the key")
	p.sees("The key is revoked. It no longer works.", "Finished", "Done: Revoke the old key")
	ok.Equal(uses(old), http.StatusUnauthorized)
	ok.Equal(uses(fresh), http.StatusOK)
	p.staysHere()
}

// TestDeadLetterIsFoundAndReplayedByAPerson registers an endpoint whose server fails, finds the dead letter, and
// replays it.
func TestDeadLetterIsFoundAndReplayedByAPerson(t *testing.T) {
	t.Parallel()
	bothWays(t, deadLetterIsFoundAndReplayedByAPerson)
}

func deadLetterIsFoundAndReplayedByAPerson(t *testing.T, by means) {
	t.Helper()
	browser := browsertest.New(t)
	s := newShop(t)
	p := s.travelAs(t, browser, administrator, by)
	p.follow("Webhooks")
	p.fill("Address", "https://hooks.example.com/in")
	p.tick("order.created")
	p.press("button", "^Register$")
	p.sees("It is shown only once.", "https://hooks.example.com/in")
	p.follow("I have stored it")

	s.status.Store(http.StatusInternalServerError)
	s.sell(t)
	s.sendAll(t)
	s.status.Store(http.StatusOK)
	p.follow("Overview")
	p.sees("Dead letters 1")
	p.follow("Deliveries")
	p.sees("Dead letters", "order.created", "Failed", "500")
	p.press("link", `\d \w+ 2026`)
	p.sees("order.created", "Failed", "Attempts", "Body")
	p.press("button", "^Replay$")
	p.FullPicture("journey-replay")
	p.sees("The event is being delivered again. This page shows the new delivery.", "Replay of")
	s.sendAll(t)
	p.follow("Deliveries")
	p.sees("Succeeded", "replay", "Failed")
	p.staysHere()
}

// TestSettlementIsRejectedAndAnotherPaid goes between the owner and the platform.
func TestSettlementIsRejectedAndAnotherPaid(t *testing.T) {
	t.Parallel()
	bothWays(t, settlementIsRejectedAndAnotherPaid)
}

func settlementIsRejectedAndAnotherPaid(t *testing.T, by means) {
	t.Helper()
	browser := browsertest.New(t)
	s := newShop(t)
	s.sell(t)
	p := s.travelAs(t, browser, owner, by)
	p.follow("Settlements")
	p.fill("Bank", "Zenith")
	p.fill("Account number", "1234567890")
	p.fill("Name of the account", "Adire Concerts Ltd")
	p.press("button", "^Set the account")
	p.sees("•••• 7890", "The bank account was saved.")
	p.unfold("Request ₦3.75")
	p.sees("Pay ₦3.75 to Zenith, Adire Concerts Ltd, account ending in 7890?")
	p.press("button", "^Request ₦3.75 to")
	p.sees("₦3.75 was requested, to the account that ends in 7890.", "has been waiting for the platform")

	staff := s.travelAs(t, browser, chief, by)
	staff.sees("Settlements to pay")
	s.books.Clock.Advance(11 * time.Minute)
	staff.follow("Review settlements")
	staff.unfold("Reject")
	staff.fill("Reason", "The name does not match.")
	staff.prove("^Reject ₦3.75")
	staff.sees("The settlement is rejected", "Recently decided", "The name does not match.")

	p.follow("Settlements")
	p.FullPicture("journey-settlement")
	p.sees("Rejected", "The name does not match.", "Earnings ₦3.75")
	p.unfold("Request ₦3.75")
	p.prove("^Request ₦3.75 to")
	p.sees("has been waiting for the platform")
	staff.follow("Settlements")
	staff.unfold("Approve")
	staff.sees("Was ₦3.75 paid to")
	staff.press("button", "^Approve ₦3.75")
	staff.sees("The settlement of ₦3.75 is completed.", "No open settlements")
	p.follow("Settlements")
	p.sees("Completed", "Earnings ₦0.00")
	p.staysHere()
	staff.staysHere()
}
