package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// mix is a set of companies on which all operations are run, with the ids and keys that were seen. What they name may
// no longer exist.
type mix struct {
	shop   *ticketingtest.Shop
	store  *store.Store // nil: there are no transactions of a host
	hosts  *bun.DB
	sender *ticketing.Service // posts webhooks to a receiver that accepts every second one

	mu         sync.Mutex
	companies  []uuid.UUID
	events     []mixedEvent
	admissions []mixedAdmission
	orders     []uuid.UUID
	apiKeys    []ticketing.IssuedAPIKey
	number     int
}

type (
	mixedEvent     struct{ company, id uuid.UUID }
	mixedAdmission struct {
		mixedEvent

		id uuid.UUID
	}
)

// actor runs operations on a service and makes its choices with a chooser.
type actor struct {
	*mix

	svc    *ticketing.Service
	staff  ticketing.Operator
	choose chooser
	within bool // in a transaction of the host
}

// chooser returns a number from 0 to n-1.
type chooser func(n int, what string) int

func (a actor) often(what string) bool { return a.choose(10, what) != 7 }

func pickFrom[T any](a actor, what string, from *[]T) (picked T, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(*from) == 0 {
		return picked, false
	}
	return (*from)[len(*from)-1-a.choose(len(*from), what)], true
}

func keepIn[T any](a actor, to *[]T, items ...T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*to = append(*to, items...)
}

// next returns a new number.
func (a actor) next() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.number++
	return a.number
}

// key returns a new idempotency key, or one of a few shared ones.
func (a actor) key() string {
	if a.choose(6, "shared key") == 5 {
		return fmt.Sprintf("shared-key-%d", a.choose(3, "key"))
	}
	return fmt.Sprintf("mix-key-%06d", a.next())
}

func (a actor) company() uuid.UUID {
	id, _ := pickFrom(a, "company", &a.companies)
	return id
}

func (a actor) caller(company uuid.UUID) ticketing.Caller {
	return ticketing.TrustedCaller(company, ticketing.AllGrants()...)
}

func (a actor) tier() string { return []string{"VIP", "REGULAR"}[a.choose(2, "tier")] }

func (a actor) price() money.Amount {
	return []money.Amount{500_00, 33_33, 0}[a.choose(3, "price")]
}

func (a actor) wallet() ledger.Wallet {
	return []ledger.Wallet{ledger.Float, ledger.Earnings}[a.choose(2, "wallet")]
}

// operationOf is an operation of an actor.
type operationOf func(a actor, ctx context.Context) error

// mixedOperations returns all operations by name. An operation either succeeds or returns an error of the contract.
func mixedOperations() map[string]operationOf {
	return map[string]operationOf{
		"create company":      actor.createCompany,
		"company status":      actor.companyStatus,
		"verification":        actor.verification,
		"branding":            actor.branding,
		"commission":          actor.commission,
		"credit":              actor.credit,
		"credit again":        actor.credit,
		"wallet status":       actor.walletStatus,
		"issue key":           actor.issueKey,
		"rotate key":          actor.rotateKey,
		"revoke key":          actor.revokeKey,
		"authenticate":        actor.authenticate,
		"category":            actor.category,
		"create event":        actor.createEvent,
		"update event":        actor.updateEvent,
		"end or cancel event": actor.endEvent,
		"end events":          actor.endEvents,
		"create inventory":    actor.createInventory,
		"more inventory":      actor.createInventory,
		"update inventory":    actor.updateInventory,
		"cancel inventory":    actor.cancelInventory,
		"quote":               actor.quote,
		"checkout":            actor.checkout,
		"checkout more":       actor.checkout,
		"checkout most":       actor.checkout,
		"checkouts at once":   actor.checkouts,
		"refund":              actor.refund,
		"refund again":        actor.refund,
		"cancel order":        actor.cancelOrder,
		"bank account":        actor.bankAccount,
		"settlement":          actor.settle,
		"settlement decision": actor.decide,
		"rename":              actor.rename,
		"verification case":   actor.submit,
		"member":              actor.member,
		"remove member":       actor.removeMember,
		"erase buyer":         actor.erase,
		"validate":            actor.validate,
		"validate again":      actor.validate,
		"webhook":             actor.webhook,
		"webhook again":       actor.webhook,
		"webhook secret":      actor.webhookSecret,
		"webhook status":      actor.webhookStatus,
		"delete webhook":      actor.deleteWebhook,
		"send webhooks":       actor.sendWebhooks,
		"replay":              actor.replay,
		"sample":              actor.sample,
		"read":                actor.read,
	}
}

func (a actor) createCompany(ctx context.Context) error {
	a.mu.Lock()
	enough := len(a.companies) >= 3
	a.mu.Unlock()
	if enough {
		return nil
	}
	company, err := a.staff.CreateCompany(ctx, fmt.Sprintf("Company %d", a.next()))
	if err == nil {
		keepIn(a, &a.companies, company.ID)
	}
	return err
}

// companyStatus activates more often than it suspends, and so do similar operations below.
func (a actor) companyStatus(ctx context.Context) error {
	var err error
	if a.often("activate") {
		_, err = a.staff.ActivateCompany(ctx, a.company())
	} else {
		_, err = a.staff.SuspendCompany(ctx, a.company())
	}
	return err
}

func (a actor) verification(ctx context.Context) error {
	id := a.company()
	var err error
	switch a.choose(9, "decision") {
	case 8:
		_, err = a.staff.RejectVerification(ctx, id, "Papers are missing.")
	case 7:
		_, err = a.staff.RevokeVerification(ctx, id)
	case 6:
		_, err = a.staff.GrantGrace(ctx, id, a.shop.Clock.Now().Add(48*time.Hour))
	case 5:
		_, err = a.staff.ApproveVerification(ctx, id, ticketing.ApprovalParams{
			ExpiresAt: new(a.shop.Clock.Now().Add(48 * time.Hour)),
		})
	default:
		_, err = a.staff.ApproveVerification(ctx, id, ticketing.ApprovalParams{})
	}
	return err
}

func (a actor) branding(ctx context.Context) error {
	_, err := a.staff.UpdateBranding(ctx, a.company(), ticketing.UpdateBrandingParams{
		BrandName: of(fmt.Sprintf("Brand %d", a.choose(3, "brand"))),
	})
	return err
}

func (a actor) commission(ctx context.Context) error {
	value := []string{"250", "0", "1", "333", "10000"}[a.choose(5, "basis points")]
	rate, err := money.ParseRate(value, money.BasisPoints)
	if err != nil {
		return err
	}
	_, err = a.staff.ScheduleCommission(ctx, a.company(), ticketing.CommissionParams{
		Rate: rate, EffectiveFrom: new(a.shop.Clock.Now().Add(time.Duration(a.choose(3, "hours")-1) * time.Hour)),
	})
	return err
}

func (a actor) credit(ctx context.Context) error {
	amount := []money.Amount{2000_00, 1, 500_00}[a.choose(3, "amount")]
	_, err := a.staff.CreditFloat(ctx, a.company(), a.key(), amount)
	return err
}

func (a actor) walletStatus(ctx context.Context) error {
	var err error
	if a.often("activate") {
		_, err = a.staff.ActivateWallet(ctx, a.company(), a.wallet())
	} else {
		_, err = a.staff.SuspendWallet(ctx, a.company(), a.wallet())
	}
	return err
}

func (a actor) issueKey(ctx context.Context) error {
	key, err := a.staff.IssueAPIKey(ctx, a.company(), "storefront", ticketing.AllGrants())
	if err == nil {
		keepIn(a, &a.apiKeys, key)
	}
	return err
}

func (a actor) rotateKey(ctx context.Context) error {
	predecessor, _ := pickFrom(a, "API key", &a.apiKeys)
	key, err := a.staff.RotateAPIKey(ctx, predecessor.ID)
	if err == nil {
		keepIn(a, &a.apiKeys, key)
	}
	return err
}

func (a actor) revokeKey(ctx context.Context) error {
	key, _ := pickFrom(a, "API key", &a.apiKeys)
	_, err := a.staff.RevokeAPIKey(ctx, key.ID)
	return err
}

func (a actor) authenticate(ctx context.Context) error {
	key, _ := pickFrom(a, "API key", &a.apiKeys)
	caller, err := a.svc.Authenticate(ctx, key.Key)
	if err == nil {
		_, err = a.svc.ListEvents(ctx, caller, ticketing.EventFilter{})
	}
	return err
}

func (a actor) category(ctx context.Context) error {
	made, err := a.staff.CreateCategory(ctx, "Music", fmt.Sprintf("slug-%d", a.choose(3, "slug")))
	if err == nil {
		_, err = a.staff.DeactivateCategory(ctx, made.ID)
	}
	return err
}

func (a actor) createEvent(ctx context.Context) error {
	company := a.company()
	params := ticketingtest.EventParams()
	params.Date = a.shop.Clock.Now().AddDate(0, 0, a.choose(3, "days")).Format(time.DateOnly)
	if !a.often("published") {
		params.Status = ticketing.EventDraft
	}
	made, err := a.svc.CreateEvent(ctx, a.caller(company), a.key(), params)
	if err == nil {
		keepIn(a, &a.events, mixedEvent{company, made.ID})
	}
	return err
}

func (a actor) updateEvent(ctx context.Context) error {
	e, _ := pickFrom(a, "event", &a.events)
	status := ticketing.EventPublished
	if !a.often("publish") {
		status = ticketing.EventDraft
	}
	_, err := a.svc.UpdateEvent(ctx, a.caller(e.company), e.id, ticketing.UpdateEventParams{Status: &status})
	return err
}

func (a actor) endEvent(ctx context.Context) error {
	e, _ := pickFrom(a, "event", &a.events)
	var err error
	switch a.choose(10, "end") {
	case 8:
		_, err = a.svc.CancelEvent(ctx, a.caller(e.company), e.id)
	case 9:
		_, err = a.staff.EndEvent(ctx, e.id)
	}
	return err
}

// endEvents also moves the clock.
func (a actor) endEvents(ctx context.Context) error {
	a.shop.Clock.Advance([]time.Duration{time.Minute, time.Millisecond, -time.Second, 7 * time.Hour}[a.choose(4, "step")])
	_, err := a.svc.EndEvents(ctx)
	return err
}

func (a actor) createInventory(ctx context.Context) error {
	e, _ := pickFrom(a, "event", &a.events)
	_, err := a.svc.CreateInventory(ctx, a.caller(e.company), e.id, a.key(),
		ticketingtest.InventoryParams(a.tier(), a.price(), 1+a.choose(6, "quantity")))
	return err
}

func (a actor) updateInventory(ctx context.Context) error {
	e, _ := pickFrom(a, "event", &a.events)
	var params ticketing.UpdateInventoryParams
	if a.choose(2, "change") == 0 {
		price := a.price()
		params.UnitPrice, params.Currency, params.IsFree = &price, of("NGN"), of(price == 0)
	} else {
		params.Status = of(ticketing.InventoryAvailable)
		if !a.often("available") {
			params.Status = of(ticketing.InventoryPaused)
		}
	}
	_, err := a.svc.UpdateInventory(ctx, a.caller(e.company), e.id, a.tier(), params)
	return err
}

func (a actor) cancelInventory(ctx context.Context) error {
	if a.often("leave it") {
		return nil
	}
	e, _ := pickFrom(a, "event", &a.events)
	_, err := a.svc.CancelInventory(ctx, a.caller(e.company), e.id, a.tier())
	return err
}

func (a actor) quote(ctx context.Context) error {
	e, _ := pickFrom(a, "event", &a.events)
	_, err := a.svc.Quote(ctx, a.caller(e.company), ticketing.QuoteParams{
		EventID: e.id, Lines: []ticketing.QuoteLineParams{{Tier: a.tier(), Quantity: 1 + a.choose(4, "quantity")}},
	})
	return err
}

func (a actor) checkout(ctx context.Context) error {
	e, _ := pickFrom(a, "event", &a.events)
	caller, tier, quantity := a.caller(e.company), a.tier(), 1+a.choose(3, "quantity")
	asked, err := a.svc.Quote(ctx, caller, ticketing.QuoteParams{
		EventID: e.id, Lines: []ticketing.QuoteLineParams{{Tier: tier, Quantity: quantity}},
	})
	if err != nil {
		return err
	}
	order, err := a.svc.Checkout(ctx, caller, a.key(),
		ticketingtest.Basket(e.id, tier, asked.Lines[0].UnitPrice, quantity))
	if err != nil {
		return err
	}
	keepIn(a, &a.orders, order.ID)
	for _, line := range order.Lines {
		keepIn(a, &a.admissions, mixedAdmission{mixedEvent{e.company, order.EventID}, line.AdmissionID})
	}
	return nil
}

// checkouts makes several concurrent checkouts of one tier. They share transactions unless the actor is in a
// transaction of the host.
func (a actor) checkouts(ctx context.Context) error {
	if a.within {
		return a.checkout(ctx)
	}
	const buyers = 4
	e, _ := pickFrom(a, "event", &a.events)
	caller, tier := a.caller(e.company), a.tier()
	if _, err := a.svc.CreateInventory(ctx, caller, e.id, a.key(),
		ticketingtest.InventoryParams(tier, 1_00, buyers)); err != nil {
		return err
	}
	quote, err := a.svc.Quote(ctx, caller, ticketing.QuoteParams{
		EventID: e.id, Lines: []ticketing.QuoteLineParams{{Tier: tier, Quantity: 1}},
	})
	if err != nil {
		return err
	}
	errs := make([]error, buyers)
	var all sync.WaitGroup
	for n := range buyers {
		key := fmt.Sprintf("mix-key-%06d", a.next())
		all.Go(func() {
			order, err := a.svc.Checkout(ctx, caller, key, ticketingtest.Basket(e.id, tier, quote.Lines[0].UnitPrice, 1))
			if err == nil {
				keepIn(a, &a.orders, order.ID)
			}
			errs[n] = ofTheContract(err)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (a actor) refund(ctx context.Context) error {
	order, _ := pickFrom(a, "order", &a.orders)
	_, err := a.staff.RefundOrder(ctx, order, ticketing.RefundParams{
		Reason: "It rains.", Restock: a.choose(2, "restock") == 0,
	})
	return err
}

func (a actor) cancelOrder(ctx context.Context) error {
	if a.often("leave it") {
		return nil
	}
	order, _ := pickFrom(a, "order", &a.orders)
	_, err := a.staff.CancelOrder(ctx, order, "It was a test.")
	return err
}

func (a actor) bankAccount(ctx context.Context) error {
	_, err := a.staff.SetBankAccount(ctx, a.company(), ticketing.BankAccountParams{
		Bank: "First Bank", AccountNumber: "0123456789", AccountName: "Lagos Live Ltd",
	})
	return err
}

func (a actor) settle(ctx context.Context) error {
	_, err := a.staff.RequestSettlement(ctx, a.company())
	return err
}

func (a actor) decide(ctx context.Context) error {
	page, err := a.staff.ListSettlements(ctx, a.company(), ticketing.PageParams{Limit: 2})
	if err != nil || len(page.Items) == 0 {
		return err
	}
	of := page.Items[len(page.Items)-1-a.choose(len(page.Items), "settlement")].ID
	if a.choose(2, "decision") == 0 {
		_, err = a.staff.ApproveSettlement(ctx, of)
	} else {
		_, err = a.staff.RejectSettlement(ctx, of, "The bank knows no such account.")
	}
	return err
}

func (a actor) rename(ctx context.Context) error {
	_, err := a.staff.RenameCompany(ctx, a.company(), fmt.Sprintf("Name %d", a.choose(3, "name")))
	return err
}

func (a actor) submit(ctx context.Context) error {
	id := a.company()
	_, err := a.staff.UpdateVerification(ctx, id, caseOf(fmt.Sprintf("RC-%d", a.choose(3, "number"))))
	if err == nil && a.choose(2, "submit") == 0 {
		_, err = a.staff.SubmitVerification(ctx, id)
	}
	return err
}

func (a actor) member(ctx context.Context) error {
	id, role := a.company(), []ticketing.Role{
		ticketing.RoleViewer, ticketing.RoleAdministrator, ticketing.RoleOwner,
	}[a.choose(3, "role")]
	email := fmt.Sprintf("member-%d@example.com", a.choose(3, "member"))
	made, err := a.staff.AddMember(ctx, id, ticketing.AddMemberParams{Email: email, Name: "A member", Role: role})
	if err == nil && a.choose(2, "other role") == 0 {
		_, err = a.staff.UpdateMember(ctx, id, made.UserID, ticketing.RoleAdministrator)
	}
	return err
}

func (a actor) removeMember(ctx context.Context) error {
	id := a.company()
	members, err := a.staff.ListMembers(ctx, id)
	if err == nil && len(members) > 0 {
		_, err = a.staff.RemoveMember(ctx, id, members[a.choose(len(members), "member")].UserID)
	}
	return err
}

func (a actor) erase(ctx context.Context) error {
	if a.often("leave it") {
		return nil
	}
	_, err := a.staff.EraseBuyer(ctx, a.company(), "ada@example.com")
	return err
}

func (a actor) validate(ctx context.Context) error {
	admission, _ := pickFrom(a, "admission", &a.admissions)
	_, err := a.svc.ValidateAdmission(ctx, a.caller(admission.company), admission.mixedEvent.id, admission.id, a.key(),
		ticketing.ValidateParams{})
	return err
}

func (a actor) read(ctx context.Context) error {
	company := a.company()
	_, listed := a.svc.ListOrders(ctx, a.caller(company), ticketing.OrderFilter{})
	_, wallets := a.staff.GetWallets(ctx, company)
	_, keys := a.staff.ListAPIKeys(ctx, company)
	order, _ := pickFrom(a, "order", &a.orders)
	_, found := a.svc.GetOrder(ctx, a.caller(company), order)
	if code(found) == ticketing.CodeNotFound { // The order belongs to another company, or its transaction was rolled back.
		found = nil
	}
	return errors.Join(listed, wallets, keys, found)
}

// inTheHostsTransaction runs several operations in one transaction of the host, and commits it or rolls it back.
func (a actor) inTheHostsTransaction(ctx context.Context, do operationOf) error {
	err := a.hosts.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		way := testdb.Host{WithoutBun: a.choose(2, "without Bun") == 1}
		bound, err := way.Bind(ctx, a.store, tx)
		if err != nil {
			return err
		}
		within := a
		within.within = true
		within.svc = a.svc.WithStore(bound)
		within.staff = within.svc.As(ticketing.Staff("host"))
		for range 1 + a.choose(4, "operations") {
			if err := do(within, ctx); err != nil {
				return err
			}
		}
		if a.choose(3, "taken back") == 2 {
			return errChanged
		}
		return nil
	})
	if errors.Is(err, errChanged) {
		return nil
	}
	return err
}

// ofTheContract returns nil for an error of the contract, and any other error unchanged.
func ofTheContract(err error) error {
	if refused, ok := errors.AsType[*ticketing.Error](err); ok && refused.Code != ticketing.CodeInternal {
		err = nil
	}
	return err
}

// newTown creates a mix of two companies that can sell, one of them with an event.
func newTown(t testing.TB, shop *ticketingtest.Shop) *mix {
	t.Helper()
	other := shop.Neighbour(t)
	m := &mix{
		shop: shop, companies: []uuid.UUID{other.Company.ID, shop.Company.ID}, sender: mixedSender(t, shop),
	}
	begins := shop.Event(t)
	shop.Inventory(t, begins.ID, "VIP", 500_00, 6)
	shop.Inventory(t, begins.ID, "REGULAR", 33_33, 6)
	m.events = []mixedEvent{{shop.Company.ID, begins.ID}}
	return m
}

// mixPlaces returns the stores of a mix, with the host's pool if there is one. The mix chooses whether to bind with
// Bun.
func mixPlaces() []testdb.Host {
	hosts := slices.DeleteFunc(testdb.Hosts(), func(h testdb.Host) bool { return h.WithoutBun })
	return append([]testdb.Host{{Name: "memory"}}, hosts...)
}

func openTown(t testing.TB, place testdb.Host, newID func() uuid.UUID) *mix {
	t.Helper()
	config := &ticketingtest.Config{Float: 5000_00, NewID: newID}
	if place.Open == nil {
		return newTown(t, ticketingtest.New(t, config))
	}
	db, hosts := place.Open(t)
	config.Store = db
	m := newTown(t, ticketingtest.New(t, config))
	m.store, m.hosts = db, hosts
	return m
}

// TestMixOfEverything runs random operations in random order, also in transactions of a host that are committed or
// rolled back. Every response is one of the contract, and the books are in order at the end.
func TestMixOfEverything(t *testing.T) {
	t.Parallel()
	for _, place := range mixPlaces() {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, someRuns(testdb.Store{Name: place.Name}, func(r *rapid.T) {
				m := openTown(drawnTB{TB: t, r: r}, place, nil)
				a := actor{mix: m, svc: m.shop.Service, staff: m.shop.Staff, choose: func(n int, what string) int {
					return rapid.IntRange(0, n-1).Draw(r, what)
				}}
				do := func(name string, operation operationOf) func(*rapid.T) {
					return func(r *rapid.T) {
						if err := ofTheContract(operation(a, t.Context())); err != nil {
							r.Fatalf("%s: %v", name, err)
						}
					}
				}
				actions := make(map[string]func(*rapid.T))
				for name, operation := range mixedOperations() {
					actions[name] = do(name, operation)
				}
				if m.hosts != nil {
					names := slices.Sorted(maps.Keys(mixedOperations()))
					const within = "in the host's transaction"
					actions[within] = do(within, func(a actor, ctx context.Context) error {
						return a.inTheHostsTransaction(ctx, func(a actor, ctx context.Context) error {
							return ofTheContract(mixedOperations()[names[a.choose(len(names), "operation")]](a, ctx))
						})
					})
				}
				for range 2 { // One call of Repeat runs about thirty actions.
					r.Repeat(actions)
				}
				booksInOrder(r, m)
			}))
		})
	}
}

// booksInOrder fails the test if the books are wrong.
func booksInOrder(r interface {
	Fatalf(format string, args ...any)
}, m *mix,
) {
	report, err := m.shop.Staff.VerifyLedger(context.Background(), uuid.Nil)
	if err != nil || !report.OK {
		r.Fatalf("the books are wrong: %v %v", err, report.Problems)
	}
	if err := factsInOrder(context.Background(), m.shop.Store, m.companies); err != nil {
		r.Fatalf("the facts are wrong: %v", err)
	}
	if err := webhooksInOrder(context.Background(), m); err != nil {
		r.Fatalf("webhooks are wrong: %v", err)
	}
}

// TestMixOfConcurrentActors checks the same with concurrent actors. Each of them may get ErrBusy.
func TestMixOfConcurrentActors(t *testing.T) {
	t.Parallel()
	for _, place := range mixPlaces() {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			m := openTown(t, place, uuid.New)
			const hands = 6
			steps := 20
			if search.Everywhere() {
				steps = 60
			}
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			var all sync.WaitGroup
			for n := range hands {
				all.Go(func() {
					source := rand.New(rand.NewPCG(seed, uint64(n)))
					a := actor{mix: m, svc: m.shop.Service, staff: m.shop.Staff, choose: func(n int, _ string) int {
						return source.IntN(n)
					}}
					for range steps {
						name, err := adminStep(t.Context(), a)
						if err = ofTheContract(err); err != nil && !errors.Is(err, ticketing.ErrBusy) {
							t.Errorf("%s: %v", name, err)
							return
						}
					}
				})
			}
			all.Wait()
			booksInOrder(t, m)
		})
	}
}

func adminStep(ctx context.Context, a actor) (string, error) {
	all := mixedOperations()
	names := slices.Sorted(maps.Keys(all))
	name := names[a.choose(len(names), "operation")]
	if a.hosts == nil || a.choose(4, "host") != 0 {
		return name, all[name](a, ctx)
	}
	return "in the host's transaction: " + name, a.inTheHostsTransaction(ctx, func(a actor, ctx context.Context) error {
		return ofTheContract(all[name](a, ctx))
	})
}
