package ticketing

import "slices"

// Permission is one right on the operator's plane. None of them can be placed on a public API key.
type Permission string

// The permissions of a company's administrators, for their own company.
const (
	PermissionKYBRead           Permission = "COMPANY:kyb:read"
	PermissionKYBManage         Permission = "COMPANY:kyb:manage"
	PermissionKYBSubmit         Permission = "COMPANY:kyb:submit"
	PermissionAPIKeyRead        Permission = "COMPANY:api_key:read"
	PermissionAPIKeyManage      Permission = "COMPANY:api_key:manage"
	PermissionBrandingRead      Permission = "COMPANY:branding:read"
	PermissionBrandingManage    Permission = "COMPANY:branding:manage"
	PermissionWebhookRead       Permission = "COMPANY:webhook:read"
	PermissionWebhookManage     Permission = "COMPANY:webhook:manage"
	PermissionWebhookReplay     Permission = "COMPANY:webhook:replay"
	PermissionWalletRead        Permission = "COMPANY:wallet:read"
	PermissionSettlementRead    Permission = "COMPANY:settlement:read"
	PermissionSettlementRequest Permission = "COMPANY:settlement:request"
	PermissionMemberRead        Permission = "COMPANY:member:read"
	PermissionMemberManage      Permission = "COMPANY:member:manage"
	PermissionBuyerRead         Permission = "COMPANY:buyer:read"
	PermissionBuyerErase        Permission = "COMPANY:buyer:erase"
	PermissionAuditRead         Permission = "COMPANY:audit:read"
)

// The permissions of platform staff, for every company.
const (
	PermissionFloatCredit        Permission = "tenant_float:credit"
	PermissionCommissionSchedule Permission = "tenant_commission:schedule"
	PermissionKYBDecide          Permission = "tenant_kyb:decide"
	PermissionSettlementDecide   Permission = "tenant_settlement:decide"
	PermissionOrderRead          Permission = "tenant_order:read"
	PermissionOrderRefund        Permission = "tenant_order:refund"
	PermissionManage             Permission = "tenant:manage"
)

// Role is what a user is in a company. It stands for permissions.
type Role string

// The roles of a company's members.
const (
	// RoleOwner may do everything that a company's people may.
	RoleOwner Role = "OWNER"
	// RoleAdministrator runs the company, and neither asks for its money nor chooses its members.
	RoleAdministrator Role = "ADMINISTRATOR"
	// RoleViewer sees everything and changes nothing.
	RoleViewer Role = "VIEWER"
)

// PermissionRule is a row of the table of permissions.
type PermissionRule struct {
	Permission Permission
	// Staff tells that platform staff alone can hold it. The others are those of a company's administrators for their
	// own company; staff may hold them, too, and then for every company.
	Staff bool
	// Roles are those whose members hold it.
	Roles []Role
	// Methods are the methods of [Operator] that ask for it.
	Methods []string
}

// PermissionRules is the table of permissions, whole: those of companies, then those of staff.
func PermissionRules() []PermissionRule {
	viewers := []Role{RoleOwner, RoleAdministrator, RoleViewer}
	administrators := []Role{RoleOwner, RoleAdministrator}
	owners := []Role{RoleOwner}
	return []PermissionRule{
		{Permission: PermissionKYBRead, Roles: viewers, Methods: []string{"GetCompany", "GetVerification"}},
		{Permission: PermissionKYBManage, Roles: administrators, Methods: []string{"UpdateVerification"}},
		{Permission: PermissionKYBSubmit, Roles: administrators, Methods: []string{"SubmitVerification"}},
		{Permission: PermissionAPIKeyRead, Roles: viewers, Methods: []string{"GetAPIKey", "ListAPIKeys"}},
		{
			Permission: PermissionAPIKeyManage, Roles: administrators,
			Methods: []string{"IssueAPIKey", "RotateAPIKey", "RevokeAPIKey"},
		},
		{Permission: PermissionBrandingRead, Roles: viewers, Methods: []string{"GetBranding"}},
		{Permission: PermissionBrandingManage, Roles: administrators, Methods: []string{"UpdateBranding"}},
		{
			Permission: PermissionWebhookRead, Roles: viewers,
			Methods: []string{
				"GetWebhookEndpoint", "ListWebhookEndpoints", "GetDelivery", "ListDeliveries", "CountDeliveries",
				"FollowWebhooks",
			},
		},
		{
			Permission: PermissionWebhookManage, Roles: administrators,
			Methods: []string{
				"CreateWebhookEndpoint", "UpdateWebhookEndpoint", "EnableWebhookEndpoint", "DisableWebhookEndpoint",
				"DeleteWebhookEndpoint", "PrepareWebhookSecret", "ActivateWebhookSecret", "TriggerWebhook",
			},
		},
		{
			Permission: PermissionWebhookReplay, Roles: administrators,
			Methods: []string{"ReplayDelivery", "ReplayDeliveries"},
		},
		{
			Permission: PermissionWalletRead, Roles: viewers,
			Methods: []string{
				"GetWallets", "Dashboard", "ListCommissionRates", "Ledger", "Statement", "VerifyLedger", "ExportLedger",
			},
		},
		{
			Permission: PermissionSettlementRead, Roles: viewers,
			Methods: []string{"GetBankAccount", "GetSettlement", "ListSettlements"},
		},
		{
			Permission: PermissionSettlementRequest, Roles: owners,
			Methods: []string{"SetBankAccount", "RequestSettlement"},
		},
		{Permission: PermissionMemberRead, Roles: viewers, Methods: []string{"ListMembers"}},
		{
			Permission: PermissionMemberManage, Roles: owners,
			Methods: []string{"AddMember", "UpdateMember", "RemoveMember"},
		},
		{Permission: PermissionBuyerRead, Roles: viewers, Methods: []string{"GetBuyer"}},
		{Permission: PermissionBuyerErase, Roles: administrators, Methods: []string{"EraseBuyer"}},
		{Permission: PermissionAuditRead, Roles: viewers, Methods: []string{"ListAudit"}},

		{Permission: PermissionFloatCredit, Staff: true, Methods: []string{"CreditFloat"}},
		{Permission: PermissionCommissionSchedule, Staff: true, Methods: []string{"ScheduleCommission"}},
		{
			Permission: PermissionKYBDecide, Staff: true,
			Methods: []string{
				"ApproveVerification", "RejectVerification", "GrantGrace", "EndGrace", "RevokeVerification",
			},
		},
		{
			Permission: PermissionSettlementDecide, Staff: true,
			Methods: []string{"ApproveSettlement", "RejectSettlement"},
		},
		{Permission: PermissionOrderRead, Staff: true, Methods: []string{"GetOrder", "ListOrders"}},
		{Permission: PermissionOrderRefund, Staff: true, Methods: []string{"RefundOrder", "CancelOrder"}},
		{
			Permission: PermissionManage, Staff: true,
			Methods: []string{
				"CreateCompany", "ListCompanies", "RenameCompany", "SuspendCompany", "ActivateCompany",
				"SuspendWallet", "ActivateWallet", "CreateCategory", "ListCategories", "DeactivateCategory", "EndEvent",
				"ListAudit", "ResealBankAccounts", "ResealWebhookSecrets",
			},
		},
	}
}

// AllPermissions are the permissions of companies, then those of staff.
func AllPermissions() []Permission {
	rules := PermissionRules()
	all := make([]Permission, len(rules))
	for i, rule := range rules {
		all[i] = rule.Permission
	}
	return all
}

// forStaff tells whether a permission is one that no administrator of a company can hold.
func (p Permission) forStaff() bool {
	return !slices.ContainsFunc(PermissionRules(), func(rule PermissionRule) bool {
		return rule.Permission == p && !rule.Staff
	})
}
