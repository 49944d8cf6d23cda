package ticketing_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// right is one method of the operator's plane and the permission it asks for.
type right struct {
	method     string
	permission ticketing.Permission
	// platform says that the method is about no company, so that an administrator gets nowhere with it.
	platform bool
	call     func(ctx context.Context, o ticketing.Operator, own subject) error
}

// subject is what a call is about: a verified company with an active key and a published event.
type subject struct{ company, key, event uuid.UUID }

func (d *desk) subject(t *testing.T) subject {
	t.Helper()
	company := d.verified(t)
	key := d.issue(t, company)
	event, err := d.CreateEvent(t.Context(), ticketing.TrustedCaller(company, ticketing.GrantEventManage), "event-0001",
		ticketing.CreateEventParams{
			Title: "Adire Live", Date: "2026-12-24", StartsAt: "20:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
			ImageURL: "https://cdn.adire.ng/live.jpg", Status: ticketing.EventPublished,
		})
	is.New(t).NoErr(err)
	return subject{company: company, key: key.ID, event: event.ID}
}

func rights() []right {
	return []right{
		{
			method: "CreateCompany", permission: ticketing.PermissionManage, platform: true,
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
			method: "ListCompanies", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.ListCompanies(ctx, ticketing.PageParams{})
				return err
			},
		},
		{
			method: "SuspendCompany", permission: ticketing.PermissionManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.SuspendCompany(ctx, own.company)
				return err
			},
		},
		{
			method: "ActivateCompany", permission: ticketing.PermissionManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ActivateCompany(ctx, own.company)
				return err
			},
		},
		{
			method: "ApproveVerification", permission: ticketing.PermissionKYBDecide,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ApproveVerification(ctx, own.company, time.Time{})
				return err
			},
		},
		{
			method: "RejectVerification", permission: ticketing.PermissionKYBDecide,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RejectVerification(ctx, own.company, "No registration number")
				return err
			},
		},
		{
			method: "GrantGrace", permission: ticketing.PermissionKYBDecide,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.GrantGrace(ctx, own.company, opening.Add(time.Hour))
				return err
			},
		},
		{
			method: "RevokeVerification", permission: ticketing.PermissionKYBDecide,
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
			method: "UpdateBranding", permission: ticketing.PermissionBrandingManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.UpdateBranding(ctx, own.company, ticketing.UpdateBrandingParams{BrandName: new("Adire")})
				return err
			},
		},
		{
			method: "ScheduleCommission", permission: ticketing.PermissionCommissionSchedule,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.ScheduleCommission(ctx, own.company, money.Rate{}, time.Time{})
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
			method: "CreditFloat", permission: ticketing.PermissionFloatCredit,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.CreditFloat(ctx, own.company, 1, "PSK-"+uuid.NewString())
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
			method: "SuspendWallet", permission: ticketing.PermissionManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.SuspendWallet(ctx, own.company, ledger.Float)
				return err
			},
		},
		{
			method: "ActivateWallet", permission: ticketing.PermissionManage,
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
			method: "IssueAPIKey", permission: ticketing.PermissionAPIKeyManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.IssueAPIKey(ctx, own.company, "gate", ticketing.AllGrants())
				return err
			},
		},
		{
			method: "RotateAPIKey", permission: ticketing.PermissionAPIKeyManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RotateAPIKey(ctx, own.key)
				return err
			},
		},
		{
			method: "RevokeAPIKey", permission: ticketing.PermissionAPIKeyManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.RevokeAPIKey(ctx, own.key)
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
			method: "EndEvent", permission: ticketing.PermissionManage,
			call: func(ctx context.Context, o ticketing.Operator, own subject) error {
				_, err := o.EndEvent(ctx, own.event)
				return err
			},
		},
		{
			method: "CreateCategory", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				_, err := o.CreateCategory(ctx, "Music", "music-"+uuid.NewString())
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
			method: "DeactivateCategory", permission: ticketing.PermissionManage, platform: true,
			call: func(ctx context.Context, o ticketing.Operator, _ subject) error {
				// Who may deactivate one may create it; to the others, that there is none makes no difference.
				category, err := o.CreateCategory(ctx, "Music", "music-"+uuid.NewString())
				if err != nil {
					category.ID = uuid.New()
				}
				_, err = o.DeactivateCategory(ctx, category.ID)
				return err
			},
		},
	}
}

func TestEveryOperatorMethodHasItsRight(t *testing.T) {
	t.Parallel()
	listed := make(map[string]bool)
	for _, right := range rights() {
		listed[right.method] = true
	}
	for method := range reflect.TypeFor[ticketing.Operator]().Methods() {
		if !listed[method.Name] {
			t.Errorf("%s is not in the table of rights", method.Name)
		}
	}
}

func TestOperatorsNeedTheExactPermission(t *testing.T) {
	t.Parallel()
	forStaff := map[ticketing.Permission]bool{
		ticketing.PermissionFloatCredit: true, ticketing.PermissionCommissionSchedule: true,
		ticketing.PermissionKYBDecide: true, ticketing.PermissionManage: true,
	}
	for _, right := range rights() {
		name := right.method
		if right.platform {
			name += " of all"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onDesks(t, func(t *testing.T, d *desk) {
				var others []ticketing.Permission
				for _, permission := range ticketing.AllPermissions() {
					if permission != right.permission {
						others = append(others, permission)
					}
				}
				exact := []ticketing.Permission{right.permission}
				own, all := subject{}, ticketing.AllPermissions()

				administrator := ticketing.Code("")
				stranger := ticketing.CodeNotFound
				if forStaff[right.permission] {
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
					{"staff with it alone", exact, func() uuid.UUID { return uuid.Nil }, ""},
					{"administrator with all others", others, func() uuid.UUID { return own.company }, ticketing.CodePermissionDenied},
					{"administrator with all", all, func() uuid.UUID { return own.company }, administrator},
					{"administrator of another company with all", all, uuid.New, stranger},
				} {
					t.Run(test.name, func(t *testing.T) {
						own = d.subject(t)
						o := d.As(ticketing.Actor{Name: "test", CompanyID: test.of(), Permissions: test.permissions})
						before := d.books(t, own)
						err := right.call(t.Context(), o, own)
						is.New(t).Equal(code(err), test.want)
						if test.want != "" {
							is.New(t).Equal(d.books(t, own), before)
						}
					})
				}
			})
		})
	}
}

// books are all that an operator could have changed of a company.
func (d *desk) books(t *testing.T, own subject) []any {
	t.Helper()
	is := is.New(t)
	company, err := d.staff.GetCompany(t.Context(), own.company)
	is.NoErr(err)
	branding, err := d.staff.GetBranding(t.Context(), own.company)
	is.NoErr(err)
	rates, err := d.staff.ListCommissionRates(t.Context(), own.company)
	is.NoErr(err)
	wallets, err := d.staff.GetWallets(t.Context(), own.company)
	is.NoErr(err)
	keys, err := d.staff.ListAPIKeys(t.Context(), own.company)
	is.NoErr(err)
	categories, err := d.staff.ListCategories(t.Context())
	is.NoErr(err)
	event, err := d.GetEvent(t.Context(), ticketing.TrustedCaller(own.company, ticketing.GrantEventRead), own.event)
	is.NoErr(err)
	return []any{company, branding, rates, wallets, keys, categories, event}
}

func TestTheUnknownCompanyIsNotFound(t *testing.T) {
	t.Parallel()
	for _, right := range rights() {
		if right.platform {
			continue
		}
		t.Run(right.method, func(t *testing.T) {
			t.Parallel()
			onDesks(t, func(t *testing.T, d *desk) {
				err := right.call(t.Context(), d.staff, subject{uuid.New(), uuid.New(), uuid.New()})
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
