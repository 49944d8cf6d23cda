package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// basketOf returns a checkout of one admission for a buyer with a name and a phone.
func basketOf(eventID uuid.UUID, email string) ticketing.CheckoutParams {
	basket := ticketingtest.Basket(eventID, "VIP", 10_00, 1)
	basket.Buyer = ticketing.BuyerParams{Email: email, Fullname: "Ada Obi", Phone: "+234 800 1234567"}
	return basket
}

// TestABuyerIsLinkedToTheUserOfTheirEmail checks Section 1, item 7: a buyer is linked to the user of the same email.
// Without such a user it is a dormant record.
func TestABuyerIsLinkedToTheUserOfTheirEmail(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 10)
		_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basketOf(event.ID, "Ada@Example.com"))
		is.NoErr(err)
		dormant, err := shop.Staff.GetBuyer(t.Context(), shop.Company.ID, " ADA@example.com ")
		is.NoErr(err)
		is.Equal(show(t, dormant), `{"email":"ada@example.com","fullname":"Ada Obi","phone":"+234 800 1234567",`+
			`"userId":null,"createdAt":"2026-11-21T09:30:00.000Z","updatedAt":"2026-11-21T09:30:00.000Z"}`)

		// The user may be created later, and as a member of another company.
		neighbour := shop.Neighbour(t)
		member, err := shop.Staff.AddMember(t.Context(), neighbour.Company.ID, ticketing.AddMemberParams{
			Email: "ada@example.com", Name: "Ada", Role: ticketing.RoleViewer,
		})
		is.NoErr(err)
		linked, err := shop.Staff.GetBuyer(t.Context(), shop.Company.ID, "ada@example.com")
		is.NoErr(err)
		is.Equal(*linked.UserID, member.UserID)
		is.Equal(*linked.Fullname, "Ada Obi") // as in the checkout
		for company, email := range map[uuid.UUID]string{
			shop.Company.ID: "bob@example.com", neighbour.Company.ID: "ada@example.com",
		} {
			_, err := shop.Staff.GetBuyer(t.Context(), company, email)
			is.Equal(code(err), ticketing.CodeNotFound)
		}
		_, err = shop.Staff.GetBuyer(t.Context(), shop.Company.ID, "ada")
		is.Equal(said(err), "email: must be one email address, such as ada@example.com")
		for _, erase := range []func(string) error{
			func(email string) error {
				_, err := shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, email)
				return err
			},
			func(email string) error {
				_, err := shop.Staff.PreviewErasure(t.Context(), shop.Company.ID, email)
				return err
			},
		} {
			is.Equal(said(erase("")), "email: must not be empty")
		}
	})
}

// TestErasurePreview checks that a preview has what the erasure then removes, counts to a hundred orders, and changes
// nothing.
func TestErasurePreview(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 300)
		sell := func(orders int) {
			for range orders {
				_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basketOf(event.ID, "ada@example.com"))
				is.NoErr(err)
			}
		}
		preview := func(email string) string {
			found, err := shop.Staff.PreviewErasure(t.Context(), shop.Company.ID, email)
			is.NoErr(err)
			return show(t, found)
		}
		const buyer = `"buyer":{"email":"ada@example.com","fullname":"Ada Obi","phone":"+234 800 1234567",` +
			`"userId":null,"createdAt":"2026-11-21T09:30:00.000Z","updatedAt":"2026-11-21T09:30:00.000Z"}`
		sell(2)
		for range 2 {
			is.Equal(preview(" Ada@Example.com "), `{"email":"ada@example.com",`+buyer+`,"orders":2,"more":false}`)
		}
		sell(ticketing.MaxPageLimit - 2)
		is.Equal(preview("ada@example.com"), `{"email":"ada@example.com",`+buyer+`,"orders":100,"more":false}`)
		sell(1)
		is.Equal(preview("ada@example.com"), `{"email":"ada@example.com",`+buyer+`,"orders":100,"more":true}`)
		done, err := shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, "ada@example.com")
		is.NoErr(err)
		is.Equal(done.Orders, ticketing.MaxPageLimit+1)
		is.Equal(preview("ada@example.com"), `{"email":"ada@example.com","buyer":null,"orders":0,"more":false}`)
	})
}

// TestABuyerIsErased checks that the erasure of a buyer removes the person from the company's records, and leaves
// money, ledger, tickets and validations.
func TestABuyerIsErased(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 5_000_00}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ctx := t.Context()
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 100)
		neighbour := shop.Neighbour(t)
		elsewhere := neighbour.Event(t)
		neighbour.Inventory(t, elsewhere.ID, "VIP", 10_00, 10)
		foreign, err := neighbour.Checkout(ctx, neighbour.Caller, neighbour.Key(), basketOf(elsewhere.ID, "ada@example.com"))
		is.NoErr(err)

		var orders []ticketing.Order
		for i, email := range []string{"ada@example.com", "bob@example.com", "Ada@Example.com"} {
			order, err := shop.Checkout(ctx, shop.Caller, fmt.Sprint("cart-000", i), basketOf(event.ID, email))
			is.NoErr(err)
			orders = append(orders, order)
		}
		scanned := shop.Scan(t, event.ID, orders[0].Lines[0].AdmissionID)
		before := holdings(t, shop)
		is.Equal(orders[0].Buyer.Email, "ada@example.com")

		shop.Clock.Advance(time.Minute)
		erasure, err := shop.Staff.EraseBuyer(ctx, shop.Company.ID, " ADA@Example.com")
		is.NoErr(err)
		is.Equal(show(t, erasure), `{"erased":true,"orders":2}`)
		is.Equal(holdings(t, shop), before)

		// Section 2.6: an order keeps everything but its buyer. The erased buyer has the form that clients expect.
		for _, i := range []int{0, 2} {
			want := orders[i]
			want.Buyer = ticketing.Buyer{Email: "erased-" + want.ID.String() + "@erased.invalid"}
			found, err := shop.GetOrder(ctx, shop.Caller, want.ID)
			is.NoErr(err)
			is.Equal(found, want)
			is.Equal(show(t, found.Buyer),
				fmt.Sprintf(`{"email":"erased-%s@erased.invalid","fullname":null,"phone":null}`, want.ID))
			// Section 4.11: a replay returns the order as it is now.
			again, err := shop.Checkout(ctx, shop.Caller, fmt.Sprint("cart-000", i), basketOf(event.ID, "ada@example.com"))
			is.NoErr(err)
			is.Equal(again, want)
			page, err := shop.Staff.ListOrders(ctx, shop.Company.ID, ticketing.OrderSearch{Email: want.Buyer.Email})
			is.NoErr(err)
			is.Equal(len(page.Items), 1)
			is.Equal(page.Items[0].ID, want.ID) // The email that an order shows finds the order.
		}
		for _, order := range []ticketing.Order{orders[1], foreign} {
			found, err := shop.GetOrder(ctx, ticketing.TrustedCaller(shop.Company.ID, ticketing.GrantOrderRead), order.ID)
			if order.ID == foreign.ID {
				found, err = neighbour.GetOrder(ctx, neighbour.Caller, order.ID)
			}
			is.NoErr(err)
			is.Equal(found, order) // These are orders of another buyer and of another company.
		}

		// Tickets stay valid, and validations are kept.
		is.Equal(shop.Scan(t, event.ID, orders[2].Lines[0].AdmissionID).Outcome, ticketing.OutcomeAdmitted)
		again := shop.Scan(t, event.ID, orders[0].Lines[0].AdmissionID)
		is.Equal(again.ID, scanned.ID)
		is.Equal(again.Outcome, ticketing.OutcomeAlreadyValidated)

		_, err = shop.Staff.GetBuyer(ctx, shop.Company.ID, "ada@example.com")
		is.Equal(code(err), ticketing.CodeNotFound)
		_, err = neighbour.Staff.GetBuyer(ctx, neighbour.Company.ID, "ada@example.com")
		is.NoErr(err)

		// A second erasure has no effect.
		nothing, err := shop.Staff.EraseBuyer(ctx, shop.Company.ID, "ada@example.com")
		is.NoErr(err)
		is.Equal(show(t, nothing), `{"erased":false,"orders":0}`)

		// A later checkout creates the buyer again, who may be erased again.
		shop.Clock.Advance(time.Minute)
		later, err := shop.Checkout(ctx, shop.Caller, shop.Key(), basketOf(event.ID, "ada@example.com"))
		is.NoErr(err)
		is.Equal(later.Buyer.Email, "ada@example.com")
		buyer, err := shop.Staff.GetBuyer(ctx, shop.Company.ID, "ada@example.com")
		is.NoErr(err)
		is.Equal(buyer.CreatedAt, later.CreatedAt)
		erasure, err = shop.Staff.EraseBuyer(ctx, shop.Company.ID, "ada@example.com")
		is.NoErr(err)
		is.Equal(erasure, ticketing.BuyerErasure{Erased: true, Orders: 1})

		// The audit log has the erasures, but not the buyer.
		page, err := shop.Staff.ListAudit(ctx, shop.Company.ID, auditPage(ticketing.MaxPageLimit))
		is.NoErr(err)
		erasures := 0
		for _, act := range page.Items {
			text := show(t, act)
			is.True(!strings.Contains(strings.ToLower(text), "ada@") && !strings.Contains(text, "Ada Obi"))
			if act.Action == "buyer.erase" {
				erasures++
			}
		}
		is.Equal(erasures, 2)
	})
}

// TestABuyerOfManyOrdersIsErased checks that an erasure covers all orders of a buyer, also more than it reads at a
// time.
func TestABuyerOfManyOrdersIsErased(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 0, 1000)
	shop.Inventory(t, event.ID, "VIP", 0, 1000)
	const orders = 2001
	shop.Inventory(t, event.ID, "VIP", 0, 1)
	for i := range orders {
		basket := ticketingtest.Basket(event.ID, "VIP", 0, 1)
		_, err := shop.Checkout(t.Context(), shop.Caller, fmt.Sprintf("cart-%06d", i), basket)
		is.NoErr(err)
	}
	erasure, err := shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, "ada@example.com")
	is.NoErr(err)
	is.Equal(erasure, ticketing.BuyerErasure{Erased: true, Orders: orders})
	is.NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		left, err := tx.ListOrders(ctx, driver.OrderQuery{CompanyID: shop.Company.ID, Limit: orders})
		is.Equal(len(left), orders)
		for _, order := range left {
			is.Equal(order.BuyerEmail, "erased-"+order.ID.String()+"@erased.invalid")
		}
		return err
	}))
}

// TestErasureFindsOrdersThatTheIndexLacks checks that an erasure finds an order whose fact a process of an earlier
// version dispatched: it adds nothing to the index of buyers.
func TestErasureFindsOrdersThatTheIndexLacks(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 100)
		order := shop.Sell(t, event.ID, "VIP", 1)
		onCompany(t, shop, func(ctx context.Context, tx driver.Tx) error {
			facts, err := tx.TakeFacts(ctx, shop.Company.ID, 10)
			return errors.Join(err, tx.DispatchFacts(ctx, facts, true))
		})
		erasure, err := shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, order.Buyer.Email)
		is.NoErr(err)
		is.Equal(erasure, ticketing.BuyerErasure{Erased: true, Orders: 1})
		// Nothing counted the sale, as the verification would say.
		onCompany(t, shop, func(ctx context.Context, tx driver.Tx) error {
			return tx.PutSalesProgress(ctx, uncounted(shop.Company.ID))
		})
	})
}

var errUnplugged = errors.New("unplugged")

// heldStore is a store whose every update first calls a function. The update does not begin if that function fails.
type heldStore struct {
	driver.Store

	hold func() error // nil: no function is called
}

func (h *heldStore) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	if h.hold != nil {
		if err := h.hold(); err != nil {
			return err
		}
	}
	return h.Store.Update(ctx, fn)
}

// TestAnErasureThatBreaksOffIsEnded checks an erasure that fails between two of its transactions of a thousand orders
// each. A second call erases the rest, and with it the order of a checkout between two transactions.
func TestAnErasureThatBreaksOffIsEnded(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	held := &heldStore{Store: memory.New()}
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: held})
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 0, 1000)
	shop.Inventory(t, event.ID, "VIP", 0, 600)
	buy := func() {
		_, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event.ID, "VIP", 0, 1))
		is.NoErr(err)
	}
	const orders, portion = 1500, 1000
	erase := func(updates int, beside func()) (ticketing.BuyerErasure, error) {
		var hold func() error
		hold = func() error {
			held.hold = nil // for the updates of beside
			defer func() { held.hold = hold }()
			if updates--; updates < 0 {
				return errUnplugged
			}
			beside()
			return nil
		}
		held.hold = hold
		defer func() { held.hold = nil }()
		return shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, "ada@example.com")
	}
	for range orders {
		buy()
	}

	_, err := erase(1, func() {})
	is.True(errors.Is(err, errUnplugged))
	search := ticketing.OrderSearch{Email: "ada@example.com"}
	search.Limit = ticketing.MaxPageLimit
	page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
	is.NoErr(err)
	is.Equal(len(page.Items), ticketing.MaxPageLimit) // the email finds the orders that are left
	_, err = shop.Staff.GetBuyer(t.Context(), shop.Company.ID, "ada@example.com")
	is.NoErr(err)

	erasure, err := erase(1, buy)
	is.NoErr(err)
	is.Equal(erasure, ticketing.BuyerErasure{Erased: true, Orders: orders - portion + 1})
	page, err = shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
	is.NoErr(err)
	is.Equal(len(page.Items), 0)
	_, err = shop.Staff.GetBuyer(t.Context(), shop.Company.ID, "ada@example.com")
	is.Equal(code(err), ticketing.CodeNotFound)
}

// TestErasuresDuringCheckouts checks concurrent checkouts and erasures of one buyer: each order is either erased
// completely, or comes after the erasure and has its buyer's record.
func TestErasuresDuringCheckouts(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		const checkouts, erasures = 24, 4
		errs := make([]error, checkouts+erasures)
		taken := make([]int, erasures)
		var wg sync.WaitGroup
		for i := range checkouts {
			basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
			wg.Go(func() { errs[i] = second(shop.Checkout(t.Context(), shop.Caller, fmt.Sprintf("cart-%06d", i), basket)) })
		}
		for i := range erasures {
			wg.Go(func() {
				erasure, err := shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, "ada@example.com")
				taken[i], errs[checkouts+i] = erasure.Orders, err
			})
		}
		wg.Wait()
		is.NoErr(errors.Join(errs...))
		left, erased := 0, 0
		page, err := shop.ListOrders(t.Context(), shop.Caller, ticketing.OrderFilter{
			PageParams: ticketing.PageParams{Limit: 100},
		})
		is.NoErr(err)
		for _, order := range page.Items {
			if order.Buyer.Email == "ada@example.com" {
				left++
			}
		}
		for _, orders := range taken {
			erased += orders
		}
		is.Equal(left+erased, checkouts)
		_, err = shop.Staff.GetBuyer(t.Context(), shop.Company.ID, "ada@example.com")
		is.Equal(err == nil, left > 0)
	})
}

// TestFactsOfAnErasedBuyerNameNobody checks that facts of a sale that are published after an erasure name the erased
// buyer.
func TestFactsOfAnErasedBuyerNameNobody(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 10)
		order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basketOf(event.ID, "ada@example.com"))
		is.NoErr(err)
		_, err = shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, "ada@example.com")
		is.NoErr(err)
		shop.Work(t)
		facts, err := shop.Facts.Wait(t.Context(), 3)
		is.NoErr(err)
		text := show(t, facts)
		is.Equal(strings.Count(text, "erased-"+order.ID.String()+"@erased.invalid"), 2) // in the order and in the mail
		is.True(!strings.Contains(text, "ada@example.com") && !strings.Contains(text, "Ada Obi"))
	})
}
