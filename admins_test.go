package ticketing_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// admins are administrators who act concurrently, half of them through one service and half through another. On a
// database each service has a store of its own, as in two processes.
type admins struct {
	*ticketingtest.Shop

	staff [2]ticketing.Operator
}

const numberOfAdmins = 4

// onAdmins runs a test on every store that two services can share.
func onAdmins(t *testing.T, test func(t *testing.T, a *admins)) {
	t.Helper()
	for name, open := range map[string]func(tb testing.TB) (one, other driver.Store){
		"memory": func(tb testing.TB) (one, other driver.Store) {
			tb.Helper()
			shared := stores()[0].Open(tb)
			return shared, shared
		},
		"sqlite": func(tb testing.TB) (one, other driver.Store) {
			tb.Helper()
			dsn := testdb.SQLiteDSN(tb)
			return testdb.Open(tb, dsn, nil), testdb.Open(tb, dsn, nil)
		},
		"postgres": func(tb testing.TB) (one, other driver.Store) {
			tb.Helper()
			dsn := testdb.DSN(tb)
			return testdb.Open(tb, dsn, nil), testdb.Open(tb, dsn, nil)
		},
		"row gates": func(tb testing.TB) (one, other driver.Store) {
			tb.Helper()
			dsn, config := testdb.DSN(tb), &store.Config{RowGates: true, Connections: 8}
			return testdb.Open(tb, dsn, config), testdb.Open(tb, dsn, config)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := open(t)
			shop := newShop(t, one)
			test(t, &admins{Shop: shop, staff: [2]ticketing.Operator{
				shop.As(ticketing.Staff("one")),
				service(t, shop, other, ticketing.Grouping{}).As(ticketing.Staff("other")),
			}})
		})
	}
}

// attempt is the outcome of one of several concurrent calls.
type attempt struct {
	result any
	err    error
}

// atOnce runs act concurrently, once for each administrator.
func (a *admins) atOnce(act func(staff ticketing.Operator, n int) (any, error)) []attempt {
	got := make([]attempt, numberOfAdmins)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for n := range got {
		all.Go(func() {
			<-begin
			got[n].result, got[n].err = act(a.staff[n%len(a.staff)], n)
		})
	}
	close(begin)
	all.Wait()
	return got
}

// contest is something that several administrators do concurrently in a company of its own.
type contest struct {
	name string
	// ready creates what they act upon, and returns the call.
	ready func(t *testing.T, a *admins) act
	// won is how many calls succeed while the others get a conflict: one, or all of one of two sides that want
	// different things. Zero means that all succeed with the same effect.
	won int
	// check checks the state afterwards.
	check func(t *testing.T, a *admins, got []attempt)
}

// act is the call of one administrator.
type act = func(ctx context.Context, staff ticketing.Operator, n int) (any, error)

func contests() []contest {
	return slices.Concat(moneyContests(), peopleContests(), webhookContests(), []contest{
		{
			name: "credits of one reference (2.9, item 3)",
			ready: func(_ *testing.T, a *admins) act {
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.CreditFloat(ctx, a.Company.ID, "transfer-0001", 70_00)
				}
			},
			check: func(t *testing.T, a *admins, got []attempt) {
				t.Helper()
				is := is.New(t)
				applied := 0
				for _, one := range got {
					credit := one.result.(ticketing.FloatCredit)
					is.Equal(credit.BalanceAfter-credit.BalanceBefore, money.Amount(70_00)) // This is the original movement.
					is.Equal(credit.BalanceAfter, a.Wallets(t).Float)
					if credit.Applied {
						applied++
					}
				}
				is.Equal(applied, 1)
			},
		},
		{
			name: "credits of one reference and different amounts (2.9, item 3)",
			won:  1,
			ready: func(_ *testing.T, a *admins) act {
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					return staff.CreditFloat(ctx, a.Company.ID, "transfer-0001", money.Amount(70_00+n))
				}
			},
			check: func(t *testing.T, a *admins, got []attempt) {
				t.Helper()
				for _, one := range got {
					if one.err == nil { // No other call moved money.
						is.New(t).Equal(one.result.(ticketing.FloatCredit).BalanceAfter, a.Wallets(t).Float)
					}
				}
			},
		},
		{
			name: "keys at the limit (5.1)",
			won:  1,
			ready: func(_ *testing.T, a *admins) act { // The shop has one key.
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.IssueAPIKey(ctx, a.Company.ID, "second", ticketing.AllGrants())
				}
			},
			check: twoKeys,
		},
		{
			name: "rotations at the limit (5.1)",
			won:  1,
			ready: func(_ *testing.T, a *admins) act {
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.RotateAPIKey(ctx, a.Caller.KeyID())
				}
			},
			check: twoKeys,
		},
		{
			name: "revocations of a key (5.1)",
			ready: func(_ *testing.T, a *admins) act {
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.RevokeAPIKey(ctx, a.Caller.KeyID())
				}
			},
			check: alike,
		},
		{
			name: "approvals",
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				_, err := a.Staff.RevokeVerification(t.Context(), a.Company.ID)
				is.New(t).NoErr(err)
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.ApproveVerification(ctx, a.Company.ID, ticketing.ApprovalParams{
						ExpiresAt: new(ticketingtest.Opening.AddDate(1, 0, 0)),
					})
				}
			},
			check: alike,
		},
		{
			name: "suspensions",
			ready: func(_ *testing.T, a *admins) act {
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.SuspendCompany(ctx, a.Company.ID)
				}
			},
			check: alike,
		},
		{
			name: "suspensions of a wallet",
			ready: func(_ *testing.T, a *admins) act {
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.SuspendWallet(ctx, a.Company.ID, ledger.Float)
				}
			},
			check: alike,
		},
		{
			name: "brandings (2.7)",
			ready: func(_ *testing.T, a *admins) act {
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					name, footer := fmt.Sprintf("Brand %d", n), fmt.Sprintf("Footer %d", n)
					return staff.UpdateBranding(ctx, a.Company.ID, ticketing.UpdateBrandingParams{
						BrandName: &name, TicketFooter: &footer,
					})
				}
			},
			check: func(t *testing.T, a *admins, got []attempt) {
				t.Helper()
				is := is.New(t)
				current, err := a.Staff.GetBranding(t.Context(), a.Company.ID)
				is.NoErr(err)
				is.True(slices.ContainsFunc(got, func(one attempt) bool { return show(t, one.result) == show(t, current) }))
			},
		},
		{
			name: "rates for one time (2.9, item 1)",
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				from := ticketingtest.Opening.Add(time.Hour)
				rates := make([]money.Rate, numberOfAdmins)
				for n := range rates {
					rate, err := money.ParseRate(fmt.Sprint(n+1), money.Percent)
					is.New(t).NoErr(err)
					rates[n] = rate
				}
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					return staff.ScheduleCommission(ctx, a.Company.ID, ticketing.CommissionParams{
						Rate: rates[n], EffectiveFrom: &from,
					})
				}
			},
			check: func(t *testing.T, a *admins, got []attempt) {
				t.Helper()
				is := is.New(t)
				listed, err := a.Staff.ListCommissionRates(t.Context(), a.Company.ID)
				is.NoErr(err)
				seen := map[uuid.UUID]bool{}
				for _, rate := range listed {
					seen[rate.ID] = true
				}
				for _, one := range got {
					is.True(seen[one.result.(ticketing.CommissionRate).ID]) // No rate is lost.
				}
			},
		},
		{
			name: "ends of an event",
			won:  1,
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				event := a.Event(t)
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.EndEvent(ctx, event.ID)
				}
			},
		},
		{
			name: "categories of one slug",
			won:  1,
			ready: func(_ *testing.T, a *admins) act {
				slug := "slug-" + a.Company.ID.String()[:8]
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					return staff.CreateCategory(ctx, fmt.Sprintf("Music %d", n), slug)
				}
			},
		},
		{
			name: "deactivations of a category",
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				category, err := a.Staff.CreateCategory(t.Context(), "Music", "slug-"+a.Company.ID.String()[:8])
				is.New(t).NoErr(err)
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.DeactivateCategory(ctx, category.ID)
				}
			},
			check: alike,
		},
	})
}

// peopleContests returns the contests over a company's name, its verification and its members.
func peopleContests() []contest {
	return []contest{
		{
			name: "names",
			ready: func(_ *testing.T, a *admins) act {
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					return staff.RenameCompany(ctx, a.Company.ID, fmt.Sprintf("Name %d", n))
				}
			},
			check: func(t *testing.T, a *admins, got []attempt) {
				t.Helper()
				is := is.New(t)
				company, err := a.Staff.GetCompany(t.Context(), a.Company.ID)
				is.NoErr(err)
				is.True(slices.ContainsFunc(got, func(one attempt) bool {
					return one.result.(ticketing.Company).Name == company.Name
				}))
			},
		},
		{
			name: "submissions of a case",
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				_, err := a.Staff.UpdateVerification(t.Context(), a.Company.ID, caseOf("RC-1"))
				is.New(t).NoErr(err)
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.SubmitVerification(ctx, a.Company.ID)
				}
			},
			check: alike,
		},
		{
			name: "members of one email",
			ready: func(_ *testing.T, a *admins) act {
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.AddMember(ctx, a.Company.ID, ticketing.AddMemberParams{
						Email: "ada@example.com", Name: "Ada Obi", Role: ticketing.RoleOwner,
					})
				}
			},
			check: alike,
		},
		{
			name: "the last two owners, who remove each other",
			won:  numberOfAdmins / 2,
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				var owners []uuid.UUID
				for _, email := range []string{"ada@example.com", "bola@example.com"} {
					owner, err := a.Staff.AddMember(t.Context(), a.Company.ID, ticketing.AddMemberParams{
						Email: email, Name: "An owner", Role: ticketing.RoleOwner,
					})
					is.New(t).NoErr(err)
					owners = append(owners, owner.UserID)
				}
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					return staff.UpdateMember(ctx, a.Company.ID, owners[n%2], ticketing.RoleViewer)
				}
			},
		},
	}
}

// moneyContests returns the contests over the same settlement or order.
func moneyContests() []contest {
	stocked := func(t *testing.T, a *admins) fixture {
		t.Helper()
		event := a.Event(t)
		a.Inventory(t, event.ID, "VIP", 100_00, 5)
		return newFixture(a.Service, a.Company.ID, event.ID)
	}
	return []contest{
		{
			name: "settlements (2.9, item 6)",
			won:  1,
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				is.New(t).NoErr(earned("rivals")(t.Context(), stocked(t, a), 1))
				return func(ctx context.Context, staff ticketing.Operator, _ int) (any, error) {
					return staff.RequestSettlement(ctx, a.Company.ID)
				}
			},
			check: func(t *testing.T, a *admins, _ []attempt) {
				t.Helper()
				is.New(t).Equal(a.Wallets(t).Earnings, money.Amount(0))
			},
		},
		{
			name: "decisions about a settlement (3.6)",
			won:  numberOfAdmins / 2,
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				is := is.New(t)
				f := stocked(t, a)
				is.NoErr(requested("rivals")(t.Context(), f, 1))
				latest, _, err := f.latestSettlement(t.Context())
				is.NoErr(err)
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					if n < numberOfAdmins/2 {
						return staff.ApproveSettlement(ctx, latest.ID)
					}
					return staff.RejectSettlement(ctx, latest.ID, "The bank knows no such account.")
				}
			},
			check: func(t *testing.T, a *admins, got []attempt) {
				t.Helper()
				for _, one := range got {
					if settled, ok := one.result.(ticketing.Settlement); ok && one.err == nil {
						rejected := settled.Status == ticketing.SettlementRejected
						is.New(t).Equal(a.Wallets(t).Earnings == settled.Amount, rejected) // It was refunded or paid out.
					}
				}
			},
		},
		{
			name: "a refund and a cancellation of an order",
			won:  numberOfAdmins / 2,
			ready: func(t *testing.T, a *admins) act {
				t.Helper()
				order, err := stocked(t, a).sale(t.Context(), "rivals", 1)
				is.New(t).NoErr(err)
				return func(ctx context.Context, staff ticketing.Operator, n int) (any, error) {
					if n%4 < 2 {
						return staff.RefundOrder(ctx, order.ID, ticketing.RefundParams{Reason: "It rains."})
					}
					return staff.CancelOrder(ctx, order.ID, "It rains.")
				}
			},
		},
	}
}

// alike checks that all calls have the same result.
func alike(t *testing.T, _ *admins, got []attempt) {
	t.Helper()
	for _, one := range got {
		is.New(t).Equal(show(t, one.result), show(t, got[0].result))
	}
}

func twoKeys(t *testing.T, a *admins, _ []attempt) {
	t.Helper()
	is := is.New(t)
	keys, err := a.Staff.ListAPIKeys(t.Context(), a.Company.ID)
	is.NoErr(err)
	is.Equal(len(keys), 2)
}

// TestSeveralAdministratorsAtOnce checks concurrent administrators, in one process or several. Either exactly one side
// succeeds and the other calls get a conflict, or all calls succeed with the same effect.
func TestSeveralAdministratorsAtOnce(t *testing.T) {
	t.Parallel()
	onAdmins(t, func(t *testing.T, a *admins) {
		for _, test := range contests() {
			t.Run(test.name, func(t *testing.T) {
				const rounds = 3
				for range rounds {
					is := is.New(t)
					each := &admins{Shop: a.Neighbour(t), staff: a.staff}
					act := test.ready(t, each)
					got := each.atOnce(func(staff ticketing.Operator, n int) (any, error) { return act(t.Context(), staff, n) })
					won := 0
					for _, one := range got {
						if one.err == nil {
							won++
						} else {
							is.Equal(code(one.err), ticketing.CodeConflict)
							is.True(said(one.err) != "")
						}
					}
					is.Equal(won, cmp.Or(test.won, numberOfAdmins))
					if test.check != nil {
						test.check(t, each, got)
					}
				}
			})
		}
	})
}
