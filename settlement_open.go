package ticketing

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// OpenSettlement is a settlement and the name of its company, such as one that waits to be paid or decided.
type OpenSettlement struct {
	Settlement

	CompanyName string `json:"companyName"`
}

// ListOpenSettlements returns a page of the settlements of all companies that are PENDING, PROCESSING or APPROVED
// (section 3.6), oldest first. A limit outside 1 to 100 is INVALID_REQUEST, a cursor of another listing INVALID_CURSOR.
// It needs COMPANY:settlement:read and is only for staff: an administrator of a company gets NOT_FOUND.
func (o Operator) ListOpenSettlements(ctx context.Context, params PageParams) (Page[OpenSettlement], error) {
	if err := o.allow(PermissionSettlementRead, uuid.Nil); err != nil {
		return Page[OpenSettlement]{}, err
	}
	list, err := openListing(byTime(func(s driver.Settlement) driver.Position {
		return driver.Position{At: s.RequestedAt, ID: s.CompanyID}
	}), params, nil, "open settlements")
	if err != nil {
		return Page[OpenSettlement]{}, err
	}
	var page Page[OpenSettlement]
	err = o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		records, err := tx.ListOpenSettlements(ctx, list.after, list.limit)
		if err != nil {
			return err
		}
		records, page.HasMore, page.NextCursor = list.cut(records)
		page.Items, err = nameSettlements(ctx, tx, records)
		return err
	})
	if err != nil {
		return Page[OpenSettlement]{}, err
	}
	return page, nil
}

// nameSettlements renders settlements with the names of their companies, in two reads for any number of them.
func nameSettlements(
	ctx context.Context, tx driver.ReadTx, records []driver.Settlement,
) ([]OpenSettlement, error) {
	shown, err := showSettlements(ctx, tx, records)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(records))
	for i, record := range records {
		ids[i] = record.CompanyID
	}
	names, err := companyNames(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	named := make([]OpenSettlement, len(records))
	for i := range records {
		named[i] = OpenSettlement{Settlement: shown[i], CompanyName: names[i]}
	}
	return named, nil
}

// SettlementRef names a settlement.
type SettlementRef = driver.SettlementRef

// GetSettlements returns settlements of any companies with the companies' names, in the order of the references. It
// leaves out those that do not exist. It makes three reads, however many references there are. It needs
// COMPANY:settlement:read and is only for staff: an administrator of a company gets NOT_FOUND.
func (o Operator) GetSettlements(ctx context.Context, refs []SettlementRef) ([]OpenSettlement, error) {
	if err := o.allow(PermissionSettlementRead, uuid.Nil); err != nil {
		return nil, err
	}
	var found []OpenSettlement
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		records, err := tx.Settlements(ctx, refs)
		if err != nil {
			return err
		}
		records = slices.DeleteFunc(records, func(s driver.Settlement) bool { return s.ID == uuid.Nil })
		found, err = nameSettlements(ctx, tx, records)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
