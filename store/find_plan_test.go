package store_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// findReads returns the statements that find records of all companies.
func findReads(ctx context.Context, tx driver.ReadTx) []func() error {
	const limit = 10
	kinds := []driver.RecordKind{
		driver.RecordCompany, driver.RecordEvent, driver.RecordOrder, driver.RecordAdmission, driver.RecordAPIKey,
		driver.RecordWebhookEndpoint, driver.RecordDelivery, driver.RecordSettlement, driver.RecordRate,
		driver.RecordMember, driver.RecordStaff,
	}
	var calls []func() error
	for _, of := range []uuid.UUID{{}, company} {
		calls = append(calls,
			func() error {
				_, err := tx.FindRecords(ctx, driver.RecordQuery{
					ID: number(base + 7), Kinds: kinds, CompanyID: of, Members: limit,
				})
				return err
			},
			func() error {
				_, err := tx.SearchEvents(ctx, driver.EventSearch{CompanyID: of, Prefix: "night 1", Limit: limit})
				return err
			},
		)
	}
	for _, after := range []driver.OrderNumber{{}, {CompanyID: company, Number: 1100}, {CompanyID: company}} {
		calls = append(calls, func() error {
			_, err := tx.FindBuyerOrders(ctx, "ada@example.com", after, limit)
			return err
		})
	}
	return append(calls,
		func() error { _, err := tx.FindFloatCredits(ctx, "r", limit); return err },
		func() error { _, err := tx.FindAuditEntry(ctx, number(base+7)); return err },
	)
}
