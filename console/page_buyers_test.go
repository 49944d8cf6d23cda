package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"
)

const buyers = "/business/{companyId}/buyers"

// emails returns the emails on a page of buyers.
func (s *shop) emails(t *testing.T, query string) []string {
	t.Helper()
	var list []struct {
		Email string `json:"email"`
	}
	s.get(t, viewer, "/api/v2"+buyers+query).data(t, &list)
	found := []string{}
	for _, one := range list {
		found = append(found, one.Email)
	}
	return found
}

func TestBuyersAreFoundByTheBeginningOfTheirEmail(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	empty := s.get(t, viewer, buyers)
	ok.True(empty.has("No buyers yet") && empty.has("POST /checkouts"))
	for _, email := range []string{"ngozi@example.com", "nkem@example.com", "ada@example.com"} {
		s.sellTo(t, email, 1)
	}
	ok.Equal(s.emails(t, ""), []string{"ada@example.com", "ngozi@example.com", "nkem@example.com"})
	ok.Equal(s.emails(t, "?email=N"), []string{"ngozi@example.com", "nkem@example.com"})
	ok.Equal(s.emails(t, "?email=n&limit=1"), []string{"ngozi@example.com"})
	ok.Equal(s.emails(t, "?email=%25"), []string{})
	page := s.get(t, viewer, buyers+"?email=ng")
	ok.True(page.has("Ngozi &lt;b&gt;Obi&lt;/b&gt;") && page.has("/orders?email=ngozi"))
	ok.True(!page.has("Erase")) // A viewer erases nobody.
	ok.True(s.get(t, administrator, buyers).has("Erase…"))
	ok.True(s.get(t, viewer, buyers+"?email=zz").has("No buyers match"))
	for _, wrong := range []string{"?email=" + strings.Repeat("a", 400), "?email=a%00", "?cursor=x", "?limit=101"} {
		ok.Equal(s.get(t, viewer, buyers+wrong).StatusCode, http.StatusBadRequest) // wrong
	}
}

func TestBuyerIsErasedAfterAQuestion(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	order := s.sellTo(t, "ngozi@example.com", 1)
	s.sellTo(t, "ngozi@example.com", 1)
	s.sellTo(t, "ada@example.com", 1)
	const ask = buyers + "/erase/ask"
	asked := s.post(t, owner, ask, "email", "ngozi@example.com")
	ok.True(asked.has("permanently removes the email, name and phone from the buyer and from 2 orders"))
	ok.True(asked.has("Erase ngozi@example.com"))
	var shown struct {
		Orders int
		More   bool
	}
	s.postJSON(t, owner, ask, `{"email":"ngozi@example.com"}`).data(t, &shown)
	ok.Equal(shown.Orders, 2)
	ok.True(!shown.More)
	ok.True(s.post(t, owner, ask, "email", "eve@example.com").has("No buyer of this company has the email"))
	ok.True(s.get(t, owner, buyers+"/erase").has("Email of the buyer"))
	ok.Equal(s.get(t, viewer, buyers+"/erase").StatusCode, http.StatusForbidden)
	for _, path := range []string{ask, buyers + "/erase/start"} {
		refused := s.post(t, owner, path, "email", "ngozi")
		ok.Equal(refused.StatusCode, http.StatusBadRequest)
		ok.True(refused.has(`value="ngozi"`))
	}
	// The email of a buyer who is to be erased is in no address.
	ok.True(!asked.has("erase?") && !s.get(t, owner, buyers).has("erase?"))

	done := s.follow(t, owner, s.post(t, owner, buyers+"/erase/start", "email", "ngozi@example.com"))
	ok.True(done.has("The buyer was erased, with 2 orders."))
	ok.True(!done.has("ngozi@example.com") && done.has("ada@example.com") && done.has("Erased"))
	page := s.get(t, viewer, orders+"/"+order.ID.String())
	ok.True(!page.has("ngozi") && page.has("Erased") && page.has("Confirmed"))
	ok.Equal(len(s.listed(t, viewer, "?email=ngozi@example.com")), 0)
	again := s.follow(t, owner, s.post(t, owner, buyers+"/erase/start", "email", "ngozi@example.com"))
	ok.True(again.has("Nobody was erased"))
	ok.True(!s.get(t, owner, auditLog).has("ngozi"))
}

// TestLogOfRequestsHasNoEmail checks that nothing that the console logs of a request has the address of a buyer.
func TestLogOfRequestsHasNoEmail(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, path := range []string{buyers, buyers + "/erase", orders} {
		s.get(t, owner, path+"?email=ngozi@example.com")
		s.get(t, owner, "/api/v2"+path+"?email=ngozi@example.com&x=1")
	}
	s.post(t, owner, buyers+"/erase/start", "email", "ngozi@example.com")
	ok.True(!strings.Contains(s.log.String(), "ngozi"))
}
