package console

import (
	"context"
	"slices"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
)

const ledgerPath = "/business/{companyId}/ledger"

// moneyPages returns the pages of a company's money over time.
func moneyPages() []page {
	return []page{reportsPage(), {
		group: groupMoney,
		path:  ledgerPath, scope: scopeCompany, title: "Ledger", nav: "Ledger", icon: "book",
		permissions: []ticketing.Permission{ticketing.PermissionWalletRead}, template: "ledger.html",
		query: append([]string{"cursor"}, withZone(ledgerFilters())...), load: loadLedger,
		live: []ticketing.WatchTopic{ticketing.WatchMoney},
	}}
}

// ledgerFilters returns the members of the query that select movements.
func ledgerFilters() []string { return []string{"wallet", "kind", "since", "until", "reference"} }

// kindsOf returns the kinds of movements of a wallet.
func kindsOf(wallet ledger.Wallet) []ledger.Kind {
	switch wallet {
	case ledger.Float:
		return []ledger.Kind{ledger.FloatCredit, ledger.CheckoutDebit, ledger.CheckoutRefund}
	case ledger.Earnings:
		return []ledger.Kind{
			ledger.CommissionAccrual, ledger.CommissionReversal, ledger.SettlementDebit, ledger.SettlementRefund,
		}
	}
	return nil
}

// shownMovement is a movement with the page of what it is about.
type shownMovement struct {
	ticketing.Movement

	Path string `json:"-"` // empty: there is no page, or the person may not see it
}

// ledgerList is a page of movements with its filters.
type ledgerList struct {
	itemList[shownMovement]

	Wallet   ledger.Wallet
	Filters  []field
	Filtered bool // beside the wallet
}

// movementFilter reads the query of the ledger. Without a wallet it is of FLOAT.
func movementFilter(c *call) (ticketing.MovementFilter, error) {
	filter := ticketing.MovementFilter{Wallet: ledger.Float, Reference: strings.TrimSpace(c.query("reference"))}
	if wallet := c.query("wallet"); wallet != "" {
		filter.Wallet = ledger.Wallet(wallet)
	}
	if kind := ledger.Kind(c.query("kind")); kind != "" {
		// After a person has changed the wallet, the form may still have a kind of the other one.
		other := ledger.Earnings
		if filter.Wallet == ledger.Earnings {
			other = ledger.Float
		}
		if c.exchange.api || !slices.Contains(kindsOf(other), kind) {
			filter.Kinds = []ledger.Kind{kind}
		}
	}
	var err error
	filter.From, filter.To, err = c.period()
	return filter, err
}

func loadLedger(ctx context.Context, c *call) (view, error) {
	filter, err := movementFilter(c)
	if err != nil {
		return view{}, err
	}
	filter.PageParams = c.paging()
	found, err := c.operator.ListMovements(ctx, c.companyID, filter)
	if err != nil {
		return view{}, asPeriod(err)
	}
	kinds := []option{{Value: "", Label: "Any"}}
	for _, kind := range kindsOf(filter.Wallet) {
		kinds = append(kinds, option{Value: string(kind), Label: formatWords(kind)})
	}
	shown := ledgerList{
		Wallet: filter.Wallet, Filtered: isFiltered(c, ledgerFilters()[1:]...),
		Filters: slices.Concat([]field{
			chosenFilter(c, "wallet", "Wallet", option{Value: string(ledger.Float), Label: "Float"},
				option{Value: string(ledger.Earnings), Label: "Earnings"}),
			chosenFilter(c, "kind", "Kind", kinds...),
		}, dayFilters(c), []field{typedFilter(c, "reference", "Reference", "search")}),
	}
	shown.Items = make([]shownMovement, len(found.Items))
	for i, movement := range found.Items {
		shown.Items[i] = shownMovement{Movement: movement, Path: c.pathOfMovement(movement)}
	}
	return view{data: shown, paged: true, next: found.NextCursor, still: c.query("cursor") != ""}, nil
}

// pathOfMovement returns the path of the page of the order or the settlement that a movement belongs to.
func (c *call) pathOfMovement(movement ticketing.Movement) string {
	switch movement.Subject {
	case ticketing.MovementOfOrder:
		return c.reachOne("/business/{companyId}/orders/{orderId}", "orderId", movement.Reference)
	case ticketing.MovementOfSettlement:
		return c.reachOne(settlementsPath)
	case ticketing.MovementOfFunding:
	}
	return ""
}

// reachOne is Reach for a page with more variables than this one has, as pairs of name and value.
func (c *call) reachOne(pattern string, pairs ...any) string {
	if c.Reach(pattern) == "" {
		return ""
	}
	return c.fill(pattern, pairs)
}
