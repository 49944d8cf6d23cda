package ticketing

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// ExportedList is a list that can be exported as a file.
type ExportedList string

// The lists of [Operator.RecordListExport], each with the permission that its export needs. A list of the platform has
// no company. Settlements are those of one company or of all.
const (
	ExportedSales       ExportedList = "sales"        // COMPANY:wallet:read
	ExportedEvents      ExportedList = "event"        // COMPANY:wallet:read, since it has what they have sold
	ExportedBuyers      ExportedList = "buyer"        // COMPANY:buyer:read
	ExportedMembers     ExportedList = "member"       // COMPANY:member:read
	ExportedAPIKeys     ExportedList = "api_key"      // COMPANY:api_key:read
	ExportedDeliveries  ExportedList = "webhook"      // COMPANY:webhook:read
	ExportedMails       ExportedList = "notification" // COMPANY:notification:read
	ExportedSettlements ExportedList = "settlement"   // COMPANY:settlement:read
	ExportedCommission  ExportedList = "commission"   // COMPANY:wallet:read
	ExportedInventory   ExportedList = "inventory"    // COMPANY:wallet:read, as the list of events
	ExportedEndpoints   ExportedList = "endpoint"     // COMPANY:webhook:read
	ExportedBrandings   ExportedList = "branding"     // COMPANY:branding:read
	ExportedAttempts    ExportedList = "attempt"      // COMPANY:webhook:read; of one delivery
	ExportedFundings    ExportedList = "float"        // COMPANY:audit:read, since it is made of the audit log
	ExportedCompanies   ExportedList = "company"      // tenant:read; of the platform
	ExportedStaff       ExportedList = "staff"        // tenant:read; of the platform
	ExportedCategories  ExportedList = "category"     // tenant:read; of the platform
	ExportedCases       ExportedList = "case"         // tenant:read; of the platform
	ExportedDeadLetters ExportedList = "dead_letter"  // tenant:read; of the platform
	ExportedBooks       ExportedList = "books"        // COMPANY:wallet:read; of the platform
	ExportedMoney       ExportedList = "money"        // COMPANY:wallet:read; of the platform
)

// Limits of the filter of an export.
const (
	maxExportFilters = 20
	maxExportFilter  = 500
)

// permission returns the permission to take a list away, empty for an unknown one, and reports whether a company, or
// the platform, has the list.
func (l ExportedList) permission(platform bool) (Permission, bool) {
	switch l {
	case ExportedSales, ExportedEvents, ExportedCommission, ExportedInventory:
		return PermissionWalletRead, !platform
	case ExportedBooks, ExportedMoney:
		return PermissionWalletRead, platform
	case ExportedFundings:
		return PermissionAuditRead, !platform
	case ExportedBuyers:
		return PermissionBuyerRead, !platform
	case ExportedMembers:
		return PermissionMemberRead, !platform
	case ExportedAPIKeys:
		return PermissionAPIKeyRead, !platform
	case ExportedBrandings:
		return PermissionBrandingRead, !platform
	case ExportedDeliveries, ExportedEndpoints, ExportedAttempts:
		return PermissionWebhookRead, !platform
	case ExportedMails:
		return PermissionNotificationRead, !platform
	case ExportedSettlements:
		return PermissionSettlementRead, true
	case ExportedCompanies, ExportedStaff, ExportedCategories, ExportedCases, ExportedDeadLetters:
		return PermissionTenantRead, platform
	case ExportedSessions, ExportedPasskeys: // See [Accounts.RecordExport].
	}
	return "", false
}

// The lists of [Accounts.RecordExport], which a person has of themselves.
const (
	ExportedSessions ExportedList = "session"
	ExportedPasskeys ExportedList = "passkey"
)

// RecordExport records in the audit log that a user exports a list of their own as a file. Another list is
// INVALID_REQUEST.
func (a Accounts) RecordExport(ctx context.Context, userID uuid.UUID, list ExportedList) error {
	if list != ExportedSessions && list != ExportedPasskeys {
		return Invalid(Violation{Message: "list: must be session or passkey"})
	}
	return a.update(ctx, func(ctx context.Context, tx driver.Tx, at time.Time) error {
		return a.as(userID).audit(ctx, tx, at, string(list)+".export", uuid.Nil, about("user", userID), changes{})
	})
}

// RecordListExport records in the audit log that the actor exports a list as a file: one of a company, or with the zero
// id one of the platform. The changes of the entry are the filter. Call it after the first rows are read, which checks
// the filter, and before they leave the server. It needs the permission of the list. A list that a company or the
// platform does not have is INVALID_REQUEST, and so is a filter of more than 20 members or 500 bytes in one.
//
// The log outlives the erasure of a buyer. So the entry records only that the filter had an email, not the email
// itself.
func (o Operator) RecordListExport(
	ctx context.Context, companyID uuid.UUID, list ExportedList, filter map[string]string,
) error {
	permission, known := list.permission(companyID == uuid.Nil)
	if permission != "" {
		if err := o.holds(permission); err != nil {
			return err
		}
	}
	if !known {
		return Invalid(Violation{Message: "list: must be one that is taken away here"})
	}
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	if len(filter) > maxExportFilters {
		return Invalid(Violation{Message: fmt.Sprintf("filter: must have at most %d members", maxExportFilters)})
	}
	kept := make(map[string]any, len(filter))
	for name, value := range filter {
		switch {
		case value == "":
		case len(name)+len(value) > maxExportFilter || !utf8.ValidString(name+value):
			return Invalid(Violation{Message: fmt.Sprintf("filter: must have at most %d bytes of text", maxExportFilter)})
		case name == "email" || strings.Contains(value, "@"),
			list == ExportedBuyers && (name == "prefix" || name == "q"):
			kept[name] = "an address"
		default:
			kept[name] = value
		}
	}
	return o.recordExport(ctx, permission, companyID, string(list), kept)
}
