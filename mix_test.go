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

func (h actor) often(what string) bool { return h.choose(10, what) != 7 }

func pickFrom[T any](h actor, what string, from *[]T) (picked T, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(*from) == 0 {
		return picked, false
	}
	return (*from)[len(*from)-1-h.choose(len(*from), what)], true
}

func keepIn[T any](h actor, to *[]T, items ...T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*to = append(*to, items...)
}

// next returns a new number.
func (h actor) next() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.number++
	return h.number
}

// key returns a new idempotency key, or one of a few shared ones.
func (h actor) key() string {
	if h.choose(6, "shared key") == 5 {
		return fmt.Sprintf("shared-key-%d", h.choose(3, "key"))
	}
	return fmt.Sprintf("mix-key-%06d", h.next())
}

func (h actor) company() uuid.UUID {
	id, _ := pickFrom(h, "company", &h.companies)
	return id
}

func (h actor) caller(company uuid.UUID) ticketing.Caller {
	return ticketing.TrustedCaller(company, ticketing.AllGrants()...)
}

func (h actor) tier() string { return []string{"VIP", "REGULAR"}[h.choose(2, "tier")] }

func (h actor) price() money.Amount {
	return []money.Amount{500_00, 33_33, 0}[h.choose(3, "price")]
}

func (h actor) wallet() ledger.Wallet {
	return []ledger.Wallet{ledger.Float, ledger.Earnings}[h.choose(2, "wallet")]
}

// operationOf is an operation of an actor.
type operationOf func(h actor, ctx context.Context) error

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

func (h actor) createCompany(ctx context.Context) error {
	h.mu.Lock()
	enough := len(h.companies) >= 3
	h.mu.Unlock()
	if enough {
		return nil
	}
	company, err := h.staff.CreateCompany(ctx, fmt.Sprintf("Company %d", h.next()))
	if err == nil {
		keepIn(h, &h.companies, company.ID)
	}
	return err
}

// companyStatus activates more often than it suspends, and so do similar operations below.
func (h actor) companyStatus(ctx context.Context) error {
	var err error
	if h.often("activate") {
		_, err = h.staff.ActivateCompany(ctx, h.company())
	} else {
		_, err = h.staff.SuspendCompany(ctx, h.company())
	}
	return err
}

func (h actor) verification(ctx context.Context) error {
	id := h.company()
	var err error
	switch h.choose(9, "decision") {
	case 8:
		_, err = h.staff.RejectVerification(ctx, id, "Papers are missing.")
	case 7:
		_, err = h.staff.RevokeVerification(ctx, id)
	case 6:
		_, err = h.staff.GrantGrace(ctx, id, h.shop.Clock.Now().Add(48*time.Hour))
	case 5:
		_, err = h.staff.ApproveVerification(ctx, id, h.shop.Clock.Now().Add(48*time.Hour))
	default:
		_, err = h.staff.ApproveVerification(ctx, id, time.Time{})
	}
	return err
}

func (h actor) branding(ctx context.Context) error {
	_, err := h.staff.UpdateBranding(ctx, h.company(), ticketing.UpdateBrandingParams{
		BrandName: of(fmt.Sprintf("Brand %d", h.choose(3, "brand"))),
	})
	return err
}

func (h actor) commission(ctx context.Context) error {
	value := []string{"250", "0", "1", "333", "10000"}[h.choose(5, "basis points")]
	rate, err := money.ParseRate(value, money.BasisPoints)
	if err != nil {
		return err
	}
	_, err = h.staff.ScheduleCommission(ctx, h.company(), rate,
		h.shop.Clock.Now().Add(time.Duration(h.choose(3, "hours")-1)*time.Hour))
	return err
}

func (h actor) credit(ctx context.Context) error {
	amount := []money.Amount{2000_00, 1, 500_00}[h.choose(3, "amount")]
	_, err := h.staff.CreditFloat(ctx, h.company(), amount, h.key())
	return err
}

func (h actor) walletStatus(ctx context.Context) error {
	var err error
	if h.often("activate") {
		_, err = h.staff.ActivateWallet(ctx, h.company(), h.wallet())
	} else {
		_, err = h.staff.SuspendWallet(ctx, h.company(), h.wallet())
	}
	return err
}

func (h actor) issueKey(ctx context.Context) error {
	key, err := h.staff.IssueAPIKey(ctx, h.company(), "storefront", ticketing.AllGrants())
	if err == nil {
		keepIn(h, &h.apiKeys, key)
	}
	return err
}

func (h actor) rotateKey(ctx context.Context) error {
	predecessor, _ := pickFrom(h, "API key", &h.apiKeys)
	key, err := h.staff.RotateAPIKey(ctx, predecessor.ID)
	if err == nil {
		keepIn(h, &h.apiKeys, key)
	}
	return err
}

func (h actor) revokeKey(ctx context.Context) error {
	key, _ := pickFrom(h, "API key", &h.apiKeys)
	_, err := h.staff.RevokeAPIKey(ctx, key.ID)
	return err
}

func (h actor) authenticate(ctx context.Context) error {
	key, _ := pickFrom(h, "API key", &h.apiKeys)
	caller, err := h.svc.Authenticate(ctx, key.Key)
	if err == nil {
		_, err = h.svc.ListEvents(ctx, caller, ticketing.EventFilter{})
	}
	return err
}

func (h actor) category(ctx context.Context) error {
	made, err := h.staff.CreateCategory(ctx, "Music", fmt.Sprintf("slug-%d", h.choose(3, "slug")))
	if err == nil {
		_, err = h.staff.DeactivateCategory(ctx, made.ID)
	}
	return err
}

func (h actor) createEvent(ctx context.Context) error {
	company := h.company()
	params := ticketingtest.EventParams()
	params.Date = h.shop.Clock.Now().AddDate(0, 0, h.choose(3, "days")).Format(time.DateOnly)
	if !h.often("published") {
		params.Status = ticketing.EventDraft
	}
	made, err := h.svc.CreateEvent(ctx, h.caller(company), h.key(), params)
	if err == nil {
		keepIn(h, &h.events, mixedEvent{company, made.ID})
	}
	return err
}

func (h actor) updateEvent(ctx context.Context) error {
	e, _ := pickFrom(h, "event", &h.events)
	status := ticketing.EventPublished
	if !h.often("publish") {
		status = ticketing.EventDraft
	}
	_, err := h.svc.UpdateEvent(ctx, h.caller(e.company), e.id, ticketing.UpdateEventParams{Status: &status})
	return err
}

func (h actor) endEvent(ctx context.Context) error {
	e, _ := pickFrom(h, "event", &h.events)
	var err error
	switch h.choose(10, "end") {
	case 8:
		_, err = h.svc.CancelEvent(ctx, h.caller(e.company), e.id)
	case 9:
		_, err = h.staff.EndEvent(ctx, e.id)
	}
	return err
}

// endEvents also moves the clock.
func (h actor) endEvents(ctx context.Context) error {
	h.shop.Clock.Advance([]time.Duration{time.Minute, time.Millisecond, -time.Second, 7 * time.Hour}[h.choose(4, "step")])
	_, err := h.svc.EndEvents(ctx)
	return err
}

func (h actor) createInventory(ctx context.Context) error {
	e, _ := pickFrom(h, "event", &h.events)
	_, err := h.svc.CreateInventory(ctx, h.caller(e.company), e.id, h.key(),
		ticketingtest.InventoryParams(h.tier(), h.price(), 1+h.choose(6, "quantity")))
	return err
}

func (h actor) updateInventory(ctx context.Context) error {
	e, _ := pickFrom(h, "event", &h.events)
	var params ticketing.UpdateInventoryParams
	if h.choose(2, "change") == 0 {
		price := h.price()
		params.UnitPrice, params.Currency, params.IsFree = &price, of("NGN"), of(price == 0)
	} else {
		params.Status = of(ticketing.InventoryAvailable)
		if !h.often("available") {
			params.Status = of(ticketing.InventoryPaused)
		}
	}
	_, err := h.svc.UpdateInventory(ctx, h.caller(e.company), e.id, h.tier(), params)
	return err
}

func (h actor) cancelInventory(ctx context.Context) error {
	if h.often("leave it") {
		return nil
	}
	e, _ := pickFrom(h, "event", &h.events)
	_, err := h.svc.CancelInventory(ctx, h.caller(e.company), e.id, h.tier())
	return err
}

func (h actor) quote(ctx context.Context) error {
	e, _ := pickFrom(h, "event", &h.events)
	_, err := h.svc.Quote(ctx, h.caller(e.company), ticketing.QuoteParams{
		EventID: e.id, Lines: []ticketing.QuoteParamsLine{{Tier: h.tier(), Quantity: 1 + h.choose(4, "quantity")}},
	})
	return err
}

func (h actor) checkout(ctx context.Context) error {
	e, _ := pickFrom(h, "event", &h.events)
	caller, tier, quantity := h.caller(e.company), h.tier(), 1+h.choose(3, "quantity")
	asked, err := h.svc.Quote(ctx, caller, ticketing.QuoteParams{
		EventID: e.id, Lines: []ticketing.QuoteParamsLine{{Tier: tier, Quantity: quantity}},
	})
	if err != nil {
		return err
	}
	order, err := h.svc.Checkout(ctx, caller, h.key(),
		ticketingtest.Basket(e.id, tier, asked.Lines[0].UnitPrice, quantity))
	if err != nil {
		return err
	}
	keepIn(h, &h.orders, order.ID)
	for _, line := range order.Lines {
		keepIn(h, &h.admissions, mixedAdmission{mixedEvent{e.company, order.EventID}, line.AdmissionID})
	}
	return nil
}

// checkouts makes several concurrent checkouts of one tier. They share transactions unless the actor is in a
// transaction of the host.
func (h actor) checkouts(ctx context.Context) error {
	if h.within {
		return h.checkout(ctx)
	}
	const buyers = 4
	e, _ := pickFrom(h, "event", &h.events)
	caller, tier := h.caller(e.company), h.tier()
	if _, err := h.svc.CreateInventory(ctx, caller, e.id, h.key(),
		ticketingtest.InventoryParams(tier, 1_00, buyers)); err != nil {
		return err
	}
	quote, err := h.svc.Quote(ctx, caller, ticketing.QuoteParams{
		EventID: e.id, Lines: []ticketing.QuoteParamsLine{{Tier: tier, Quantity: 1}},
	})
	if err != nil {
		return err
	}
	errs := make([]error, buyers)
	var all sync.WaitGroup
	for n := range buyers {
		key := fmt.Sprintf("mix-key-%06d", h.next())
		all.Go(func() {
			order, err := h.svc.Checkout(ctx, caller, key, ticketingtest.Basket(e.id, tier, quote.Lines[0].UnitPrice, 1))
			if err == nil {
				keepIn(h, &h.orders, order.ID)
			}
			errs[n] = ofTheContract(err)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (h actor) refund(ctx context.Context) error {
	order, _ := pickFrom(h, "order", &h.orders)
	_, err := h.staff.RefundOrder(ctx, order, ticketing.RefundParams{
		Reason: "It rains.", Restock: h.choose(2, "restock") == 0,
	})
	return err
}

func (h actor) cancelOrder(ctx context.Context) error {
	if h.often("leave it") {
		return nil
	}
	order, _ := pickFrom(h, "order", &h.orders)
	_, err := h.staff.CancelOrder(ctx, order, "It was a test.")
	return err
}

func (h actor) bankAccount(ctx context.Context) error {
	_, err := h.staff.SetBankAccount(ctx, h.company(), ticketing.BankAccountParams{
		Bank: "First Bank", AccountNumber: "0123456789", AccountName: "Lagos Live Ltd",
	})
	return err
}

func (h actor) settle(ctx context.Context) error {
	_, err := h.staff.RequestSettlement(ctx, h.company())
	return err
}

func (h actor) decide(ctx context.Context) error {
	page, err := h.staff.ListSettlements(ctx, h.company(), ticketing.PageParams{Limit: 2})
	if err != nil || len(page.Items) == 0 {
		return err
	}
	of := page.Items[len(page.Items)-1-h.choose(len(page.Items), "settlement")].ID
	if h.choose(2, "decision") == 0 {
		_, err = h.staff.ApproveSettlement(ctx, of)
	} else {
		_, err = h.staff.RejectSettlement(ctx, of, "The bank knows no such account.")
	}
	return err
}

func (h actor) rename(ctx context.Context) error {
	_, err := h.staff.RenameCompany(ctx, h.company(), fmt.Sprintf("Name %d", h.choose(3, "name")))
	return err
}

func (h actor) submit(ctx context.Context) error {
	id := h.company()
	_, err := h.staff.UpdateVerification(ctx, id, caseOf(fmt.Sprintf("RC-%d", h.choose(3, "number"))))
	if err == nil && h.choose(2, "submit") == 0 {
		_, err = h.staff.SubmitVerification(ctx, id)
	}
	return err
}

func (h actor) member(ctx context.Context) error {
	id, role := h.company(), []ticketing.Role{
		ticketing.RoleViewer, ticketing.RoleAdministrator, ticketing.RoleOwner,
	}[h.choose(3, "role")]
	email := fmt.Sprintf("member-%d@example.com", h.choose(3, "member"))
	made, err := h.staff.AddMember(ctx, id, ticketing.AddMemberParams{Email: email, Name: "A member", Role: role})
	if err == nil && h.choose(2, "other role") == 0 {
		_, err = h.staff.UpdateMember(ctx, id, made.UserID, ticketing.RoleAdministrator)
	}
	return err
}

func (h actor) removeMember(ctx context.Context) error {
	id := h.company()
	members, err := h.staff.ListMembers(ctx, id)
	if err == nil && len(members) > 0 {
		_, err = h.staff.RemoveMember(ctx, id, members[h.choose(len(members), "member")].UserID)
	}
	return err
}

func (h actor) erase(ctx context.Context) error {
	if h.often("leave it") {
		return nil
	}
	_, err := h.staff.EraseBuyer(ctx, h.company(), "ada@example.com")
	return err
}

func (h actor) validate(ctx context.Context) error {
	a, _ := pickFrom(h, "admission", &h.admissions)
	_, err := h.svc.ValidateAdmission(ctx, h.caller(a.company), a.mixedEvent.id, a.id, h.key(),
		ticketing.ValidateParams{})
	return err
}

func (h actor) read(ctx context.Context) error {
	company := h.company()
	_, listed := h.svc.ListOrders(ctx, h.caller(company), ticketing.OrderFilter{})
	_, wallets := h.staff.GetWallets(ctx, company)
	_, keys := h.staff.ListAPIKeys(ctx, company)
	order, _ := pickFrom(h, "order", &h.orders)
	_, found := h.svc.GetOrder(ctx, h.caller(company), order)
	if code(found) == ticketing.CodeNotFound { // The order belongs to another company, or its transaction was rolled back.
		found = nil
	}
	return errors.Join(listed, wallets, keys, found)
}

// inTheHostsTransaction runs several operations in one transaction of the host, and commits it or rolls it back.
func (h actor) inTheHostsTransaction(ctx context.Context, do operationOf) error {
	err := h.hosts.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		bound, err := h.store.Bind(ctx, tx)
		if err != nil {
			return err
		}
		within := h
		within.within = true
		within.svc = h.svc.WithStore(bound)
		within.staff = within.svc.As(ticketing.Staff("host"))
		for range 1 + h.choose(4, "operations") {
			if err := do(within, ctx); err != nil {
				return err
			}
		}
		if h.choose(3, "taken back") == 2 {
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

// mixPlaces returns the stores of a mix, with the host's pool if there is one.
func mixPlaces() []testdb.Host {
	return append([]testdb.Host{{Name: "memory"}}, testdb.Hosts()...)
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
				h := actor{mix: m, svc: m.shop.Service, staff: m.shop.Staff, choose: func(n int, what string) int {
					return rapid.IntRange(0, n-1).Draw(r, what)
				}}
				do := func(name string, operation operationOf) func(*rapid.T) {
					return func(r *rapid.T) {
						if err := ofTheContract(operation(h, t.Context())); err != nil {
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
					actions[within] = do(within, func(h actor, ctx context.Context) error {
						return h.inTheHostsTransaction(ctx, func(h actor, ctx context.Context) error {
							return ofTheContract(mixedOperations()[names[h.choose(len(names), "operation")]](h, ctx))
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

// TestMixOfRivals checks the same with concurrent actors. Each of them may get ErrBusy.
func TestMixOfRivals(t *testing.T) {
	t.Parallel()
	for _, place := range mixPlaces() {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			m := openTown(t, place, uuid.New)
			const hands, steps = 6, 60
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			var all sync.WaitGroup
			for n := range hands {
				all.Go(func() {
					source := rand.New(rand.NewPCG(seed, uint64(n)))
					h := actor{mix: m, svc: m.shop.Service, staff: m.shop.Staff, choose: func(n int, _ string) int {
						return source.IntN(n)
					}}
					for range steps {
						name, err := adminStep(t.Context(), h)
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

func adminStep(ctx context.Context, h actor) (string, error) {
	all := mixedOperations()
	names := slices.Sorted(maps.Keys(all))
	name := names[h.choose(len(names), "operation")]
	if h.hosts == nil || h.choose(4, "host") != 0 {
		return name, all[name](h, ctx)
	}
	return "in the host's transaction: " + name, h.inTheHostsTransaction(ctx, func(h actor, ctx context.Context) error {
		return ofTheContract(all[name](h, ctx))
	})
}
