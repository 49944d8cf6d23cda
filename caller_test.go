package ticketing_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// granted is an operation of the data plane and the grant that it requires.
type granted struct {
	name  string
	grant ticketing.Grant
	write bool
	call  func(ctx context.Context, caller ticketing.Caller) error
}

// operations returns all operations of Section 4 on an event and an order of a shop. Each can be called any number of
// times.
func operations(shop *ticketingtest.Shop, event ticketing.Event, order ticketing.Order) []granted {
	keyed := keyedOperations(shop.Service, event, order)
	with := func(i int) func(context.Context, ticketing.Caller) error {
		return func(ctx context.Context, caller ticketing.Caller) error {
			_, err := keyed[i].call(ctx, caller, shop.Key())
			return err
		}
	}
	return []granted{
		{"create event", ticketing.GrantEventManage, true, with(0)},
		{"list events", ticketing.GrantEventRead, false, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.ListEvents(ctx, c, ticketing.EventFilter{})
			return err
		}},
		{"get event", ticketing.GrantEventRead, false, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.GetEvent(ctx, c, event.ID)
			return err
		}},
		{"update event", ticketing.GrantEventManage, true, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.UpdateEvent(ctx, c, event.ID, ticketing.UpdateEventParams{Title: of("New " + shop.Key())})
			return err
		}},
		{"publish event", ticketing.GrantEventManage, true, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.UpdateEvent(ctx, c, event.ID, ticketing.UpdateEventParams{Status: of(ticketing.EventPublished)})
			return err
		}},
		{"list inventory", ticketing.GrantInventoryRead, false, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.ListInventory(ctx, c, event.ID)
			return err
		}},
		{"create inventory", ticketing.GrantInventoryManage, true, with(1)},
		{"update inventory", ticketing.GrantInventoryManage, true, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.UpdateInventory(ctx, c, event.ID, "VIP",
				ticketing.UpdateInventoryParams{Status: of(ticketing.InventoryAvailable)})
			return err
		}},
		{"quote", ticketing.GrantInventoryRead, false, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.Quote(ctx, c, ticketing.QuoteParams{
				EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 1}},
			})
			return err
		}},
		{"checkout", ticketing.GrantCheckoutCreate, true, with(2)},
		{"list orders", ticketing.GrantOrderRead, false, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.ListOrders(ctx, c, ticketing.OrderFilter{})
			return err
		}},
		{"get order", ticketing.GrantOrderRead, false, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.GetOrder(ctx, c, order.ID)
			return err
		}},
		{"validate", ticketing.GrantTicketValidate, true, with(3)},
		{"cancel inventory", ticketing.GrantInventoryManage, true, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.CancelInventory(ctx, c, event.ID, "VIP")
			return err
		}},
		{"cancel event", ticketing.GrantEventManage, true, func(ctx context.Context, c ticketing.Caller) error {
			_, err := shop.CancelEvent(ctx, c, event.ID)
			return err
		}},
	}
}

// TestOperationsAskForTheirExactGrant checks Section 5: each operation requires its exact grant, and a read grant never
// implies the manage grant.
func TestOperationsAskForTheirExactGrant(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		event, order := ready(t, shop)
		for _, operation := range operations(shop, event, order) {
			others := slices.DeleteFunc(ticketing.AllGrants(), func(g ticketing.Grant) bool { return g == operation.grant })
			for name, test := range map[string]struct {
				caller ticketing.Caller
				want   ticketing.Code
			}{
				"every other grant": {shop.With(others...), ticketing.CodePermissionDenied},
				"no grant":          {shop.With(), ticketing.CodePermissionDenied},
				"nobody":            {ticketing.Caller{}, ticketing.CodeAuthenticationFailed},
			} {
				if err := operation.call(t.Context(), test.caller); code(err) != test.want {
					t.Errorf("%s by %s: %v", operation.name, name, err)
				}
			}
			if err := operation.call(t.Context(), shop.With(operation.grant)); err != nil {
				t.Errorf("%s: %v", operation.name, err)
			}
		}
	})
}

// TestAuthorityLostOnTheWayStopsTheWrite checks Section 5, rule 5: authority that is lost after a caller was
// authenticated, but before the write's transaction begins, stops every write, and nothing is written. An expired
// verification stops only a checkout.
func TestAuthorityLostOnTheWayStopsTheWrite(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		lose func(ctx context.Context, shop *ticketingtest.Shop) error
		want func(operation granted) ticketing.Code
		back func(ctx context.Context, shop *ticketingtest.Shop) error
	}{
		{
			name: "company suspended",
			lose: func(ctx context.Context, shop *ticketingtest.Shop) error {
				_, err := shop.Staff.SuspendCompany(ctx, shop.Company.ID)
				return err
			},
			want: func(granted) ticketing.Code { return ticketing.CodePermissionDenied },
			back: func(ctx context.Context, shop *ticketingtest.Shop) error {
				_, err := shop.Staff.ActivateCompany(ctx, shop.Company.ID)
				return err
			},
		},
		{
			name: "verification revoked",
			lose: func(ctx context.Context, shop *ticketingtest.Shop) error {
				_, err := shop.Staff.RevokeVerification(ctx, shop.Company.ID)
				return err
			},
			want: func(operation granted) ticketing.Code {
				if operation.name == "checkout" {
					return ticketing.CodeVerificationRequired
				}
				return ""
			},
			back: func(ctx context.Context, shop *ticketingtest.Shop) error {
				_, err := shop.Staff.ApproveVerification(ctx, shop.Company.ID, ticketing.ApprovalParams{})
				return err
			},
		},
		{
			name: "key revoked",
			lose: func(ctx context.Context, shop *ticketingtest.Shop) error {
				_, err := shop.Staff.RevokeAPIKey(ctx, shop.Caller.KeyID())
				return err
			},
			want: func(granted) ticketing.Code { return ticketing.CodePermissionDenied },
			back: func(ctx context.Context, shop *ticketingtest.Shop) error {
				issued, err := shop.Staff.IssueAPIKey(ctx, shop.Company.ID, "next", ticketing.AllGrants())
				if err != nil {
					return err
				}
				shop.Caller, err = shop.Authenticate(ctx, issued.Key)
				return err
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onStages(t, func(t *testing.T, shop *ticketingtest.Shop, stage *stagedStore) {
				is := is.New(t)
				event, order := ready(t, shop)
				for _, operation := range operations(shop, event, order) {
					if !operation.write {
						continue
					}
					before := holdings(t, shop)
					stage.once(func() {
						if err := test.lose(t.Context(), shop); err != nil {
							t.Errorf("lose authority: %v", err)
						}
					})
					err := operation.call(t.Context(), shop.Caller)
					if want := test.want(operation); code(err) != want {
						t.Errorf("%s: %v", operation.name, err)
					}
					if err != nil {
						is.Equal(holdings(t, shop), before)
					}
					is.NoErr(test.back(t.Context(), shop))
				}
			})
		})
	}
}

// TestTrustedCallersNeedAnActiveCompany checks that a trusted caller, which has no key to revoke, still needs an
// existing and active company for every write.
func TestTrustedCallersNeedAnActiveCompany(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := ready(t, shop)
		all := ticketing.AllGrants()
		unknown := ticketing.TrustedCaller(uuid.New(), all...)
		for _, operation := range operations(shop, event, order) {
			want := ticketing.CodePermissionDenied
			switch {
			case operation.write:
			case operation.name == "list events" || operation.name == "list orders":
				want = ""
			default:
				want = ticketing.CodeNotFound
			}
			if err := operation.call(t.Context(), unknown); code(err) != want {
				t.Errorf("%s by an unknown company: %v", operation.name, err)
			}
		}
		_, err := shop.Staff.SuspendCompany(t.Context(), shop.Company.ID)
		is.NoErr(err)
		for _, operation := range operations(shop, event, order) {
			if err := operation.call(t.Context(), shop.With(all...)); operation.write &&
				code(err) != ticketing.CodePermissionDenied {
				t.Errorf("%s by a suspended company: %v", operation.name, err)
			}
		}
	})
}

// TestCheckoutNeedsACurrentVerification checks that a verification is valid until the exact millisecond at which it
// ends. The time of the checkout's decision counts.
func TestCheckoutNeedsACurrentVerification(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, order := ready(t, shop)
		end := ticketingtest.Opening.Add(time.Hour)
		_, err := shop.Staff.ApproveVerification(t.Context(), shop.Company.ID, ticketing.ApprovalParams{ExpiresAt: &end})
		is.NoErr(err)
		checkout := func() ticketing.Code {
			_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 150_00, 1))
			return code(err)
		}
		shop.Clock.Set(end.Add(-time.Millisecond))
		is.Equal(checkout(), ticketing.Code(""))
		shop.Clock.Set(end)
		is.Equal(checkout(), ticketing.CodeVerificationRequired)
		_, err = shop.Staff.GrantGrace(t.Context(), shop.Company.ID, end.Add(time.Hour))
		is.NoErr(err)
		is.Equal(checkout(), ticketing.Code("")) // A grace period is not an approval, but suffices.
		shop.Clock.Set(end.Add(time.Hour))
		is.Equal(checkout(), ticketing.CodeVerificationRequired)
		// All other operations continue (Section 7, rule 6).
		for _, operation := range operations(shop, event, order) {
			if err := operation.call(t.Context(), shop.Caller); err != nil && operation.name != "checkout" {
				t.Errorf("%s: %v", operation.name, err)
			}
		}
	})
}
