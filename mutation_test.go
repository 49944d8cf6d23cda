package ticketing_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// fixture is the fixture of the mutations: a service, and a company with an event.
type fixture struct {
	svc     *ticketing.Service
	staff   ticketing.Operator
	company uuid.UUID
	event   uuid.UUID
	caller  ticketing.Caller

	// keeper is the store in which mutations are prepared.
	keeper driver.Store

	// store and hosts are the database and a host's pool on it; nil if there is no host.
	store *store.Store
	hosts *bun.DB
}

func newFixture(svc *ticketing.Service, company, event uuid.UUID) fixture {
	return fixture{
		svc: svc, staff: svc.As(ticketing.Staff("office")), company: company, event: event,
		caller: ticketing.TrustedCaller(company, ticketing.AllGrants()...),
	}
}

// mutation is a mutation without an idempotency key. A number distinguishes its repetitions.
type mutation struct {
	name string
	// ready creates what the mutation needs.
	ready func(ctx context.Context, f fixture, n int) error
	do    func(ctx context.Context, f fixture, n int) error
	// made reports whether the mutation was made completely. One that was made in part is an error.
	made func(ctx context.Context, f fixture, n int) (bool, error)
	// after cleans up for the next repetition.
	after func(ctx context.Context, f fixture, n int) error
}

// mutations returns the mutations of operators, and those that a company makes itself.
func mutations() []mutation {
	return slices.Concat(moneyMutations(), peopleMutations(), webhookMutations(), mailMutations(), []mutation{
		{
			name: "create a company",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.staff.CreateCompany(ctx, fmt.Sprintf("Company %d", n))
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				companies, err := f.staff.ListCompanies(ctx, ticketing.CompanyFilter{PageParams: ticketing.PageParams{Limit: 100}})
				for _, company := range companies.Items {
					if company.Name == fmt.Sprintf("Company %d", n) {
						_, unbranded := f.staff.GetBranding(ctx, company.ID)
						_, poor := f.staff.GetWallets(ctx, company.ID)
						return true, errors.Join(unbranded, poor)
					}
				}
				return false, err
			},
		},
		{
			name: "suspend a company",
			do: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.SuspendCompany(ctx, f.company)
				return err
			},
			made: func(ctx context.Context, f fixture, _ int) (bool, error) {
				company, err := f.staff.GetCompany(ctx, f.company)
				return company.Status == ticketing.CompanySuspended, err
			},
			after: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.ActivateCompany(ctx, f.company)
				return err
			},
		},
		{
			name: "approve a company",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.staff.ApproveVerification(ctx, f.company, ticketing.ApprovalParams{
					ExpiresAt: new(ticketingtest.Opening.AddDate(1, 0, n)),
				})
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				company, err := f.staff.GetCompany(ctx, f.company)
				expires := company.Verification.ApprovalExpiresAt
				return expires != nil && expires.Equal(ticketingtest.Opening.AddDate(1, 0, n)), err
			},
		},
		{
			name: "change the branding",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.staff.UpdateBranding(ctx, f.company, ticketing.UpdateBrandingParams{
					BrandName: of(fmt.Sprintf("Brand %d", n)), TicketFooter: of(fmt.Sprintf("Footer %d", n)),
				})
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				branding, err := f.staff.GetBranding(ctx, f.company)
				made := branding.BrandName == fmt.Sprintf("Brand %d", n)
				if made && *branding.TicketFooter != fmt.Sprintf("Footer %d", n) {
					err = errHalfDone
				}
				return made, err
			},
		},
		{
			name: "schedule a rate",
			do: func(ctx context.Context, f fixture, n int) error {
				rate, err := money.ParseRate(fmt.Sprint(n), money.BasisPoints)
				if err != nil {
					return err
				}
				_, err = f.staff.ScheduleCommission(ctx, f.company, ticketing.CommissionParams{
					Rate: rate, EffectiveFrom: new(ticketingtest.Opening.AddDate(1, 0, 0)),
				})
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				rates, err := f.staff.ListCommissionRates(ctx, f.company)
				return once(len(slices.DeleteFunc(rates, func(rate ticketing.CommissionRate) bool {
					return rate.Value != fmt.Sprint(n) || rate.Unit != money.BasisPoints
				})), err)
			},
		},
		{
			name: "credit FLOAT",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.staff.CreditFloat(ctx, f.company, fmt.Sprintf("transfer-%d", n), 1_00)
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				return f.moved(ctx, ledger.Float, fmt.Sprintf("transfer-%d", n))
			},
		},
		{
			name: "suspend a wallet",
			do: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.SuspendWallet(ctx, f.company, ledger.Earnings)
				return err
			},
			made: func(ctx context.Context, f fixture, _ int) (bool, error) {
				wallets, err := f.staff.GetWallets(ctx, f.company)
				return wallets.EarningsStatus == ticketing.WalletSuspended, err
			},
			after: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.staff.ActivateWallet(ctx, f.company, ledger.Earnings)
				return err
			},
		},
		{
			name: "issue a key",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.staff.IssueAPIKey(ctx, f.company, fmt.Sprintf("issued %d", n), ticketing.AllGrants())
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				keys, err := f.keys(ctx, "issued", n)
				return once(len(keys), err)
			},
			after: revokeAll,
		},
		{
			name:  "rotate a key",
			ready: issueOne("rotated"),
			do: func(ctx context.Context, f fixture, n int) error {
				keys, err := f.keys(ctx, "rotated", n)
				if err == nil {
					_, err = f.staff.RotateAPIKey(ctx, keys[len(keys)-1].ID)
				}
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				keys, err := f.keys(ctx, "rotated", n)
				if err == nil && (len(keys) > 2 || len(keys) == 2 && (keys[0].PredecessorID == nil ||
					*keys[0].PredecessorID != keys[1].ID || keys[1].Status != ticketing.APIKeyActive)) {
					err = errHalfDone
				}
				return len(keys) == 2, err
			},
			after: revokeAll,
		},
		{
			name:  "revoke a key",
			ready: issueOne("revoked"),
			do: func(ctx context.Context, f fixture, n int) error {
				keys, err := f.keys(ctx, "revoked", n)
				if err == nil {
					_, err = f.staff.RevokeAPIKey(ctx, keys[0].ID)
				}
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				keys, err := f.keys(ctx, "revoked", n)
				if err != nil {
					return false, err
				}
				revoked := keys[0].Status == ticketing.APIKeyRevoked
				if revoked != (keys[0].RevokedAt != nil) {
					err = errHalfDone
				}
				return revoked, err
			},
			after: revokeAll,
		},
		{
			name: "create a category",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.staff.CreateCategory(ctx, fmt.Sprintf("Category %d", n), fmt.Sprintf("category-%d", n))
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				categories, err := f.staff.ListCategories(ctx)
				return once(len(slices.DeleteFunc(categories, func(category ticketing.Category) bool {
					return category.Slug != fmt.Sprintf("category-%d", n)
				})), err)
			},
		},
		{
			name: "update an event",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.svc.UpdateEvent(ctx, f.caller, f.event, ticketing.UpdateEventParams{
					Title: of(fmt.Sprintf("Night %d", n)), TicketCategories: &[]string{fmt.Sprintf("TIER %d", n%40)},
				})
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				event, err := f.svc.GetEvent(ctx, f.caller, f.event)
				made := event.Title == fmt.Sprintf("Night %d", n)
				if made && !slices.Contains(event.TicketCategories, fmt.Sprintf("TIER %d", n%40)) {
					err = errHalfDone
				}
				return made, err
			},
		},
		{
			name: "price a tier again",
			do:   func(ctx context.Context, f fixture, n int) error { return f.price(ctx, money.Amount(100_00+n)) },
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				tiers, err := f.svc.ListInventory(ctx, f.caller, f.event)
				return err == nil && *tiers[0].UnitPrice == money.Amount(100_00+n), err
			},
			// The other mutations sell at this price.
			after: func(ctx context.Context, f fixture, _ int) error { return f.price(ctx, 100_00) },
		},
	})
}

// price sets the price of VIP.
func (f fixture) price(ctx context.Context, amount money.Amount) error {
	_, err := f.svc.UpdateInventory(ctx, f.caller, f.event, "VIP", ticketing.UpdateInventoryParams{
		UnitPrice: &amount, Currency: of("NGN"), IsFree: of(false),
	})
	return err
}

var errHalfDone = errors.New("something is half done")

// once reports whether there is one of something; more than one is an error.
func once(number int, err error) (bool, error) {
	if err == nil && number > 1 {
		err = errors.New("something is done twice")
	}
	return number == 1, err
}

// moved reports whether the ledger of a wallet has a movement with a reference.
func (f fixture) moved(ctx context.Context, wallet ledger.Wallet, reference string) (bool, error) {
	found := 0
	err := f.staff.Ledger(ctx, f.company, wallet, func(entry ticketing.LedgerEntry) error {
		if entry.Reference == reference {
			found++
		}
		return nil
	})
	return once(found, err)
}

// keys returns the keys that were made for the n-th mutation of a name, successors first.
func (f fixture) keys(ctx context.Context, name string, n int) ([]ticketing.APIKey, error) {
	keys, err := f.staff.ListAPIKeys(ctx, f.company)
	keys = slices.DeleteFunc(keys, func(key ticketing.APIKey) bool { return key.Name != fmt.Sprintf("%s %d", name, n) })
	slices.SortFunc(keys, func(a, b ticketing.APIKey) int { // Keys of the same time come in no order.
		return cmp.Compare(successor(b), successor(a))
	})
	return keys, err
}

func successor(key ticketing.APIKey) int {
	if key.PredecessorID != nil {
		return 1
	}
	return 0
}

func issueOne(name string) func(ctx context.Context, f fixture, n int) error {
	return func(ctx context.Context, f fixture, n int) error {
		_, err := f.staff.IssueAPIKey(ctx, f.company, fmt.Sprintf("%s %d", name, n), ticketing.AllGrants())
		return err
	}
}

func revokeAll(ctx context.Context, f fixture, _ int) error {
	keys, err := f.staff.ListAPIKeys(ctx, f.company)
	for _, key := range keys {
		_, failed := f.staff.RevokeAPIKey(ctx, key.ID)
		err = errors.Join(err, failed)
	}
	return err
}

// prepare runs ready, and finish runs after, if the mutation has them.
func (m mutation) prepare(ctx context.Context, f fixture, n int) error {
	if m.ready == nil {
		return nil
	}
	return m.ready(ctx, f, n)
}

func (m mutation) finish(ctx context.Context, f fixture, n int) error {
	if m.after == nil {
		return nil
	}
	return m.after(ctx, f, n)
}

// openFixture returns a fixture in a shop. The shop's own key is revoked, to make room for the keys of mutations.
func openFixture(t testing.TB, shop *ticketingtest.Shop) fixture {
	t.Helper()
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
	f := newFixture(shop.Service, shop.Company.ID, event.ID)
	f.keeper = shop.Store
	if err := revokeAll(t.Context(), f, 0); err != nil {
		t.Fatal(err)
	}
	return f
}
