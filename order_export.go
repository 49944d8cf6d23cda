package ticketing

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
)

// RecordOrderExport appends to the audit log that the actor takes a company's orders away as a file. The entry has the
// filter as its changes. Call it before the first row leaves the server. It needs the permission of
// [Operator.ListOrders], and refuses the same filters.
//
// The log outlives the erasure of a buyer, so the entry says that there was an email, and not which.
func (o Operator) RecordOrderExport(ctx context.Context, companyID uuid.UUID, search OrderSearch) error {
	permission := o.readsOrders()
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	if companyID == uuid.Nil {
		return errNoCompany
	}
	var v violations
	search.check(&v)
	if err := v.err(); err != nil {
		return err
	}
	return o.recordExport(ctx, permission, companyID, "order", search.exported())
}

// check checks a search, and changes it to what is compared: its statuses sorted, its email in lower case.
func (s *OrderSearch) check(v *violations) {
	s.Statuses = s.statuses(v)
	s.Email = email(v, "email", s.Email, maxBuyerEmail)
	checkNamedPeriod(v, "from", &s.From, "to", &s.To)
}

// exported returns the search as the entry of an export keeps it.
func (s *OrderSearch) exported() map[string]any {
	kept := map[string]any{}
	if s.Email != "" {
		kept["email"] = "an address"
	}
	if s.EventID != uuid.Nil {
		kept["event"] = s.EventID
	}
	if len(s.Statuses) > 0 {
		kept["status"] = strings.TrimSuffix(joined(s.Statuses), ",")
	}
	for name, at := range map[string]time.Time{"from": s.From, "to": s.To} {
		if !at.IsZero() {
			kept[name] = Time{Time: at}
		}
	}
	return kept
}
