package ticketing_test

import (
	"context"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store/memory"
)

// right is one method of the operator plane and the permission that it requires.
type right struct {
	method string
	// action is the method's name in the audit log; empty for a method that changes nothing.
	action     string
	permission ticketing.Permission
	// also is what the method needs beside the permission; empty for nearly all.
	also ticketing.Permission
	// platform reports whether the method is about no company, so an administrator may not call it.
	platform bool
	// sells reports whether the subject needs an order and a settlement.
	sells bool
	// hooks reports whether the subject needs a webhook endpoint and a failed delivery.
	hooks bool
	// list is what RecordListExport is called with: each list needs a permission of its own.
	list ticketing.ExportedList
	// before changes the subject so that the call has something to change.
	before func(ctx context.Context, o ticketing.Operator, own subject) error
	call   func(ctx context.Context, o ticketing.Operator, own subject) error
}

// subject is what a call is about: a verified company with an active key, a published event, a buyer and a member with
// the role VIEWER, and an active category. If the method sells, there are also an order and a settlement, and if it
// hooks, a webhook endpoint and a delivery.
type subject struct {
	company, key, event, category, user, order, settlement, endpoint, delivery, message uuid.UUID
}

const buyerOfSubject = "ngozi@example.com"

func (e *env) subject(t *testing.T) subject {
	t.Helper()
	company := e.verified(t)
	key := e.issue(t, company)
	event, err := e.CreateEvent(t.Context(), ticketing.TrustedCaller(company, ticketing.GrantEventManage), "event-0001",
		ticketing.CreateEventParams{
			Title: "Adire Live", Date: "2026-12-24", StartsAt: "20:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
			ImageURL: "https://cdn.adire.ng/live.jpg", Status: ticketing.EventPublished,
		})
	is.New(t).NoErr(err)
	category, err := e.staff.CreateCategory(t.Context(), "Music", "music-"+uuid.NewString())
	is.New(t).NoErr(err)
	member, err := e.staff.AddMember(t.Context(), company, ticketing.AddMemberParams{
		Email: "bisi@adire.ng", Name: "Bisi", Role: ticketing.RoleViewer,
	})
	is.New(t).NoErr(err)
	e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
		return tx.PutBuyers(ctx, []driver.Buyer{{
			CompanyID: company, Email: buyerOfSubject, CreatedAt: opening, UpdatedAt: opening,
		}})
	})
	return subject{company: company, key: key.ID, event: event.ID, category: category.ID, user: member.UserID}
}

// subject creates a subject on which the method can be called.
func (r right) subject(t *testing.T, e *env) subject {
	t.Helper()
	own := e.subject(t)
	if r.sells {
		e.sellFor(t, &own)
	}
	if r.hooks {
		e.hookFor(t, &own)
	}
	return own
}

// rights returns every method with each of the permissions that let it in.
func rights() []right {
	all := slices.Concat(companyRights(), moneyRights(), webhookRights(), staffRights(), platformRights(),
		exportRights())
	reads := []string{"ListCategories", "ListAudit", "GetMailSender", "SampleTicketMail", "ListStaff", "RecordAuditExport"}
	for _, r := range all {
		switch {
		case r.permission == ticketing.PermissionOrderRead:
			r.permission = ticketing.PermissionCompanyOrderRead
		case r.permission == ticketing.PermissionManage && slices.Contains(reads, r.method):
			r.permission = ticketing.PermissionTenantRead
		default:
			continue
		}
		all = append(all, r)
	}
	return all
}

// permissions returns the permissions of which each lets the method in.
func (r right) permissions() []ticketing.Permission {
	var held []ticketing.Permission
	for _, other := range rights() {
		if other.method == r.method && other.platform == r.platform && other.list == r.list {
			held = append(held, other.permission)
		}
	}
	return held
}

// name names a test of the method.
func (r right) name() string {
	if r.platform {
		return r.method + " of all"
	}
	return r.method
}

func companyRights() []right {
	return []right{
		{
			method: "CreateCompany", action: "company.create", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.CreateCompany(ctx, "Bogolan Nights")
				return err
			},
		},
		{
			method: "GetCompany", permission: ticketing.PermissionKYBRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetCompany(ctx, own.company)
				return err
			},
		},
		{
			method: "Readiness", permission: ticketing.PermissionKYBRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.Readiness(ctx, own.company)
				return err
			},
		},
		{
			method: "ListBrandings", permission: ticketing.PermissionBrandingRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListBrandings(ctx, own.company, ticketing.PageParams{})
				return err
			},
		},
		{
			method: "ListCompanies", permission: ticketing.PermissionTenantRead, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.ListCompanies(ctx, ticketing.CompanyFilter{})
				return err
			},
		},
		{
			method: "FindCompany", permission: ticketing.PermissionTenantRead, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.FindCompany(ctx, own.company.String()[:8])
				return err
			},
		},
		{
			method: "Find", permission: ticketing.PermissionTenantRead, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.Find(ctx, uuid.Nil, "Adire")
				return err
			},
		},
		{
			method: "RenameCompany", action: "company.rename", permission: ticketing.PermissionManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RenameCompany(ctx, own.company, "Bogolan Nights")
				return err
			},
		},
		{
			method: "SuspendCompany", action: "company.suspend", permission: ticketing.PermissionManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.SuspendCompany(ctx, own.company)
				return err
			},
		},
		{
			method: "ActivateCompany", action: "company.activate", permission: ticketing.PermissionManage,
			before: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.SuspendCompany(ctx, own.company)
				return err
			},
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ActivateCompany(ctx, own.company)
				return err
			},
		},
		{
			method: "GetVerification", permission: ticketing.PermissionKYBRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetVerification(ctx, own.company)
				return err
			},
		},
		{
			method: "UpdateVerification", action: "kyb.edit", permission: ticketing.PermissionKYBManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.UpdateVerification(ctx, own.company, facts())
				return err
			},
		},
		{
			method: "SubmitVerification", action: "kyb.submit", permission: ticketing.PermissionKYBSubmit,
			before: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.UpdateVerification(ctx, own.company, facts())
				return err
			},
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.SubmitVerification(ctx, own.company)
				return err
			},
		},
		{
			method: "EndGrace", action: "kyb.end-grace", permission: ticketing.PermissionKYBDecide,
			before: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GrantGrace(ctx, own.company, opening.Add(time.Hour))
				return err
			},
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.EndGrace(ctx, own.company)
				return err
			},
		},
		{
			method: "AddMember", action: "member.add", permission: ticketing.PermissionMemberManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.AddMember(ctx, own.company, ticketing.AddMemberParams{
					Email: "chi@adire.ng", Name: "Chi", Role: ticketing.RoleViewer,
				})
				return err
			},
		},
		{
			method: "UpdateMember", action: "member.update", permission: ticketing.PermissionMemberManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.UpdateMember(ctx, own.company, own.user, ticketing.RoleAdministrator)
				return err
			},
		},
		{
			method: "RemoveMember", action: "member.remove", permission: ticketing.PermissionMemberManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RemoveMember(ctx, own.company, own.user)
				return err
			},
		},
		{
			method: "ListMembers", permission: ticketing.PermissionMemberRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListMembers(ctx, own.company)
				return err
			},
		},
		{
			method: "GetBuyer", permission: ticketing.PermissionBuyerRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetBuyer(ctx, own.company, buyerOfSubject)
				return err
			},
		},
		{
			method: "PreviewErasure", permission: ticketing.PermissionBuyerErase, also: ticketing.PermissionBuyerRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.PreviewErasure(ctx, own.company, buyerOfSubject)
				return err
			},
		},
		{
			method: "EraseBuyer", action: "buyer.erase", permission: ticketing.PermissionBuyerErase,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.EraseBuyer(ctx, own.company, buyerOfSubject)
				return err
			},
		},
		{
			method: "ApproveVerification", action: "kyb.approve", permission: ticketing.PermissionKYBDecide,
			before: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RevokeVerification(ctx, own.company)
				return err
			},
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ApproveVerification(ctx, own.company, ticketing.ApprovalParams{})
				return err
			},
		},
		{
			method: "RejectVerification", action: "kyb.reject", permission: ticketing.PermissionKYBDecide,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RejectVerification(ctx, own.company, "No registration number")
				return err
			},
		},
		{
			method: "GrantGrace", action: "kyb.grace", permission: ticketing.PermissionKYBDecide,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GrantGrace(ctx, own.company, opening.Add(time.Hour))
				return err
			},
		},
		{
			method: "RevokeVerification", action: "kyb.revoke", permission: ticketing.PermissionKYBDecide,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RevokeVerification(ctx, own.company)
				return err
			},
		},
		{
			method: "GetBranding", permission: ticketing.PermissionBrandingRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetBranding(ctx, own.company)
				return err
			},
		},
		{
			method: "UpdateBranding", action: "branding.set", permission: ticketing.PermissionBrandingManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.UpdateBranding(ctx, own.company, ticketing.UpdateBrandingParams{BrandName: new("Adire")})
				return err
			},
		},
		{
			method: "ScheduleCommission", action: "commission.schedule", permission: ticketing.PermissionCommissionSchedule,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ScheduleCommission(ctx, own.company, ticketing.CommissionParams{})
				return err
			},
		},
		{
			method: "ListCommissionRates", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListCommissionRates(ctx, own.company)
				return err
			},
		},
		{
			method: "CreditFloat", action: "float.credit", permission: ticketing.PermissionFloatCredit,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.CreditFloat(ctx, own.company, "PSK-"+uuid.NewString(), 1)
				return err
			},
		},
		{
			method: "GetWallets", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetWallets(ctx, own.company)
				return err
			},
		},
		{
			method: "SuspendWallet", action: "wallet.suspend", permission: ticketing.PermissionManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.SuspendWallet(ctx, own.company, ledger.Float)
				return err
			},
		},
		{
			method: "ActivateWallet", action: "wallet.activate", permission: ticketing.PermissionManage,
			before: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.SuspendWallet(ctx, own.company, ledger.Float)
				return err
			},
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ActivateWallet(ctx, own.company, ledger.Float)
				return err
			},
		},
		{
			method: "Ledger", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				return o.Ledger(ctx, own.company, "", func(ticketing.LedgerEntry) error { return nil })
			},
		},
		{
			method: "Dashboard", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.Dashboard(ctx, own.company)
				return err
			},
		},
		{
			method: "Statement", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				return o.Statement(ctx, own.company, ticketing.Period{},
					func(ticketing.StatementLine) error { return nil })
			},
		},
		{
			method: "Sales", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.Sales(ctx, own.company, ticketing.SalesFilter{From: opening})
				return err
			},
		},
		{
			method: "EventSales", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.EventSales(ctx, own.company, []uuid.UUID{own.event}, ticketing.Period{})
				return err
			},
		},
		{
			method: "ListBuyers", permission: ticketing.PermissionBuyerRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListBuyers(ctx, own.company, ticketing.BuyerFilter{})
				return err
			},
		},
		{
			method: "ListMovements", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListMovements(ctx, own.company, ticketing.MovementFilter{Wallet: ledger.Float})
				return err
			},
		},
		{
			method: "Balances", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.Balances(ctx, own.company, ledger.Float, []time.Time{opening})
				return err
			},
		},
		{
			method: "ExportLedger", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ExportLedger(ctx, own.company, io.Discard)
				return err
			},
		},
		{
			method: "VerifyLedger", permission: ticketing.PermissionWalletRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.VerifyLedger(ctx, own.company)
				return err
			},
		},
		{
			method: "VerifyLedger", permission: ticketing.PermissionWalletRead, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.VerifyLedger(ctx, uuid.Nil)
				return err
			},
		},
		{
			method: "IssueAPIKey", action: "key.issue", permission: ticketing.PermissionAPIKeyManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.IssueAPIKey(ctx, own.company, "gate", ticketing.AllGrants())
				return err
			},
		},
		{
			method: "RotateAPIKey", action: "key.rotate", permission: ticketing.PermissionAPIKeyManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RotateAPIKey(ctx, own.key)
				return err
			},
		},
		{
			method: "RevokeAPIKey", action: "key.revoke", permission: ticketing.PermissionAPIKeyManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RevokeAPIKey(ctx, own.key)
				return err
			},
		},
		{
			method: "GetAPIKey", permission: ticketing.PermissionAPIKeyRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GetAPIKey(ctx, own.key)
				return err
			},
		},
		{
			method: "ListAPIKeys", permission: ticketing.PermissionAPIKeyRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListAPIKeys(ctx, own.company)
				return err
			},
		},
		{
			method: "ListAudit", permission: ticketing.PermissionAuditRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ListAudit(ctx, own.company, ticketing.AuditFilter{})
				return err
			},
		},
		{
			method: "ListAudit", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.ListAudit(ctx, uuid.Nil, ticketing.AuditFilter{})
				return err
			},
		},
		{
			method: "RecordAuditExport", action: "audit.export", permission: ticketing.PermissionAuditRead,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				return o.RecordAuditExport(ctx, own.company, ticketing.AuditFilter{})
			},
		},
		{
			method: "RecordAuditExport", action: "audit.export", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				return o.RecordAuditExport(ctx, uuid.Nil, ticketing.AuditFilter{})
			},
		},
		{
			method: "EndEvent", action: "event.end", permission: ticketing.PermissionManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.EndEvent(ctx, own.event)
				return err
			},
		},
		{
			method: "CreateCategory", action: "category.create", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.CreateCategory(ctx, "Music", "music-"+uuid.NewString())
				return err
			},
		},
		{
			method: "RebuildSales", action: "sales.rebuild", permission: ticketing.PermissionManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RebuildSales(ctx, own.company)
				return err
			},
		},
		{
			method: "ReencryptBankAccounts", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.ReencryptBankAccounts(ctx)
				return err
			},
		},
		{
			method: "ListCategories", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.ListCategories(ctx)
				return err
			},
		},
		{
			method: "DeactivateCategory", action: "category.deactivate", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.DeactivateCategory(ctx, own.category)
				return err
			},
		},
	}
}

// TestEveryOperatorMethodHasItsRight checks that every method of the operator plane is in the table of permissions, and
// requires the permission that the table names.
func TestEveryOperatorMethodHasItsRight(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	type need struct {
		method     string
		permission ticketing.Permission
	}
	told, tried := make(map[need]bool), make(map[need]bool)
	methods := make(map[string]bool)
	for _, rule := range ticketing.PermissionRules() {
		for _, method := range rule.Methods {
			is.True(!told[need{method, rule.Permission}]) // each only once
			told[need{method, rule.Permission}] = true
			methods[method] = true
		}
	}
	for _, right := range rights() {
		tried[need{right.method, right.permission}] = true
		if right.also != "" {
			tried[need{right.method, right.also}] = true
		}
	}
	is.Equal(tried, told)
	for method := range reflect.TypeFor[ticketing.Operator]().Methods() {
		is.True(methods[method.Name]) // in the table of permissions
		delete(methods, method.Name)
	}
	is.Equal(methods, map[string]bool{}) // entries without a method
}

// TestNoPermissionIsAGrant checks Section 1, item 4: no permission of the operator plane can be granted to a public API
// key. The one to read orders has the name of a grant, which opens nothing on this plane. It also checks that no
// permission is listed twice.
func TestNoPermissionIsAGrant(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	e := newEnv(t, memory.New())
	company := e.verified(t)
	seen := make(map[ticketing.Permission]bool)
	for _, permission := range ticketing.AllPermissions() {
		is.True(!seen[permission])
		seen[permission] = true
		if permission == ticketing.PermissionCompanyOrderRead {
			continue
		}
		is.True(!slices.Contains(ticketing.AllGrants(), ticketing.Grant(permission)))
		_, err := e.staff.IssueAPIKey(t.Context(), company, "gate", []ticketing.Grant{ticketing.Grant(permission)})
		is.Equal(said(err), "grants[0]: must be one of the seven grants of a public API key")
	}
	keys, err := e.staff.ListAPIKeys(t.Context(), company)
	is.NoErr(err)
	is.Equal(len(keys), 0)
}

// TestRolesFollowFromTheTable checks that the name of a permission shows its plane, that a viewer may read everything
// and change nothing, and that a role that may change something may read it.
func TestRolesFollowFromTheTable(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for _, rule := range ticketing.PermissionRules() {
		is.Equal(rule.Staff, !strings.HasPrefix(string(rule.Permission), "COMPANY:"))
		if rule.Staff {
			is.Equal(len(rule.Roles), 0)
			continue
		}
		reads := strings.HasSuffix(string(rule.Permission), ":read")
		is.Equal(slices.Contains(rule.Roles, ticketing.RoleViewer), reads)
		is.True(slices.Contains(rule.Roles, ticketing.RoleOwner))
		is.True(!reads || slices.Contains(rule.Roles, ticketing.RoleAdministrator))
	}
}

func TestOperatorsNeedTheExactPermission(t *testing.T) {
	t.Parallel()
	forStaff := make(map[ticketing.Permission]bool)
	for _, rule := range ticketing.PermissionRules() {
		forStaff[rule.Permission] = rule.Staff
	}
	for _, right := range rights() {
		name := right.method
		if right.platform {
			name += " of all"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				var others []ticketing.Permission
				for _, permission := range ticketing.AllPermissions() {
					if !slices.Contains(right.permissions(), permission) {
						others = append(others, permission)
					}
				}
				exact, alone := []ticketing.Permission{right.permission}, ticketing.Code("")
				if right.also != "" {
					exact, alone = append(exact, right.also), ticketing.CodePermissionDenied
				}
				own, changed, all := subject{}, false, ticketing.AllPermissions()

				administrator := ticketing.Code("")
				stranger := ticketing.CodeNotFound
				if !slices.ContainsFunc(right.permissions(), func(p ticketing.Permission) bool { return !forStaff[p] }) {
					administrator, stranger = ticketing.CodePermissionDenied, ticketing.CodePermissionDenied
				} else if right.platform {
					administrator = ticketing.CodeNotFound
				}
				for _, test := range []struct {
					name        string
					permissions []ticketing.Permission
					of          func() uuid.UUID
					want        ticketing.Code
				}{
					{"staff with nothing", nil, func() uuid.UUID { return uuid.Nil }, ticketing.CodePermissionDenied},
					{"staff with all others", others, func() uuid.UUID { return uuid.Nil }, ticketing.CodePermissionDenied},
					{"staff with it alone", exact[:1], func() uuid.UUID { return uuid.Nil }, alone},
					{"staff with what it needs", exact, func() uuid.UUID { return uuid.Nil }, ""},
					{"administrator with all others", others, func() uuid.UUID { return own.company }, ticketing.CodePermissionDenied},
					{"administrator with all", all, func() uuid.UUID { return own.company }, administrator},
					{"administrator of another company with all", all, uuid.New, stranger},
				} {
					t.Run(test.name, func(t *testing.T) {
						if own.company == uuid.Nil || changed { // A refusal left the subject as it was.
							own = right.subject(t, e)
							if right.before != nil {
								is.New(t).NoErr(right.before(t.Context(), e.staff, own))
							}
						}
						changed = test.want == ""
						o := e.As(ticketing.Actor{Name: "test", CompanyID: test.of(), Permissions: test.permissions})
						before := e.books(t, own)
						err := right.call(t.Context(), o, own)
						is.New(t).Equal(code(err), test.want)
						if test.want != "" {
							is.New(t).Equal(e.books(t, own), before)
						}
					})
				}
			})
		})
	}
}

// books returns everything about a company that an operator could have changed.
func (e *env) books(t *testing.T, own subject) []any {
	t.Helper()
	is := is.New(t)
	company, err := e.staff.GetCompany(t.Context(), own.company)
	is.NoErr(err)
	branding, err := e.staff.GetBranding(t.Context(), own.company)
	is.NoErr(err)
	rates, err := e.staff.ListCommissionRates(t.Context(), own.company)
	is.NoErr(err)
	wallets, err := e.staff.GetWallets(t.Context(), own.company)
	is.NoErr(err)
	keys, err := e.staff.ListAPIKeys(t.Context(), own.company)
	is.NoErr(err)
	categories, err := e.staff.ListCategories(t.Context())
	is.NoErr(err)
	event, err := e.GetEvent(t.Context(), ticketing.TrustedCaller(own.company, ticketing.GrantEventRead), own.event)
	is.NoErr(err)
	acts, err := e.staff.ListAudit(t.Context(), uuid.Nil, auditPage(ticketing.MaxPageLimit))
	is.NoErr(err)
	cases, err := e.staff.GetVerification(t.Context(), own.company)
	is.NoErr(err)
	members, err := e.staff.ListMembers(t.Context(), own.company)
	is.NoErr(err)
	buyer, err := e.staff.GetBuyer(t.Context(), own.company, buyerOfSubject)
	is.NoErr(err)
	staff, err := e.staff.ListStaff(t.Context())
	is.NoErr(err)
	return []any{
		company, staff, branding, rates, wallets, keys, categories, event, acts, cases, members, buyer, e.payouts(t, own),
		e.hooks(t, own),
	}
}

func TestTheUnknownCompanyIsNotFound(t *testing.T) {
	t.Parallel()
	for _, right := range rights() {
		if right.platform {
			continue
		}
		t.Run(right.method, func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				err := right.call(t.Context(), e.staff, subject{
					uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(),
					uuid.New(),
				})
				is.New(t).Equal(code(err), ticketing.CodeNotFound)
			})
		})
	}
}

func TestTheZeroOperatorMayDoNothing(t *testing.T) {
	t.Parallel()
	for _, right := range rights() {
		err := right.call(t.Context(), ticketing.Operator{}, subject{})
		is.New(t).Equal(code(err), ticketing.CodePermissionDenied)
	}
}
