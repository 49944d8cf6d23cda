package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const mails = "/business/{companyId}/mail"

// sendMails sends what is due.
func (s *shop) sendMails(t *testing.T) {
	t.Helper()
	_, err := s.SendMails(t.Context())
	is.New(t).NoErr(err)
}

func TestFailedMailsComeFirstAndAreSentAgain(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	ok.True(s.get(t, viewer, mails).has("No ticket mail yet"))
	s.refuses.Store(true)
	lost := s.sell(t)
	s.sendMails(t)
	s.refuses.Store(false)
	s.books.Clock.Advance(time.Minute)
	s.sell(t)
	s.sendMails(t)
	s.mail(t)
	page := s.get(t, viewer, mails)
	failed, all, found := strings.Cut(page.text, "<h2>All mail</h2>")
	ok.True(found)
	ok.True(strings.Contains(failed, lost.ID.String()))
	ok.True(strings.Contains(all, "Sent"))
	ok.True(!page.has("Send again"))
	ok.True(page.has("the address was refused"))

	at := mails + "/" + lost.ID.String()
	ok.True(s.get(t, viewer, at).has("550 5.1.1"))
	done := s.follow(t, administrator, s.post(t, administrator, at+"/resend", "to", ""))
	ok.True(done.has("The mail is being sent again."))
	ok.True(done.has("Copy 2"))
	ok.Equal(s.post(t, administrator, at+"/resend", "to", "new@example.com").StatusCode, http.StatusSeeOther)
	s.sendMails(t)
	to := []string{s.mail(t).To, s.mail(t).To}
	ok.True(to[0] == "new@example.com" || to[1] == "new@example.com")
	refused := s.post(t, administrator, at+"/resend", "to", "nobody")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`value="nobody"`))
	back := s.post(t, support, at+"/resend", "_next", strings.ReplaceAll(mails, "{companyId}", s.company.String()))
	ok.True(strings.HasSuffix(back.Header.Get("Location"), "/mail"))
}

func TestMailsOfAnotherCompanyAreNotHere(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order := s.sell(t)
	s.sendMails(t)
	there := "/business/" + s.other.String() + "/mail/" + order.ID.String()
	ok.Equal(s.get(t, chief, there).StatusCode, http.StatusNotFound)
	ok.Equal(s.post(t, chief, there+"/resend").StatusCode, http.StatusNotFound)
	ok.Equal(s.get(t, stranger, there).StatusCode, http.StatusNotFound)
	sent, err := s.staff.GetNotifications(t.Context(), order.ID)
	ok.NoErr(err)
	ok.Equal(len(sent), 1)
}

func TestAllFailedMailsAreSentAgainAfterACount(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.refuses.Store(true)
	for range 3 {
		s.sell(t)
	}
	s.sendMails(t)
	ok.True(s.get(t, administrator, mails).has("Resend failed mail"))
	ok.True(s.get(t, administrator, mails+"/resend").has("Send 3 mails again"))
	ok.Equal(s.get(t, viewer, mails+"/resend").StatusCode, http.StatusForbidden)
	done := s.follow(t, administrator, s.post(t, administrator, mails+"/resend/start"))
	ok.True(done.has("3 mails are being sent again."))
	ok.True(s.get(t, administrator, mails+"/resend").has("No mail to send again."))
	var list []ticketing.Notification
	s.get(t, viewer, "/api/v2"+mails+"?status=PENDING").data(t, &list)
	ok.Equal(len(list), 3)
	ok.True(s.get(t, viewer, mails+"?status=SENT").has("No results"))
	ok.Equal(s.get(t, viewer, mails+"?status=LOST").StatusCode, http.StatusBadRequest)
}
