package ticketing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/storetest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestServiceAgreesWithTheModel checks that random operations in random order have the same results as a plain model of
// the rules. In the model each admission is a value of its own, and there are no batches, no ledger and no
// transactions. The books are verified after every run.
func TestServiceAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	race.Leave(t, "operations that come one after the other")
	for _, store := range stores() {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, someRuns(store, func(r *rapid.T) { agree(t, r, store.Open) }))
		})
	}
}

// someRuns makes one run on a store that is not in memory, where each takes half a second and more. In memory rapid
// makes as many runs as it is configured for. If tests search everywhere, only the time limits them. A failure is
// shrunk on any store.
func someRuns(store testdb.Store, property func(*rapid.T)) func(*rapid.T) {
	left, failed := 1, false
	return func(r *rapid.T) {
		switch {
		case failed:
		case search.Everywhere():
			if search.Over() {
				return
			}
		case store.Name != "memory":
			if left--; left < 0 {
				return
			}
		}
		failed = true
		property(r)
		failed = false
	}
}

// rereading runs every read twice, as a store may after a transient failure.
type rereading struct{ driver.Store }

func (s rereading) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	_ = s.Store.View(ctx, fn)
	return s.Store.View(ctx, fn)
}

func (s rereading) Snapshot(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	_ = s.Store.Snapshot(ctx, fn)
	return s.Store.Snapshot(ctx, fn)
}

// TestServiceAgreesWithTheModelWhenTransactionsRunAgain checks the same on a store that runs every transaction twice
// and keeps the second run. So the service has to assign every outcome again in each run.
func TestServiceAgreesWithTheModelWhenTransactionsRunAgain(t *testing.T) {
	t.Parallel()
	race.Leave(t, "operations that come one after the other")
	for _, store := range stores() {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, someRuns(store, func(r *rapid.T) {
				agree(t, r, func(t testing.TB) driver.Store {
					t.Helper()
					return rereading{storetest.Rerun(store.Open(t))}
				})
			}))
		})
	}
}

func agree(t *testing.T, r *rapid.T, open func(testing.TB) driver.Store) {
	drawn := drawnTB{TB: t, r: r}
	m := newModel(drawn, r, open(drawn))
	actions := map[string]func(*rapid.T){
		"create event":     m.createEvent,
		"publish":          m.publish,
		"cancel event":     m.cancelEvent,
		"create inventory": m.createInventory,
		"grow inventory":   m.createInventory,
		"patch inventory":  m.patchInventory,
		"cancel inventory": m.cancelInventory,
		"quote":            m.quote,
		"checkout":         m.checkout,
		"checkout more":    m.checkout,
		"checkout again":   m.checkout,
		"replay":           m.replay,
		"validate":         m.validate,
		"validate again":   m.validate,
		"credit":           m.credit,
		"refund":           m.refund,
		"cancel order":     m.cancelOrder,
		"erase buyer":      m.eraseBuyer,
		"settle":           m.settle,
		"approve":          m.approve,
		"reject":           m.reject,
		"schedule rate":    m.schedule,
		"authority":        m.authority,
		"wallet":           m.wallet,
		"clock":            m.step,
		"":                 m.compare,
	}
	m.agree(r, actions)
}

// drawnTB is a test whose failure is that of one run, so that rapid can shrink it.
type drawnTB struct {
	testing.TB

	r *rapid.T
}

func (d drawnTB) Helper()                           {}
func (d drawnTB) Logf(format string, args ...any)   { d.r.Logf(format, args...) }
func (d drawnTB) Errorf(format string, args ...any) { d.r.Errorf(format, args...) }
func (d drawnTB) Fatalf(format string, args ...any) { d.r.Fatalf(format, args...) }
func (d drawnTB) Fail()                             { d.r.Fail() }
func (d drawnTB) FailNow()                          { d.r.FailNow() }
func (d drawnTB) Failed() bool                      { return d.r.Failed() }
func (d drawnTB) Cleanup(f func())                  { d.r.Cleanup(f) }

// model is the expected state by the rules of the contract.
type model struct {
	t    drawnTB
	shop *ticketingtest.Shop

	now       time.Time
	verified  bool
	suspended bool
	rates     []modelRate // in order of creation
	float     modelWallet
	earnings  modelWallet
	facts     int
	events    []*modelEvent
	orders    []*modelOrder // oldest first
	settled   []*modelSettlement
	keys      map[string]modelAnswer
	again     []modelRequest
	sold      []*modelAdmission
}

type modelWallet struct {
	balance   money.Amount
	suspended bool
	lastAt    time.Time
}

type modelRate struct {
	from        time.Time
	basisPoints int64
}

type modelEvent struct {
	id     uuid.UUID
	status ticketing.EventStatus
	endsOn time.Time
	end    time.Time
	tiers  map[string]*modelTier
}

type modelTier struct {
	admissions []*modelAdmission // in order of creation
	batches    []*modelBatch
	cancelled  bool // since the last admissions were added
}

type modelAdmission struct {
	event  *modelEvent
	batch  *modelBatch
	title  string
	price  money.Amount
	state  string // on sale, paused, cancelled or sold
	soldAt time.Time

	id         uuid.UUID
	voided     bool
	validation ticketing.TicketValidation
}

type modelOrder struct {
	ticketing.Order

	event *modelEvent
	sold  []*modelAdmission
}

type modelAnswer struct{ input, text string }

type modelRequest struct {
	ask      func() (any, error)
	text     string
	verified bool // it requires a verified company
}

// newModel creates a shop with something on sale, usually with a rate, and its model.
func newModel(t drawnTB, r *rapid.T, store driver.Store) *model {
	const float = 3000_00
	config := &ticketingtest.Config{Store: store, Float: float, NoRate: rarely(r, "no rate")}
	m := &model{t: t, shop: ticketingtest.New(t, config), verified: true, keys: map[string]modelAnswer{}}
	m.now = m.shop.Clock.Now()
	m.float = modelWallet{balance: float, lastAt: m.now}
	if !config.NoRate {
		m.rates = []modelRate{{m.now.AddDate(-1, 0, 0), 250}}
	}
	m.makeEvent(r, ticketing.EventPublished, 1)
	banked(t, m.shop)
	m.makeInventory(r, m.events[0], m.shop.Key(), ticketingtest.InventoryParams("VIP", 500_00, 4))
	m.makeInventory(r, m.events[0], m.shop.Key(), ticketingtest.InventoryParams("REGULAR", 33_33, 4))
	return m
}

// agree runs random actions, and then verifies the books.
func (m *model) agree(r *rapid.T, actions map[string]func(*rapid.T)) {
	for range 3 { // One call of Repeat runs about thirty actions.
		r.Repeat(actions)
	}
	report, err := m.shop.Staff.VerifyLedger(m.ctx(), uuid.Nil)
	if err != nil || !report.OK {
		r.Fatalf("the books are wrong: %v %v", err, report.Problems)
	}
}

func (m *model) ctx() context.Context { return m.t.Context() }

// expect fails the run if the code of an error is not the expected one. It reports whether success was expected.
func expect(r *rapid.T, what string, err error, want ticketing.Code) bool {
	if got := code(err); got != want {
		r.Fatalf("%s: %q, not %q (%v)", what, got, want, err)
	}
	return want == ""
}

func same(r *rapid.T, what string, got, want any) {
	if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b {
		r.Fatalf("%s:\n%s\nnot\n%s", what, a, b)
	}
}

func modelTiers() []string { return []string{"VIP", "REGULAR"} }

// rarely reports true about once in ten times. The value is not a small number, since rapid draws those most often.
func rarely(r *rapid.T, what string) bool { return rapid.IntRange(0, 9).Draw(r, what) == 7 }

func drawTier(r *rapid.T) string { return rapid.SampledFrom(modelTiers()).Draw(r, "tier") }

func drawPrice(r *rapid.T) money.Amount {
	return rapid.SampledFrom([]money.Amount{0, 33_33, 500_00}).Draw(r, "price")
}

// drawKey returns a new key, or sometimes one of a few shared keys, which may have been used already.
func (m *model) drawKey(r *rapid.T) string {
	if !rarely(r, "shared key") {
		return m.shop.Key()
	}
	return fmt.Sprintf("shared-key-%d", rapid.IntRange(0, 1).Draw(r, "key"))
}

// replay repeats an earlier request. It returns the same result, whatever has happened since, if the company still has
// the authority.
func (m *model) replay(r *rapid.T) {
	if len(m.again) == 0 {
		r.Skip("nothing was asked")
	}
	earlier := rapid.SampledFrom(m.again).Draw(r, "request")
	got, err := earlier.ask()
	want := m.denied()
	if want == "" && earlier.verified && !m.verified {
		want = ticketing.CodeVerificationRequired
	}
	if expect(r, "replay", err, want) {
		same(r, "replay", show(m.t, got), earlier.text)
	}
}

// keep records the result of a key.
func (m *model) keep(scope, input, text string, verified bool, ask func() (any, error)) {
	m.keys[scope] = modelAnswer{input, text}
	m.again = append(m.again, modelRequest{ask, text, verified})
}

func (m *model) drawEvent(r *rapid.T) *modelEvent {
	return rapid.SampledFrom(m.events).Draw(r, "event")
}

// denied returns the code that every write of a suspended company fails with.
func (m *model) denied() ticketing.Code {
	if m.suspended {
		return ticketing.CodePermissionDenied
	}
	return ""
}

func (m *model) createEvent(r *rapid.T) {
	if len(m.events) == 3 {
		r.Skip("enough events")
	}
	statuses := []ticketing.EventStatus{ticketing.EventDraft, ticketing.EventPublished}
	m.makeEvent(r, rapid.SampledFrom(statuses).Draw(r, "status"), rapid.IntRange(-1, 2).Draw(r, "days"))
}

func (m *model) makeEvent(r *rapid.T, status ticketing.EventStatus, days int) {
	params := ticketingtest.EventParams()
	day := time.Date(m.now.Year(), m.now.Month(), m.now.Day(), 0, 0, 0, 0, time.UTC).AddDate(0, 0, days)
	params.Date, params.StartsAt, params.EndsAt = day.Format(time.DateOnly), "10:00", "02:00"
	params.Timezone = "Africa/Lagos"
	params.Status = status
	event, err := m.shop.CreateEvent(m.ctx(), m.shop.Caller, m.shop.Key(), params)
	if !expect(r, "create event", err, m.denied()) {
		return
	}
	made := &modelEvent{
		id: event.ID, status: params.Status, tiers: map[string]*modelTier{},
		end: day.AddDate(0, 0, 1).Add(time.Hour), // 02:00 of the next day in Lagos
	}
	for _, tier := range modelTiers() {
		made.tiers[tier] = new(modelTier)
	}
	made.schedule(m.now)
	m.events = append(m.events, made)
}

// schedule sets the time at which the event ends. An end in the past at the time of publication ends nothing.
func (e *modelEvent) schedule(now time.Time) {
	e.endsOn = time.Time{}
	if e.status == ticketing.EventPublished && e.end.After(now) {
		e.endsOn = e.end
	}
}

func (e *modelEvent) terminal() bool {
	return e.status == ticketing.EventCancelled || e.status == ticketing.EventEnded
}

func (m *model) publish(r *rapid.T) {
	to := ticketing.EventPublished
	if rarely(r, "draft") {
		to = ticketing.EventDraft
	}
	m.publishOrNot(r, m.drawEvent(r), to)
}

func (m *model) publishOrNot(r *rapid.T, event *modelEvent, to ticketing.EventStatus) {
	want := m.denied()
	if want == "" && event.terminal() {
		want = ticketing.CodeConflict
	}
	_, err := m.shop.UpdateEvent(m.ctx(), m.shop.Caller, event.id, ticketing.UpdateEventParams{Status: &to})
	if !expect(r, "publish", err, want) || event.status == to {
		return
	}
	event.status = to
	event.schedule(m.now)
	for _, tier := range event.tiers {
		for _, a := range tier.unsold() {
			a.state = "paused"
			if to == ticketing.EventPublished {
				a.state = "on sale"
			}
			a.batch.state = a.state
		}
	}
}

func (t *modelTier) unsold() (found []*modelAdmission) {
	for _, a := range t.admissions {
		if a.state == "on sale" || a.state == "paused" {
			found = append(found, a)
		}
	}
	return found
}

func (t *modelTier) cancel() {
	for _, a := range t.unsold() {
		a.state, a.batch.state, t.cancelled = "cancelled", "cancelled", true
	}
}

func (m *model) cancelEvent(r *rapid.T) {
	event := m.drawEvent(r)
	want := m.denied()
	if want == "" && event.terminal() {
		want = ticketing.CodeConflict
	}
	if !rarely(r, "really") {
		r.Skip("not every time")
	}
	_, err := m.shop.CancelEvent(m.ctx(), m.shop.Caller, event.id)
	if !expect(r, "cancel event", err, want) {
		return
	}
	event.status, event.endsOn = ticketing.EventCancelled, time.Time{}
	for _, tier := range event.tiers {
		tier.cancel()
	}
}

func (m *model) createInventory(r *rapid.T) {
	event := m.drawEvent(r)
	params := ticketingtest.InventoryParams(drawTier(r), drawPrice(r), rapid.IntRange(1, 5).Draw(r, "quantity"))
	params.Title = rapid.SampledFrom([]string{"Front", "Back"}).Draw(r, "title")
	if rarely(r, "paused") {
		params.Status = ticketing.InventoryPaused
	}
	m.makeInventory(r, event, m.drawKey(r), params)
}

func (m *model) makeInventory(r *rapid.T, event *modelEvent, key string, params ticketing.CreateInventoryParams) {
	scope, input := "inventory "+key, fmt.Sprint(event.id, params)
	tier := event.tiers[params.Tier]
	earlier, spent := m.keys[scope]
	want := m.denied()
	switch {
	case want != "":
	case spent && earlier.input != input:
		want = ticketing.CodeConflict
	case !spent && event.terminal():
		want = ticketing.CodeConflict
	}
	got, err := m.shop.CreateInventory(m.ctx(), m.shop.Caller, event.id, key, params)
	if !expect(r, "create inventory", err, want) {
		return
	}
	text := show(m.t, got)
	if spent {
		same(r, "inventory again", text, earlier.text)
		return
	}
	state := "on sale"
	if params.Status == ticketing.InventoryPaused || event.status == ticketing.EventDraft {
		state = "paused"
	}
	batch := tier.grow(modelBatch{params.Title, params.UnitPrice, state})
	for range params.Quantity {
		tier.admissions = append(tier.admissions, batch.admission(event))
	}
	tier.cancelled = false
	same(r, "inventory", text, show(m.t, tier.show(params.Tier)))
	m.keep(scope, input, text, false, func() (any, error) {
		return m.shop.CreateInventory(m.ctx(), m.shop.Caller, event.id, key, params)
	})
}

func (t *modelTier) show(name string) ticketing.InventoryTier {
	shown := ticketing.InventoryTier{
		Object: "inventory_tier", Tier: name, Status: ticketing.InventorySoldOut, TotalAdmissions: int64(len(t.admissions)),
	}
	if t.cancelled {
		shown.Status = ticketing.InventoryCancelled
	}
	for _, a := range t.unsold() {
		if shown.UnitPrice == nil || a.price < *shown.UnitPrice {
			shown.UnitPrice = &a.price
		}
		if a.state == "on sale" {
			shown.AvailableQuantity++
		}
	}
	switch {
	case shown.AvailableQuantity > 0:
		shown.Status = ticketing.InventoryAvailable
	case shown.UnitPrice != nil:
		shown.Status = ticketing.InventoryPaused
	}
	return shown
}

// changeable returns the code that a PATCH or DELETE of a tier fails with, if any.
func (m *model) changeable(event *modelEvent, tier *modelTier) ticketing.Code {
	switch {
	case m.suspended:
		return ticketing.CodePermissionDenied
	case event.terminal() || len(tier.unsold()) == 0:
		return ticketing.CodeConflict
	default:
		return ""
	}
}

func (m *model) patchInventory(r *rapid.T) {
	event, name := m.drawEvent(r), drawTier(r)
	tier := event.tiers[name]
	var params ticketing.UpdateInventoryParams
	change := rapid.IntRange(1, 3).Draw(r, "change")
	if change&1 != 0 {
		price := drawPrice(r)
		params.UnitPrice, params.Currency, params.IsFree = &price, of("NGN"), of(price == 0)
	}
	if change&2 != 0 {
		params.Status = of(rapid.SampledFrom([]ticketing.InventoryStatus{
			ticketing.InventoryAvailable, ticketing.InventoryPaused,
		}).Draw(r, "status"))
	}
	got, err := m.shop.UpdateInventory(m.ctx(), m.shop.Caller, event.id, name, params)
	if !expect(r, "patch inventory", err, m.changeable(event, tier)) {
		return
	}
	for _, a := range tier.unsold() {
		if params.UnitPrice != nil {
			a.price, a.batch.price = *params.UnitPrice, *params.UnitPrice
		}
		if params.Status != nil {
			a.state = map[ticketing.InventoryStatus]string{
				ticketing.InventoryAvailable: "on sale", ticketing.InventoryPaused: "paused",
			}[*params.Status]
			a.batch.state = a.state
		}
	}
	same(r, "patched inventory", show(m.t, got), show(m.t, tier.show(name)))
}

func (m *model) cancelInventory(r *rapid.T) {
	event, name := m.drawEvent(r), drawTier(r)
	tier := event.tiers[name]
	if !rarely(r, "really") {
		r.Skip("not every time")
	}
	got, err := m.shop.CancelInventory(m.ctx(), m.shop.Caller, event.id, name)
	if !expect(r, "cancel inventory", err, m.changeable(event, tier)) {
		return
	}
	tier.cancel()
	same(r, "cancelled inventory", show(m.t, got), show(m.t, tier.show(name)))
}

// at returns what a tier has on sale at a price, oldest first.
func (t *modelTier) at(price money.Amount) []*modelAdmission {
	return slices.DeleteFunc(t.unsold(), func(a *modelAdmission) bool { return a.state != "on sale" || a.price != price })
}

func (m *model) quote(r *rapid.T) {
	event := m.drawEvent(r)
	var lines []ticketing.QuoteLineParams
	var want []ticketing.QuoteLine
	refused := ticketing.Code("")
	if event.status != ticketing.EventPublished {
		refused = ticketing.CodePricingUnavailable
	}
	for _, tier := range rapid.SampledFrom([][]string{{"VIP"}, {"REGULAR"}, {"VIP", "REGULAR"}}).Draw(r, "tiers") {
		line := ticketing.QuoteLineParams{Tier: tier, Quantity: rapid.IntRange(1, 6).Draw(r, "quantity")}
		lines = append(lines, line)
		found := false
		for _, price := range []money.Amount{0, 33_33, 500_00} {
			if n := len(event.tiers[tier].at(price)); n >= line.Quantity && !found {
				found = true
				want = append(want, ticketing.QuoteLine{
					Tier: tier, Quantity: line.Quantity, UnitPrice: price, Subtotal: price * money.Amount(line.Quantity),
					AvailableAtPrice: int64(n),
				})
			}
		}
		if !found {
			refused = ticketing.CodePricingUnavailable
		}
	}
	got, err := m.shop.Quote(m.ctx(), m.shop.Caller, ticketing.QuoteParams{EventID: event.id, Lines: lines})
	if !expect(r, "quote", err, refused) {
		return
	}
	slices.SortFunc(want, func(a, b ticketing.QuoteLine) int { return strings.Compare(a.Tier, b.Tier) })
	total := money.Amount(0)
	for _, line := range want {
		total += line.Subtotal
	}
	same(r, "quote", show(m.t, got), show(m.t, ticketing.Quote{
		Object: "pricing_quote", EventID: event.id, Currency: "NGN", Lines: want, Total: total,
		QuotedAt: ticketing.Time{Time: m.now},
	}))
}

func (m *model) checkout(r *rapid.T) {
	event := m.drawEvent(r)
	params := ticketing.CheckoutParams{EventID: event.id, Buyer: ticketing.BuyerParams{Email: drawBuyer(r)}}
	var picked []*modelAdmission
	var gross money.Amount
	enough := true
	for _, tier := range rapid.SampledFrom([][]string{{"VIP"}, {"REGULAR"}, {"REGULAR", "VIP"}}).Draw(r, "tiers") {
		line := ticketing.CheckoutLineParams{
			Tier: tier, Quantity: rapid.IntRange(1, 3).Draw(r, "quantity"), ExpectedUnitPrice: drawPrice(r), Currency: "NGN",
		}
		// Usually this is an existing price.
		if unsold := event.tiers[tier].unsold(); len(unsold) > 0 && !rarely(r, "any price") {
			line.ExpectedUnitPrice = unsold[0].price
		}
		params.Lines = append(params.Lines, line)
		gross += line.ExpectedUnitPrice * money.Amount(line.Quantity)
		found := event.tiers[tier].at(line.ExpectedUnitPrice)
		if len(found) < line.Quantity {
			enough = false
			continue
		}
		picked = append(picked, found[:line.Quantity]...)
	}
	key := m.drawKey(r)
	scope, input := "checkout "+key, fmt.Sprint(params)
	earlier, spent := m.keys[scope]
	at := m.saleTime()
	rate, effective := m.rate(at)
	want := ticketing.Code("")
	switch {
	case m.suspended:
		want = ticketing.CodePermissionDenied
	case !m.verified:
		want = ticketing.CodeVerificationRequired
	case spent && earlier.input != input:
		want = ticketing.CodeConflict
	case spent:
	case event.status != ticketing.EventPublished:
		want = ticketing.CodeConflict
	case !enough:
		want = ticketing.CodeInventoryUnavailable
	case !effective:
		want = ticketing.CodeCommissionUnavailable
	case m.float.suspended || m.earnings.suspended:
		want = ticketing.CodeCheckoutUnavailable
	case m.float.balance < gross:
		want = ticketing.CodeInsufficientFloat
	}
	order, err := m.shop.Checkout(m.ctx(), m.shop.Caller, key, params)
	if !expect(r, "checkout", err, want) {
		return
	}
	text := show(m.t, order)
	if spent {
		same(r, "checkout again", text, earlier.text)
		return
	}
	m.keep(scope, input, text, true, func() (any, error) {
		return m.shop.Checkout(m.ctx(), m.shop.Caller, key, params)
	})
	m.orders = append(m.orders, &modelOrder{order, event, picked})
	m.sell(r, order, picked, gross, rate, at)
}

// saleTime returns the time of the clock, or that of the last movement if the clock is before it.
func (m *model) saleTime() time.Time {
	at := m.now
	for _, last := range []time.Time{m.float.lastAt, m.earnings.lastAt} {
		if last.After(at) {
			at = last
		}
	}
	return at
}

// rate returns the effective rate: the latest, and of two from the same time the later created.
func (m *model) rate(at time.Time) (basisPoints int64, ok bool) {
	var from time.Time
	for _, rate := range m.rates {
		if !rate.from.After(at) && !rate.from.Before(from) {
			from, basisPoints, ok = rate.from, rate.basisPoints, true
		}
	}
	return basisPoints, ok
}

func (m *model) sell(
	r *rapid.T, order ticketing.Order, picked []*modelAdmission, gross money.Amount, basisPoints int64, at time.Time,
) {
	commission := money.Amount((int64(gross)*basisPoints + 5000) / 10_000)
	want := order // Ids and snapshots are those of the service.
	want.Gross, want.FloatDebited, want.Commission.Amount = gross, gross, commission
	want.Balances = ticketing.OrderBalances{
		FloatBefore: m.float.balance, FloatAfter: m.float.balance - gross,
		EarningsBefore: m.earnings.balance, EarningsAfter: m.earnings.balance + commission,
	}
	want.ConfirmedAt, want.CreatedAt = ticketing.Time{Time: at}, ticketing.Time{Time: at}
	want.Lines = slices.Clone(order.Lines)
	if len(want.Lines) != len(picked) {
		r.Fatalf("%d lines, not %d", len(want.Lines), len(picked))
	}
	for i, a := range picked {
		want.Lines[i].Title, want.Lines[i].UnitPrice = a.title, a.price
		a.state, a.id, a.soldAt = "sold", order.Lines[i].AdmissionID, at
	}
	same(r, "order", show(m.t, order), show(m.t, want))
	m.facts += 3
	if m.float.balance >= 1000_00 && m.float.balance-gross < 1000_00 {
		m.facts++
	}
	m.float.balance, m.earnings.balance = m.float.balance-gross, m.earnings.balance+commission
	m.float.lastAt, m.earnings.lastAt = at, at
	m.sold = append(m.sold, picked...)
}

func (m *model) validate(r *rapid.T) {
	if len(m.sold) == 0 {
		r.Skip("nothing is sold")
	}
	a := m.sold[len(m.sold)-1-rapid.IntRange(0, len(m.sold)-1).Draw(r, "admission")]
	event := a.event.id
	if rarely(r, "wrong event") {
		event = m.drawEvent(r).id
	}
	key := m.drawKey(r)
	scope, input := "validate "+key, fmt.Sprint(event, a.id)
	earlier, spent := m.keys[scope]
	want := m.denied()
	switch {
	case want != "":
	case spent && earlier.input != input:
		want = ticketing.CodeConflict
	case !spent && event != a.event.id:
		want = ticketing.CodeNotFound
	case !spent && a.voided && a.validation.ID == uuid.Nil:
		want = ticketing.CodeConflict
	}
	got, err := m.shop.ValidateAdmission(m.ctx(), m.shop.Caller, event, a.id, key, ticketing.ValidateParams{})
	if !expect(r, "validate", err, want) {
		return
	}
	text := show(m.t, got)
	switch {
	case spent:
		same(r, "validation again", text, earlier.text)
		return
	case a.validation.ID == uuid.Nil:
		a.validation = got
		m.facts++
		same(r, "validation", fmt.Sprint(got.Outcome, got.AdmissionID, got.Ticket.Title, got.ValidatedAt),
			fmt.Sprint(ticketing.OutcomeAdmitted, a.id, a.title, ticketing.Time{Time: slices.MaxFunc(
				[]time.Time{m.now, a.soldAt}, time.Time.Compare)}))
	default:
		again := a.validation
		again.Outcome = ticketing.OutcomeAlreadyValidated
		same(r, "second validation", text, show(m.t, again))
	}
	m.keep(scope, input, text, false, func() (any, error) {
		return m.shop.ValidateAdmission(m.ctx(), m.shop.Caller, event, a.id, key, ticketing.ValidateParams{})
	})
}

func (m *model) credit(r *rapid.T) {
	amount := rapid.SampledFrom([]money.Amount{1, 500_00, 2000_00}).Draw(r, "amount")
	want := ticketing.Code("")
	if m.suspended || !m.verified || m.float.suspended {
		want = ticketing.CodeConflict
	}
	_, err := m.shop.Staff.CreditFloat(m.ctx(), m.shop.Company.ID, m.shop.Key(), amount)
	if !expect(r, "credit", err, want) {
		return
	}
	m.float.balance += amount
	if m.now.After(m.float.lastAt) {
		m.float.lastAt = m.now
	}
}

func (m *model) schedule(r *rapid.T) {
	points := rapid.SampledFrom([]int64{0, 1, 250, 333, 10_000}).Draw(r, "basis points")
	from := m.now.Add(time.Duration(rapid.IntRange(-1, 1).Draw(r, "hours")) * time.Hour)
	rate, err := money.ParseRate(fmt.Sprint(points), money.BasisPoints)
	if err != nil {
		r.Fatalf("%v", err)
	}
	_, err = m.shop.Staff.ScheduleCommission(m.ctx(), m.shop.Company.ID, ticketing.CommissionParams{
		Rate: rate, EffectiveFrom: &from,
	})
	expect(r, "schedule", err, "")
	m.rates = append(m.rates, modelRate{from, points})
}

// authority takes authority from the company, and returns it more often.
func (m *model) authority(r *rapid.T) {
	staff, id := m.shop.Staff, m.shop.Company.ID
	var err error
	switch take := rarely(r, "take away"); {
	case m.suspended:
		_, err = staff.ActivateCompany(m.ctx(), id)
		m.suspended = false
	case !m.verified:
		_, err = staff.ApproveVerification(m.ctx(), id, ticketing.ApprovalParams{})
		m.verified = true
	case take && rapid.Bool().Draw(r, "company"):
		_, err = staff.SuspendCompany(m.ctx(), id)
		m.suspended = true
	case take:
		_, err = staff.RevokeVerification(m.ctx(), id)
		m.verified = false
	}
	expect(r, "authority", err, "")
}

func (m *model) wallet(r *rapid.T) {
	kind, wallet := ledger.Float, &m.float
	if rapid.Bool().Draw(r, "earnings") {
		kind, wallet = ledger.Earnings, &m.earnings
	}
	var err error
	if wallet.suspended = rarely(r, "suspend"); wallet.suspended {
		_, err = m.shop.Staff.SuspendWallet(m.ctx(), m.shop.Company.ID, kind)
	} else {
		_, err = m.shop.Staff.ActivateWallet(m.ctx(), m.shop.Company.ID, kind)
	}
	expect(r, "wallet", err, "")
}

// step moves the clock, sometimes back, and ends the events that are then due.
func (m *model) step(r *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{
		-time.Hour, -time.Millisecond, time.Millisecond, time.Minute, 5 * time.Hour, 16 * time.Hour,
	}).Draw(r, "step"))
	m.shop.Clock.Set(m.now)
	want := 0
	for _, event := range m.events {
		if !event.endsOn.IsZero() && !event.endsOn.After(m.now) {
			event.status, event.endsOn = ticketing.EventEnded, time.Time{}
			want++
		}
	}
	got, err := m.shop.EndEvents(m.ctx())
	expect(r, "end events", err, "")
	same(r, "ended events", got, want)
}

// compare compares everything that can be read with the model.
func (m *model) compare(r *rapid.T) {
	for _, event := range m.events {
		found, err := m.shop.GetEvent(m.ctx(), m.shop.Caller, event.id)
		expect(r, "get event", err, "")
		same(r, "status", found.Status, event.status)
		want := []ticketing.InventoryTier{}
		for _, name := range []string{"REGULAR", "VIP"} {
			if tier := event.tiers[name]; len(tier.admissions) > 0 {
				want = append(want, tier.show(name))
			}
		}
		got, err := m.shop.ListInventory(m.ctx(), m.shop.Caller, event.id)
		expect(r, "list inventory", err, "")
		same(r, "inventory", show(m.t, got), show(m.t, want))
		for _, tier := range got {
			if event.tiers[tier.Tier].cancelled {
				same(r, "cancelled tier", []any{tier.Status, tier.AvailableQuantity}, []any{ticketing.InventoryCancelled, 0})
			}
		}
	}
	wallets, err := m.shop.Staff.GetWallets(m.ctx(), m.shop.Company.ID)
	expect(r, "wallets", err, "")
	same(r, "balances", []money.Amount{wallets.Float, wallets.Earnings},
		[]money.Amount{m.float.balance, m.earnings.balance})
	page, err := m.shop.ListOrders(m.ctx(), m.shop.Caller,
		ticketing.OrderFilter{PageParams: ticketing.PageParams{Limit: 100}})
	expect(r, "list orders", err, "")
	got, want := make([]string, 0, len(page.Items)), make([]string, 0, len(m.orders))
	for _, order := range page.Items {
		got = append(got, show(m.t, order))
	}
	for _, order := range slices.Backward(m.orders) {
		want = append(want, show(m.t, order.Order))
	}
	same(r, "orders", got, want)
	err = m.shop.Store.View(m.ctx(), func(ctx context.Context, tx driver.ReadTx) error {
		facts, err := tx.ListFacts(ctx, m.shop.Company.ID, driver.Position{}, 1000)
		told := 0
		for _, fact := range facts {
			told += len(fact.Facts())
		}
		same(r, "facts", told, m.facts)
		return err
	})
	expect(r, "facts", err, "")
}
