package ticketing_test

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// exportRights are the exports of lists, one for each permission.
func exportRights() []right {
	var rights []right
	for list, permission := range map[ticketing.ExportedList]ticketing.Permission{
		ticketing.ExportedSales:       ticketing.PermissionWalletRead,
		ticketing.ExportedBuyers:      ticketing.PermissionBuyerRead,
		ticketing.ExportedMembers:     ticketing.PermissionMemberRead,
		ticketing.ExportedAPIKeys:     ticketing.PermissionAPIKeyRead,
		ticketing.ExportedDeliveries:  ticketing.PermissionWebhookRead,
		ticketing.ExportedMails:       ticketing.PermissionNotificationRead,
		ticketing.ExportedSettlements: ticketing.PermissionSettlementRead,
		ticketing.ExportedCompanies:   ticketing.PermissionTenantRead,
		ticketing.ExportedCommission:  ticketing.PermissionWalletRead,
		ticketing.ExportedInventory:   ticketing.PermissionWalletRead,
		ticketing.ExportedEndpoints:   ticketing.PermissionWebhookRead,
		ticketing.ExportedFundings:    ticketing.PermissionAuditRead,
		ticketing.ExportedCategories:  ticketing.PermissionTenantRead,
		ticketing.ExportedBooks:       ticketing.PermissionWalletRead,
		ticketing.ExportedMoney:       ticketing.PermissionWalletRead,
	} {
		platform := slices.Contains([]ticketing.ExportedList{
			ticketing.ExportedCompanies, ticketing.ExportedCategories, ticketing.ExportedBooks, ticketing.ExportedMoney,
		}, list)
		rights = append(rights, right{
			method: "RecordListExport", action: string(list) + ".export", permission: permission, platform: platform,
			list: list,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				if platform {
					own.company = uuid.Nil
				}
				return o.RecordListExport(ctx, own.company, list, nil)
			},
		})
	}
	return rights
}
