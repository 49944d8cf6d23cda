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

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store"
)

func buyer(n int, fullname string) ticketing.BuyerRecord {
	return ticketing.BuyerRecord{
		CompanyID: company, Email: fmt.Sprintf("%06d@example.com", n), Fullname: fullname, CreatedAt: minute(1),
		UpdatedAt: minute(1),
	}
}

func orderRecord(n int) ticketing.OrderRecord {
	return ticketing.OrderRecord{
		CompanyID: company, Number: int64(n), ID: number(1000 + n), EventID: event.ID, Status: ticketing.OrderConfirmed,
		RateID: number(3), Branding: 1, BuyerEmail: "ada@example.com", ConfirmedAt: minute(1), CreatedAt: minute(1),
	}
}

// The texts of statements hold no values, and few tell how many there are, so that a connection has them prepared.
func TestFewTexts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	s := open(t, &store.Config{Readers: 1})
	texts := func() int {
		t.Helper()
		prepared, err := s.Prepared(ctx)
		is.NoErr(err)
		return len(prepared)
	}
	written(t, s, func(ctx context.Context, tx ticketing.Tx) error {
		return tx.PutBuyers(ctx, []ticketing.BuyerRecord{buyer(0, "x")})
	})
	before := texts()
	for n := 1; n <= 100; n++ {
		refs := make([]ticketing.BuyerRef, n)
		buyers := make([]ticketing.BuyerRecord, n)
		for i := range refs {
			buyers[i] = buyer(i, fmt.Sprint(n))
			refs[i] = ticketing.BuyerRef{CompanyID: company, Email: buyers[i].Email}
		}
		written(t, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.PutBuyers(ctx, buyers) })
		is.NoErr(s.View(ctx, func(ctx context.Context, tx ticketing.ReadTx) error {
			found, err := tx.Buyers(ctx, refs)
			is.Equal(found, buyers)
			return err
		}))
	}
	is.Equal(texts()-before, 8) // for 1, 2, 4, … 128 references
}

// A connection keeps a bounded number of statements, whatever is asked of it.
func TestKeptStatementsAreBounded(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := open(t, &store.Config{Readers: 1})
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

// What a connection keeps goes with it, and holds after another process changed the schema.
func TestStatementsAreMadeAgain(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := open(t, &store.Config{Readers: 1})
	both := func() {
		t.Helper()
		buyers := []ticketing.BuyerRecord{buyer(1, uuid.NewString())}
		written(t, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.PutBuyers(ctx, buyers) })
		is.NoErr(s.View(t.Context(), func(ctx context.Context, tx ticketing.ReadTx) error {
			found, err := tx.Buyers(ctx, []ticketing.BuyerRef{{CompanyID: company, Email: buyers[0].Email}})
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

// Of records of which one is refused, those before it are not kept either, and the statement works again.
func TestOneOfManyRefused(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := open(t, nil)
	furnish(t, s)
	kept := func() []ticketing.OrderRecord {
		t.Helper()
		var orders []ticketing.OrderRecord
		is.NoErr(s.View(t.Context(), func(ctx context.Context, tx ticketing.ReadTx) (err error) {
			orders, err = tx.ListOrders(ctx, ticketing.OrderQuery{CompanyID: company, Limit: 10})
			return err
		}))
		return orders
	}
	again := orderRecord(1)
	again.ID = number(9)
	err := update(t.Context(), s, func(ctx context.Context, tx ticketing.Tx) error {
		return tx.AppendOrders(ctx, []ticketing.OrderRecord{orderRecord(1), orderRecord(2), again, orderRecord(3)})
	})
	var broken *ticketing.ConstraintError
	is.True(errors.As(err, &broken))
	is.Equal(broken.Constraint, "orders_pkey")
	is.Equal(len(kept()), 0)

	err = update(t.Context(), s, func(ctx context.Context, tx ticketing.Tx) error {
		first, unknown := batchRecord(1, 1), batchRecord(2, 1)
		if err := tx.CreateBatch(ctx, batchRecord(1, 0)); err != nil {
			return err
		}
		return tx.UpdateBatches(ctx, []ticketing.BatchRecord{unknown, first})
	})
	is.True(errors.Is(err, ticketing.ErrNotFound))

	orders := []ticketing.OrderRecord{orderRecord(2), orderRecord(1)}
	written(t, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.AppendOrders(ctx, orders) })
	is.Equal(kept(), orders)
}

// The WAL is begun again once what it holds is in the database: it does not grow with what is written.
func TestWALIsBounded(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "ticketing.db")
	s := openFile(t, path, nil)
	is.NoErr(s.Migrate(t.Context()))
	const transactions, size = 16, 4 << 20
	buyers := make([]ticketing.BuyerRecord, 1000)
	for n := range transactions {
		for i := range buyers {
			buyers[i] = buyer(i, strings.Repeat(fmt.Sprint(n%10), size/len(buyers)))
		}
		written(t, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.PutBuyers(ctx, buyers) })
	}
	wal, err := os.Stat(path + "-wal")
	is.NoErr(err)
	is.True(wal.Size() < 16<<20+4*size)
	is.True(wal.Size() < transactions*size/2)
}
