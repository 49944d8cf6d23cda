package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// TestFilledPagesAreAccessible looks at pages of a company that sells, with every box open.
func TestFilledPagesAreAccessible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the browser out")
	}
	ok, s, browser := is.New(t), newShop(t), browsertest.New(t)
	endpoint := s.endpoint(t)
	s.status.Store(http.StatusInternalServerError)
	s.refuses.Store(true)
	order := s.sell(t)
	s.sendAll(t)
	s.sendMails(t)
	s.post(t, owner, settlements+"/bank-account/set", "bank", "Zenith", "accountNumber", "1234567890",
		"accountName", "Adire Concerts Ltd")
	s.post(t, owner, settlements+"/request")
	s.sell(t)
	letters, err := s.staff.ListDeliveries(t.Context(), s.company, ticketing.DeliveryFilter{}, ticketing.PageParams{})
	ok.NoErr(err)
	for _, size := range sizes() {
		p := s.open(t, browser, owner, "/account", size)
		for _, path := range []string{
			webhooks, webhooks + "/" + endpoint.ID.String(), webhooks + "/deliveries",
			webhooks + "/deliveries/" + letters.Items[0].ID.String(), webhooks + "/replay?status=FAILED", settlements, members,
			mails, mails + "/" + order.ID.String(), auditLog,
		} {
			path = strings.ReplaceAll(path, "{companyId}", s.company.String())
			p.Text(`location.assign("` + path + `")`)
			p.Wait(`location.pathname + location.search === "` + path + `" && document.readyState === "complete"`)
			p.Text(`document.querySelectorAll("details").forEach((d) => d.open = true)`)
			p.Fits()
			for _, dark := range []bool{true, false} {
				p.Media(browsertest.Media{Dark: dark})
				browsertest.Axe(t, p)
			}
		}
		p.IsClean()
	}
}
