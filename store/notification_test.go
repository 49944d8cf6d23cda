package store_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// newNotification returns the first notification of an order, which is pending and due from minute 3 on.
func newNotification(company uuid.UUID, order int64) driver.Notification {
	return driver.Notification{
		CompanyID: company, Number: order, Copy: 1, OrderID: number(1_000_000 + int(order)), EventID: event.ID,
		Status: driver.NotificationPending, DueAt: minute(3), CreatedAt: minute(2),
	}
}

// mailWrites returns all calls that write and lock the records of ticket mails.
func mailWrites(ctx context.Context, tx driver.Tx) []func() error {
	const limit = 10
	notifications := []driver.Notification{newNotification(company, 1), newNotification(company, 2)}
	claim := driver.NotificationClaim{CompanyID: company, At: minute(4), Until: minute(5), Limit: limit}
	return []func() error{
		func() error {
			return tx.AppendMailSender(ctx, driver.MailSender{Version: 900, Address: "a@example.com", CreatedAt: minute(1)})
		},
		func() error { return tx.AppendNotifications(ctx, notifications) },
		func() error { return tx.AppendNotifications(ctx, notifications[:1]) },
		func() error { _, err := tx.ClaimNotifications(ctx, claim); return err },
		func() error {
			claim.CreatedBefore = minute(1)
			_, err := tx.ClaimNotifications(ctx, claim)
			return err
		},
		func() error {
			_, err := tx.LockNotifications(ctx, []driver.NotificationRef{notifications[0].Ref(), notifications[1].Ref()})
			return err
		},
		func() error {
			_, err := tx.LockNotifications(ctx, []driver.NotificationRef{notifications[0].Ref()})
			return err
		},
		func() error { return tx.UpdateNotifications(ctx, notifications) },
		func() error {
			sent := notifications[0]
			sent.Status, sent.FinishedAt = driver.NotificationSent, minute(1)
			return tx.UpdateNotifications(ctx, []driver.Notification{sent})
		},
	}
}

// mailEnds returns the calls that remove the records of ticket mails.
func mailEnds(ctx context.Context, tx driver.Tx) []func() error {
	return []func() error{
		func() error { _, err := tx.PruneNotifications(ctx, company, minute(2), 10); return err },
	}
}

// mailReads returns all calls that read the records of ticket mails.
func mailReads(ctx context.Context, tx driver.ReadTx) []func() error {
	const limit = 10
	calls := []func() error{
		func() error { _, err := tx.MailSender(ctx); return err },
		func() error { _, err := tx.PrunedNotifications(ctx, company); return err },
		func() error {
			_, err := tx.OrderNotifications(ctx, []driver.OrderNumber{
				{CompanyID: company, Number: 1}, {CompanyID: company, Number: 2},
			})
			return err
		},
		func() error {
			_, err := tx.OrderNotifications(ctx, []driver.OrderNumber{{CompanyID: company, Number: 1}})
			return err
		},
		func() error {
			_, err := tx.ListNotifications(ctx, driver.NotificationQuery{CompanyID: company, Number: 1, Limit: limit})
			return err
		},
		func() error {
			_, err := tx.ListNotifications(ctx, driver.NotificationQuery{
				CompanyID: company, Status: driver.NotificationFailed, EventID: event.ID, Limit: limit,
			})
			return err
		},
	}
	for _, status := range []driver.NotificationStatus{
		"", driver.NotificationPending, driver.NotificationSent, driver.NotificationFailed, driver.NotificationCancelled,
	} {
		for _, after := range []driver.NotificationRef{{}, {CompanyID: company, Number: 900, Copy: 1}} {
			query := driver.NotificationQuery{
				CompanyID: company, Status: status, Since: minute(1), Until: minute(900), After: after, Limit: limit,
			}
			calls = append(calls,
				func() error { _, err := tx.ListNotifications(ctx, query); return err },
				func() error { _, err := tx.CountNotifications(ctx, query); return err })
		}
	}
	return calls
}

// TestMailAttemptsAreKept checks the stored form of attempts, which every later version must be able to read.
func TestMailAttemptsAreKept(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	furnish(t, s)
	one := newNotification(company, 7)
	one.Attempts = []driver.NotificationAttempt{
		{At: driver.Time{Time: minute(1)}, Code: "450 4.2.0", Error: "the mailbox is busy"},
		{At: driver.Time{Time: minute(2)}, Error: `no answer: "tls" <&>`},
		{At: driver.Time{Time: minute(3)}, Code: "250 2.0.0"},
	}
	written(t, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendNotifications(ctx, []driver.Notification{one})
	})
	is.Equal(texts(t, s.Writer().DB, "SELECT attempts FROM ticketing_notifications"), []string{
		`[{"at":1772600467089,"code":"450 4.2.0","error":"the mailbox is busy"},` +
			`{"at":1772600527089,"error":"no answer: \"tls\" \u003c\u0026\u003e"},` +
			`{"at":1772600587089,"code":"250 2.0.0"}]`,
	})
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		found, err := tx.OrderNotifications(ctx, []driver.OrderNumber{one.OrderNumber()})
		is.Equal(found, []driver.Notification{one})
		return err
	}))
}

// TestManyNotifications checks that more notifications than one statement carries are kept, found and changed, in order
// and each once, and that of several changes to one the last counts.
func TestManyNotifications(t *testing.T) {
	t.Parallel()
	const many = 2500
	for _, s := range []*store.Store{isOpen(t, nil), testdb.Postgres(t)} {
		is := is.New(t)
		var all []driver.Notification
		var refs []driver.NotificationRef
		var orders []driver.OrderNumber
		for n := range int64(many) {
			one := newNotification(company, many-n)
			all, refs = append(all, one), append(refs, one.Ref())
			orders = append(orders, one.OrderNumber(), driver.OrderNumber{CompanyID: company, Number: many + n + 1})
		}
		written(t, s, func(ctx context.Context, tx driver.Tx) error {
			return errors.Join(tx.AppendNotifications(ctx, all[:100]), tx.AppendNotifications(ctx, all))
		})
		written(t, s, func(ctx context.Context, tx driver.Tx) error {
			locked, err := tx.LockNotifications(ctx, refs)
			is.NoErr(err)
			is.Equal(len(locked), many)
			for i := range locked {
				is.Equal(locked[i].Ref(), refs[i])
				locked[i].Reason = "first"
			}
			is.NoErr(tx.UpdateNotifications(ctx, locked))
			last := locked[7]
			last.Reason = "last"
			return tx.UpdateNotifications(ctx, append(locked[:8:8], last))
		})
		is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			found, err := tx.OrderNotifications(ctx, orders)
			is.NoErr(err)
			is.Equal(len(found), many)
			for i := range found {
				is.Equal(found[i].Number, int64(i+1))
			}
			is.Equal(found[many-8].Reason, "last")
			is.Equal(found[0].Reason, "first")
			return nil
		}))
		written(t, s, func(ctx context.Context, tx driver.Tx) error {
			claimed, err := tx.ClaimNotifications(ctx, driver.NotificationClaim{
				CompanyID: company, At: minute(4), Until: minute(5), Limit: 2 * many,
			})
			is.Equal(len(claimed), many)
			return err
		})
	}
}

// TestMailTextsAreRefused checks that a text in an attempt, in an address or in a sender that no database keeps exactly
// is refused, and that nothing of the Update is kept.
func TestMailTextsAreRefused(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(ctx context.Context, tx driver.Tx, text string) error{
		"recipient": func(ctx context.Context, tx driver.Tx, text string) error {
			one := newNotification(company, 7)
			one.Recipient = text
			return tx.AppendNotifications(ctx, []driver.Notification{one})
		},
		"code": func(ctx context.Context, tx driver.Tx, text string) error {
			one := newNotification(company, 7)
			one.Attempts = []driver.NotificationAttempt{{Code: text}}
			return tx.AppendNotifications(ctx, []driver.Notification{one})
		},
		"error": func(ctx context.Context, tx driver.Tx, text string) error {
			one := newNotification(company, 7)
			one.Attempts = []driver.NotificationAttempt{{Error: text}}
			return tx.AppendNotifications(ctx, []driver.Notification{one})
		},
		"sender": func(ctx context.Context, tx driver.Tx, text string) error {
			return tx.AppendMailSender(ctx, driver.MailSender{Version: 2, Name: text})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []*store.Store{isOpen(t, nil), testdb.Postgres(t)} {
				is := is.New(t)
				for _, text := range []string{"a\x00b", "a\xffb"} {
					err := update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
						if err := tx.AppendMailSender(ctx, driver.MailSender{Version: 1}); err != nil {
							return err
						}
						return write(ctx, tx, text)
					})
					is.True(err != nil)
				}
				is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
					sender, err := tx.MailSender(ctx)
					is.Equal(sender, driver.MailSender{})
					return err
				}))
			}
		})
	}
}

// TestClaimsPassOverLockedNotifications checks that on PostgreSQL a claim and a removal do not wait for notifications
// that another transaction has locked, and leave them out.
func TestClaimsPassOverLockedNotifications(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := testdb.Postgres(t)
	furnish(t, s)
	all := []driver.Notification{newNotification(company, 1), newNotification(company, 2), newNotification(company, 3)}
	for n := range int64(3) {
		sent := newNotification(company, 4+n)
		sent.Status, sent.FinishedAt = driver.NotificationSent, minute(3)
		all = append(all, sent)
	}
	written(t, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendNotifications(ctx, all) })
	is.NoErr(update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
		_, err := tx.LockNotifications(ctx, []driver.NotificationRef{all[4].Ref(), all[1].Ref()})
		is.NoErr(err)
		return update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			claimed, err := tx.ClaimNotifications(ctx, driver.NotificationClaim{
				CompanyID: company, At: minute(4), Until: minute(5), Limit: 9,
			})
			is.NoErr(err)
			is.Equal(len(claimed), 2)
			is.Equal([]driver.NotificationRef{claimed[0].Ref(), claimed[1].Ref()},
				[]driver.NotificationRef{all[0].Ref(), all[2].Ref()})
			pruned, err := tx.PruneNotifications(ctx, company, minute(4), 9)
			is.Equal(pruned, 2)
			return err
		})
	}))
}

// queuedMail makes 100,000 notifications of one company wait, as during a night without a mail server, next to
// those that were sent and to those of other companies.
const queuedMail = `
SET session_replication_role TO replica;
INSERT INTO ticketing_notifications SELECT lpad(to_hex(c), 32, '0')::uuid, n, 1, gen_random_uuid(), gen_random_uuid(),
	'', s, '', '[]', 1772600000000 + n, NULL, CASE WHEN s <> 'PENDING' THEN 1772600000000 + n END, 1772600000000 + n
	FROM (
		SELECT 1 AS c, n, CASE WHEN n > 25000 THEN 'PENDING' WHEN n % 100 = 1 THEN 'FAILED' WHEN n % 100 = 2 THEN 'CANCELLED'
			ELSE 'SENT' END AS s FROM generate_series(1, 125000) n
		UNION ALL SELECT 100 + n % 200, n, CASE WHEN n % 30 = 0 THEN 'PENDING' ELSE 'SENT' END
			FROM generate_series(1, 10000) n
	) x;`

// TestNotificationPlans checks that PostgreSQL claims notifications in the order of their queue, changes them by their
// keys, lists them along a key and removes them in the order in which they were finished. That holds however many wait,
// and whether or not the planner has statistics.
func TestNotificationPlans(t *testing.T) {
	t.Parallel()
	race.Leave(t, "plans")
	for name, filling := range map[string]string{"known": queuedMail + "ANALYZE;", "unknown": queuedMail} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var said testdb.Statements
			db := bun.NewDB(said.Pool(testdb.FreshDSN(t)), pgdialect.New())
			defer db.Close()
			s, err := store.OpenDB(t.Context(), db, nil)
			is.NoErr(err)
			furnish(t, s)
			_, err = db.DB.ExecContext(t.Context(),
				"ALTER TABLE ticketing_notifications SET (autovacuum_enabled = off);"+filling)
			is.NoErr(err)
			const limit = 200
			late := minute(1000)
			claim := driver.NotificationClaim{CompanyID: company, At: late, Until: minute(1001), Limit: limit}
			old := claim
			old.CreatedBefore = second(1) // Nobody is that old.
			list := driver.NotificationQuery{CompanyID: company, Limit: limit}
			failed := list
			failed.Status = driver.NotificationFailed
			for _, test := range []struct {
				name  string
				call  func(ctx context.Context, tx driver.Tx) error
				plans []string // a part of the plan of each statement about notifications
			}{
				{
					name: "claim and update", plans: []string{
						"Index Scan using ticketing_notifications_due", "Index Scan using ticketing_notifications_pkey",
					},
					call: func(ctx context.Context, tx driver.Tx) error {
						claimed, err := tx.ClaimNotifications(ctx, claim)
						is.Equal(len(claimed), limit)
						return errors.Join(err, tx.UpdateNotifications(ctx, claimed))
					},
				},
				{
					name: "claim of the old", plans: []string{"Index Scan using ticketing_notifications_due"},
					call: func(ctx context.Context, tx driver.Tx) error {
						claimed, err := tx.ClaimNotifications(ctx, old)
						is.Equal(len(claimed), 0)
						return err
					},
				},
				{
					name: "lock", plans: []string{"Index Scan using ticketing_notifications_pkey"},
					call: func(ctx context.Context, tx driver.Tx) error {
						found, err := tx.LockNotifications(ctx, []driver.NotificationRef{
							{CompanyID: company, Number: 5, Copy: 1}, {CompanyID: company, Number: 100_000, Copy: 1},
						})
						is.Equal(len(found), 2)
						return err
					},
				},
				{
					name: "list", plans: []string{"Index Scan Backward using ticketing_notifications_pkey"},
					call: func(ctx context.Context, tx driver.Tx) error {
						found, err := tx.ListNotifications(ctx, list)
						is.Equal(len(found), limit)
						return err
					},
				},
				{
					name: "list of those that failed", plans: []string{"Index Scan Backward using ticketing_notifications_failed"},
					call: func(ctx context.Context, tx driver.Tx) error {
						found, err := tx.ListNotifications(ctx, failed)
						is.Equal(len(found), limit)
						return err
					},
				},
				{
					name: "prune", plans: []string{"Index Scan using ticketing_notifications_final"},
					call: func(ctx context.Context, tx driver.Tx) error {
						pruned, err := tx.PruneNotifications(ctx, company, late, limit)
						is.Equal(pruned, limit)
						return err
					},
				},
				{
					name: "mail to send", plans: []string{"using ticketing_notifications_due on"},
					call: func(ctx context.Context, tx driver.Tx) error {
						due, err := tx.DueWork(ctx, driver.WorkQuery{
							At: late, After: []driver.DueWork{{Kind: driver.WorkMail}}, Limit: limit,
						})
						is.True(len(due) > 1)
						return err
					},
				},
			} {
				said.Take()
				written(t, s, test.call)
				var asked []string
				for _, statement := range said.Take() {
					if strings.Contains(statement, "ticketing_notifications") {
						asked = append(asked, statement)
					}
				}
				is.Equal(len(asked), len(test.plans))
				for i, statement := range asked {
					plan := testdb.Explain(t, db.DB, store.ByIndex(), "COSTS OFF", statement)
					// What was selected is looked up row by row afterwards.
					selection, _, _ := strings.Cut(plan, "->  Nested Loop")
					whole := regexp.MustCompile(`Seq Scan on ticketing_|Bitmap`).MatchString(plan)
					if !strings.Contains(plan, test.plans[i]) || strings.Contains(selection, "Sort") || whole {
						t.Errorf("%s: %s\n%s", test.name, statement, plan)
					}
				}
			}
		})
	}
}
