package storetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// awkward is a text that only an exact store returns unchanged: quotes, a backslash, wildcards, white space at the end,
// two forms of one letter, and characters on both sides of U+FFFF.
const awkward = `"Ọjà" 'n' \ \\ % _ ? :x $1 é ` + "e\u0301 \uFFFD 😀\n\t "

// Two companies, an event of each, and a category, which most checks create first.
var (
	companyA = id(1)
	companyB = id(2)
	eventA   = driver.EventRef{CompanyID: companyA, ID: id(3)}
	eventB   = driver.EventRef{CompanyID: companyB, ID: id(4)}
	category = id(5)
)

// id returns the n-th id: ids are ordered as their numbers are.
func id(n int) uuid.UUID {
	var made uuid.UUID
	binary.BigEndian.PutUint64(made[:8], 0x0102030405064708)
	binary.BigEndian.PutUint64(made[8:], 0x8000000000000000+uint64(n))
	return made
}

// at returns a time with milliseconds; at(n) is n milliseconds after at(0).
func at(n int) time.Time {
	return time.Date(2026, time.March, 4, 5, 6, 7, 89_000_000, time.UTC).Add(time.Duration(n) * time.Millisecond)
}

// ground creates the records that others refer to.
func ground(ctx context.Context, s driver.Store) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return steps(
			func() error { return tx.CreateCategory(ctx, newCategory(category, "ground")) },
			func() error { return tx.CreateCompany(ctx, newCompany(companyA)) },
			func() error { return tx.CreateCompany(ctx, newCompany(companyB)) },
			func() error { return tx.AppendBranding(ctx, newBranding(companyA, 1)) },
			func() error { return tx.AppendBranding(ctx, newBranding(companyB, 1)) },
			func() error { return tx.CreateEvent(ctx, newEvent(eventA)) },
			func() error { return tx.CreateEvent(ctx, newEvent(eventB)) },
		)
	})
	if err != nil {
		return fmt.Errorf("make two companies with an event each: %w", err)
	}
	return nil
}

// grounded returns a check that runs after ground.
func grounded(run func(ctx context.Context, s driver.Store) error) func(context.Context, driver.Store) error {
	return func(ctx context.Context, s driver.Store) error {
		if err := ground(ctx, s); err != nil {
			return err
		}
		return run(ctx, s)
	}
}

func newCompany(id uuid.UUID) driver.Company {
	return driver.Company{
		ID: id, Name: awkward, Status: driver.CompanyActive,
		Verification: driver.Verification{
			Status: driver.VerificationApproved, ApprovalExpiresAt: at(9000), Reason: awkward,
		},
		BrandingVersion: 1, WebhookEndpoints: 12, CreatedAt: at(0), UpdatedAt: at(1),
	}
}

func newBranding(companyID uuid.UUID, version int64) driver.Branding {
	return driver.Branding{
		CompanyID: companyID, Version: version, BrandName: awkward, LogoURL: "https://example.com/%20a.png",
		PrimaryColor: "#111827", AccentColor: "#2563EB", CheckoutFooter: awkward, EmailFooter: awkward,
		SupportEmail: "help@example.com", CreatedAt: at(2),
	}
}

func newRate(companyID uuid.UUID, n int, position int64, from time.Time) driver.Rate {
	rate, err := money.ParseRate("2.000000000005", money.Percent)
	if err != nil {
		panic(err)
	}
	return driver.Rate{
		CompanyID: companyID, ID: id(n), Position: position, Rate: rate, EffectiveFrom: from, CreatedAt: at(3),
	}
}

func newAPIKey(companyID uuid.UUID, n int, created time.Time) driver.APIKey {
	return driver.APIKey{
		CompanyID: companyID, ID: id(n), Name: awkward,
		Grants: []driver.Grant{driver.GrantTicketValidate, driver.GrantEventRead},
		Status: driver.APIKeyActive, Digest: fmt.Sprintf("v1.key.%d", n), CreatedAt: created,
	}
}

func newCategory(id uuid.UUID, slug string) driver.Category {
	return driver.Category{
		ID: id, Name: awkward, Slug: slug, Status: driver.CategoryActive, CreatedAt: at(4),
	}
}

func newEvent(ref driver.EventRef) driver.Event {
	return driver.Event{
		CompanyID: ref.CompanyID, ID: ref.ID, Title: awkward, Description: awkward, Status: driver.EventDraft,
		Date: "2026-12-31", StartsAt: "20:00", EndsAt: "02:30", Timezone: "Africa/Lagos", Location: awkward,
		Venue: awkward, ImageURL: "https://example.com/%E2%82%A6.png", OrganizerName: awkward, CategoryID: category,
		TicketCategories: []string{awkward, "a", "B", "with, comma", `{"json"}`}, EndsOn: at(5000),
		CreatedAt: at(5), UpdatedAt: at(6),
	}
}

func newTier(event driver.EventRef, tier string) driver.Tier {
	return driver.Tier{CompanyID: event.CompanyID, EventID: event.ID, Name: tier}
}

func newBatch(event driver.EventRef, tier string, position int) driver.Batch {
	return driver.Batch{
		CompanyID: event.CompanyID, EventID: event.ID, Tier: tier, Position: position, Title: awkward,
		Description: awkward, UnitPrice: money.MaxInput, Status: driver.InventoryAvailable, Quantity: 10,
		CreatedAt: at(7),
	}
}

func newOrder(event driver.EventRef, number int64) driver.Order {
	return driver.Order{
		CompanyID: event.CompanyID, Number: number, ID: id(100_000 + int(number)), EventID: event.ID,
		Status: driver.OrderConfirmed, Gross: 50 * money.MaxInput, Commission: 7, RateID: id(6), Branding: 1,
		FloatBefore: money.MaxBalance, EarningsBefore: 3, BuyerEmail: "ada@example.com", BuyerFullname: awkward,
		BuyerPhone: "+234 801 234 5678", ConfirmedAt: at(int(number)), CreatedAt: at(int(number) + 1),
	}
}

func newAdmission(event driver.EventRef, order int64, line int) driver.Admission {
	n := 200_000 + int(order)*100 + line
	return driver.Admission{
		CompanyID: event.CompanyID, OrderNumber: order, Line: line, ID: id(n), LineID: id(n + 1_000_000),
		OrderID: id(100_000 + int(order)), EventID: event.ID, Tier: awkward, Batch: 1, Title: awkward,
		UnitPrice: money.MaxInput,
	}
}

func newBuyer(companyID uuid.UUID, email string) driver.Buyer {
	return driver.Buyer{
		CompanyID: companyID, Email: email, Fullname: awkward, Phone: "0801", CreatedAt: at(8), UpdatedAt: at(9),
	}
}

func newWallet(companyID uuid.UUID, wallet ledger.Wallet) driver.Wallet {
	return driver.Wallet{
		CompanyID: companyID, Kind: wallet, Status: driver.WalletActive, Currency: money.Currency,
		Hash: ledger.Genesis(companyID, wallet).Hash,
	}
}

// entries returns the first entries of a wallet, each a credit of its sequence number in kobo.
func entries(companyID uuid.UUID, wallet ledger.Wallet, count int) []ledger.Entry {
	head := ledger.Genesis(companyID, wallet)
	made := make([]ledger.Entry, count)
	for i := range made {
		entry, next, err := head.Append(ledger.FloatCredit, money.Amount(i+1), fmt.Sprintf("~REF-%d!", i+1), at(i))
		if err != nil {
			panic(err)
		}
		made[i], head = entry, next
	}
	return made
}

func newFloatCredit(companyID uuid.UUID, reference string) driver.FloatCredit {
	return driver.FloatCredit{CompanyID: companyID, Reference: reference, Amount: money.MaxInput, Sequence: 1}
}

func newFact(companyID uuid.UUID, n int, when time.Time) driver.Fact {
	return driver.Fact{
		CompanyID: companyID, At: when, ID: id(n), Type: driver.FactOrderCreated, Subject: id(n + 1),
		Endpoints: int64(n),
	}
}

func newAuditEntry(companyID uuid.UUID, n int, when time.Time) driver.AuditEntry {
	return driver.AuditEntry{
		CompanyID: companyID, At: when, ID: id(n), Actor: awkward, Action: "float.credit", Subject: awkward,
		Changes: `{"b":{"before":  null,"after":"₦ \u00e9"},"a":1}`,
	}
}

func resultRef(companyID uuid.UUID, key string) driver.IdempotencyKey {
	return driver.IdempotencyKey{CompanyID: companyID, Operation: "checkouts.create", Key: key}
}

func newResult(companyID uuid.UUID, key string) driver.IdempotencyResult {
	return driver.IdempotencyResult{
		IdempotencyKey: resultRef(companyID, key), Digest: "v1.abc", Outcome: "VALIDATED", Subject: id(7),
		Body: []byte(`{"b":  1,"a":"₦"}`), CreatedAt: at(10),
	}
}
