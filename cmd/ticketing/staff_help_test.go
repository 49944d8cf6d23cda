package main_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestHelpOfStaffRolesIsTheTableOfPermissions compares what the help of "staff add" and docs/operating.md say about
// each role with the permissions that the role holds.
func TestHelpOfStaffRolesIsTheTableOfPermissions(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	docs, err := os.ReadFile("../../docs/operating.md")
	is.NoErr(err)
	help := strings.Join(strings.Fields(newShell(t).run("staff", "add", "--help").stdout), " ")
	words := map[string]ticketing.Permission{
		"commission": ticketing.PermissionCommissionSchedule, "settlements": ticketing.PermissionSettlementDecide,
		"refund": ticketing.PermissionOrderRefund, "cancel": ticketing.PermissionOrderRefund,
		"companies": ticketing.PermissionManage, "verification": ticketing.PermissionKYBDecide,
		"members": ticketing.PermissionMemberManage, "branding": ticketing.PermissionBrandingManage,
		"mails": ticketing.PermissionNotificationResend, "webhooks": ticketing.PermissionWebhookReplay,
	}
	for _, role := range []ticketing.StaffRole{
		ticketing.StaffFinance, ticketing.StaffOnboarding, ticketing.StaffSupport, ticketing.StaffAuditor,
	} {
		for place, found := range map[string][]string{
			"staff add --help":  regexp.MustCompile(string(role) + ` (\w+s [^;.]+)[;.]`).FindStringSubmatch(help),
			"docs/operating.md": regexp.MustCompile("\\| `" + string(role) + "` \\|([^|]+)\\|").FindStringSubmatch(string(docs)),
		} {
			if found == nil {
				t.Fatalf("%s says nothing about %s", place, role)
			}
			for _, rule := range ticketing.PermissionRules() {
				for word, permission := range words {
					holds := slices.Contains(rule.StaffRoles, role)
					if permission == rule.Permission && strings.Contains(found[1], word) != holds {
						t.Errorf("%s about %s: %q; holding %s is %v", place, role, found[1], permission, holds)
					}
				}
			}
		}
	}
}
