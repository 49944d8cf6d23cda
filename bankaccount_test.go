package ticketing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// accountNumber is a number that no other text in a test contains, so a search finds it wherever it leaks.
const accountNumber = "3141592653"

func accountParams() ticketing.BankAccountParams {
	return ticketing.BankAccountParams{
		Bank: "First Bank", AccountNumber: accountNumber, AccountName: "Adire Concerts Ltd",
	}
}

// banked sets a bank account for a shop's company.
func banked(t testing.TB, shop *ticketingtest.Shop) {
	t.Helper()
	_, err := shop.Staff.SetBankAccount(t.Context(), shop.Company.ID, accountParams())
	is.New(t).NoErr(err)
}

var uuidText = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// hidden fails the test if a text shows more of the account number than its last four digits. Ids are left out: random
// ones contain any five digits now and then.
func hidden(t testing.TB, where, text string) {
	t.Helper()
	text = uuidText.ReplaceAllString(text, "(id)")
	for i := range len(accountNumber) - 4 {
		if digits := accountNumber[i : i+5]; strings.Contains(text, digits) {
			t.Errorf("%s shows %s of the account number: %s", where, digits, text)
		}
	}
}

// TestBankAccountShowsItsLastFourDigits checks Section 2.9, item 6: a settlement needs "the company owner's payout bank
// account", of which "responses expose only the last four digits".
func TestBankAccountShowsItsLastFourDigits(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.verified(t), e.verified(t)
		_, err := e.staff.GetBankAccount(t.Context(), company)
		is.Equal(code(err), ticketing.CodeNotFound)
		is.Equal(said(err), "The bank account was not found.")

		params := accountParams()
		params.Bank, params.AccountName = "  First Bank ", " Adire Concerts Ltd"
		set, err := e.staff.SetBankAccount(t.Context(), company, params)
		is.NoErr(err)
		is.Equal(show(t, set), `{"bank":"First Bank","accountName":"Adire Concerts Ltd","bankAccountLast4":"2653",`+
			`"createdAt":"2026-11-21T09:30:00.000Z"}`)
		found, err := e.staff.GetBankAccount(t.Context(), company)
		is.NoErr(err)
		is.Equal(found, set)
		_, err = e.staff.GetBankAccount(t.Context(), other)
		is.Equal(code(err), ticketing.CodeNotFound)
		_, err = e.staff.SetBankAccount(t.Context(), uuid.New(), accountParams())
		is.Equal(code(err), ticketing.CodeNotFound)

		// A number with the same last four digits is another account. The audit log distinguishes the two by version.
		params.AccountNumber = "0000002653"
		_, err = e.staff.SetBankAccount(t.Context(), company, params)
		is.NoErr(err)
		versions := func() int64 {
			var kept driver.BankAccount
			is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
				kept, err = tx.CurrentBankAccount(ctx, company)
				return err
			}))
			hidden(t, "the store", fmt.Sprintf("%+v", kept))
			return kept.Version
		}
		is.Equal(versions(), int64(2))
		// The same account again changes nothing.
		_, err = e.staff.SetBankAccount(t.Context(), company, params)
		is.NoErr(err)
		is.Equal(versions(), int64(2))
	})
}

func TestBankAccountsHaveBounds(t *testing.T) {
	t.Parallel()
	const (
		bank   = "bank: must be 2 to 120 characters"
		number = "accountNumber: must be 6 to 20 digits"
		name   = "accountName: must be 2 to 120 characters"
	)
	tests := []struct {
		name   string
		change func(p *ticketing.BankAccountParams)
		want   string
	}{
		{"6 digits", func(p *ticketing.BankAccountParams) { p.AccountNumber = "123456" }, ""},
		{"20 digits", func(p *ticketing.BankAccountParams) { p.AccountNumber = "00000000000000000000" }, ""},
		{"5 digits", func(p *ticketing.BankAccountParams) { p.AccountNumber = "12345" }, number},
		{"21 digits", func(p *ticketing.BankAccountParams) { p.AccountNumber = "000000000000000000000" }, number},
		{"no number", func(p *ticketing.BankAccountParams) { p.AccountNumber = "" }, number},
		{"a space", func(p *ticketing.BankAccountParams) { p.AccountNumber = "314159 2653" }, number},
		{"a letter", func(p *ticketing.BankAccountParams) { p.AccountNumber = "31415926S3" }, number},
		{"other digits", func(p *ticketing.BankAccountParams) { p.AccountNumber = "٣١٤١٥٩٢" }, number},
		{"a sign", func(p *ticketing.BankAccountParams) { p.AccountNumber = "-314159265" }, number},
		{"short names", func(p *ticketing.BankAccountParams) { p.Bank, p.AccountName = "UB", "Ọọ" }, ""},
		{"long names", func(p *ticketing.BankAccountParams) {
			p.Bank, p.AccountName = strings.Repeat("ọ", 120), strings.Repeat("ọ", 120)
		}, ""},
		{"too short", func(p *ticketing.BankAccountParams) { p.Bank, p.AccountName = " U ", "O" }, bank + "; " + name},
		{"too long", func(p *ticketing.BankAccountParams) {
			p.Bank, p.AccountName = strings.Repeat("b", 121), strings.Repeat("b", 121)
		}, "bank: must be at most 120 characters; accountName: must be at most 120 characters"},
		{
			"all", func(p *ticketing.BankAccountParams) { *p = ticketing.BankAccountParams{} },
			bank + "; " + number + "; " + name,
		},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.verified(t)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				params := accountParams()
				test.change(&params)
				_, err := e.staff.SetBankAccount(t.Context(), company, params)
				is.New(t).Equal(said(err), test.want)
			})
		}
	})
}

// TestAccountNumbersDoNotShow checks that an account number shows no more than its last four digits, however it is
// printed, logged or marshalled.
func TestAccountNumbersDoNotShow(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	params := accountParams()
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %[1]v", "%08.3f", "%!"} {
		hidden(t, format, fmt.Sprintf(format, params))
		hidden(t, format, fmt.Sprintf(format, params.AccountNumber))
		hidden(t, format, fmt.Sprintf(format, &params))
	}
	is.Equal(params.AccountNumber.String(), "…2653")
	is.Equal(ticketing.AccountNumber("12345").String(), "…") // too short for an account number
	text, err := json.Marshal(params)
	is.NoErr(err)
	hidden(t, "JSON", string(text))
	var log strings.Builder
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("set", "params", params, "number", params.AccountNumber)
	}
	is.True(strings.Contains(log.String(), "2653"))
	hidden(t, "the log", log.String())
	defer func() { hidden(t, "a panic", fmt.Sprint(recover())) }()
	panic(params)
}

// TestAccountNumbersLeaveNowhere checks that account numbers appear in no response, error, log or audit row, and in
// nothing that the store keeps.
func TestAccountNumbersLeaveNowhere(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		told := func(what string, value any, err error) {
			t.Helper()
			if err != nil {
				hidden(t, what, err.Error())
				hidden(t, what, fmt.Sprintf("%#v", err))
			}
			hidden(t, what, show(t, value))
			hidden(t, what, fmt.Sprintf("%#v", value))
		}
		set, err := e.staff.SetBankAccount(t.Context(), company, accountParams())
		told("set", set, err)
		params := accountParams()
		params.Bank = ""
		set, err = e.staff.SetBankAccount(t.Context(), company, params)
		told("a refusal", set, err)
		is.Equal(code(err), ticketing.CodeInvalidRequest)
		params = accountParams()
		params.AccountNumber += "x"
		set, err = e.staff.SetBankAccount(t.Context(), company, params)
		told("another refusal", set, err)
		is.Equal(code(err), ticketing.CodeInvalidRequest)
		requested, err := e.staff.RequestSettlement(t.Context(), company)
		told("request", requested, err)
		is.Equal(code(err), ticketing.CodeConflict)
		audit, err := e.staff.ListAudit(t.Context(), company, ticketing.AuditFilter{})
		is.NoErr(err)
		told("audit", audit, nil)
		is.True(strings.Contains(show(t, audit), `"bankAccountLast4":{"before":null,"after":"2653"}`))
		hidden(t, "the log", e.log.String())
	})
}

// TestBankAccountsOutliveAMasterSecret checks the replacement of a master secret. What the old one encrypted is
// decrypted as long as the old one is configured, and re-encrypted when it is used. A service without the secret that
// some account needs is refused at the start.
func TestBankAccountsOutliveAMasterSecret(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.verified(t)
		_, err := e.staff.SetBankAccount(t.Context(), company, accountParams())
		is.NoErr(err)
		sealed := func() string {
			var kept driver.BankAccount
			is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
				kept, err = tx.CurrentBankAccount(ctx, company)
				return err
			}))
			return kept.Number
		}
		first := sealed()
		both := e.service(t, secretKey('b'), secretKey('a'))
		is.NoErr(both.Ready(t.Context()))
		is.Equal(sealed(), first)

		// The new secret alone cannot decrypt it yet, and Ready reports that before anything is served.
		is.True(errors.Is(e.service(t, secretKey('b')).Ready(t.Context()), ticketing.ErrSecretKeys))
		_, err = e.service(t, secretKey('b')).As(ticketing.Staff("test")).RequestSettlement(t.Context(), company)
		is.True(errors.Is(err, ticketing.ErrSecretKeys))

		// Setting the account again encrypts it under the new secret, and it stays the same account.
		_, err = both.As(ticketing.Staff("test")).SetBankAccount(t.Context(), company, accountParams())
		is.NoErr(err)
		is.True(sealed() != first)
		alone := e.service(t, secretKey('b'))
		is.NoErr(alone.Ready(t.Context()))
		set, err := alone.As(ticketing.Staff("test")).GetBankAccount(t.Context(), company)
		is.NoErr(err)
		is.Equal(set.BankAccountLast4, "2653")
		is.True(errors.Is(e.service(t, secretKey('a')).Ready(t.Context()), ticketing.ErrSecretKeys))
	})
}

// TestBankAccountsAreReencrypted checks that all accounts are re-encrypted at once by a service that has both secrets,
// so that no inactive company keeps an old master secret in use. An account that does not decrypt is left as it is and
// counted.
func TestBankAccountsAreReencrypted(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		companies := []uuid.UUID{e.verified(t), e.verified(t), e.verified(t)}
		for _, company := range companies {
			_, err := e.staff.SetBankAccount(t.Context(), company, accountParams())
			is.NoErr(err)
		}
		_, err := e.staff.SuspendCompany(t.Context(), companies[2])
		is.NoErr(err)
		reencrypt := func(keys ...[]byte) ticketing.BankAccountReencryption {
			t.Helper()
			done, err := e.service(t, keys...).As(ticketing.Staff("test")).ReencryptBankAccounts(t.Context())
			is.NoErr(err)
			return done
		}
		is.Equal(show(t, reencrypt(secretKey('a'))), `{"resealed":0,"left":0}`)
		acts, err := e.staff.ListAudit(t.Context(), uuid.Nil, ticketing.AuditFilter{})
		is.NoErr(err)

		alone := func() error { return e.service(t, secretKey('b')).Ready(t.Context()) }
		is.True(errors.Is(alone(), ticketing.ErrSecretKeys))
		_, err = e.service(t, secretKey('b')).As(ticketing.Staff("test")).ReencryptBankAccounts(t.Context())
		is.True(errors.Is(err, ticketing.ErrSecretKeys))

		is.Equal(show(t, reencrypt(secretKey('b'), secretKey('a'))), `{"resealed":3,"left":0}`)
		is.Equal(show(t, reencrypt(secretKey('b'), secretKey('a'))), `{"resealed":0,"left":0}`)
		is.NoErr(alone())
		is.True(errors.Is(e.service(t, secretKey('a')).Ready(t.Context()), ticketing.ErrSecretKeys))
		staff := e.service(t, secretKey('b')).As(ticketing.Staff("test"))
		for _, company := range companies {
			same, err := staff.SetBankAccount(t.Context(), company, accountParams())
			is.NoErr(err)
			is.Equal(same.BankAccountLast4, "2653")
		}
		now, err := e.staff.ListAudit(t.Context(), uuid.Nil, ticketing.AuditFilter{})
		is.NoErr(err)
		is.Equal(now, acts) // The accounts did not change.

		// A number that was copied from another company does not decrypt.
		is.NoErr(e.store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: companies[:2]}); err != nil {
				return err
			}
			own, err := tx.CurrentBankAccount(ctx, companies[0])
			if err != nil {
				return err
			}
			own.CompanyID = companies[1]
			return tx.UpdateBankAccount(ctx, own)
		}))
		is.Equal(show(t, reencrypt(secretKey('c'), secretKey('b'))), `{"resealed":2,"left":1}`)
		is.Equal(show(t, reencrypt(secretKey('c'), secretKey('b'))), `{"resealed":0,"left":1}`)
	})
}

// TestBankAccountsAreBoundToTheirCompany checks that a number that was copied from another company, or changed, is
// never paid to. Nothing is debited, and setting the account again repairs it.
func TestBankAccountsAreBoundToTheirCompany(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		neighbour := shop.Neighbour(t)
		banked(t, shop)
		banked(t, neighbour)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 5)
		shop.Sell(t, event.ID, "VIP", 1)
		swap := func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx,
				driver.BeginOptions{Exclusive: []uuid.UUID{shop.Company.ID, neighbour.Company.ID}}); err != nil {
				return err
			}
			own, err := tx.CurrentBankAccount(ctx, shop.Company.ID)
			if err != nil {
				return err
			}
			foreign, err := tx.CurrentBankAccount(ctx, neighbour.Company.ID)
			if err != nil {
				return err
			}
			own.Number = foreign.Number
			return tx.UpdateBankAccount(ctx, own)
		}
		is.NoErr(shop.Store.Update(t.Context(), swap))
		before := holdings(t, shop)
		_, err := shop.Staff.RequestSettlement(t.Context(), shop.Company.ID)
		is.True(err != nil)
		is.True(strings.Contains(err.Error(), "was changed from outside"))
		is.True(!errors.Is(err, ticketing.ErrSecretKeys))
		hidden(t, "the error", err.Error())
		is.Equal(holdings(t, shop), before)
		banked(t, shop)
		_, err = shop.Staff.RequestSettlement(t.Context(), shop.Company.ID)
		is.NoErr(err)
	})
}
