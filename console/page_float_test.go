package console_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/money"
)

func TestFloatIsCreditedOnce(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const path = "/platform/companies/{companyId}/float"
	ok.True(s.get(t, chief, path).has("No Float credits yet"))
	ok.True(!s.get(t, finance, path).has("/float/credit")) // An administrator alone may.
	unverified := s.post(t, chief, path+"/credit", "amount", "₦2,000.50", "reference", "bank-0001", "confirmed", "true")
	ok.Equal(unverified.StatusCode, http.StatusConflict)
	ok.True(unverified.has("Current company verification is required") && unverified.has(`value="bank-0001"`))
	s.approve(t, opening.AddDate(1, 0, 0))

	asked := s.post(t, chief, path+"/credit", "amount", "₦2,000.50", "reference", "bank-0001")
	ok.True(asked.has("Credit ₦2,000.50?") && asked.has("Adire Concerts") && asked.has(`value="2000.50"`))
	ok.True(s.get(t, chief, path).has("No Float credits yet"))
	done := s.follow(t, chief, s.post(t, chief, path+"/credit", "amount", "2000.50", "reference", "bank-0001",
		"confirmed", "true"))
	ok.True(done.has("₦2,000.50 was credited. Float is ₦2,000.50."))
	ok.True(done.has("<code>bank-0001</code>") && done.has("chief@example.com"))
	again := s.follow(t, chief, s.post(t, chief, path+"/credit", "amount", "2000.50", "reference", "bank-0001",
		"confirmed", "true"))
	ok.True(again.has("credited before. Nothing moved") && !again.has("₦4,001.00"))
	ok.Equal(s.post(t, chief, path+"/credit", "amount", "1.00", "reference", "bank-0001", "confirmed", "true").StatusCode,
		http.StatusConflict)
	for _, fields := range [][]string{
		{"amount", "-5", "reference", "bank-0002"},
		{"amount", "5", "reference", "TRF/2026/11 1"}, // refused before the question
		{"amount", "5", "reference", "x", "confirmed", "true"},
		{"amount", "0", "reference", "bank-0002"},
	} {
		refused := s.post(t, chief, path+"/credit", fields...)
		ok.Equal(refused.StatusCode, http.StatusBadRequest)
		ok.True(refused.has("aria-invalid"))
		ok.True(refused.has("Credit Float")) // the form, and no question
	}
	var made struct {
		Applied      bool
		BalanceAfter money.Amount
	}
	s.clock.advance(time.Second)
	s.postJSON(t, chief, s.filled(path)+"/credit", `{"amount":"10.00","reference":"bank-0003"}`).data(t, &made)
	ok.True(made.Applied)
	ok.Equal(made.BalanceAfter, money.Amount(2010_50))
	var list struct {
		Fundings []struct {
			Reference            string
			Amount, BalanceAfter money.Amount
		}
	}
	s.get(t, auditor, "/api/v2"+path).data(t, &list)
	ok.Equal(len(list.Fundings), 2)
	ok.Equal(list.Fundings[0].Reference, "bank-0003")
	ok.Equal(list.Fundings[0].Amount, money.Amount(10_00))
	ok.Equal(list.Fundings[0].BalanceAfter, money.Amount(2010_50))
	first := s.get(t, auditor, path+"?limit=1")
	ok.True(first.has("bank-0003") && !first.has("bank-0001") && first.has("Next page"))
}

func TestCommissionIsScheduled(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const path = "/platform/companies/{companyId}/commission"
	ok.True(s.get(t, finance, path).has("No rates scheduled"))
	refused := s.post(t, finance, path+"/schedule", "value", "abc", "unit", "PERCENT", "effectiveFrom", "")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`value="abc"`) && refused.has("must be a plain decimal"))
	done := s.follow(t, finance, s.post(t, finance, path+"/schedule", "value", "2.5", "unit", "PERCENT",
		"effectiveFrom", ""))
	ok.True(done.has("2.5 % holds from 21 November 2026, 10:30.") && done.has("In force") && done.has("₦250.00"))
	later := s.follow(t, finance, s.post(t, finance, path+"/schedule", "value", "300", "unit", "BASIS_POINTS",
		"effectiveFrom", "2026-12-01T00:00"))
	ok.True(later.has("3 % holds from 1 December 2026, 00:00.") && later.has("Upcoming"))
	ok.True(!s.get(t, support, path).has("/commission/schedule"))
}
