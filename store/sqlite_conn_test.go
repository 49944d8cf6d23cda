package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
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

// TestTextsOfModelsAreFew checks that statements of Bun's do not take the place of those that a sale has prepared, on
// the writer and on a reader: a query has one text, whatever its values are, and a write is not kept.
func TestTextsOfModelsAreFew(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	s := isOpen(t, &store.Config{Readers: 1})
	texts := func() []string {
		t.Helper()
		prepared, err := s.Prepared(ctx)
		is.NoErr(err)
		slices.Sort(prepared)
		return prepared
	}
	var first []string
	for i := 1; i <= 10; i++ {
		id, at := number(i), driver.Position{At: minute(i), ID: number(i)}
		written(t, s, func(ctx context.Context, tx driver.Tx) error {
			return errors.Join(
				tx.CreateUser(ctx, driver.User{ID: id, Email: fmt.Sprint(i), CreatedAt: minute(i)}),
				tx.CreateCompany(ctx, newCompany(number(100+i))))
		})
		is.NoErr(s.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
			for _, read := range []func() error{
				func() error { _, err := tx.FindUsers(ctx, []string{fmt.Sprint(i)}); return err },
				func() error { _, err := tx.Members(ctx, []driver.MemberRef{{CompanyID: id, UserID: id}}); return err },
				func() error { _, err := tx.ListMembers(ctx, id, i); return err },
				func() error { _, err := tx.ListCompanies(ctx, at, i); return err },
				func() error { _, err := tx.ListCategories(ctx, fmt.Sprint(i), i); return err },
				func() error { _, err := tx.ListAPIKeys(ctx, id, i); return err },
				func() error { _, err := tx.CountAPIKeys(ctx, id, driver.APIKeyStatus(fmt.Sprint(i))); return err },
				func() error { _, err := tx.ListVerificationCases(ctx, id, i); return err },
				func() error { _, err := tx.FindEvent(ctx, id); return err },
				func() error { _, err := tx.FindSettlement(ctx, id); return err },
				func() error { _, err := tx.OpenSettlement(ctx, id); return err },
				func() error {
					_, err := tx.ListSettlements(ctx, driver.SettlementQuery{CompanyID: id, After: int64(i + 1), Limit: i})
					return err
				},
				func() error {
					_, err := tx.ListAudit(ctx, driver.AuditQuery{CompanyID: id, After: at, Limit: i})
					return err
				},
				func() error { _, err := tx.CurrentBankAccount(ctx, id); return err },
				func() error {
					_, err := tx.StaleBankAccounts(ctx, driver.StaleBankAccountQuery{After: id, SecretName: fmt.Sprint(i), Limit: i})
					return err
				},
				func() error { _, err := tx.FindWebhookEndpoint(ctx, id); return err },
				func() error {
					after := driver.WebhookSecretRef{CompanyID: id, Endpoint: int64(i), Version: int64(i)}
					_, err := tx.RetiredWebhookSecrets(ctx, after, i)
					return err
				},
			} {
				if err := read(); err != nil {
					return err
				}
			}
			return nil
		}))
		written(t, s, func(ctx context.Context, tx driver.Tx) error {
			_, facts := tx.PruneFacts(ctx, id, minute(i), i)
			_, messages := tx.PruneMessages(ctx, id, minute(i), i)
			_, deliveries := tx.PruneDeliveries(ctx, id, minute(i), i)
			return errors.Join(facts, messages, deliveries)
		})
		if i == 1 {
			first = texts()
			is.True(len(first) > 20)
		}
	}
	is.Equal(texts(), first)
}

// TestRefusedTextsAreNotSent checks that a text that a database would change is refused before its statement is sent,
// as a value and as one of a set of keys.
func TestRefusedTextsAreNotSent(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{testdb.SQLiteDSN(t), testdb.FreshDSN(t)} {
		for _, text := range []string{"a\x00b", "\x00", "a\xff", "\xff"} {
			is := is.New(t)
			var sent []string
			s, err := store.Open(t.Context(), dsn, &store.Config{
				OnStatement: func(_ context.Context, statement store.Statement) { sent = append(sent, statement.Name) },
			})
			is.NoErr(err)
			is.NoErr(s.Migrate(t.Context()))
			for name, read := range map[string]func(ctx context.Context, tx driver.ReadTx) error{
				"a value": func(ctx context.Context, tx driver.ReadTx) error {
					_, err := tx.ListCategories(ctx, text, 1)
					return err
				},
				"a key": func(ctx context.Context, tx driver.ReadTx) error {
					_, err := tx.FindUsers(ctx, []string{text})
					return err
				},
				"two keys": func(ctx context.Context, tx driver.ReadTx) error {
					_, err := tx.FindUsers(ctx, []string{"a", text})
					return err
				},
			} {
				err := s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
					sent = nil
					return read(ctx, tx)
				})
				if err == nil || err.Error() != "ticketing/store: a text holds a NUL byte or is not UTF-8" || len(sent) > 0 {
					t.Errorf("%s, %q: %v, sent %v", name, text, err, sent)
				}
			}
			is.NoErr(s.Close())
		}
	}
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
