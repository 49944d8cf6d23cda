package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// host is a shop in the database of a host application that keeps bookings there.
type host struct {
	*ticketingtest.Shop

	kind  testdb.Host
	store *store.Store
	db    *bun.DB
	event ticketing.Event
}

// onHosts runs a test on a host of every kind, whose event has a hundred VIP admissions on sale. The books are verified
// when the test ends.
func onHosts(t *testing.T, test func(t *testing.T, h *host)) {
	t.Helper()
	for _, kind := range testdb.Hosts() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			test(t, openHost(t, kind, nil))
		})
	}
}

func openHost(t testing.TB, kind testdb.Host, config *ticketingtest.Config) *host {
	t.Helper()
	var c ticketingtest.Config
	if config != nil {
		c = *config
	}
	db, pool := kind.Open(t)
	c.Store = db
	h := &host{Shop: ticketingtest.New(t, &c), kind: kind, store: db, db: pool}
	_, err := pool.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS bookings (name TEXT PRIMARY KEY)")
	is.New(t).NoErr(err)
	h.event = h.Event(t)
	h.Inventory(t, h.event.ID, "VIP", 100_00, 100)
	return h
}

func (h *host) basket(quantity int) ticketing.CheckoutParams {
	return ticketingtest.Basket(h.event.ID, "VIP", 100_00, quantity)
}

// errChanged is the error for which a host rolls its transaction back.
var errChanged = errors.New("the host has changed its mind")

// within runs do in a transaction of the host, with the service bound to it. An error of do rolls the transaction back.
func (h *host) within(
	ctx context.Context, do func(ctx context.Context, tx bun.Tx, svc *ticketing.Service) error,
) error {
	return h.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		bound, err := h.kind.Bind(ctx, h.store, tx)
		if err != nil {
			return err
		}
		return do(ctx, tx, h.WithStore(bound))
	})
}

func book(ctx context.Context, tx bun.Tx, name string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO bookings (name) VALUES (?)", name)
	return err
}

func (h *host) bookings(t testing.TB) []string {
	t.Helper()
	var names []string
	is.New(t).NoErr(h.db.NewRaw("SELECT name FROM bookings ORDER BY name").Scan(t.Context(), &names))
	return names
}

// TestSaleInTheHostsTransaction checks that the host's row and the sale are committed together or not at all. A sale
// that was rolled back leaves no trace, and its idempotency key is unused.
func TestSaleInTheHostsTransaction(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, h *host) {
		is := is.New(t)
		before := holdings(t, h.Shop)
		sell := func(name string, end error) (order ticketing.Order, err error) {
			err = h.within(t.Context(), func(ctx context.Context, tx bun.Tx, svc *ticketing.Service) error {
				if err := book(ctx, tx, name); err != nil {
					return err
				}
				order, err = svc.Checkout(ctx, h.Caller, "booking-0001", h.basket(2))
				if err != nil {
					return err
				}
				again, err := svc.Checkout(ctx, h.Caller, "booking-0001", h.basket(2))
				is.NoErr(err)
				is.Equal(show(t, again), show(t, order)) // This is a replay within the transaction.
				_, err = svc.Checkout(ctx, h.Caller, "booking-0001", h.basket(1))
				is.Equal(code(err), ticketing.CodeConflict) // This is the same key with different input.
				found, err := svc.GetOrder(ctx, h.Caller, order.ID)
				is.NoErr(err)
				is.Equal(show(t, found), show(t, order))
				_, err = h.GetOrder(ctx, h.Caller, order.ID)
				is.Equal(code(err), ticketing.CodeNotFound) // No other transaction sees it before the commit.
				return end
			})
			return order, err
		}
		_, err := sell("first", errChanged)
		is.True(errors.Is(err, errChanged))
		is.Equal(len(h.bookings(t)), 0)
		is.Equal(show(t, holdings(t, h.Shop)), show(t, before))

		order, err := sell("second", nil)
		is.NoErr(err)
		is.Equal(h.bookings(t), []string{"second"})
		again, err := h.Checkout(t.Context(), h.Caller, "booking-0001", h.basket(2))
		is.NoErr(err)
		is.Equal(show(t, again), show(t, order)) // The key is used.
		after := holdings(t, h.Shop)
		is.Equal(after.Orders, before.Orders+1)
		is.Equal(after.Wallets.Float, before.Wallets.Float-200_00)
	})
}

// TestRefusalLeavesTheHostsTransaction checks that a refusal leaves the host's transaction as it was: its rows, earlier
// sales and later sales are kept.
func TestRefusalLeavesTheHostsTransaction(t *testing.T) {
	t.Parallel()
	for _, kind := range testdb.Hosts() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			h := openHost(t, kind, &ticketingtest.Config{Float: 350_00})
			dear := h.basket(1)
			dear.Lines[0].ExpectedUnitPrice = 99_00
			is.NoErr(h.within(t.Context(), func(ctx context.Context, tx bun.Tx, svc *ticketing.Service) error {
				is.NoErr(book(ctx, tx, "first"))
				_, err := svc.Checkout(ctx, h.Caller, "booking-0001", h.basket(1))
				is.NoErr(err)
				for range 2 {
					_, err = svc.Checkout(ctx, h.Caller, "booking-0002", h.basket(4))
					is.Equal(code(err), ticketing.CodeInsufficientFloat)
					_, err = svc.Checkout(ctx, h.Caller, "booking-0003", dear)
					is.Equal(code(err), ticketing.CodeInventoryUnavailable)
					_, err = svc.GetOrder(ctx, h.Caller, uuid.New())
					is.Equal(code(err), ticketing.CodeNotFound)
					_, err = svc.As(ticketing.Staff("host")).CreditFloat(ctx, h.Company.ID, "reference-1", -1)
					is.Equal(code(err), ticketing.CodeInvalidRequest)
				}
				is.NoErr(book(ctx, tx, "second"))
				_, err = svc.Checkout(ctx, h.Caller, "booking-0002", h.basket(2)) // The key of the refused checkout is unused.
				is.NoErr(err)
				return nil
			}))
			is.Equal(h.bookings(t), []string{"first", "second"})
			is.Equal(h.Wallets(t).Float, money.Amount(50_00))
			is.Equal(holdings(t, h.Shop).Orders, 2)
		})
	}
}

// TestEverythingWorksInTheHostsTransaction checks that a host can set a company up and sell in one transaction, which
// keeps all of it or nothing.
func TestEverythingWorksInTheHostsTransaction(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, h *host) {
		is := is.New(t)
		rate, err := money.ParseRate("3", money.Percent)
		is.NoErr(err)
		all := func(ctx context.Context, svc *ticketing.Service) {
			staff := svc.As(ticketing.Staff("host"))
			company, err := staff.CreateCompany(ctx, "Highlife Concerts")
			is.NoErr(err)
			_, err = staff.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{})
			is.NoErr(err)
			_, err = staff.ScheduleCommission(ctx, company.ID, ticketing.CommissionParams{Rate: rate})
			is.NoErr(err)
			credit, err := staff.CreditFloat(ctx, company.ID, "transfer-0001", 1000_00)
			is.NoErr(err)
			is.True(credit.Applied)
			_, err = staff.UpdateBranding(ctx, company.ID, ticketing.UpdateBrandingParams{BrandName: of("Highlife")})
			is.NoErr(err)
			key, err := staff.IssueAPIKey(ctx, company.ID, "gate", ticketing.AllGrants())
			is.NoErr(err)
			caller, err := svc.Authenticate(ctx, key.Key)
			is.NoErr(err)
			_, err = staff.RotateAPIKey(ctx, key.ID)
			is.NoErr(err)

			event, err := svc.CreateEvent(ctx, caller, "event-0001", ticketingtest.EventParams())
			is.NoErr(err)
			again, err := svc.CreateEvent(ctx, caller, "event-0001", ticketingtest.EventParams())
			is.NoErr(err)
			is.Equal(show(t, again), show(t, event))
			event, err = svc.UpdateEvent(ctx, caller, event.ID, ticketing.UpdateEventParams{Title: of("Highlife Night")})
			is.NoErr(err)
			_, err = svc.CreateInventory(ctx, caller, event.ID, "stock-0001", ticketingtest.InventoryParams("VIP", 50_00, 3))
			is.NoErr(err)
			_, err = svc.UpdateInventory(ctx, caller, event.ID, "VIP", ticketing.UpdateInventoryParams{
				UnitPrice: of(money.Amount(60_00)), Currency: of("NGN"), IsFree: of(false),
			})
			is.NoErr(err)
			quote, err := svc.Quote(ctx, caller, ticketing.QuoteParams{
				EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 2}},
			})
			is.NoErr(err)
			is.Equal(quote.Total, money.Amount(120_00))
			order, err := svc.Checkout(ctx, caller, "order-0001", ticketingtest.Basket(event.ID, "VIP", 60_00, 2))
			is.NoErr(err)
			scanned, err := svc.ValidateAdmission(ctx, caller, event.ID, order.Lines[0].AdmissionID, "scan-0001",
				ticketing.ValidateParams{})
			is.NoErr(err)
			is.Equal(scanned.Outcome, ticketing.OutcomeAdmitted)
			listed, err := svc.ListOrders(ctx, caller, ticketing.OrderFilter{})
			is.NoErr(err)
			is.Equal(len(listed.Items), 1)
			tiers, err := svc.ListInventory(ctx, caller, event.ID)
			is.NoErr(err)
			is.Equal(tiers[0].AvailableQuantity, int64(1))
			_, err = svc.CancelInventory(ctx, caller, event.ID, "VIP")
			is.NoErr(err)
			_, err = staff.EndEvent(ctx, event.ID)
			is.NoErr(err)
			_, err = staff.RevokeAPIKey(ctx, key.ID)
			is.NoErr(err)
			_, err = svc.Checkout(ctx, caller, "order-0002", ticketingtest.Basket(event.ID, "VIP", 60_00, 1))
			is.Equal(code(err), ticketing.CodePermissionDenied)
			wallets, err := staff.GetWallets(ctx, company.ID)
			is.NoErr(err)
			is.Equal([]money.Amount{wallets.Float, wallets.Earnings}, []money.Amount{880_00, 3_60})
			h.settles(ctx, t, staff, company.ID)
			_, err = staff.RefundOrder(ctx, order.ID, ticketing.RefundParams{Reason: "It rains."})
			is.NoErr(err)
			is.Equal(len(audited(ctx, t, staff, company.ID)), 13)
			h.reads(ctx, t, staff, order)
		}
		companies := func() int {
			listed, err := h.Staff.ListCompanies(t.Context(), ticketing.CompanyFilter{})
			is.NoErr(err)
			return len(listed.Items)
		}
		before := companies()
		err = h.within(t.Context(), func(ctx context.Context, _ bun.Tx, svc *ticketing.Service) error {
			all(ctx, svc)
			return errChanged
		})
		is.True(errors.Is(err, errChanged))
		is.Equal(companies(), before)
		is.NoErr(h.within(t.Context(), func(ctx context.Context, _ bun.Tx, svc *ticketing.Service) error {
			all(ctx, svc)
			return nil
		}))
		is.Equal(companies(), before+1)
	})
}

// settles requests a settlement and rejects it.
func (h *host) settles(ctx context.Context, t *testing.T, staff ticketing.Operator, company uuid.UUID) {
	t.Helper()
	is := is.New(t)
	_, err := staff.SetBankAccount(ctx, company, accountParams())
	is.NoErr(err)
	settlement, err := staff.RequestSettlement(ctx, company)
	is.NoErr(err)
	is.Equal(settlement.Amount, money.Amount(3_60))
	_, err = staff.RejectSettlement(ctx, settlement.ID, "The bank knows no such account.")
	is.NoErr(err)
}

// reads reads a refunded order and its company as an operator. All reads succeed, except for those on PostgreSQL that
// need a snapshot.
func (h *host) reads(ctx context.Context, t *testing.T, staff ticketing.Operator, order ticketing.Order) {
	t.Helper()
	is := is.New(t)
	detail, err := staff.GetOrder(ctx, order.ID)
	is.NoErr(err)
	is.Equal(detail.Status, ticketing.OrderRefunded)
	company := detail.CompanyID
	orders, err := staff.ListOrders(ctx, company, ticketing.OrderSearch{})
	is.NoErr(err)
	is.Equal(len(orders.Items), 1)
	_, err = staff.GetVerification(ctx, company)
	is.NoErr(err)
	lines := 0
	is.NoErr(staff.Statement(ctx, company, ticketing.Period{
		From: ticketingtest.Opening.AddDate(-1, 0, 0), To: ticketingtest.Opening.AddDate(1, 0, 0),
	},
		func(ticketing.StatementLine) error {
			lines++
			return nil
		}))
	is.True(lines > 0)
	heads, err := staff.ExportLedger(ctx, company, io.Discard)
	is.NoErr(err)
	is.Equal(heads.CompanyID, company)
	dashboard, dashboardErr := staff.Dashboard(ctx, company)
	report, err := staff.VerifyLedger(ctx, company)
	if !h.kind.SQLite() {
		is.True(errors.Is(dashboardErr, store.ErrTransaction))
		is.True(errors.Is(err, store.ErrTransaction))
		return
	}
	is.NoErr(dashboardErr)
	is.Equal(dashboard.Earnings, money.Amount(0))
	is.NoErr(err)
	is.True(report.OK)
}

func audited(
	ctx context.Context, t *testing.T, staff ticketing.Operator, company uuid.UUID,
) []ticketing.AuditEntry {
	t.Helper()
	page, err := staff.ListAudit(ctx, company, auditPage(100))
	is.New(t).NoErr(err)
	return page.Items
}

// TestKeyInFlightInTheHostsTransaction checks that a key that an open transaction of the host has used is in flight for
// every other caller until the transaction ends: 409 at once. On SQLite and with row gates the other caller waits
// instead, since writers run one after the other.
func TestKeyInFlightInTheHostsTransaction(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, h *host) {
		if h.kind.SQLite() || h.kind.Name == "row gates" || pgtest.DirectNodes() {
			waitsForTheHost(t, h)
			return
		}
		is := is.New(t)
		var order ticketing.Order
		is.NoErr(h.within(t.Context(), func(ctx context.Context, _ bun.Tx, svc *ticketing.Service) error {
			var err error
			order, err = svc.Checkout(ctx, h.Caller, "booking-0001", h.basket(1))
			is.NoErr(err)
			begun := time.Now()
			_, err = h.Checkout(ctx, h.Caller, "booking-0001", h.basket(1))
			is.Equal(said(err), "Idempotent request is still processing")
			err = h.within(t.Context(), func(ctx context.Context, _ bun.Tx, other *ticketing.Service) error {
				_, err := other.Checkout(ctx, h.Caller, "booking-0001", h.basket(1))
				return err
			})
			is.Equal(said(err), "Idempotent request is still processing")
			_, err = svc.CreateEvent(ctx, h.Caller, "event-0001", ticketingtest.EventParams())
			is.NoErr(err) // This closes the gate.
			err = h.within(t.Context(), func(ctx context.Context, _ bun.Tx, other *ticketing.Service) error {
				_, err := other.CreateEvent(ctx, h.Caller, "event-0001", ticketingtest.EventParams())
				return err
			})
			is.Equal(said(err), "Idempotent request is still processing")
			is.True(time.Since(begun) < 2*time.Second) // No call waited for a lock.
			return nil
		}))
		again, err := h.Checkout(t.Context(), h.Caller, "booking-0001", h.basket(1))
		is.NoErr(err)
		is.Equal(show(t, again), show(t, order))
	})
}

// waitsForTheHost checks that a second transaction with the same key runs after the first has ended, and returns its
// order.
func waitsForTheHost(t *testing.T, h *host) {
	t.Helper()
	is := is.New(t)
	var first, second ticketing.Order
	var other sync.WaitGroup
	is.NoErr(h.within(t.Context(), func(ctx context.Context, _ bun.Tx, svc *ticketing.Service) (err error) {
		first, err = svc.Checkout(ctx, h.Caller, "booking-0001", h.basket(1))
		other.Go(func() {
			err := h.within(t.Context(), func(ctx context.Context, _ bun.Tx, svc *ticketing.Service) (err error) {
				second, err = svc.Checkout(ctx, h.Caller, "booking-0001", h.basket(1))
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		think()
		return err
	}))
	other.Wait()
	is.Equal(show(t, second), show(t, first))
}

// TestHostsSettingsStay checks that the settings of the host's transaction are unchanged after a sale, a refusal and a
// read.
func TestHostsSettingsStay(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, h *host) {
		if h.kind.SQLite() {
			return // SQLite has no settings of a transaction.
		}
		settings := func(ctx context.Context, tx bun.Tx) []string {
			var found []string
			is.New(t).NoErr(tx.NewRaw(`SELECT name || '=' || setting FROM pg_settings WHERE name IN ('search_path',
				'lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout', 'bytea_output', 'enable_seqscan',
				'enable_hashjoin', 'enable_mergejoin', 'enable_memoize', 'jit') ORDER BY name`).Scan(ctx, &found))
			return found
		}
		for _, own := range []string{
			"", "SET lock_timeout TO '33s'", "SET LOCAL lock_timeout TO '77s'; SET LOCAL statement_timeout TO '99s'; " +
				"SET LOCAL search_path TO public, pg_temp; SET LOCAL bytea_output TO escape; " +
				"SET LOCAL enable_seqscan TO on; SET LOCAL enable_memoize TO off; SET LOCAL jit TO on",
		} {
			is := is.New(t)
			is.NoErr(h.within(t.Context(), func(ctx context.Context, tx bun.Tx, svc *ticketing.Service) error {
				if own != "" {
					_, err := tx.ExecContext(ctx, own)
					is.NoErr(err)
				}
				before := settings(ctx, tx)
				_, err := svc.Checkout(ctx, h.Caller, h.Key(), h.basket(1))
				is.NoErr(err)
				is.Equal(settings(ctx, tx), before)
				_, err = svc.Checkout(ctx, h.Caller, h.Key(), ticketingtest.Basket(h.event.ID, "VIP", 1, 1))
				is.Equal(code(err), ticketing.CodeInventoryUnavailable)
				is.Equal(settings(ctx, tx), before)
				_, err = svc.ListOrders(ctx, h.Caller, ticketing.OrderFilter{})
				is.NoErr(err)
				is.Equal(settings(ctx, tx), before)
				_, err = svc.UpdateEvent(ctx, h.Caller, h.event.ID, ticketing.UpdateEventParams{Title: of(h.Key())})
				is.NoErr(err)
				is.Equal(settings(ctx, tx), before)
				return nil
			}))
		}
	})
}

// TestFactsOfTheHostsTransaction checks that facts of a sale are published after the host's commit, when the host wakes
// the service, and that a sale that was rolled back publishes none.
func TestFactsOfTheHostsTransaction(t *testing.T) {
	t.Parallel()
	for _, kind := range testdb.Hosts()[:2] {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			h := openHost(t, kind, &ticketingtest.Config{PollInterval: time.Hour})
			h.Work(t)
			sell := func(end error) (order ticketing.Order, err error) {
				err = h.within(t.Context(), func(ctx context.Context, _ bun.Tx, svc *ticketing.Service) error {
					order, err = svc.Checkout(ctx, h.Caller, h.Key(), h.basket(1))
					is.NoErr(err)
					svc.Wake() // A wake-up before the commit has no effect.
					return end
				})
				return order, err
			}
			_, err := sell(errChanged)
			is.True(errors.Is(err, errChanged))
			h.Wake()
			order, err := sell(nil)
			is.NoErr(err)
			h.Wake()
			told, err := h.Facts.Wait(t.Context(), 3)
			is.NoErr(err)
			for _, fact := range told {
				is.True(fact.Type != ticketing.FactTicketEmail || fact.Data.(ticketing.TicketEmail).Order.ID == order.ID)
			}
			is.Equal(len(told), 3)
		})
	}
}

// TestServiceInATransactionLeavesWorkAlone checks that a service in a transaction does no background work and stores no
// last use of a key. A mere read would otherwise hold a lock on the key's row.
func TestServiceInATransactionLeavesWorkAlone(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, h *host) {
		is := is.New(t)
		h.Clock.Advance(time.Hour) // An hour has passed since the key's last use, when the shop was opened.
		is.NoErr(h.within(t.Context(), func(ctx context.Context, _ bun.Tx, svc *ticketing.Service) error {
			caller, err := svc.Authenticate(ctx, h.APIKey)
			is.NoErr(err)
			is.Equal(caller.CompanyID(), h.Company.ID)
			is.True(svc.Run(ctx) != nil)
			is.NoErr(svc.Drain(ctx))
			_, err = svc.Checkout(ctx, caller, h.Key(), h.basket(1))
			is.NoErr(err)
			return nil
		}))
		keys, err := h.Staff.ListAPIKeys(t.Context(), h.Company.ID)
		is.NoErr(err)
		is.Equal(keys[0].LastUsedAt.Time, ticketingtest.Opening)
	})
}

// TestServiceInATransactionRemembersNoKeys checks that a service in a transaction reads the key of each caller there,
// also of one that the service itself remembers. What it finds in a transaction that is rolled back was never so.
func TestServiceInATransactionRemembersNoKeys(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, h *host) {
		is := is.New(t)
		event := h.Event(t)
		_, err := h.Authenticate(t.Context(), h.APIKey)
		is.NoErr(err)
		remembered, err := h.Identify(t.Context(), h.APIKey)
		is.NoErr(err)
		undo := errors.New("undo")
		is.Equal(h.within(t.Context(), func(ctx context.Context, _ bun.Tx, svc *ticketing.Service) error {
			_, err := svc.Identify(ctx, h.APIKey)
			is.NoErr(err)
			_, err = svc.GetEvent(ctx, remembered, event.ID)
			is.NoErr(err)
			_, err = svc.As(ticketing.Staff("test")).RevokeAPIKey(ctx, remembered.KeyID())
			is.NoErr(err)
			_, err = svc.Identify(ctx, h.APIKey)
			is.Equal(code(err), ticketing.CodeAuthenticationFailed)
			_, err = svc.GetEvent(ctx, remembered, event.ID)
			is.Equal(code(err), ticketing.CodeAuthenticationFailed)
			_, err = svc.Checkout(ctx, remembered, h.Key(), h.basket(1))
			is.Equal(code(err), ticketing.CodeAuthenticationFailed)
			return undo
		}), undo)
		_, err = h.GetEvent(t.Context(), remembered, event.ID)
		is.NoErr(err)
		_, err = h.Checkout(t.Context(), remembered, h.Key(), h.basket(1))
		is.NoErr(err)
	})
}

// TestHostsDoNotOversell checks that concurrent sales of hosts' transactions and of the service itself sell each
// admission once, and that every ledger chain stays unbroken.
func TestHostsDoNotOversell(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, h *host) {
		is := is.New(t)
		event := h.Event(t)
		h.Inventory(t, event.ID, "VIP", 100_00, 12)
		var mu sync.Mutex
		var sold []uuid.UUID
		var all sync.WaitGroup
		for i := range 24 {
			key, name := h.Key(), fmt.Sprintf("booking-%02d", i)
			basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
			all.Go(func() {
				order, err := retried(func() (order ticketing.Order, err error) {
					if i%4 == 0 {
						return h.Checkout(t.Context(), h.Caller, key, basket)
					}
					err = h.within(t.Context(), func(ctx context.Context, tx bun.Tx, svc *ticketing.Service) error {
						if err := book(ctx, tx, name); err != nil {
							return err
						}
						order, err = svc.Checkout(ctx, h.Caller, key, basket)
						if err == nil && i%4 == 1 {
							err = errChanged
						}
						return err
					})
					return order, err
				})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					sold = append(sold, order.Lines[0].AdmissionID)
				case errors.Is(err, errChanged), code(err) == ticketing.CodeInventoryUnavailable:
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		slices.SortFunc(sold, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		is.Equal(len(slices.Compact(sold)), len(sold))
		is.Equal(len(sold), 12)
	})
}

// retried repeats a call for as long as it fails with ErrBusy.
func retried[T any](call func() (T, error)) (T, error) {
	for {
		got, err := call()
		if !errors.Is(err, ticketing.ErrBusy) {
			return got, err
		}
	}
}
