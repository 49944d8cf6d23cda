// Package recipes runs what docs/library.md says about the transactions of other libraries, with the libraries
// themselves. It is a module of its own, so that they are no dependencies of programs that import the library.
package recipes_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/matryer/is"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

var errNoSeat = errors.New("there is no seat")

// run calls fn with a transaction of a library, and with a function that adds a row of the host to it.
type run func(ctx context.Context, fn func(tx *sql.Tx, book func() error) error) error

const insert = "INSERT INTO trips (booking) VALUES ('0001')"

// A sale and a row of the host are both there after a commit, and neither after a rollback, in a transaction of each
// library.
func TestTransactionsOfOtherLibraries(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, *sql.DB) run{
		"sqlx":                      openSqlx,
		"GORM":                      func(t *testing.T, pool *sql.DB) run { return openGORM(t, pool, false) },
		"GORM, prepared statements": func(t *testing.T, pool *sql.DB) run { return openGORM(t, pool, true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			database := "sqlite:" + filepath.Join(t.TempDir(), "trips.db")
			tickets, err := store.Open(t.Context(), database, nil)
			is.NoErr(err)
			t.Cleanup(func() { is.NoErr(tickets.Close()) })
			is.NoErr(tickets.Migrate(t.Context()))
			pool, err := store.OpenPool(database)
			is.NoErr(err)
			t.Cleanup(func() { is.NoErr(pool.Close()) })
			_, err = pool.ExecContext(t.Context(), "CREATE TABLE trips (booking TEXT PRIMARY KEY)")
			is.NoErr(err)
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: tickets})
			event := shop.Event(t)
			shop.Inventory(t, event.ID, "REGULAR", 5_000_00, 10)
			within := open(t, pool)

			// sell sells two tickets and adds the row, and then fails with the given error.
			sell := func(failure error) error {
				return within(t.Context(), func(tx *sql.Tx, book func() error) error {
					bound, err := tickets.BindSQL(t.Context(), tx)
					if err != nil {
						return err
					}
					basket := ticketingtest.Basket(event.ID, "REGULAR", 5_000_00, 2)
					if _, err := shop.Service.WithStore(bound).Checkout(t.Context(), shop.Caller, "trip-0001", basket); err != nil {
						return err
					}
					return errors.Join(book(), failure)
				})
			}
			left := func() (tickets int64, trips int) {
				tiers, err := shop.Service.ListInventory(t.Context(), shop.Caller, event.ID)
				is.NoErr(err)
				is.NoErr(pool.QueryRowContext(t.Context(), "SELECT count(*) FROM trips").Scan(&trips))
				return tiers[0].AvailableQuantity, trips
			}
			is.True(errors.Is(sell(errNoSeat), errNoSeat))
			available, trips := left()
			is.Equal(available, int64(10))
			is.Equal(trips, 0)
			is.NoErr(sell(nil))
			available, trips = left()
			is.Equal(available, int64(8))
			is.Equal(trips, 1)
		})
	}
}

func openSqlx(_ *testing.T, pool *sql.DB) run {
	db := sqlx.NewDb(pool, "sqlite")
	return func(ctx context.Context, fn func(tx *sql.Tx, book func() error) error) error {
		tx, err := db.BeginTxx(ctx, nil)
		if err != nil {
			return err
		}
		book := func() error {
			_, err := tx.ExecContext(ctx, insert)
			return err
		}
		if err := fn(tx.Tx, book); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
}

func openGORM(t *testing.T, pool *sql.DB, prepare bool) run {
	t.Helper()
	db, err := gorm.Open(sqlite.New(sqlite.Config{Conn: pool}), &gorm.Config{PrepareStmt: prepare, Logger: logger.Discard})
	is.New(t).NoErr(err)
	return func(ctx context.Context, fn func(tx *sql.Tx, book func() error) error) error {
		return db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			book := func() error { return tx.Exec(insert).Error }
			if prepare {
				return fn(tx.Statement.ConnPool.(*gorm.PreparedStmtTX).Tx.(*sql.Tx), book)
			}
			return fn(tx.Statement.ConnPool.(*sql.Tx), book)
		})
	}
}
