package ticketing

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// FindOrder returns the order of a company that a text names: by its id, by the id of one of its admissions, or by the
// code that a ticket shows, see [ParseAdmissionCode]. White space around the text is ignored.
//
// A text that is none of these is INVALID_REQUEST. It is NOT_FOUND if the company has no such order or admission, and
// for a code whose event is not that of the admission. It needs tenant_order:read or COMPANY:order:read.
func (o Operator) FindOrder(ctx context.Context, companyID uuid.UUID, text string) (OrderDetail, error) {
	permission := o.readsOrders()
	if err := o.allow(permission, companyID); err != nil {
		return OrderDetail{}, err
	}
	text = strings.TrimSpace(text)
	var eventID uuid.UUID // of a code
	id, err := ParseID(text)
	if err != nil {
		if eventID, id, err = ParseAdmissionCode(text); err != nil {
			return OrderDetail{}, Invalid(Violation{
				Message: "text: must be the id of an order or of an admission, or the code of a ticket",
			})
		}
	}
	var shown OrderDetail
	err = o.snapshot(ctx, permission, companyID, func(ctx context.Context, tx driver.ReadTx) error {
		ref := driver.OrderRef{CompanyID: companyID, ID: id}
		admission, err := firstRecord(tx.Admissions(ctx, []driver.AdmissionRef{{CompanyID: companyID, ID: id}}))
		switch {
		case err != nil:
			return err
		case admission.ID != uuid.Nil && (eventID == uuid.Nil || eventID == admission.EventID):
			ref = admission.OrderRef()
		case eventID != uuid.Nil:
			return errOrderNotFound
		}
		record, err := firstRecord(tx.Orders(ctx, []driver.OrderRef{ref}))
		if err != nil {
			return err
		}
		if record.ID == uuid.Nil {
			return errOrderNotFound
		}
		shown, err = firstRecord(showDetails(ctx, tx, []driver.Order{record}))
		return err
	})
	if err != nil {
		return OrderDetail{}, err
	}
	return shown, nil
}
