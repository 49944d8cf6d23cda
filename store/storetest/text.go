package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

func textChecks() []Check {
	return []Check{
		{"values/texts are kept exactly", grounded(textsExact)},
		{"values/texts that look alike are told apart", grounded(textsApart)},
		{"values/times are kept in UTC with milliseconds", grounded(timesKept)},
		{"values/times of every kind of record", grounded(timesOfRecords)},
		{"values/a zero time is kept as none", grounded(zeroTimes)},
	}
}

func textsExact(ctx context.Context, s ticketing.Store) error {
	event := eventRecord(ticketing.EventRef{CompanyID: companyA, ID: id(50)})
	for _, text := range []string{
		awkward, "'", `"`, `\`, `\'`, `\n`, "\n", "\r\n", "\t", " ", "  two  ", "%", "_", "?", "$1", ":name", "@p1",
		"-- comment", "'; DROP TABLE events; --", "NULL", "null", "0", "1e3", "true", "{}", "[]", "{a,b}", "Ọjà", "日本語",
		"e\u0301", "\u00e9", "\ufeff", "\u200f", "\uFFFD", "\U0010FFFF", "👩‍👩‍👧‍👦", "\x01\x1f\x7f",
		strings.Repeat("é", 5000), strings.Repeat("😀", 5000),
	} {
		event.Title, event.Description, event.TicketCategories = text, text, []string{text, text + "2"}
		err := update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
			if kept, err := tx.FindEvent(ctx, event.ID); err != nil || kept.ID != uuid.Nil {
				return errors.Join(err, tx.UpdateEvent(ctx, event))
			}
			return tx.CreateEvent(ctx, event)
		})
		if err != nil {
			return fmt.Errorf("keep %.50q: %w", text, err)
		}
		err = everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
			return want("event", event).from(tx.FindEvent(ctx, event.ID))
		})
		if err != nil {
			return fmt.Errorf("keep %.50q: %w", text, err)
		}
	}
	return nil
}

// textsApart keeps tiers whose names a careless comparison takes for one.
func textsApart(ctx context.Context, s ticketing.Store) error {
	alike := []string{"e\u0301", "\u00e9", "VIP", "vip", "VIP ", " VIP", "V_P", "V%P", "\u212a", "K", "k", "ß", "ss"}
	var refs []ticketing.BuyerRef
	var buyers []ticketing.BuyerRecord
	for i, text := range alike {
		batch := batchRecord(eventA, text, 1)
		batch.Quantity = int64(i + 1)
		if err := stocked(ctx, s, batch); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		refs = append(refs, ticketing.BuyerRef{CompanyID: companyA, Email: text})
		buyers = append(buyers, buyerRecord(companyA, text))
	}
	err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.PutBuyers(ctx, buyers) })
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		for i, text := range alike {
			count := ticketing.TierCount{
				TierRecord: tierRecord(eventA, text), Available: int64(i + 1), LowestPrice: batchRecord(eventA, "", 1).UnitPrice,
			}
			err := want(fmt.Sprintf("tier %q", text), []ticketing.TierCount{count}).
				from(tx.CountTiers(ctx, eventA, []string{text}))
			if err != nil {
				return err
			}
		}
		return want("buyers", buyers).from(tx.Buyers(ctx, refs))
	})
}

func timesKept(ctx context.Context, s ticketing.Store) error {
	lagos := time.FixedZone("WAT", 3600)
	for i, test := range []struct{ given, kept time.Time }{
		{time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)},
		{time.Date(2026, 1, 2, 0, 30, 0, 1_000_000, lagos), time.Date(2026, 1, 1, 23, 30, 0, 1_000_000, time.UTC)},
		{time.Date(2026, 1, 2, 3, 4, 5, 999_400_000, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 999_000_000, time.UTC)},
		{time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(1969, 12, 31, 23, 59, 59, 999_000_000, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999_000_000, time.UTC)},
		{time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)},
	} {
		company := companyRecord(id(100 + i))
		company.CreatedAt, company.UpdatedAt, company.Verification.GraceUntil = test.given, test.given, test.given
		err := update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
			return errors.Join(tx.CreateCompany(ctx, company), tx.AppendBranding(ctx, brandingRecord(company.ID, 1)))
		})
		if err != nil {
			return fmt.Errorf("keep %v: %w", test.given, err)
		}
		company.CreatedAt, company.UpdatedAt, company.Verification.GraceUntil = test.kept, test.kept, test.kept
		err = everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
			return want(test.given.String(), []ticketing.CompanyRecord{company}).
				from(tx.Companies(ctx, []uuid.UUID{company.ID}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func timesOfRecords(ctx context.Context, s ticketing.Store) error {
	given := time.Date(2026, 1, 2, 0, 30, 0, 1_234_567, time.FixedZone("WAT", 3600))
	kept := time.Date(2026, 1, 1, 23, 30, 0, 1_000_000, time.UTC)
	type times struct {
		event  ticketing.EventRecord
		batch  ticketing.BatchRecord
		order  ticketing.OrderRecord
		buyer  ticketing.BuyerRecord
		fact   ticketing.FactRecord
		rate   ticketing.RateRecord
		result ticketing.ResultRecord
	}
	made := func(when time.Time) times {
		all := times{
			eventRecord(ticketing.EventRef{CompanyID: companyA, ID: id(50)}), batchRecord(eventA, "a", 1),
			orderRecord(eventA, 1), buyerRecord(companyA, "a@example.com"), factRecord(companyA, 10, when),
			rateRecord(companyA, 20, 1, when), resultRecord(companyA, "key-1"),
		}
		all.event.EndsOn, all.event.CreatedAt, all.event.UpdatedAt = when, when, when
		all.batch.CreatedAt, all.rate.CreatedAt, all.result.CreatedAt = when, when, when
		all.order.ConfirmedAt, all.order.CreatedAt = when, when
		all.buyer.CreatedAt, all.buyer.UpdatedAt = when, when
		return all
	}
	put, found := made(given), made(kept)
	if err := stocked(ctx, s, put.batch); err != nil {
		return err
	}
	err := update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		return errors.Join(
			tx.CreateEvent(ctx, put.event), tx.AppendOrders(ctx, []ticketing.OrderRecord{put.order}),
			tx.PutBuyers(ctx, []ticketing.BuyerRecord{put.buyer}), tx.AppendFacts(ctx, []ticketing.FactRecord{put.fact}),
			tx.AppendRate(ctx, put.rate), tx.AppendResults(ctx, []ticketing.ResultRecord{put.result}),
		)
	})
	if err != nil {
		return err
	}
	return share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		return errors.Join(
			want("event", found.event).from(tx.FindEvent(ctx, found.event.ID)),
			want("batch", []ticketing.BatchRecord{found.batch}).from(tx.LockOpenBatches(ctx, eventA, nil)),
			want("order", []ticketing.OrderRecord{found.order}).
				from(tx.ListOrders(ctx, ticketing.OrderQuery{CompanyID: companyA, Limit: 9})),
			want("buyer", []ticketing.BuyerRecord{found.buyer}).
				from(tx.Buyers(ctx, []ticketing.BuyerRef{{CompanyID: companyA, Email: found.buyer.Email}})),
			want("fact", []ticketing.FactRecord{found.fact}).from(tx.ListFacts(ctx, companyA, ticketing.Position{}, 9)),
			want("rate", []ticketing.RateRecord{found.rate}).from(tx.ListRates(ctx, companyA, 9)),
			want("result", []ticketing.ResultRecord{found.result}).
				from(tx.Results(ctx, []ticketing.ResultRef{found.result.ResultRef})),
		)
	})
}

func zeroTimes(ctx context.Context, s ticketing.Store) error {
	company, event := companyRecord(companyA), eventRecord(eventA)
	company.Verification.ApprovalExpiresAt, company.Verification.GraceUntil = time.Time{}, time.Time{}
	event.EndsOn = time.Time{}
	key := apiKeyRecord(companyA, 30, at(0)) // Never used, not revoked.
	err := update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		return errors.Join(
			tx.UpdateCompany(ctx, company), tx.UpdateEvent(ctx, event), tx.CreateAPIKey(ctx, key),
			tx.AppendAdmissions(ctx, []ticketing.AdmissionRecord{admissionRecord(eventA, 1, 1)}),
		)
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		keys, err := tx.FindAPIKeys(ctx, []uuid.UUID{key.ID})
		err = errors.Join(
			want("company", []ticketing.CompanyRecord{company}).from(tx.Companies(ctx, []uuid.UUID{companyA})),
			want("event", event).from(tx.FindEvent(ctx, eventA.ID)),
			want("key", []ticketing.APIKeyRecord{key}).from(keys, err),
		)
		if err != nil {
			return err
		}
		return that(keys[0].LastUsedAt.IsZero() && keys[0].RevokedAt.IsZero(), "no time became a time")
	})
}
