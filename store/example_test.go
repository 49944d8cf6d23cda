package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
)

// A host without Bun sells in a transaction of its own. It books a trip and the tickets of its travellers: both are
// committed, or neither.
func ExampleStore_BindSQL() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "bindsql")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	dsn := "sqlite:" + filepath.Join(folder, "trips.db")
	tickets, err := store.Open(ctx, dsn, nil)
	if err != nil {
		panic(err)
	}
	defer tickets.Close()
	if err := tickets.Migrate(ctx); err != nil {
		panic(err)
	}
	svc, err := ticketing.New(tickets, &ticketing.Config{SecretKeys: [][]byte{bytes.Repeat([]byte("example "), 4)}})
	if err != nil {
		panic(err)
	}
	company, event, err := openFestival(ctx, svc)
	if err != nil {
		panic(err)
	}
	caller := ticketing.TrustedCaller(company, ticketing.GrantCheckoutCreate)

	db, err := store.OpenPool(dsn) // The host's own pool, a *sql.DB.
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE trips (booking TEXT PRIMARY KEY, order_id TEXT)"); err != nil {
		panic(err)
	}
	book := func(booking string, travellers int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		bound, err := tickets.BindSQL(ctx, tx)
		if err != nil {
			return err
		}
		order, err := svc.WithStore(bound).Checkout(ctx, caller, "trip-"+booking, ticketing.CheckoutParams{
			EventID: event, Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
			Lines: []ticketing.CheckoutLineParams{{
				Tier: "REGULAR", Quantity: travellers, ExpectedUnitPrice: 5_000_00, Currency: money.Currency,
			}},
		})
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO trips VALUES (?, ?)", booking, order.ID.String()); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		svc.Wake()
		return nil
	}
	fmt.Println(book("0001", 2))
	fmt.Println(errors.Is(book("0002", 49), ticketing.CodeInventoryUnavailable)) // There are not so many tickets left.
	var trips int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM trips").Scan(&trips); err != nil {
		panic(err)
	}
	fmt.Println("trips:", trips)
	// Output:
	// <nil>
	// true
	// trips: 1
}

// A host that uses pgx begins the transaction on a connection of its own pool, through package stdlib. The example has
// no output, so it is compiled and not run: it needs a server. TestBoundStore runs such transactions.
func ExampleStore_BindSQL_pgx() {
	book := func(ctx context.Context, db *sql.DB, tickets *store.Store, svc *ticketing.Service) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		bound, err := tickets.BindSQL(ctx, tx)
		if err != nil {
			return err
		}
		within := svc.WithStore(bound)
		_ = within // Sell with it, and write the host's own rows with tx.
		return tx.Commit()
	}
	_ = func(ctx context.Context, pool *pgxpool.Pool, tickets *store.Store, svc *ticketing.Service) error {
		db := stdlib.OpenDBFromPool(pool) // Once: it has no connections of its own.
		return book(ctx, db, tickets, svc)
	}
}

// openFestival creates a company that can sell tickets of an event.
func openFestival(ctx context.Context, svc *ticketing.Service) (company, event uuid.UUID, err error) {
	op := svc.As(ticketing.Staff("set-up"))
	created, err := op.CreateCompany(ctx, "Osun Festival")
	if err != nil {
		return company, event, err
	}
	if _, err := op.ApproveVerification(ctx, created.ID, ticketing.ApprovalParams{}); err != nil {
		return company, event, err
	}
	rate, err := money.ParseRate("2.5", money.Percent)
	if err != nil {
		return company, event, err
	}
	if _, err := op.ScheduleCommission(ctx, created.ID, ticketing.CommissionParams{Rate: rate}); err != nil {
		return company, event, err
	}
	if _, err := op.CreditFloat(ctx, created.ID, "bank-transfer-0001", 1_000_000_00); err != nil {
		return company, event, err
	}
	caller := ticketing.TrustedCaller(created.ID, ticketing.GrantEventManage, ticketing.GrantInventoryManage)
	festival, err := svc.CreateEvent(ctx, caller, "festival-2030", ticketing.CreateEventParams{
		Title: "Festival by the River", Date: "2030-08-09", StartsAt: "10:00", EndsAt: "22:00", Timezone: "Africa/Lagos",
		Venue: "Sacred Grove", ImageURL: "https://images.example/festival.jpg", Status: ticketing.EventPublished,
	})
	if err != nil {
		return company, event, err
	}
	_, err = svc.CreateInventory(ctx, caller, festival.ID, "festival-2030-regular", ticketing.CreateInventoryParams{
		Tier: "REGULAR", Title: "A day by the river", UnitPrice: 5_000_00, Currency: money.Currency, Quantity: 50,
		Status: ticketing.InventoryAvailable,
	})
	return created.ID, festival.ID, err
}
