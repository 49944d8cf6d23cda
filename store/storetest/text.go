package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func textChecks() []Check {
	return []Check{
		{"values/texts are kept exactly", grounded(textsExact)},
		{"values/texts that look alike stay distinct", grounded(textsApart)},
		{"values/times are kept in UTC with milliseconds", grounded(timesKept)},
		{"values/times of every kind of record", grounded(timesOfRecords)},
		{"values/a zero time is kept as none", grounded(zeroTimes)},
	}
}

func textsExact(ctx context.Context, s driver.Store) error {
	event := newEvent(driver.EventRef{CompanyID: companyA, ID: id(50)})
	for _, text := range []string{
		awkward, "'", `"`, `\`, `\'`, `\n`, "\n", "\r\n", "\t", " ", "  two  ", "%", "_", "?", "?0", "?TableAlias", `\?`,
		"$1", ":name", "@p1",
		"-- comment", "'; DROP TABLE events; --", "NULL", "null", "0", "1e3", "true", "{}", "[]", "{a,b}", "Ọjà", "日本語",
		"e\u0301", "\u00e9", "\ufeff", "\u200f", "\uFFFD", "\U0010FFFF", "👩‍👩‍👧‍👦", "\x01\x1f\x7f",
		strings.Repeat("é", 5000), strings.Repeat("😀", 5000),
	} {
		event.Title, event.Description, event.TicketCategories = text, text, []string{text, text + "2"}
		err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			if kept, err := tx.FindEvent(ctx, event.ID); err != nil || kept.ID != uuid.Nil {
				return errors.Join(err, tx.UpdateEvent(ctx, event))
			}
			return tx.CreateEvent(ctx, event)
		})
		if err != nil {
			return fmt.Errorf("keep %.50q: %w", text, err)
		}
		err = everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want("event", event).from(tx.FindEvent(ctx, event.ID))
		})
		if err != nil {
			return fmt.Errorf("keep %.50q: %w", text, err)
		}
	}
	return nil
}

// textsApart creates tiers whose names are equal in a careless comparison.
func textsApart(ctx context.Context, s driver.Store) error {
	alike := []string{"e\u0301", "\u00e9", "VIP", "vip", "VIP ", " VIP", "V_P", "V%P", "\u212a", "K", "k", "ß", "ss"}
	var refs []driver.BuyerRef
	var buyers []driver.Buyer
	for i, text := range alike {
		batch := newBatch(eventA, text, 1)
		batch.Quantity = int64(i + 1)
		if err := stocked(ctx, s, batch); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		refs = append(refs, driver.BuyerRef{CompanyID: companyA, Email: text})
		buyers = append(buyers, newBuyer(companyA, text))
	}
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.PutBuyers(ctx, buyers) })
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for i, text := range alike {
			count := driver.TierCount{
				Tier: newTier(eventA, text), Available: int64(i + 1), LowestPrice: newBatch(eventA, "", 1).UnitPrice,
			}
			err := want(fmt.Sprintf("tier %q", text), []driver.TierCount{count}).
				from(tx.CountTiers(ctx, eventA, []string{text}))
			if err != nil {
				return err
			}
		}
		return want("buyers", buyers).from(tx.Buyers(ctx, refs))
	})
}

func timesKept(ctx context.Context, s driver.Store) error {
	lagos := time.FixedZone("WAT", 3600)
	for i, test := range []struct{ given, kept time.Time }{
		{time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)},
		{time.Date(2026, 1, 2, 0, 30, 0, 1_000_000, lagos), time.Date(2026, 1, 1, 23, 30, 0, 1_000_000, time.UTC)},
		{time.Date(2026, 1, 2, 3, 4, 5, 999_400_000, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 999_000_000, time.UTC)},
		{time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)},
		{
			time.Date(1969, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
			time.Date(1969, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
		},
		{
			time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
			time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
		},
	} {
		company := newCompany(id(100 + i))
		company.CreatedAt, company.UpdatedAt, company.Verification.GraceUntil = test.given, test.given, test.given
		err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			return errors.Join(tx.CreateCompany(ctx, company), tx.AppendBranding(ctx, newBranding(company.ID, 1)))
		})
		if err != nil {
			return fmt.Errorf("keep %v: %w", test.given, err)
		}
		company.CreatedAt, company.UpdatedAt, company.Verification.GraceUntil = test.kept, test.kept, test.kept
		err = everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			return want(test.given.String(), []driver.Company{company}).
				from(tx.Companies(ctx, []uuid.UUID{company.ID}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func timesOfRecords(ctx context.Context, s driver.Store) error {
	given := time.Date(2026, 1, 2, 0, 30, 0, 1_234_567, time.FixedZone("WAT", 3600))
	kept := time.Date(2026, 1, 1, 23, 30, 0, 1_000_000, time.UTC)
	type times struct {
		event  driver.Event
		batch  driver.Batch
		order  driver.Order
		buyer  driver.Buyer
		fact   driver.Fact
		rate   driver.Rate
		result driver.IdempotencyResult
		mail   driver.Notification // final
		leased driver.Notification
		sender driver.MailSender
		signIn signIns
	}
	made := func(when time.Time) times {
		all := times{
			newEvent(driver.EventRef{CompanyID: companyA, ID: id(50)}), newBatch(eventA, "a", 1),
			newOrder(eventA, 1), newBuyer(companyA, "a@example.com"), newFact(companyA, 10, when),
			newRate(companyA, 20, 1, when), newResult(companyA, "key-1"),
			over(newNotification(companyA, 4, 1, when), driver.NotificationSent, when), newNotification(companyA, 5, 1, when),
			newMailSender(1), newSignIns(when),
		}
		all.event.EndsOn, all.event.CreatedAt, all.event.UpdatedAt = when, when, when
		all.batch.CreatedAt, all.rate.CreatedAt, all.result.CreatedAt = when, when, when
		all.order.ConfirmedAt, all.order.CreatedAt = when, when
		all.buyer.CreatedAt, all.buyer.UpdatedAt = when, when
		all.mail.Attempts = []driver.NotificationAttempt{{At: driver.Time{Time: when}}}
		all.leased.LeasedUntil, all.sender.CreatedAt = when, when
		return all
	}
	put, found := made(given), made(kept)
	if err := stocked(ctx, s, put.batch); err != nil {
		return err
	}
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			tx.CreateEvent(ctx, put.event), tx.AppendOrders(ctx, []driver.Order{put.order}),
			tx.PutBuyers(ctx, []driver.Buyer{put.buyer}), tx.AppendFacts(ctx, []driver.Fact{put.fact}),
			tx.AppendRate(ctx, put.rate), tx.AppendResults(ctx, []driver.IdempotencyResult{put.result}),
			tx.AppendNotifications(ctx, []driver.Notification{put.mail, put.leased}), tx.AppendMailSender(ctx, put.sender),
			put.signIn.keep(ctx, tx),
		)
	})
	if err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			want("event", found.event).from(tx.FindEvent(ctx, found.event.ID)),
			want("batch", []driver.Batch{found.batch}).from(tx.LockOpenBatches(ctx, eventA, nil)),
			want("order", []driver.Order{found.order}).
				from(tx.ListOrders(ctx, driver.OrderQuery{CompanyID: companyA, Limit: 9})),
			want("buyer", []driver.Buyer{found.buyer}).
				from(tx.Buyers(ctx, []driver.BuyerRef{{CompanyID: companyA, Email: found.buyer.Email}})),
			want("fact", []driver.Fact{found.fact}).from(tx.ListFacts(ctx, companyA, driver.Position{}, 9)),
			want("rate", []driver.Rate{found.rate}).from(tx.ListRates(ctx, companyA, 9)),
			want("result", []driver.IdempotencyResult{found.result}).
				from(tx.Results(ctx, []driver.IdempotencyKey{found.result.IdempotencyKey})),
			want("notifications", []driver.Notification{found.leased, found.mail}).
				from(tx.ListNotifications(ctx, driver.NotificationQuery{CompanyID: companyA, Limit: 9})),
			want("mail sender", found.sender).from(tx.MailSender(ctx)),
			found.signIn.holds(ctx, tx),
		)
	})
}

func zeroTimes(ctx context.Context, s driver.Store) error {
	company, event := newCompany(companyA), newEvent(eventA)
	company.Verification.ApprovalExpiresAt, company.Verification.GraceUntil = time.Time{}, time.Time{}
	event.EndsOn = time.Time{}
	key := newAPIKey(companyA, 30, at(0)) // Never used, not revoked.
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			tx.UpdateCompany(ctx, company), tx.UpdateEvent(ctx, event), tx.CreateAPIKey(ctx, key),
			tx.AppendAdmissions(ctx, []driver.Admission{newAdmission(eventA, 1, 1)}),
		)
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		keys, err := tx.FindAPIKeys(ctx, []uuid.UUID{key.ID})
		err = errors.Join(
			want("company", []driver.Company{company}).from(tx.Companies(ctx, []uuid.UUID{companyA})),
			want("event", event).from(tx.FindEvent(ctx, eventA.ID)),
			want("key", []driver.APIKey{key}).from(keys, err),
		)
		if err != nil {
			return err
		}
		return that(keys[0].LastUsedAt.IsZero() && keys[0].RevokedAt.IsZero(), "no time became a time")
	})
}
