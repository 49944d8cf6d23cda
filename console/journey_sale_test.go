package console_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/mail"
	"github.com/floatgate/ticketing/store/memory"
)

// letterbox renders ticket mails and keeps them.
type letterbox struct {
	*mail.Renderer
	mailbox
}

// newPlatform returns a console on a service with one person, who is staff, and nothing else.
func newPlatform(t *testing.T) *site {
	t.Helper()
	ok := is.New(t)
	s := &site{
		clock: &clock{at: opening}, log: new(lockedText), mails: make(chan ticketing.Mail, 100),
		users: map[string]uuid.UUID{}, clients: map[string]*http.Client{},
	}
	svc, err := ticketing.New(memory.New(), &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: s.clock.now,
		Mailer: letterbox{mail.NewRenderer(), s.mails},
	})
	ok.NoErr(err)
	s.Service, s.staff = svc, svc.As(ticketing.Staff("test"))
	member, err := s.staff.AddStaff(t.Context(), ticketing.AddStaffParams{
		Email: address(chief), Name: chief, Role: ticketing.StaffAdministrator,
	})
	ok.NoErr(err)
	s.users[chief] = member.UserID
	sender := ticketing.MailSenderParams{Address: "tickets@example.com", Name: "Tickets"}
	_, err = s.staff.SetMailSender(t.Context(), sender)
	ok.NoErr(err)
	s.handler, err = console.New(svc, &console.Config{Mailer: mailbox(s.mails), Clock: s.clock.now})
	ok.NoErr(err)
	s.server = httptest.NewServer(s.handler)
	t.Cleanup(s.server.Close)
	return s
}

// TestCompanyGoesFromNothingToItsFirstSale leads from the first link of the platform's first person to a company that
// sells, using only what the pages show.
func TestCompanyGoesFromNothingToItsFirstSale(t *testing.T) {
	t.Parallel()
	t.Run("by mouse", func(t *testing.T) {
		t.Parallel()
		goToFirstSale(t, means{})
	})
	t.Run("by keyboard and without script", func(t *testing.T) {
		t.Parallel()
		goToFirstSale(t, means{keyboard: true, noScript: true})
	})
}

func goToFirstSale(t *testing.T, by means) {
	t.Helper()
	browser := browsertest.New(t)
	ok, s := is.New(t), newPlatform(t)

	// The platform creates the company, and invites its first owner by a link.
	staff := s.travelAs(t, browser, chief, by)
	staff.sees("To do", "Nothing to do")
	staff.follow("Companies")
	staff.sees("No companies yet")
	staff.unfold("Add a company")
	staff.fill("Name", "Oba Nights")
	staff.press("button", "^Create the company")
	staff.sees("The company was created. Invite its first owner next.", "Oba Nights")
	staff.follow("Members")
	staff.sees("No members yet")
	staff.FullPicture("journey-members")
	staff.unfold("Invite a member")
	staff.fill("Name", "Ngozi")
	staff.fill("Email", "ngozi@example.com")
	staff.choose("Role", "Owner")
	staff.press("button", "^Create a link")
	staff.sees("Ngozi is a member", "It is shown only once")
	link := staff.Text(`document.querySelector(".secret").innerText`)

	// The owner submits the verification.
	ngozi := s.travel(t, browser, link, by)
	ngozi.sees("Oba Nights", "Not ready to sell", "The company is not verified.")
	ngozi.FullPicture("journey-new-company")
	ngozi.follow("Verify")
	for _, field := range [][2]string{
		{"Legal name", "Oba Nights Ltd"},
		{"Registration number", "RC 123456"},
		{"Country", "NG"},
		{"Address", "1 Marina, Lagos"},
		{"Contact", "Ngozi Obi"},
		{"Contact email", "ngozi@example.com"},
		{"Contact phone", "+2348012345678"},
	} {
		ngozi.fill(field[0], field[1])
	}
	ngozi.press("button", "^Submit for review")
	ngozi.sees("The verification was submitted. The platform reviews it next.", "Oba Nights Ltd")

	// The platform approves it, activates a wallet, schedules a rate and credits the float, all long after the sign-in.
	s.clock.advance(11 * time.Minute)
	staff.follow("Platform")
	staff.sees("Cases to decide", "Oba Nights Ltd")
	staff.follow("Decide the case of Oba Nights")
	staff.press("button", "^Approve$")
	staff.sees("The company is approved.", "Until 21 Nov 2027, 23:59")
	staff.follow("Company")
	staff.sees("sells. Active ₦0.00", "commission. Active ₦0.00")
	staff.unfold("Suspend")
	staff.prove("^Suspend Float")
	staff.sees("sells. Suspended ₦0.00")
	staff.press("button", "^Activate Float")
	staff.sees("sells. Active ₦0.00")
	staff.follow("Commission")
	staff.fill("Rate", "2.5")
	staff.press("button", "^Schedule the rate")
	staff.sees("2.5 % holds from", "₦250.00")
	staff.follow("Float")
	staff.fill("Amount in naira", "100,000.00")
	staff.fill("Reference of the payment", "GTB-2026-11-21-1")
	staff.press("button", "^Continue")
	staff.sees("Credit ₦100,000.00?", "Oba Nights", "Float now ₦0.00", "Float after ₦100,000.00")
	staff.press("button", "^Credit ₦100,000.00")
	staff.sees("₦100,000.00 was credited.", "GTB-2026-11-21-1")

	// The owner issues the key, and their shop sells with it.
	ngozi.follow("Overview")
	ngozi.sees("The company has no active API key.")
	ngozi.follow("API keys")
	ngozi.fill("Name", "Web shop")
	for _, grant := range []string{"event:manage", "inventory:manage", "checkout:create", "order:read"} {
		ngozi.tick(grant)
	}
	ngozi.prove("^Issue the key")
	ngozi.sees("Store this secret now.")
	shop := s.backend(t, ngozi.secret(shownKey))
	ngozi.follow("I have stored it", "Overview")
	ngozi.sees("Ready to sell", "Float ₦100,000.00")
	order := shop.sell("25000.00")
	status, text := shop.call(http.MethodGet, "/orders/"+order, "")
	ok.Equal(status, http.StatusOK)
	ok.True(bytes.Contains([]byte(text), []byte(`"status":"CONFIRMED"`)))

	ngozi.follow("Overview")
	ngozi.sees("Float ₦75,000.00", "Earnings ₦625.00")
	ngozi.FullPicture("journey-first-sale")
	_, err := s.SendMails(t.Context())
	ok.NoErr(err)
	ok.Equal(s.mail(t).To, "ada@example.com")
	ngozi.follow("Mail")
	ngozi.sees(order[:8], "Sent")
	staff.staysHere()
	ngozi.staysHere()
}
