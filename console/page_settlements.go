package console

import (
	"context"
	"errors"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

const settlementsPath = "/business/{companyId}/settlements"

// settlementPages returns the page of a company's payouts.
func settlementPages() []page {
	return []page{{
		group: groupMoney, bar: true,
		path: settlementsPath, scope: scopeCompany, title: "Settlements", nav: "Settlements", icon: "bank",
		permissions: []ticketing.Permission{ticketing.PermissionSettlementRead}, template: "settlements.html",
		query: []string{"cursor"}, load: loadSettlements,
		live: []ticketing.WatchTopic{ticketing.WatchMoney, ticketing.WatchAudit},
	}}
}

// settlementActs returns what owners do about their payouts.
func settlementActs() []act {
	return []act{
		newAct(act{
			name: "settlement.request", scope: scopeCompany, path: settlementsPath + "/request", page: settlementsPath,
			permission: ticketing.PermissionSettlementRequest, recent: true,
		}, readRequest, requestSettlement),
		newAct(act{
			name: "bank_account.set", scope: scopeCompany, path: settlementsPath + "/bank-account/set", page: settlementsPath,
			permission: ticketing.PermissionSettlementRequest, recent: true,
			done: "The bank account was saved. New settlements are paid to it.",
		}, readBankAccount, setBankAccount),
	}
}

// settlementList is a page of settlements, with what a request depends on.
type settlementList struct {
	itemList[ticketing.Settlement]

	Account  *ticketing.BankAccount // nil: there is none
	Earnings *money.Amount          // nil: the person may not see it
	Verified bool
	Open     *ticketing.Settlement // nil: there is none, or this is not the first page
	First    bool                  // it is the first page
}

// CanRequest reports whether a request would be accepted.
func (l settlementList) CanRequest() bool {
	return l.First && l.Account != nil && l.Verified && l.Open == nil && l.Earnings != nil && *l.Earnings > 0
}

func loadSettlements(ctx context.Context, c *call) (view, error) {
	shown, err := listed(c.operator.ListSettlements(ctx, c.companyID, c.paging()))
	if err != nil {
		return view{}, err
	}
	data := settlementList{First: c.query("cursor") == "", Verified: true}
	data.Items, _ = shown.data.([]ticketing.Settlement)
	shown.data = data
	if c.exchange.api {
		return shown, nil // The JSON has the settlements alone.
	}
	// The newest settlement is the only one that can be open.
	if data.First && len(data.Items) > 0 && isOpen(data.Items[0].Status) {
		data.Open = &data.Items[0]
	}
	loads := []func(context.Context) error{func(ctx context.Context) error {
		var err error
		data.Account, err = bankAccount(ctx, c)
		return err
	}}
	if holds(c.actor, ticketing.PermissionWalletRead) {
		loads = append(loads, func(ctx context.Context) error {
			wallets, err := c.operator.GetWallets(ctx, c.companyID)
			data.Earnings = &wallets.Earnings
			return err
		})
	}
	if holds(c.actor, ticketing.PermissionKYBRead) {
		loads = append(loads, func(ctx context.Context) error {
			verification, err := c.operator.GetVerification(ctx, c.companyID)
			data.Verified = verification.Current
			return err
		})
	}
	if err := together(ctx, loads...); err != nil {
		return view{}, err
	}
	shown.data, shown.still = data, !data.First
	return shown, nil
}

func isOpen(status ticketing.SettlementStatus) bool {
	switch status {
	case ticketing.SettlementPending, ticketing.SettlementProcessing, ticketing.SettlementApproved:
		return true
	case ticketing.SettlementCompleted, ticketing.SettlementRejected, ticketing.SettlementFailed:
	}
	return false
}

// bankAccount returns the company's bank account, and nil if there is none.
func bankAccount(ctx context.Context, c *call) (*ticketing.BankAccount, error) {
	account, err := c.operator.GetBankAccount(ctx, c.companyID)
	if errors.Is(err, ticketing.CodeNotFound) {
		return nil, nil //nolint:nilnil // Having none is no failure.
	}
	if err != nil {
		return nil, err
	}
	return &account, nil
}

// readRequest reads the last four digits of the account that the person has seen. They may be absent.
func readRequest(m *members) string { return m.optionalText("bankAccountLast4") }

func requestSettlement(ctx context.Context, c *call, last4 string) (outcome, error) {
	account, err := bankAccount(ctx, c)
	if err != nil {
		return outcome{}, err
	}
	// The account may have changed since the person saw the question.
	if last4 != "" && account != nil && account.BankAccountLast4 != last4 {
		return outcome{}, conflicted("The bank account has changed. It now ends in " + account.BankAccountLast4 +
			". Check it, and request the settlement again.")
	}
	requested, err := c.operator.RequestSettlement(ctx, c.companyID)
	return outcome{
		data: requested, done: formatMoney(requested.Amount) + " was requested, to the account that ends in " +
			requested.BankAccountLast4 + ".",
	}, err
}

func readBankAccount(m *members) ticketing.BankAccountParams {
	return ticketing.BankAccountParams{
		Bank: m.text("bank"), AccountNumber: ticketing.AccountNumber(m.text("accountNumber")),
		AccountName: m.text("accountName"),
	}
}

func setBankAccount(ctx context.Context, c *call, params ticketing.BankAccountParams) (outcome, error) {
	account, err := c.operator.SetBankAccount(ctx, c.companyID, params)
	return outcome{data: account}, err
}
