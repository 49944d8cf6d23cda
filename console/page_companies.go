package console

import (
	"context"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
)

const (
	companiesPath = "/platform/companies"
	companyPath   = companiesPath + "/{companyId}"

	// byLowestFloat is the order of the list of companies that has no pages.
	byLowestFloat = "FLOAT"
)

// companiesPages returns the list of companies and the page of one.
func companiesPages() []page {
	return []page{
		{
			bar:  true,
			path: companiesPath, scope: scopePlatform, title: "Companies", nav: "Companies", icon: "building",
			permissions: []ticketing.Permission{ticketing.PermissionTenantRead}, template: "platform-companies.html",
			query: append([]string{"cursor"}, companyFilters()...), load: loadAllCompanies,
			live: []ticketing.WatchTopic{ticketing.WatchAudit},
		},
		{
			path: companyPath, scope: scopePlatform, title: "Company", permissions: companyReads(ticketing.PermissionWalletRead),
			template: "platform-company.html", load: loadPlatformCompany,
		},
	}
}

// companyReads returns the permissions of the pages of one company.
func companyReads(more ...ticketing.Permission) []ticketing.Permission {
	return append([]ticketing.Permission{ticketing.PermissionTenantRead, ticketing.PermissionKYBRead}, more...)
}

// companiesActs returns what staff do about companies as such.
func companiesActs() []act {
	of := func(name, verb, done string, recent bool) act {
		return act{
			name: name, scope: scopePlatform, path: companyPath + verb, page: companyPath,
			permission: ticketing.PermissionManage, done: done, recent: recent,
		}
	}
	return []act{
		newAct(act{
			name: "company.create", scope: scopePlatform, path: companiesPath + "/create", page: companiesPath,
			permission: ticketing.PermissionManage, done: "The company was created. Invite its first owner next.",
		}, readName, func(ctx context.Context, c *call, name string) (outcome, error) {
			company, err := c.operator.CreateCompany(ctx, name)
			return outcome{data: company, next: companiesPath + "/" + company.ID.String()}, err
		}),
		newAct(of("company.rename", "/rename", "The company was renamed. Its branding keeps the brand name.", false),
			readName, func(ctx context.Context, c *call, name string) (outcome, error) {
				company, err := c.operator.RenameCompany(ctx, c.pathID("companyId"), name)
				return outcome{data: company}, err
			}),
		newAct(of("company.suspend", "/suspend", "The company is suspended: it sells nothing.", true), noMembers,
			func(ctx context.Context, c *call, _ none) (outcome, error) {
				company, err := c.operator.SuspendCompany(ctx, c.pathID("companyId"))
				return outcome{data: company}, err
			}),
		newAct(of("company.activate", "/activate", "The company is active again.", false), noMembers,
			func(ctx context.Context, c *call, _ none) (outcome, error) {
				company, err := c.operator.ActivateCompany(ctx, c.pathID("companyId"))
				return outcome{data: company}, err
			}),
		newAct(of("wallet.suspend", "/wallets/{wallet}/suspend", "The wallet is suspended: its balance stays.", true),
			noMembers, func(ctx context.Context, c *call, _ none) (outcome, error) {
				wallets, err := c.operator.SuspendWallet(ctx, c.pathID("companyId"), ledger.Wallet(c.path("wallet")))
				return outcome{data: wallets}, err
			}),
		newAct(of("wallet.activate", "/wallets/{wallet}/activate", "The wallet is active again.", false), noMembers,
			func(ctx context.Context, c *call, _ none) (outcome, error) {
				wallets, err := c.operator.ActivateWallet(ctx, c.pathID("companyId"), ledger.Wallet(c.path("wallet")))
				return outcome{data: wallets}, err
			}),
	}
}

func readName(m *members) string { return m.text("name") }

// companyFilters returns the members of the query that select companies, and their order.
func companyFilters() []string {
	return []string{"prefix", "status", "verification", "expires", "order"}
}

// companyFilter reads the query of the list.
func companyFilter(c *call) (ticketing.CompanyFilter, error) {
	filter := ticketing.CompanyFilter{
		Prefix: c.query("prefix"), Status: ticketing.CompanyStatus(c.query("status")),
		Verification: ticketing.VerificationStatus(c.query("verification")), Order: ticketing.CompanyOrder(c.query("order")),
	}
	switch c.query("expires") {
	case "":
	case "30":
		// The day is truncated, so that a cursor continues the same list.
		const day = 24 * time.Hour
		filter.ExpiresBefore = c.now.Truncate(day).Add(expirySoon + day)
	default:
		return filter, invalid("expires: must be 30")
	}
	return filter, nil
}

// companyList is a page of companies with its filters.
type companyList struct {
	itemList[ticketing.Company]

	Filters  []field
	Filtered bool
	// Lowest are the companies with the lowest float; nil in any other order.
	Lowest *ticketing.LowFloats
	// TooNarrow reports whether the query has filters, which the order by float does not take.
	TooNarrow bool
}

// MarshalJSON writes the companies, or the balances in the order by float.
func (l companyList) MarshalJSON() ([]byte, error) {
	if l.Lowest != nil {
		return encode(l.Lowest.Companies)
	}
	return l.itemList.MarshalJSON()
}

func loadAllCompanies(ctx context.Context, c *call) (view, error) {
	shown := companyList{
		Filtered: isFiltered(c, companyFilters()...),
		Filters: []field{
			typedFilter(c, "prefix", "Name begins with", "search"),
			chosenFilter(c, "status", "Status", option{Value: "", Label: "Any"}, option{Value: "ACTIVE", Label: "Active"},
				option{Value: "SUSPENDED", Label: "Suspended"}),
			chosenFilter(c, "verification", "Verification", option{Value: "", Label: "Any"},
				option{Value: "UNVERIFIED", Label: "Unverified"}, option{Value: "SUBMITTED", Label: "Submitted"},
				option{Value: "APPROVED", Label: "Approved"}, option{Value: "REJECTED", Label: "Rejected"},
				option{Value: "REVOKED", Label: "Revoked"}),
			chosenFilter(c, "expires", "Approval ends", option{Value: "", Label: "Any time"},
				option{Value: "30", Label: "Within 30 days, or has ended"}),
			chosenFilter(c, "order", "Order", option{Value: "", Label: "Newest first"},
				option{Value: "OLDEST", Label: "Oldest first"}, option{Value: "NAME", Label: "By name"},
				option{Value: "EXPIRY", Label: "By end of approval"}, option{Value: byLowestFloat, Label: "Lowest float"}),
		},
	}
	if c.query("order") == byLowestFloat {
		return loadLowestFloats(ctx, c, shown)
	}
	filter, err := companyFilter(c)
	if err != nil {
		return view{}, err
	}
	filter.PageParams = c.paging()
	found, err := c.operator.ListCompanies(ctx, filter)
	shown.Items = found.Items
	return view{data: shown, paged: true, next: found.NextCursor, still: c.query("cursor") != ""}, err
}

var errFloatFilter = invalid("order: FLOAT goes with no filter and no cursor")

// loadLowestFloats shows the companies with the lowest float. No index orders companies by their balance, so the list
// has one page and refuses filters.
func loadLowestFloats(ctx context.Context, c *call, shown companyList) (view, error) {
	if isFiltered(c, "prefix", "status", "verification", "expires", "cursor") {
		shown.TooNarrow = true
		return view{data: shown, still: true, refused: errFloatFilter}, nil
	}
	limit := c.paging().Limit
	if limit == 0 {
		limit = ticketing.MaxPageLimit
	}
	found, err := c.operator.LowFloats(ctx, limit)
	shown.Lowest = &found
	return view{data: shown, paged: true, still: true}, err // No act of the log is about a balance.
}

// platformCompany is one company with its wallets.
type platformCompany struct {
	Company ticketing.Company `json:"company"`
	Wallets ticketing.Wallets `json:"wallets"`
}

// walletState is a wallet of a company.
type walletState struct {
	Wallet  ledger.Wallet
	Balance string
	Status  ticketing.WalletStatus
	About   string
}

// States returns both wallets.
func (p platformCompany) States() []walletState {
	return []walletState{
		{ledger.Float, formatMoney(p.Wallets.Float), p.Wallets.FloatStatus, "Pays for the tickets that the company sells."},
		{ledger.Earnings, formatMoney(p.Wallets.Earnings), p.Wallets.EarningsStatus, "Gathers the company's commission."},
	}
}

// companyOfPath returns the company that the path names.
func (c *call) companyOfPath(ctx context.Context) (ticketing.Company, error) {
	return c.operator.GetCompany(ctx, c.pathID("companyId"))
}

// companyView returns the view of a page of one company.
func companyView(company ticketing.Company, title string, data any) view {
	return view{title: title + " · " + strings.TrimSpace(company.Name), data: data}
}

func loadPlatformCompany(ctx context.Context, c *call) (view, error) {
	company, err := c.companyOfPath(ctx)
	if err != nil {
		return view{}, err
	}
	wallets, err := c.operator.GetWallets(ctx, company.ID)
	return companyView(company, "Company", platformCompany{company, wallets}), err
}
