package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
)

// trip is the program's own row.
type trip struct {
	bun.BaseModel `bun:"table:trips"`

	Booking    string `bun:",pk"` // a number of the program, one for each booking
	OrderID    string
	Name       string
	Travellers int
}

// agency books trips.
type agency struct {
	svc     *ticketing.Service
	tickets *store.Store
	db      *bun.DB
	company uuid.UUID
	event   uuid.UUID
}

const seats = 40 // of the bus

var errBusFull = errors.New("the bus is full")

// book stores a trip and sells the tickets of its travellers, or does neither: whatever fails after the sale, also a
// rule of the program's own, rolls the sale back with the rest.
//
// It may be called again for the same booking, as after a lost answer. The key is made from the booking, so the
// checkout returns the order that it made, and an existing trip stays. The same booking with other travellers is
// refused with CONFLICT.
func (a *agency) book(ctx context.Context, booked trip) (order ticketing.Order, err error) {
	err = a.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		bound, err := a.tickets.Bind(ctx, tx)
		if err != nil {
			return err
		}
		// Use only this service inside the transaction: the other one would wait for the end of this transaction.
		within := a.svc.WithStore(bound)
		caller := ticketing.TrustedCaller(a.company, ticketing.GrantCheckoutCreate)
		order, err = within.Checkout(ctx, caller, "trip-"+booked.Booking, ticketing.CheckoutParams{
			EventID: a.event, Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
			Lines: []ticketing.CheckoutLineParams{{
				Tier: "REGULAR", Quantity: booked.Travellers, ExpectedUnitPrice: 5_000_00, Currency: money.Currency,
			}},
		})
		if err != nil {
			// After a *ticketing.Error the transaction is as it was: another host might go on.
			return err
		}
		booked.OrderID = order.ID.String()
		if _, err := tx.NewInsert().Model(&booked).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
			return err
		}
		if booked.Travellers > seats {
			return errBusFull
		}
		return nil
	})
	if err == nil {
		// Publish the facts of the sale now, where Service.Run runs.
		a.svc.Wake()
	}
	return order, err
}

// count prints how many trips, orders and tickets there are in the end.
func (a *agency) count(ctx context.Context, stdout io.Writer) error {
	trips, err := a.db.NewSelect().Model((*trip)(nil)).Count(ctx)
	if err != nil {
		return err
	}
	caller := ticketing.TrustedCaller(a.company, ticketing.GrantOrderRead, ticketing.GrantInventoryRead)
	orders, err := a.svc.ListOrders(ctx, caller, ticketing.OrderFilter{})
	if err != nil {
		return err
	}
	tiers, err := a.svc.ListInventory(ctx, caller, a.event)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "trips: %d, orders: %d, tickets left: %d\n", trips, len(orders.Items), tiers[0].AvailableQuantity)
	return nil
}

// openAgency creates the program's table and a company that can sell.
func openAgency(ctx context.Context, svc *ticketing.Service, tickets *store.Store, db *bun.DB) (*agency, error) {
	a := &agency{svc: svc, tickets: tickets, db: db}
	if _, err := db.NewDropTable().Model((*trip)(nil)).IfExists().Exec(ctx); err != nil {
		return nil, err
	}
	if _, err := db.NewCreateTable().Model((*trip)(nil)).Exec(ctx); err != nil {
		return nil, err
	}
	op := svc.As(ticketing.Staff("set-up"))
	company, err := op.CreateCompany(ctx, "Osun Festival")
	if err != nil {
		return nil, err
	}
	a.company = company.ID
	if _, err := op.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{}); err != nil {
		return nil, err
	}
	rate, err := money.ParseRate("2.5", money.Percent)
	if err != nil {
		return nil, err
	}
	if _, err := op.ScheduleCommission(ctx, company.ID, ticketing.CommissionParams{Rate: rate}); err != nil {
		return nil, err
	}
	if _, err := op.CreditFloat(ctx, company.ID, "bank-transfer-0001", 1_000_000_00); err != nil {
		return nil, err
	}
	caller := ticketing.TrustedCaller(company.ID, ticketing.GrantEventManage, ticketing.GrantInventoryManage)
	event, err := svc.CreateEvent(ctx, caller, "festival-2030", ticketing.CreateEventParams{
		Title: "Festival by the River", Date: "2030-08-09", StartsAt: "10:00", EndsAt: "22:00", Timezone: "Africa/Lagos",
		Venue: "Sacred Grove", ImageURL: "https://images.example/festival.jpg", Status: ticketing.EventPublished,
	})
	if err != nil {
		return nil, err
	}
	a.event = event.ID
	_, err = svc.CreateInventory(ctx, caller, event.ID, "festival-2030-regular", ticketing.CreateInventoryParams{
		Tier: "REGULAR", Title: "A day by the river", UnitPrice: 5_000_00, Currency: money.Currency, Quantity: 100,
		Status: ticketing.InventoryAvailable,
	})
	return a, err
}
