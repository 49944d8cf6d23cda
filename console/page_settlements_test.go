package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const settlements = "/business/{companyId}/settlements"

func TestSettlementIsRequestedAfterAQuestion(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	empty := s.get(t, owner, settlements)
	ok.True(empty.has("No settlements yet"))
	ok.True(empty.has("Set the bank account that the money is paid to first"))
	refused := s.post(t, owner, settlements+"/bank-account/set", "bank", "Zenith <b>", "accountNumber", "12x",
		"accountName", "Adire Concerts Ltd")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has("must be 6 to 20 digits"))
	ok.True(refused.has(`value="Zenith &lt;b&gt;"`))
	ok.True(refused.has(`value="12x"`))

	set := s.post(t, owner, settlements+"/bank-account/set", "bank", "Zenith", "accountNumber", "1234567890",
		"accountName", "Adire Concerts Ltd")
	page := s.follow(t, owner, set)
	ok.True(page.has("•••• 7890"))
	ok.True(!page.has("123456"))
	ok.True(page.has("Nothing to pay out yet."))

	s.sell(t)
	page = s.get(t, owner, settlements)
	ok.True(page.has("Pay <strong>₦3.75</strong> to <strong><bdi>Zenith</bdi>, <bdi>Adire Concerts Ltd</bdi>, " +
		"account ending in 7890</strong>?"))
	ok.True(!s.get(t, administrator, settlements).has("Request ₦3.75")) // Owners alone move money.
	changed := s.post(t, owner, settlements+"/request", "bankAccountLast4", "1111")
	ok.Equal(changed.StatusCode, http.StatusConflict)
	ok.True(changed.has("It now ends in 7890"))
	done := s.follow(t, owner, s.post(t, owner, settlements+"/request", "bankAccountLast4", "7890"))
	ok.True(done.has("₦3.75 was requested, to the account that ends in 7890."))
	ok.True(done.has("has been waiting for the platform"))
	ok.Equal(s.post(t, owner, settlements+"/request").StatusCode, http.StatusConflict) // one at a time

	var list []ticketing.Settlement
	s.get(t, viewer, "/api/v2"+settlements).data(t, &list)
	ok.Equal(len(list), 1)
	_, err := s.staff.RejectSettlement(t.Context(), list[0].ID, "The <i>name</i> does not match.")
	ok.NoErr(err)
	page = s.get(t, viewer, settlements)
	ok.True(page.has("The &lt;i&gt;name&lt;/i&gt; does not match."))
	ok.True(page.has("Rejected"))
}

func TestSettlementNeedsACurrentVerification(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.sell(t)
	ok.Equal(s.postJSON(t, owner, settlements+"/bank-account/set",
		`{"bank":"Zenith","accountNumber":"1234567890","accountName":"Adire"}`).StatusCode, http.StatusOK)
	_, err := s.staff.RevokeVerification(t.Context(), s.company)
	ok.NoErr(err)
	page := s.get(t, owner, settlements)
	ok.True(page.has("Current company verification is required"))
	ok.True(!page.has("Request ₦"))
	refused := s.postJSON(t, owner, settlements+"/request", "{}")
	ok.Equal(refused.StatusCode, http.StatusConflict)
	ok.True(refused.has("Current company verification is required"))
	ok.True(strings.Contains(s.post(t, owner, settlements+"/request").text, "Current company verification is required"))
}
