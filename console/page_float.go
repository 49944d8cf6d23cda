package console

import (
	"context"
	"encoding/json"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

const (
	floatPath = companyPath + "/float"

	// creditAction is the action of a funding in the audit log.
	creditAction = "float.credit"
)

// floatPages returns the page of what a company's float was funded with.
func floatPages() []page {
	return []page{{
		path: floatPath, scope: scopePlatform, title: "Float",
		permissions: companyReads(ticketing.PermissionWalletRead, ticketing.PermissionAuditRead),
		template:    "platform-float.html", query: []string{"cursor"}, load: loadFloat,
	}}
}

// floatActs returns the funding.
func floatActs() []act {
	return []act{newAct(act{
		name: "float.credit", scope: scopePlatform, path: floatPath + "/credit", page: floatPath,
		permission: ticketing.PermissionFloatCredit, recent: true,
	}, readCredit, creditFloat)}
}

// credit are the members of a funding.
type credit struct {
	amount    money.Amount
	reference string
	asked     bool // the person has not seen the question yet
}

// readCredit reads a funding. A form asks for confirmation, since its amount is typed by hand; a program is not asked.
func readCredit(m *members) credit {
	p := credit{amount: m.amount("amount"), reference: m.text("reference")}
	confirmed := m.boolean("confirmed")
	p.asked = m.object == nil && !confirmed
	return p
}

// creditQuestion is what a person is asked before money moves.
type creditQuestion struct {
	Company   ticketing.Company
	Amount    money.Amount
	Reference string
	Before    money.Amount
}

// After returns the balance that the funding makes.
func (q creditQuestion) After() money.Amount { return q.Before + q.Amount }

func creditFloat(ctx context.Context, c *call, p credit) (outcome, error) {
	companyID := c.pathID("companyId")
	if p.asked {
		if err := ticketing.CheckFloatCredit(p.reference, p.amount); err != nil {
			return outcome{}, err
		}
		company, err := c.companyOfPath(ctx)
		if err != nil {
			return outcome{}, err
		}
		wallets, err := c.operator.GetWallets(ctx, companyID)
		return outcome{
			data: creditQuestion{company, p.amount, p.reference, wallets.Float}, show: "float-confirm.html",
		}, err
	}
	made, err := c.operator.CreditFloat(ctx, companyID, p.reference, p.amount)
	done := outcome{data: made, done: formatMoney(made.Amount) + " was credited. Float is " +
		formatMoney(made.BalanceAfter) + "."}
	if !made.Applied {
		done.done = "The reference " + p.reference + " was credited before. Nothing moved."
	}
	return done, err
}

// companyFloat is a page of fundings with what the float is now.
type companyFloat struct {
	Company  ticketing.Company `json:"company"`
	Wallets  ticketing.Wallets `json:"wallets"`
	Fundings []funding         `json:"fundings"`
	First    bool              `json:"-"` // it is the first page
}

// funding is an act of the audit log that credited float.
type funding struct {
	At        ticketing.Time `json:"at"`
	Reference string         `json:"reference"`
	Amount    money.Amount   `json:"amount"`
	Balance   money.Amount   `json:"balanceAfter"`
	Actor     string         `json:"actor"`
	Person    *shownPerson   `json:"person"`
}

// newFunding reads a funding of the log.
func newFunding(one shownAct) (funding, error) {
	var changed struct {
		Float     struct{ Before, After money.Amount }
		Reference struct{ After string }
	}
	err := json.Unmarshal(one.Changes, &changed)
	return funding{
		At: one.At, Reference: changed.Reference.After, Amount: changed.Float.After - changed.Float.Before,
		Balance: changed.Float.After, Actor: one.Actor, Person: one.Person,
	}, err
}

// loadFloat reads the fundings from the audit log, which has an index for them. The ledger has all sales, too.
func loadFloat(ctx context.Context, c *call) (view, error) {
	shown := companyFloat{First: c.query("cursor") == "", Fundings: []funding{}}
	var err error
	if shown.Company, err = c.companyOfPath(ctx); err != nil {
		return view{}, err
	}
	if shown.Wallets, err = c.operator.GetWallets(ctx, shown.Company.ID); err != nil {
		return view{}, err
	}
	found, err := c.operator.ListAudit(ctx, shown.Company.ID,
		ticketing.AuditFilter{PageParams: c.paging(), Action: creditAction})
	if err != nil {
		return view{}, err
	}
	acts, err := nameActs(ctx, c, found.Items)
	if err != nil {
		return view{}, err
	}
	for _, one := range acts {
		made, err := newFunding(one)
		if err != nil {
			return view{}, err
		}
		shown.Fundings = append(shown.Fundings, made)
	}
	loaded := companyView(shown.Company, "Float", shown)
	loaded.paged, loaded.next = true, found.NextCursor
	return loaded, nil
}
