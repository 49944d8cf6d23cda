package console_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

var fillDocument = flag.Bool("fill-document", false, "write the tables of docs/console.md")

const document = "../docs/console.md"

// The tables of docs/console.md equal those of the code. With -fill-document the test writes them.
func TestDocumentShowsTheTables(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	text, err := os.ReadFile(document)
	ok.NoErr(err)
	written := string(text)
	for name, table := range map[string]string{
		"company roles": roleTable(false), "staff roles": roleTable(true),
		"pages": routeTable("GET", console.Pages()), "acts": routeTable("POST", console.Acts()),
	} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
		before, rest, found := strings.Cut(written, begin)
		ok.True(found) // begin
		shown, after, found := strings.Cut(rest, end)
		ok.True(found) // end
		if shown != table && !*fillDocument {
			t.Errorf("%s: the table %q is not that of the code; go test ./console -run Document -fill-document writes it:\n%s",
				document, name, table)
		}
		written = before + begin + table + end + after
	}
	if *fillDocument {
		ok.NoErr(os.WriteFile(document, []byte(written), 0o600))
	}
}

// roleTable returns the permissions by role: those of a company's roles, or those of staff.
func roleTable(staff bool) string {
	roles := []string{"OWNER", "ADMINISTRATOR", "VIEWER"}
	if staff {
		roles = []string{"ADMINISTRATOR", "FINANCE", "ONBOARDING", "SUPPORT", "AUDITOR"}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "| permission | %s |\n|---|%s\n", strings.Join(roles, " | "), strings.Repeat(":-:|", len(roles)))
	for _, rule := range ticketing.PermissionRules() {
		if rule.Staff && !staff {
			continue
		}
		fmt.Fprintf(&text, "| `%s` |", rule.Permission)
		for _, role := range roles {
			held := slices.Contains(rule.Roles, ticketing.Role(role))
			if staff {
				held = slices.Contains(rule.StaffRoles, ticketing.StaffRole(role))
			}
			text.WriteString(map[bool]string{true: " yes |", false: " |"}[held])
		}
		text.WriteString("\n")
	}
	return text.String()
}

// routeTable returns the routes of /api/v2 by their paths.
func routeTable(method string, routes []console.Route) string {
	slices.SortStableFunc(routes, func(a, b console.Route) int { return strings.Compare(a.Path, b.Path) })
	var text strings.Builder
	text.WriteString("| route | for | needs |\n|---|---|---|\n")
	for _, route := range routes {
		whom := "the person who is signed in"
		switch {
		case route.Company:
			whom = "members of the company, and staff"
		case route.Platform:
			whom = "staff"
		}
		var needs []string
		for _, permission := range route.Permissions {
			needs = append(needs, "`"+string(permission)+"`")
		}
		for _, grant := range route.Grants {
			needs = append(needs, "`"+string(grant)+"`")
		}
		if route.Recent {
			needs = append(needs, "a recent sign-in")
		}
		if needs == nil {
			needs = []string{"a session"}
		}
		fmt.Fprintf(&text, "| `%s /api/v2%s` | %s | %s |\n", method, route.Path, whom, strings.Join(needs, ", "))
	}
	return text.String()
}
