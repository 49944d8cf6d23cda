package store_test

import (
	"context"
	"flag"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

var backlog = flag.Int("backlog", 20_000, "how many facts and deliveries of one company wait in benchmarks")

// queued inserts facts of a company, half of them to dispatch and half to publish. It also inserts as many deliveries
// of its first endpoint, all due. another inserts a delivery of another company.
const queued = `
INSERT INTO ticketing_outbox (company_id, at, id, type, subject, endpoints, handled, dispatched)
	SELECT {1}, 1772600000000 + n, {id}, 'sale', {1}, 1, {no}, n % 2 = 0 FROM {numbers};
INSERT INTO ticketing_webhook_deliveries (company_id, created_at, id, endpoint, endpoint_id, message_at, message_id, ` +
	`type, url,
		secret_version, status, cancelling, attempts, due_at)
	SELECT {1}, 1772600000000 + n, {id}, 1, {1}, 1772600000000 + n, {id}, 'order.created', 'https://example.com/hooks', 1,
		'PENDING', {no}, '[]', 1772600000000 + n FROM {numbers};
`

const another = `
INSERT INTO ticketing_webhook_deliveries (company_id, created_at, id, endpoint, endpoint_id, message_at, message_id, ` +
	`type, url,
		secret_version, status, cancelling, attempts, due_at)
	SELECT {2}, created_at, id, endpoint, endpoint_id, message_at, message_id, type, url, secret_version, status, ` +
	`cancelling,
		attempts, due_at FROM ticketing_webhook_deliveries LIMIT 1;
ANALYZE;`

// BenchmarkBacklog shows that a long queue of one company does not slow down finding due work, nor claiming some of it.
func BenchmarkBacklog(b *testing.B) {
	for _, dialect := range []struct {
		name, dsn string
		words     []string
	}{
		{"sqlite", "sqlite:" + filepath.Join(b.TempDir(), "queue.db"), []string{
			"{1}", "X'00000000000000000000000000000001'", "{2}", "X'00000000000000000000000000000002'",
			"{id}", "randomblob(16)", "{no}", "0", "{numbers}",
			"(WITH RECURSIVE c (n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM c WHERE n < {to}) SELECT n FROM c)",
		}},
		{"postgres", testdb.FreshDSN(b), []string{
			"{1}", "lpad('1', 32, '0')::uuid", "{2}", "lpad('2', 32, '0')::uuid",
			"{id}", "gen_random_uuid()", "{no}", "false", "{numbers}", "generate_series({from}, {to}) n",
		}},
	} {
		s := testdb.Open(b, dialect.dsn, nil)
		if err := s.Migrate(b.Context()); err != nil {
			b.Fatal(err)
		}
		pool, err := store.OpenPool(dialect.dsn)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = pool.Close() })
		words := strings.NewReplacer(dialect.words...)
		// No statement may take longer than the driver's read timeout.
		const part = 20_000
		for from := 1; from <= *backlog; from += part {
			numbers := strings.NewReplacer("{from}", strconv.Itoa(from), "{to}", strconv.Itoa(min(from+part-1, *backlog)))
			if _, err := pool.ExecContext(b.Context(), numbers.Replace(words.Replace(queued))); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := pool.ExecContext(b.Context(), words.Replace(another)); err != nil {
			b.Fatal(err)
		}
		b.Run(dialect.name+"/due", func(b *testing.B) {
			ask := dueWork(minute(20))
			// Work to prune is looked for only occasionally, and for times at which nothing waits any more.
			ask.After = ask.After[:3]
			for b.Loop() {
				if err := s.View(b.Context(), func(ctx context.Context, tx driver.ReadTx) error {
					due, err := tx.DueWork(ctx, ask)
					if len(due) != 4 {
						b.Fatal(due)
					}
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(dialect.name+"/facts", func(b *testing.B) {
			for b.Loop() {
				if err := update(b.Context(), s, func(ctx context.Context, tx driver.Tx) error {
					facts, err := tx.TakeFacts(ctx, company, 200)
					if len(facts) != 200 {
						b.Fatal(len(facts))
					}
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(dialect.name+"/claim", func(b *testing.B) {
			const batch = 100
			var query time.Duration // without the surrounding transaction
			for b.Loop() {
				if err := update(b.Context(), s, func(ctx context.Context, tx driver.Tx) error {
					begun := time.Now()
					defer func() { query += time.Since(begun) }()
					_, err := tx.ClaimDeliveries(ctx, driver.DeliveryClaim{
						CompanyID: company, Endpoint: 1, At: minute(20), Until: minute(21), Limit: batch,
					})
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(query.Nanoseconds())/float64(b.N), "query-ns/op")
		})
	}
}
