package console_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

// auditors are the functions of the service that pass on the name of an action.
var auditors = regexp.MustCompile(`^(audit\w*|change(Company|Endpoint|MailSender|Member|Staff)|` +
	`set(Status|WalletStatus)|decideVerification|makeKey|put(Member|Staff)|endOrder|end|decide\w*)$`)

// TestEveryActionHasWords reads the source of the service. Each action that it audits has words on the pages, and no
// words are for an action that no longer exists.
func TestEveryActionHasWords(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	files, err := filepath.Glob("../*.go")
	ok.NoErr(err)
	audited := map[string]bool{}
	var source strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		ok.NoErr(err)
		source.Write(text)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		ok.NoErr(err)
		ast.Inspect(file, func(node ast.Node) bool {
			called, isCall := node.(*ast.CallExpr)
			if !isCall {
				return true
			}
			if method, isMethod := called.Fun.(*ast.SelectorExpr); !isMethod || !auditors.MatchString(method.Sel.Name) {
				return true
			}
			for _, argument := range called.Args {
				literal, isLiteral := argument.(*ast.BasicLit)
				if !isLiteral || literal.Kind != token.STRING {
					continue
				}
				action, err := strconv.Unquote(literal.Value)
				if err == nil && action != platformSubject && isAction.MatchString(action) {
					audited[action] = true
				}
			}
			return true
		})
	}
	ok.True(len(audited) > 30)
	for action := range audited {
		if !console.HasAuditWords(action) {
			t.Errorf("the action %q has no words", action)
		}
	}
	for _, action := range console.AuditActions() {
		if !strings.Contains(source.String(), strconv.Quote(action)) {
			t.Errorf("the words of %q are of no action", action)
		}
	}
}

// platformSubject is what an entry about no company and nobody is about.
const platformSubject = "platform"

var isAction = regexp.MustCompile(`^[a-z][a-z_-]*(\.[a-z_-]+)?$`)

// TestChangesAreReadable checks how the log shows amounts, times, ids, states and lists, and that the API and the file
// have them as they are stored.
func TestChangesAreReadable(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	ctx := t.Context()
	expires := s.clock.now().AddDate(1, 0, 0)
	s.submit(t, "Adire Concerts Limited")
	_, err := s.staff.ApproveVerification(ctx, s.company, ticketing.ApprovalParams{ExpiresAt: &expires})
	ok.NoErr(err)
	_, err = s.staff.CreditFloat(ctx, s.company, "bank-0001", 2_000_50)
	ok.NoErr(err)
	_, err = s.staff.SuspendWallet(ctx, s.company, "EARNINGS")
	ok.NoErr(err)
	key, err := s.staff.IssueAPIKey(ctx, s.company, "Web <shop>",
		[]ticketing.Grant{ticketing.GrantEventRead, ticketing.GrantInventoryRead})
	ok.NoErr(err)
	next, err := s.staff.RotateAPIKey(ctx, key.ID)
	ok.NoErr(err)
	ok.True(next.ID != uuid.Nil)
	page := s.get(t, viewer, auditLog)
	for _, want := range []string{
		`>Credited Float</a>`,
		`<th scope="row">Float</th><td><bdi>₦0.00</bdi></td><td><bdi>₦2,000.50</bdi></td>`,
		`<th scope="row">Approval expires at</th><td><span class="none">–</span></td><td><time datetime="`,
		`<th scope="row">Case</th><td><bdi>Unverified</bdi></td><td><bdi>Submitted</bdi></td>`,
		`<th scope="row">Changed fields</th><td><bdi>Legal name</bdi><br><bdi>Registration number</bdi><br>`,
		`<th scope="row">Earnings status</th><td><bdi>Active</bdi></td><td><bdi>Suspended</bdi></td>`,
		// A new record has no column for earlier values.
		`<th scope="row">Name</th><td><bdi>Web &lt;shop&gt;</bdi></td></tr>`,
		`<th scope="row">Grants</th><td><bdi>COMPANY:event:read</bdi><br><bdi>COMPANY:inventory:read</bdi></td>`,
		`<th scope="row">Predecessor</th><td><span class="whole"><code>` + key.ID.String()[:8] +
			`</code><button type="button" class="link copy" data-copy="` + key.ID.String() + `"`,
	} {
		if !page.has(want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	ok.True(!page.has(`&#34;before&#34;`) && !page.has(`"before"`)) // no JSON
	ok.True(s.get(t, viewer, "/api/v2"+auditLog).has(
		`"float":{"before":{"amount":"0.00","currency":"NGN"},"after":{"amount":"2000.50","currency":"NGN"}}`))
	ok.True(strings.Contains(s.post(t, viewer, auditLog+"/export").text, `""2000.50""`))
}
