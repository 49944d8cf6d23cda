package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store"
)

func buyer(n int, fullname string) driver.Buyer {
	return driver.Buyer{
		CompanyID: company, Email: fmt.Sprintf("%06d@example.com", n), Fullname: fullname, CreatedAt: minute(1),
		UpdatedAt: minute(1),
	}
}

func newOrder(n int) driver.Order {
	return driver.Order{
		CompanyID: company, Number: int64(n), ID: number(1000 + n), EventID: event.ID, Status: driver.OrderConfirmed,
		RateID: number(3), Branding: 1, BuyerEmail: "ada@example.com", ConfirmedAt: minute(1), CreatedAt: minute(1),
	}
}

// TestFewTexts checks that the texts of statements contain no values and seldom depend on the number of rows, so that a
// connection has them prepared.
func TestFewTexts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	s := isOpen(t, &store.Config{Readers: 1})
	texts := func() int {
		t.Helper()
		prepared, err := s.Prepared(ctx)
		is.NoErr(err)
		return len(prepared)
	}
	written(t, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.PutBuyers(ctx, []driver.Buyer{buyer(0, "x")})
	})
	before := texts()
	for n := 1; n <= 100; n++ {
		refs := make([]driver.BuyerRef, n)
		buyers := make([]driver.Buyer, n)
		for i := range refs {
			buyers[i] = buyer(i, fmt.Sprint(n))
			refs[i] = driver.BuyerRef{CompanyID: company, Email: buyers[i].Email}
		}
		written(t, s, func(ctx context.Context, tx driver.Tx) error { return tx.PutBuyers(ctx, buyers) })
		is.NoErr(s.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
			found, err := tx.Buyers(ctx, refs)
			is.Equal(found, buyers)
			return err
		}))
	}
	is.Equal(texts()-before, 8) // for 1, 2, 4, … 128 references
}

// TestKeptStatementsAreBounded checks that a connection keeps a bounded number of statements, whatever it runs.
func TestKeptStatementsAreBounded(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, &store.Config{Readers: 1})
	for i := range 1000 {
		var answer int
		is.NoErr(s.Reader().DB.QueryRowContext(t.Context(), fmt.Sprintf("SELECT ? + %d", i), 1).Scan(&answer))
		is.Equal(answer, i+1)
	}
	prepared, err := s.Prepared(t.Context())
	is.NoErr(err)
	is.True(len(prepared) > 100)
	is.True(len(prepared) < 300)
}

// TestStatementsAreMadeAgain checks that prepared statements go with their connection, and stay valid after another
// process changed the schema.
func TestStatementsAreMadeAgain(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, &store.Config{Readers: 1})
	both := func() {
		t.Helper()
		buyers := []driver.Buyer{buyer(1, uuid.NewString())}
		written(t, s, func(ctx context.Context, tx driver.Tx) error { return tx.PutBuyers(ctx, buyers) })
		is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			found, err := tx.Buyers(ctx, []driver.BuyerRef{{CompanyID: company, Email: buyers[0].Email}})
			is.Equal(found, buyers)
			return err
		}))
	}
	both()
	is.NoErr(s.Exec(t.Context(), `ALTER TABLE ticketing_buyers ADD COLUMN note TEXT;
		CREATE INDEX note ON ticketing_buyers (note)`))
	both()
	s.Writer().SetMaxIdleConns(0)
	s.Reader().SetMaxIdleConns(0)
	both()
	s.Writer().SetMaxIdleConns(1)
	s.Reader().SetMaxIdleConns(1)
	both()
}

// TestOneOfManyRefused checks that if one of several records is refused, those before it are not kept either, and that
// the statement works again.
func TestOneOfManyRefused(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	furnish(t, s)
	kept := func() []driver.Order {
		t.Helper()
		var orders []driver.Order
		is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
			orders, err = tx.ListOrders(ctx, driver.OrderQuery{CompanyID: company, Limit: 10})
			return err
		}))
		return orders
	}
	again := newOrder(1)
	again.ID = number(9)
	err := update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendOrders(ctx, []driver.Order{newOrder(1), newOrder(2), again, newOrder(3)})
	})
	var broken *driver.ConstraintError
	is.True(errors.As(err, &broken))
	is.Equal(broken.Constraint, "orders_pkey")
	is.Equal(len(kept()), 0)

	err = update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
		first, unknown := newBatch(1, 1), newBatch(2, 1)
		if err := tx.CreateBatch(ctx, newBatch(1, 0)); err != nil {
			return err
		}
		return tx.UpdateBatches(ctx, []driver.Batch{unknown, first})
	})
	is.True(errors.Is(err, driver.ErrNotFound))

	orders := []driver.Order{newOrder(2), newOrder(1)}
	written(t, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendOrders(ctx, orders) })
	is.Equal(kept(), orders)
}

// TestWALIsBounded checks that the WAL starts over once its content is in the database: it does not grow with the
// amount written.
func TestWALIsBounded(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "ticketing.db")
	s := openFile(t, path, nil)
	is.NoErr(s.Migrate(t.Context()))
	const transactions, size = 16, 4 << 20
	buyers := make([]driver.Buyer, 1000)
	for n := range transactions {
		for i := range buyers {
			buyers[i] = buyer(i, strings.Repeat(fmt.Sprint(n%10), size/len(buyers)))
		}
		written(t, s, func(ctx context.Context, tx driver.Tx) error { return tx.PutBuyers(ctx, buyers) })
	}
	wal, err := os.Stat(path + "-wal")
	is.NoErr(err)
	is.True(wal.Size() < 16<<20+4*size)
	is.True(wal.Size() < transactions*size/2)
}
