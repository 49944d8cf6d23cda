package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/floatgate/ticketing"
)

const (
	buyersPath = "/business/{companyId}/buyers"
	erasePath  = buyersPath + "/erase"
)

// buyerPages returns the pages of a company's buyers. An email is never part of a path. The email of a buyer who is to
// be erased is only in the body of a form: histories and logs keep queries, too.
func buyerPages() []page {
	return []page{
		{
			group: groupSelling,
			path:  buyersPath, scope: scopeCompany, title: "Buyers", nav: "Buyers", icon: "people",
			permissions: []ticketing.Permission{ticketing.PermissionBuyerRead}, template: "buyers.html",
			query: []string{"cursor", "email"}, load: loadBuyers,
			live: []ticketing.WatchTopic{ticketing.WatchMoney, ticketing.WatchAudit},
		},
		{
			path: erasePath, scope: scopeCompany, title: "Erase a buyer",
			permissions: []ticketing.Permission{
				ticketing.PermissionBuyerRead, ticketing.PermissionBuyerErase, ticketing.PermissionCompanyOrderRead,
			},
			template: "buyer-erase.html", load: loadErasure,
		},
	}
}

// buyerActs returns the erasure of a buyer, and the question before it.
func buyerActs() []act {
	email := func(m *members) string { return m.text("email") }
	return []act{
		newAct(act{
			name: "buyer.ask_erase", scope: scopeCompany, path: erasePath + "/ask", page: erasePath,
			permission: ticketing.PermissionBuyerErase,
		}, email, askErasure),
		newAct(act{
			name: "buyer.erase", scope: scopeCompany, path: erasePath + "/start", page: erasePath,
			permission: ticketing.PermissionBuyerErase, recent: true,
		}, email, eraseBuyer),
	}
}

// shownBuyer is a buyer as the page shows them.
type shownBuyer struct{ ticketing.CompanyBuyer }

// Erased reports whether the buyer was erased.
func (b shownBuyer) Erased() bool { return isErased(b.Email) }

// isErased reports whether an email was made by an erasure.
func isErased(email string) bool { return strings.HasSuffix(email, "@erased.invalid") }

// buyerList is a page of buyers with its filter.
type buyerList struct {
	itemList[shownBuyer]

	Filters  []field
	Filtered bool
}

func loadBuyers(ctx context.Context, c *call) (view, error) {
	found, err := c.operator.ListBuyers(ctx, c.companyID, ticketing.BuyerFilter{
		PageParams: c.paging(), Prefix: c.query("email"),
	})
	if err != nil {
		return view{}, err
	}
	list := buyerList{
		Filtered: isFiltered(c, "email"), Filters: []field{typedFilter(c, "email", "Email starts with", "text")},
	}
	for _, buyer := range found.Items {
		list.Items = append(list.Items, shownBuyer{buyer})
	}
	// New buyers do not change a later page.
	return view{data: list, paged: true, next: found.NextCursor, still: c.query("cursor") != ""}, nil
}

// loadErasure loads the page with the field for an email. A refused erasure shows it again with what was typed.
func loadErasure(_ context.Context, c *call) (view, error) {
	return view{data: ticketing.ErasurePreview{Email: c.query("email")}}, nil
}

// askErasure shows what an erasure removes. It changes nothing.
func askErasure(ctx context.Context, c *call, email string) (outcome, error) {
	c.values["email"] = email
	preview, err := c.operator.PreviewErasure(ctx, c.companyID, email)
	return outcome{data: preview, show: "buyer-erase.html"}, err
}

func eraseBuyer(ctx context.Context, c *call, email string) (outcome, error) {
	c.values["email"] = email // A refused erasure shows its page again.
	erased, err := c.operator.EraseBuyer(ctx, c.companyID, email)
	done := fmt.Sprintf("The buyer was erased, with %s.", formatPlural(erased.Orders, "order", "orders"))
	if !erased.Erased {
		done = "Nobody was erased: no buyer has this email."
	}
	return outcome{data: erased, done: done, next: c.expand(buyersPath)}, err
}
