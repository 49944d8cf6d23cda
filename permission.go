package ticketing

import (
	"slices"

	"github.com/floatgate/ticketing/driver"
)

// Permission is one right on the operator plane. None of them can be placed on a public API key: those carry a [Grant]
// (section 5). COMPANY:order:read is also the name of a grant, which a key uses on the data plane alone.
type Permission string

// The permissions of a company's administrators, for their own company. The names are those of the contract where it
// has them (sections 1, 5.1 and 6.5).
const (
	PermissionKYBRead           Permission = "COMPANY:kyb:read"
	PermissionKYBManage         Permission = "COMPANY:kyb:manage" // edit the draft of a case
	PermissionKYBSubmit         Permission = "COMPANY:kyb:submit" // submit a case to staff
	PermissionAPIKeyRead        Permission = "COMPANY:api_key:read"
	PermissionAPIKeyManage      Permission = "COMPANY:api_key:manage"
	PermissionBrandingRead      Permission = "COMPANY:branding:read"
	PermissionBrandingManage    Permission = "COMPANY:branding:manage"
	PermissionWebhookRead       Permission = "COMPANY:webhook:read"
	PermissionWebhookManage     Permission = "COMPANY:webhook:manage"
	PermissionWebhookReplay     Permission = "COMPANY:webhook:replay" // deliver events again (section 6.5)
	PermissionWalletRead        Permission = "COMPANY:wallet:read"
	PermissionSettlementRead    Permission = "COMPANY:settlement:read"
	PermissionSettlementRequest Permission = "COMPANY:settlement:request" // request a payout and set the bank account
	PermissionMemberRead        Permission = "COMPANY:member:read"
	PermissionMemberManage      Permission = "COMPANY:member:manage"
	PermissionBuyerRead         Permission = "COMPANY:buyer:read"
	PermissionBuyerErase        Permission = "COMPANY:buyer:erase" // remove a buyer's personal data
	PermissionAuditRead         Permission = "COMPANY:audit:read"
	PermissionCompanyOrderRead  Permission = "COMPANY:order:read"
	PermissionNotificationRead  Permission = "COMPANY:notification:read"
	// PermissionNotificationResend sends ticket mails again.
	PermissionNotificationResend Permission = "COMPANY:notification:resend"
)

// The permissions of platform staff, for every company. An administrator of a company can never hold one.
const (
	PermissionFloatCredit        Permission = "tenant_float:credit"        // fund FLOAT (section 2.9, item 2)
	PermissionCommissionSchedule Permission = "tenant_commission:schedule" // add commission rates (section 2.9, item 1)
	PermissionKYBDecide          Permission = "tenant_kyb:decide"          // approve, reject or revoke, and grant grace
	PermissionSettlementDecide   Permission = "tenant_settlement:decide"   // approve or reject a payout (section 3.6)
	PermissionOrderRead          Permission = "tenant_order:read"
	PermissionOrderRefund        Permission = "tenant_order:refund" // refund or cancel an order
	PermissionStaffManage        Permission = "tenant_staff:manage" // who works for the platform, and as what
	PermissionTenantRead         Permission = "tenant:read"         // what belongs to no company, and all companies
	PermissionManage             Permission = "tenant:manage"       // everything else of the platform
)

// Role is the role of a user in a company: a set of permissions, which [PermissionRules] lists.
type Role = driver.Role

// The roles of a company's members.
const (
	// RoleOwner holds every permission of a company.
	RoleOwner = driver.RoleOwner
	// RoleAdministrator runs the company, but neither requests payouts nor manages members.
	RoleAdministrator = driver.RoleAdministrator
	// RoleViewer reads everything and changes nothing.
	RoleViewer = driver.RoleViewer
)

// PermissionRule is a row of the table of permissions. A test walks over every method of [Operator] and compares it
// with the table.
type PermissionRule struct {
	Permission Permission
	// Staff reports whether only platform staff can hold the permission. The other permissions are for a company's
	// administrators, in their own company. Staff may hold those, too, and then for every company.
	Staff bool
	// Roles are the roles in a company that hold the permission; none for a permission of staff.
	Roles []Role
	// StaffRoles are the roles on the platform that hold the permission, for every company.
	StaffRoles []StaffRole
	// Methods are the methods of [Operator] that require the permission. A method of two permissions requires one of
	// them; ListAudit and RecordAuditExport require COMPANY:audit:read for a company, and one of the others for all, and
	// so does Find with those of orders and tenant:read. RecordListExport requires the one of its list. PlatformSales
	// requires both of its own.
	Methods []string
}

// PermissionRules returns the whole table of permissions: those of companies, then those of staff. This table alone
// assigns permissions to roles and to the methods of [Operator]. The caller may change the result.
//
// Only owners manage members and request payouts. Funding, commission, decisions and refunds are for staff: no company
// credential can fund its own FLOAT or set its own rate (section 1, item 4). Only administrators of the platform fund
// FLOAT (section 2.9, item 2), touch keys, webhooks, bank accounts and personal data of a company, and manage staff.
func PermissionRules() []PermissionRule {
	viewers := []Role{RoleOwner, RoleAdministrator, RoleViewer}
	administrators := []Role{RoleOwner, RoleAdministrator}
	owners := []Role{RoleOwner}
	everybody := []StaffRole{StaffAdministrator, StaffFinance, StaffOnboarding, StaffSupport, StaffAuditor}
	platform := []StaffRole{StaffAdministrator}
	finance := []StaffRole{StaffAdministrator, StaffFinance}
	onboarding := []StaffRole{StaffAdministrator, StaffOnboarding}
	support := []StaffRole{StaffAdministrator, StaffSupport}
	commission := []StaffRole{StaffAdministrator, StaffFinance, StaffOnboarding}
	return []PermissionRule{
		{
			Permission: PermissionKYBRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{"GetCompany", "GetVerification", "Readiness"},
		},
		{
			Permission: PermissionKYBManage, Roles: administrators, StaffRoles: onboarding,
			Methods: []string{"UpdateVerification"},
		},
		{
			Permission: PermissionKYBSubmit, Roles: administrators, StaffRoles: onboarding,
			Methods: []string{"SubmitVerification"},
		},
		{
			Permission: PermissionAPIKeyRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{"GetAPIKey", "ListAPIKeys", "RecordListExport"},
		},
		{
			Permission: PermissionAPIKeyManage, Roles: administrators, StaffRoles: platform,
			Methods: []string{"IssueAPIKey", "RotateAPIKey", "RevokeAPIKey"},
		},
		{
			Permission: PermissionBrandingRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{"GetBranding", "ListBrandings", "PreviewTicketMail"},
		},
		{
			Permission: PermissionBrandingManage, Roles: administrators, StaffRoles: onboarding,
			Methods: []string{"UpdateBranding"},
		},
		{
			Permission: PermissionWebhookRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{
				"GetWebhookEndpoint", "ListWebhookEndpoints", "GetDelivery", "ListDeliveries", "CountDeliveries",
				"CountDeliveriesTo",
				"TailWebhooks", "GetMessage", "EndpointHealth", "RecordListExport",
			},
		},
		{
			Permission: PermissionWebhookManage, Roles: administrators, StaffRoles: platform,
			Methods: []string{
				"CreateWebhookEndpoint", "UpdateWebhookEndpoint", "EnableWebhookEndpoint", "DisableWebhookEndpoint",
				"DeleteWebhookEndpoint", "PrepareWebhookSecret", "ActivateWebhookSecret", "TriggerWebhook",
			},
		},
		{
			Permission: PermissionWebhookReplay, Roles: administrators, StaffRoles: support,
			Methods: []string{"ReplayDelivery", "ReplayDeliveries"},
		},
		{
			Permission: PermissionWalletRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{
				"GetWallets", "Dashboard", "ListCommissionRates", "Ledger", "Statement", "VerifyLedger",
				"ExportLedger", "ListBookChecks", "ListMovements", "Balances", "Sales", "EventSales", "PlatformSales",
				"RecordMovementExport", "RecordStatementExport", "RecordLedgerExport", "RecordListExport",
			},
		},
		{
			Permission: PermissionSettlementRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{
				"GetBankAccount", "GetSettlement", "GetSettlements", "ListSettlements", "ListOpenSettlements",
				"RecordListExport",
			},
		},
		{
			Permission: PermissionSettlementRequest, Roles: owners, StaffRoles: platform,
			Methods: []string{"SetBankAccount", "RequestSettlement"},
		},
		{
			Permission: PermissionMemberRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{"ListMembers", "RecordListExport"},
		},
		{
			Permission: PermissionMemberManage, Roles: owners, StaffRoles: onboarding,
			Methods: []string{"AddMember", "InviteMember", "InviteMemberByMail", "UpdateMember", "RemoveMember"},
		},
		{
			Permission: PermissionBuyerRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{"GetBuyer", "ListBuyers", "PreviewErasure", "RecordListExport"},
		},
		{
			Permission: PermissionBuyerErase, Roles: administrators, StaffRoles: platform,
			Methods: []string{"EraseBuyer", "PreviewErasure"},
		},
		{
			Permission: PermissionAuditRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{"ListAudit", "RecordAuditExport", "RecordListExport"},
		},
		{
			Permission: PermissionCompanyOrderRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{"GetOrder", "FindOrder", "ListOrders", "ExportOrders", "RecordOrderExport", "Find"},
		},
		{
			Permission: PermissionNotificationRead, Roles: viewers, StaffRoles: everybody,
			Methods: []string{"GetNotifications", "ListNotifications", "PreviewNotification", "RecordListExport"},
		},
		{
			Permission: PermissionNotificationResend, Roles: administrators, StaffRoles: support,
			Methods: []string{"ResendNotification", "ResendNotifications", "CountResends"},
		},

		{Permission: PermissionFloatCredit, Staff: true, StaffRoles: platform, Methods: []string{"CreditFloat"}},
		{
			Permission: PermissionCommissionSchedule, Staff: true, StaffRoles: commission,
			Methods: []string{"ScheduleCommission"},
		},
		{
			Permission: PermissionKYBDecide, Staff: true, StaffRoles: onboarding,
			Methods: []string{
				"ApproveVerification", "RejectVerification", "GrantGrace", "EndGrace", "RevokeVerification",
			},
		},
		{
			Permission: PermissionSettlementDecide, Staff: true, StaffRoles: finance,
			Methods: []string{"ApproveSettlement", "RejectSettlement"},
		},
		{
			Permission: PermissionOrderRead, Staff: true, StaffRoles: everybody,
			Methods: []string{"GetOrder", "FindOrder", "ListOrders", "ExportOrders", "RecordOrderExport", "Find"},
		},
		{
			Permission: PermissionOrderRefund, Staff: true, StaffRoles: finance,
			Methods: []string{"RefundOrder", "CancelOrder"},
		},
		{
			Permission: PermissionStaffManage, Staff: true, StaffRoles: platform,
			Methods: []string{"AddStaff", "UpdateStaff", "RemoveStaff"},
		},
		{
			Permission: PermissionTenantRead, Staff: true, StaffRoles: everybody,
			Methods: []string{
				"ListCompanies", "FindCompany", "ListCategories", "ListAudit", "GetMailSender", "SampleTicketMail", "ListStaff",
				"ListSubmittedCases", "LowFloats", "CountDeadLetters", "Backlog", "RecordAuditExport",
				"CompanyNames", "RecordListExport", "Find", "PlatformSales",
			},
		},
		{
			Permission: PermissionManage, Staff: true, StaffRoles: onboarding,
			Methods: []string{
				"CreateCompany", "RenameCompany", "SuspendCompany", "ActivateCompany",
				"SuspendWallet", "ActivateWallet", "CreateCategory", "ListCategories", "DeactivateCategory",
				"EndEvent", "ListAudit", "ReencryptBankAccounts", "ReencryptWebhookSecrets", "SetMailSender",
				"GetMailSender", "RemoveMailSender", "SampleTicketMail", "ListStaff", "RecordAuditExport",
				"RebuildSales",
			},
		},
	}
}

// AllPermissions returns every permission: those of companies, then those of staff. Staff of a host that trusts itself
// hold all of them, see [Staff].
func AllPermissions() []Permission {
	rules := PermissionRules()
	all := make([]Permission, len(rules))
	for i, rule := range rules {
		all[i] = rule.Permission
	}
	return all
}

// forStaff reports whether no administrator of a company can hold the permission. It is also true for a name that is
// not in the table, so that an unknown permission is never granted to a company. The check protects against a host that
// lists a permission of staff for an administrator by mistake.
func (p Permission) forStaff() bool {
	return !slices.ContainsFunc(PermissionRules(), func(rule PermissionRule) bool {
		return rule.Permission == p && !rule.Staff
	})
}
