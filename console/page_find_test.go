package console_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const (
	find         = "/business/{companyId}/find"
	platformFind = "/platform/find"
)

// TestFindLeadsToWhatAnIDNames checks that an id and a code lead at once to the page of what they name, at its company
// and on the platform, and that an id of another company leads nowhere.
func TestFindLeadsToWhatAnIDNames(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	endpointID, deliveryID, orderID := s.fillShop(t)
	order, err := s.staff.GetOrder(t.Context(), uuid.MustParse(orderID))
	ok.NoErr(err)
	admission := order.Lines[0].AdmissionID
	key, err := s.staff.IssueAPIKey(t.Context(), s.company, "Web shop", ticketing.AllGrants())
	ok.NoErr(err)
	settlement, err := s.staff.ListSettlements(t.Context(), s.company, ticketing.PageParams{})
	ok.NoErr(err)
	company := "/business/" + s.company.String()
	for text, leads := range map[string]string{
		orderID:            company + "/orders/" + orderID,
		admission.String(): company + "/orders/" + orderID,
		strings.ToLower(ticketing.FormatAdmissionCode(order.EventID, admission)) + "\r\n": company + "/orders/" + orderID,
		s.event.ID.String():               company + "/events/" + s.event.ID.String(),
		endpointID:                        company + "/webhooks/" + endpointID,
		deliveryID:                        company + "/webhooks/deliveries/" + deliveryID,
		" " + s.company.String() + "\n\t": company,
	} {
		query := "?q=" + url.QueryEscape(text)
		for who, path := range map[string]string{viewer: find, support: find, chief: platformFind} {
			want := leads
			if who == chief && leads == company {
				want = "/platform/companies/" + s.company.String()
			}
			found := s.get(t, who, path+query)
			ok.Equal(found.StatusCode, http.StatusSeeOther)                                // text
			ok.Equal(found.Header.Get("Location"), want)                                   // text
			ok.Equal(s.get(t, who, want).StatusCode, http.StatusOK)                        // text
			ok.Equal(strings.Count(s.get(t, who, "/api/v2"+path+query).text, `"kind"`), 1) // A program gets the list.
		}
		foreign := "/business/" + s.other.String() + "/find" + query
		ok.True(s.get(t, stranger, foreign).has("Nothing found")) // text
		ok.True(s.get(t, chief, foreign).has("Nothing found"))    // text
	}
	ok.Equal(s.get(t, stranger, find+"?q="+orderID).StatusCode, http.StatusNotFound)
	ok.Equal(s.get(t, owner, platformFind+"?q="+orderID).StatusCode, http.StatusForbidden)
	// These have no page of their own but a list, whose beginning may not show them.
	for id, list := range map[string]string{
		key.ID.String(): company + "/api-keys", settlement.Items[0].ID.String(): company + "/settlements",
		s.users[administrator].String(): company + "/members", s.users[support].String(): "/platform/staff",
	} {
		found := s.get(t, chief, platformFind+"?q="+id)
		ok.Equal(found.StatusCode, http.StatusOK)    // list
		ok.True(found.has(`<a href="` + list + `"`)) // list
	}
	// An entry of the audit log leads to the log at its moment, and a movement to the ledger with what it is about.
	acts, err := s.staff.ListAudit(t.Context(), s.company, ticketing.AuditFilter{Action: "company.create"})
	ok.NoErr(err)
	filter := "?action=company.create&amp;since="
	for who, log := range map[string]string{viewer: company + "/audit", chief: "/platform/audit"} {
		path := find
		if who == chief {
			path = platformFind
		}
		found := s.get(t, who, path+"?q="+acts.Items[0].ID.String())
		ok.Equal(found.StatusCode, http.StatusOK)
		_, rest, shown := strings.Cut(found.text, `<a href="`+log+filter)
		ok.True(shown)
		since, _, _ := strings.Cut(rest, `"`)
		ok.True(found.has("Created the company"))
		listed := s.get(t, who, "/api/v2"+log+html.UnescapeString(filter+since))
		ok.Equal(strings.Count(listed.text, acts.Items[0].ID.String()), 1)
		ok.True(!listed.has(`"member.add"`)) // Other actions are left out.
	}
	movement := s.get(t, viewer, find+"?q=float+2")
	ok.True(movement.has("Movements</h2>") && movement.has("Float no. 2") && movement.has("Checkout debit"))
	ok.True(movement.has(`<a href="` + company + "/ledger?reference=" + orderID + `&amp;wallet=FLOAT"`))
	ok.True(s.get(t, viewer, company+"/ledger?reference="+orderID+"&wallet=FLOAT").has("No. 2<"))
	// Somebody who is staff and a member has two pages, so nobody is led to one of them.
	s.addMember(t, s.company, support, ticketing.RoleViewer)
	both := s.get(t, chief, platformFind+"?q="+s.users[support].String())
	ok.True(both.has("Members</h2>") && both.has("Staff</h2>"))
}

// TestFindListsWhatATextMayMean checks the list of a text that may mean several things.
func TestFindListsWhatATextMayMean(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.sellTo(t, "ngozi@example.com", 1)
	s.sellTo(t, "ngozi@example.com", 2)
	s.sendAll(t)
	_, err := s.staff.CreditFloat(t.Context(), s.company, "GTB-0091827", 250_00)
	ok.NoErr(err)
	begin := s.event.Title[:4]
	for _, test := range []struct {
		who, path, text string
		shown           []string
		hidden          string
	}{
		{viewer, find, "NGOZI@example.com", []string{
			"Orders</h2>", "Buyers</h2>", "₦300.00", "₦150.00", "Confirmed", "ngozi@example.com", "Ngozi &lt;b&gt;Obi&lt;/b&gt;",
			"/buyers?email=ngozi%40example.com", `data-copy="`,
		}, ">Company</th>"},
		{viewer, find, "ngozi@ex", []string{"Buyers</h2>"}, "Orders</h2>"},
		{chief, platformFind, "ngozi@example.com", []string{
			"Orders</h2>", "Buyers</h2>", ">Company</th>", "Adire Concerts", "/business/" + s.company.String() + "/orders/",
		}, "What you can search for"},
		{chief, platformFind, "ngozi@ex", []string{"Nothing found", "What you can search for"}, "Buyers</h2>"},
		{viewer, find, strings.ToUpper(begin), []string{"Events</h2>", s.event.Title}, "Companies</h2>"},
		{
			chief, platformFind, "adire",
			[]string{"Companies</h2>", "/platform/companies/" + s.company.String()},
			"Orders</h2>",
		},
		{
			viewer, find, "GTB-0091827",
			[]string{"Credits of float</h2>", "₦250.00", "/ledger?reference=GTB-0091827"},
			"Nothing",
		},
		{chief, platformFind, "GTB-0091827", []string{"Credits of float</h2>", "Adire Concerts"}, "Nothing"},
		{chief, platformFind, "support@example.com", []string{"Staff</h2>", "/platform/staff"}, "Nothing"},
		{viewer, find, "support@example.com", []string{"Nothing found"}, "Staff</h2>"},
		{viewer, find, "gtb-0091827", []string{"Nothing found"}, "Credits"},
		{viewer, find, "", []string{"What you can search for"}, "Nothing found"},
		{viewer, find, " \t", []string{"What you can search for"}, "Nothing found"},
		{viewer, find, hostile, []string{"Nothing found"}, "<script>alert"},
		{
			viewer, find, strings.Repeat("ñ", 10_000),
			[]string{"cannot be searched for", "aria-invalid"},
			"Nothing found",
		},
		{viewer, find, "a\x00b", []string{"cannot be searched for"}, "Nothing found"},
		{viewer, find, "a\xffb", []string{"cannot be searched for"}, "Nothing found"},
	} {
		got := s.get(t, test.who, test.path+"?q="+url.QueryEscape(test.text))
		ok.Equal(got.StatusCode, http.StatusOK) // test.text
		for _, text := range test.shown {
			if !got.has(text) {
				t.Errorf("%s %.40q at %s: no %q in %s", test.who, test.text, test.path, text, got.text)
			}
		}
		if got.has(test.hidden) {
			t.Errorf("%s %.40q at %s shows %q", test.who, test.text, test.path, test.hidden)
		}
	}
	for _, wrong := range []string{strings.Repeat("x", 321), "a\nb", "a\x00b"} {
		ok.Equal(s.get(t, viewer, "/api/v2"+find+"?q="+url.QueryEscape(wrong)).StatusCode, http.StatusBadRequest)
	}
	ok.Equal(s.get(t, viewer, find+"?q=a&q=b").StatusCode, http.StatusBadRequest)
	ok.Equal(s.get(t, viewer, find+"?text=a").StatusCode, http.StatusBadRequest)
}

// TestEveryPageCanFind checks that the search is in the header of each page of a company and of the platform, once, and
// that nothing of what is searched for is in the log or leaves the site.
func TestEveryPageCanFind(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for path, action := range map[string]string{
		"/business/{companyId}": find, "/business/{companyId}/members": find, find: find,
		"/platform": platformFind, "/platform/companies/{companyId}": platformFind, platformFind: platformFind,
	} {
		got := s.get(t, chief, path)
		ok.Equal(got.StatusCode, http.StatusOK)
		ok.Equal(strings.Count(got.text, `id="find"`), 1)                                                  // path
		ok.True(got.has(`action="` + strings.ReplaceAll(action, "{companyId}", s.company.String()) + `"`)) // path
	}
	// The pages about the person search the platform for staff, and the only company for a member.
	for _, path := range []string{"/account", "/business"} {
		ok.True(s.get(t, chief, path).has(`action="` + platformFind + `"`)) // path
	}
	own := strings.ReplaceAll(find, "{companyId}", s.company.String())
	ok.True(s.get(t, owner, "/business").has(`action="` + own + `"`))
	for _, path := range []string{"/account", "/sign-in"} {
		ok.True(!s.get(t, owner, path).has(`id="find"`)) // path
	}
	const secret = "secret.person@example.com"
	for _, path := range []string{find, platformFind, "/api/v2" + find} {
		got := s.get(t, chief, path+"?q="+url.QueryEscape(secret))
		ok.Equal(got.StatusCode, http.StatusOK)
		ok.Equal(got.Header.Get("Referrer-Policy"), "same-origin")
		ok.Equal(got.Header.Get("Cache-Control"), "no-store")
	}
	ok.True(strings.Contains(s.log.String(), "/platform/find"))
	ok.True(!strings.Contains(s.log.String(), "secret"))
}
