package ticketing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ledger"
)

// auditPage selects the first page of an audit log.
func auditPage(limit int) ticketing.AuditFilter {
	return ticketing.AuditFilter{PageParams: ticketing.PageParams{Limit: limit}}
}

// acts returns the audit log of a company, or with the zero id the log of all companies, latest act first.
func (e *env) acts(t *testing.T, companyID uuid.UUID) []ticketing.AuditEntry {
	t.Helper()
	var acts []ticketing.AuditEntry
	for params := (ticketing.PageParams{Limit: ticketing.MaxPageLimit}); ; {
		page, err := e.staff.ListAudit(t.Context(), companyID, ticketing.AuditFilter{PageParams: params})
		is.New(t).NoErr(err)
		acts = append(acts, page.Items...)
		if params.Cursor = page.NextCursor; !page.HasMore {
			return acts
		}
	}
}

// TestEveryOperatorWriteIsAudited checks that every method of the operator plane that changes something appends to the
// audit log, and that one that only reads appends nothing.
func TestEveryOperatorWriteIsAudited(t *testing.T) {
	t.Parallel()
	for _, right := range rights() {
		name := right.method
		if right.platform {
			name += " of all"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				is := is.New(t)
				own := right.subject(t, e)
				if right.before != nil {
					is.NoErr(right.before(t.Context(), e.staff, own))
				}
				known := make(map[uuid.UUID]bool)
				for _, act := range e.acts(t, uuid.Nil) {
					known[act.ID] = true
				}
				e.clock.advance(time.Second)
				is.NoErr(right.call(t.Context(), e.As(ticketing.Staff(" Ngozi Obi ")), own))
				found := 0
				for _, act := range e.acts(t, uuid.Nil) {
					if known[act.ID] {
						continue
					}
					is.True(right.action != "") // A read appends nothing.
					is.Equal(act.Actor, "Ngozi Obi")
					is.Equal(act.At.Time, opening.Add(time.Second))
					is.True(json.Valid(act.Changes) && act.Changes[0] == '{')
					if act.Action == right.action {
						found++
						subject, _, _ := strings.Cut(act.Action, ".")
						ofNone := slices.Contains([]string{"category", "mail_sender", "staff"}, subject) ||
							right.platform && strings.HasSuffix(act.Action, ".export")
						is.Equal(act.CompanyID == nil, ofNone)
						is.True(act.CompanyID == nil || right.platform || *act.CompanyID == own.company)
					}
				}
				is.Equal(found == 1, right.action != "")
			})
		})
	}
}

// TestAnActIsDoneAndAuditedOrNeither checks that a change and its audit entry are one transaction: a change whose entry
// cannot be appended is not made.
func TestAnActIsDoneAndAuditedOrNeither(t *testing.T) {
	t.Parallel()
	for _, right := range rights() {
		if right.action == "" {
			continue
		}
		t.Run(right.method, func(t *testing.T) {
			t.Parallel()
			onEnvs(t, func(t *testing.T, e *env) {
				is := is.New(t)
				own := right.subject(t, e)
				if right.before != nil {
					is.NoErr(right.before(t.Context(), e.staff, own))
				}
				companies, err := e.staff.ListCompanies(t.Context(), ticketing.CompanyFilter{})
				is.NoErr(err)
				before := e.books(t, own)
				deaf, err := ticketing.New(deafStore{e.store}, &ticketing.Config{
					SecretKeys: [][]byte{secretKey('a')}, Clock: e.clock.now,
				})
				is.NoErr(err)
				err = right.call(t.Context(), deaf.As(ticketing.Staff("test")), own)
				is.True(errors.Is(err, errDeaf))
				is.Equal(e.books(t, own), before)
				after, err := e.staff.ListCompanies(t.Context(), ticketing.CompanyFilter{})
				is.NoErr(err)
				is.Equal(after, companies)
			})
		})
	}
}

var errDeaf = errors.New("nothing is written into the log")

// deafStore is a store that fails to append to the audit log.
type deafStore struct{ driver.Store }

func (s deafStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error { return fn(ctx, deafTx{tx}) })
}

type deafTx struct{ driver.Tx }

func (deafTx) AppendAudit(context.Context, []driver.AuditEntry) error { return errDeaf }

// TestAnActOnTheWire checks the JSON of audit entries: the time, the actor, the action, its subject, and each changed
// member with its value before and after.
func TestAnActOnTheWire(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		var want []string
		act := func(actor, action, subject, changes string) {
			t.Helper()
			e.clock.advance(time.Second)
			want = append([]string{fmt.Sprintf(`{"at":"%s","actor":"%s","action":"%s","subject":"%s","changes":%s`,
				ticketing.Time{Time: e.clock.now()}, actor, action, subject, changes)}, want...)
		}
		subject := "company " + company.String()
		want = []string{fmt.Sprintf(`{"at":"2026-11-21T09:30:00.000Z","actor":"test","action":"company.create",`+
			`"subject":"%s","changes":{"name":{"before":null,"after":"Adire Concerts"},"status":{"before":null,`+
			`"after":"ACTIVE"},"verification":{"before":null,"after":"UNVERIFIED"}}`, subject)}

		act("test", "kyb.approve", subject, `{"approvalExpiresAt":{"before":null,"after":"2026-11-21T10:30:00.000Z"},`+
			`"verification":{"before":"UNVERIFIED","after":"APPROVED"}}`)
		_, err := e.staff.ApproveVerification(t.Context(), company, ticketing.ApprovalParams{
			ExpiresAt: new(opening.Add(time.Hour)),
		})
		is.NoErr(err)
		act("test", "kyb.reject", subject, `{"approvalExpiresAt":{"before":"2026-11-21T10:30:00.000Z","after":null},`+
			`"verification":{"before":"APPROVED","after":"REJECTED"}}`) // The reason is for staff only.
		_, err = e.staff.RejectVerification(t.Context(), company, "A private reason")
		is.NoErr(err)
		act("test", "kyb.grace", subject, `{"graceUntil":{"before":null,"after":"2026-11-21T10:30:00.000Z"}}`)
		_, err = e.staff.GrantGrace(t.Context(), company, opening.Add(time.Hour))
		is.NoErr(err)
		act("Ọlá \\\"Ada\\\"", "branding.set", subject,
			`{"brandName":{"before":"Adire Concerts","after":"Adire"},"ticketFooter":{"before":null,"after":"Bring an id"}}`)
		administrator := e.As(ticketing.Actor{
			Name: `Ọlá "Ada"`, CompanyID: company, Permissions: ticketing.AllPermissions(),
		})
		_, err = administrator.UpdateBranding(t.Context(), company, ticketing.UpdateBrandingParams{
			BrandName: of("Adire"), TicketFooter: of("Bring an id"),
		})
		is.NoErr(err)
		act("test", "float.credit", subject, `{"float":{"before":{"amount":"0.00","currency":"NGN"},`+
			`"after":{"amount":"25.00","currency":"NGN"}},"reference":{"before":null,"after":"PSK-00000001"}}`)
		e.credit(t, company, 25_00, "PSK-00000001")
		act("test", "wallet.suspend", subject, `{"floatStatus":{"before":"ACTIVE","after":"SUSPENDED"}}`)
		_, err = e.staff.SuspendWallet(t.Context(), company, ledger.Float)
		is.NoErr(err)
		act("test", "company.suspend", subject, `{"status":{"before":"ACTIVE","after":"SUSPENDED"}}`)
		_, err = e.staff.SuspendCompany(t.Context(), company)
		is.NoErr(err)

		acts := e.acts(t, company)
		is.Equal(len(acts), len(want))
		for i, act := range acts {
			is.Equal(show(t, act), want[i]+fmt.Sprintf(`,"id":"%s","companyId":"%s"}`, act.ID, company))
		}
		is.Equal(e.acts(t, uuid.Nil), acts) // There are no other acts.

		// The company's own actor reads the same entries, but neither another company's log nor the log of all
		// companies.
		page, err := administrator.ListAudit(t.Context(), company, auditPage(ticketing.MaxPageLimit))
		is.NoErr(err)
		is.Equal(page.Items, acts)
		_, err = administrator.ListAudit(t.Context(), e.unverified(t), ticketing.AuditFilter{})
		is.Equal(code(err), ticketing.CodeNotFound)
		_, err = administrator.ListAudit(t.Context(), uuid.Nil, ticketing.AuditFilter{})
		is.Equal(code(err), ticketing.CodePermissionDenied)
	})
}

// TestActsOnThePlatformAreOfNoCompany checks that an act that belongs to no company is only in the log of all
// companies.
func TestActsOnThePlatformAreOfNoCompany(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		e.clock.advance(time.Second)
		category, err := e.staff.CreateCategory(t.Context(), "Music", "music")
		is.NoErr(err)
		e.clock.advance(time.Second)
		_, err = e.staff.DeactivateCategory(t.Context(), category.ID)
		is.NoErr(err)
		acts := e.acts(t, uuid.Nil)
		is.Equal(len(acts), 3)
		is.Equal(show(t, acts[0]), fmt.Sprintf(`{"at":"2026-11-21T09:30:02.000Z","actor":"test",`+
			`"action":"category.deactivate","subject":"category %s","changes":{"status":{"before":"ACTIVE",`+
			`"after":"INACTIVE"}},"id":"%s","companyId":null}`, category.ID, acts[0].ID))
		is.Equal(len(e.acts(t, company)), 1)
	})
}

// TestWhatChangesNothingIsNotAudited checks that neither a call that changes nothing nor a refused one is in the audit
// log.
func TestWhatChangesNothingIsNotAudited(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		own := e.subject(t)
		category, err := e.staff.CreateCategory(t.Context(), "Music", "music")
		is.NoErr(err)
		ctx := t.Context()
		repeated := []func() error{
			func() error { _, err := e.staff.SuspendCompany(ctx, own.company); return err },
			func() error { _, err := e.staff.ActivateCompany(ctx, own.company); return err },
			func() error { _, err := e.staff.SuspendWallet(ctx, own.company, ledger.Earnings); return err },
			func() error { _, err := e.staff.ActivateWallet(ctx, own.company, ledger.Earnings); return err },
			func() error { _, err := e.staff.CreditFloat(ctx, own.company, "PSK-00000001", 1); return err },
			func() error { _, err := e.staff.RevokeAPIKey(ctx, own.key); return err },
			func() error { _, err := e.staff.DeactivateCategory(ctx, category.ID); return err },
			func() error { _, err := e.staff.GrantGrace(ctx, own.company, opening.Add(time.Hour)); return err },
			func() error { _, err := e.staff.RejectVerification(ctx, own.company, "why"); return err },
			func() error {
				_, err := e.staff.ApproveVerification(ctx, own.company, ticketing.ApprovalParams{})
				return err
			},
			func() error { _, err := e.staff.RevokeVerification(ctx, own.company); return err },
			func() error {
				_, err := e.staff.UpdateBranding(ctx, own.company, ticketing.UpdateBrandingParams{BrandName: of("New")})
				return err
			},
		}
		for i, act := range repeated {
			before := len(e.acts(t, uuid.Nil))
			for range 3 {
				is.NoErr(act())
			}
			if made := len(e.acts(t, uuid.Nil)) - before; made != 1 {
				t.Errorf("act %d, done three times, is %d times in the log", i, made)
			}
		}

		before := e.acts(t, uuid.Nil)
		for _, act := range []func() error{
			func() error { _, err := e.staff.CreditFloat(ctx, own.company, "PSK-00000001", 2); return err },
			func() error { _, err := e.staff.CreditFloat(ctx, own.company, "PSK-00000002", 2); return err },
			func() error {
				_, err := e.staff.IssueAPIKey(ctx, own.company, "gate", ticketing.AllGrants())
				return err
			},
			func() error { _, err := e.staff.RotateAPIKey(ctx, own.key); return err },
			func() error { _, err := e.staff.CreateCategory(ctx, "Music", "music"); return err },
			func() error { _, err := e.staff.DeactivateCategory(ctx, uuid.New()); return err },
			func() error { _, err := e.staff.CreateCompany(ctx, ""); return err },
			func() error { _, err := e.staff.SuspendCompany(ctx, uuid.New()); return err },
			func() error { _, err := e.staff.EndEvent(ctx, uuid.New()); return err },
		} {
			is.True(act() != nil)
		}
		is.Equal(e.acts(t, uuid.Nil), before)
	})
}

// TestWhatNobodyDidIsNotAudited checks that the background work that ends an event leaves no audit entry: no actor did
// it.
func TestWhatNobodyDidIsNotAudited(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.subject(t)
		before := e.acts(t, uuid.Nil)
		e.clock.advance(60 * 24 * time.Hour)
		ended, err := e.EndEvents(t.Context())
		is.NoErr(err)
		is.Equal(ended, 1)
		is.Equal(e.acts(t, uuid.Nil), before)
	})
}

// TestWhoWritesHasAName checks that an actor who changes something has a name of 1 to 200 characters on one line. An
// actor who only reads needs no name.
func TestWhoWritesHasAName(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		for _, test := range []struct{ name, want string }{
			{"x", ""},
			{strings.Repeat("é", 200), ""},
			{" " + strings.Repeat("x", 200) + "\n", ""},
			{"", "actor.name: must not be empty"},
			{" \t ", "actor.name: must not be empty"},
			{strings.Repeat("x", 201), "actor.name: must be at most 200 characters"},
			{"Ada\nkyb.approve", "actor.name: must not contain control characters"},
			{"Ada\xff", "actor.name: must be valid UTF-8"},
		} {
			staff := e.As(ticketing.Staff(test.name))
			own := e.subject(t)
			before := len(e.acts(t, uuid.Nil))
			for _, right := range rights() {
				if right.action != "" && right.platform {
					is.Equal(said(right.call(t.Context(), staff, own)), test.want)
				}
			}
			_, err := staff.SuspendCompany(t.Context(), company)
			is.Equal(said(err), test.want)
			_, err = staff.ActivateCompany(t.Context(), company)
			is.Equal(said(err), test.want)
			if test.want != "" {
				is.Equal(len(e.acts(t, uuid.Nil)), before)
			}
			_, err = staff.GetCompany(t.Context(), company)
			is.NoErr(err)
		}
	})
}

// TestTheAuditLogIsPaged checks that the audit log is paged newest first, and that a cursor is valid for one company
// only.
func TestTheAuditLogIsPaged(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.unverified(t), e.unverified(t)
		for i := range 6 {
			e.clock.advance(time.Millisecond * time.Duration(i%2)) // Two acts share a time.
			for _, id := range []uuid.UUID{company, other} {
				_, err := e.staff.ScheduleCommission(t.Context(), id, ticketing.CommissionParams{})
				is.NoErr(err)
			}
		}
		for id, want := range map[uuid.UUID]int{company: 7, other: 7, uuid.Nil: 14} {
			whole := e.acts(t, id)
			is.Equal(len(whole), want)
			for i := 1; i < len(whole); i++ {
				is.True(!whole[i].At.After(whole[i-1].At.Time))
			}
			for limit := 1; limit <= want; limit++ {
				var acts []ticketing.AuditEntry
				for params := (ticketing.PageParams{Limit: limit}); ; {
					page, err := e.staff.ListAudit(t.Context(), id, ticketing.AuditFilter{PageParams: params})
					is.NoErr(err)
					is.True(len(page.Items) <= limit)
					acts = append(acts, page.Items...)
					if params.Cursor = page.NextCursor; !page.HasMore {
						break
					}
				}
				is.Equal(acts, whole)
			}
		}
		page, err := e.staff.ListAudit(t.Context(), company, auditPage(1))
		is.NoErr(err)
		for _, id := range []uuid.UUID{other, uuid.Nil} {
			_, err = e.staff.ListAudit(t.Context(), id, ticketing.AuditFilter{
				PageParams: ticketing.PageParams{Cursor: page.NextCursor},
			})
			is.Equal(code(err), ticketing.CodeInvalidCursor)
		}
		for limit, want := range map[int]ticketing.Code{
			-1: ticketing.CodeInvalidRequest, 1: "", 100: "", 101: ticketing.CodeInvalidRequest,
		} {
			_, err := e.staff.ListAudit(t.Context(), company, auditPage(limit))
			is.Equal(code(err), want)
		}
	})
}

// TestNothingPrivateIsShown checks Section 5, rule 4, and Section 2.9, item 6: whatever operators do and however it
// fails, nothing private is in the audit log, an error or the service's own log. Private are the secret and the digest
// of a key, a master secret, an account number, a buyer and a fact of a verification.
func TestNothingPrivateIsShown(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one goroutine does")
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		var told strings.Builder
		var private []string
		fails := func(err error) {
			if err != nil {
				fmt.Fprintf(&told, "%v %+v %#v\n", err, err, err)
			}
		}
		deaf, err := ticketing.New(deafStore{e.store}, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('a')}, Clock: e.clock.now, Logger: slog.New(slog.NewTextHandler(e.log, nil)),
		})
		is.NoErr(err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for _, right := range rights() {
			own := right.subject(t, e)
			if right.before != nil {
				is.NoErr(right.before(t.Context(), e.staff, own))
			}
			fails(right.call(ended, e.staff, own))
			fails(right.call(t.Context(), deaf.As(ticketing.Staff("test")), own))
			fails(right.call(t.Context(), e.As(ticketing.Actor{Name: "test", CompanyID: uuid.New()}), own))
			fails(right.call(t.Context(), e.staff, own))
			fails(right.call(t.Context(), e.staff, own)) // Some methods refuse a second call.
		}
		own := e.subject(t)
		first := e.issue(t, own.company)
		_, err = e.staff.RotateAPIKey(t.Context(), first.ID)
		is.True(err != nil) // Two are active.
		fails(err)
		_, err = e.staff.RevokeAPIKey(t.Context(), own.key)
		is.NoErr(err)
		rotated, err := e.staff.RotateAPIKey(t.Context(), first.ID)
		is.NoErr(err)
		for _, act := range e.acts(t, uuid.Nil) {
			told.WriteString(show(t, act))
		}
		told.WriteString(e.log.String())

		private = append(private, string(secretKey('a')), accountNumber, buyerOfSubject, "chi@adire.ng", "bisi@adire.ng")
		for _, key := range []ticketing.IssuedAPIKey{first, rotated} {
			private = append(private, key.Key, key.Key[strings.LastIndex(key.Key, ".")+1:])
		}
		given := facts()
		for _, fact := range []*string{
			given.LegalName, given.RegistrationNumber, given.Address, given.ContactName, given.ContactPhone,
		} {
			private = append(private, strings.TrimSpace(*fact))
		}
		private = append(private, strings.ToLower(strings.TrimSpace(*given.ContactEmail)))
		is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			records, err := tx.ListAPIKeys(ctx, own.company, 10)
			is.Equal(len(records), 3)
			for _, record := range records {
				private = append(private, record.Digest)
			}
			return err
		}))
		is.True(strings.Contains(told.String(), rotated.ID.String()))
		is.True(strings.Contains(told.String(), errDeaf.Error()))
		for _, text := range private {
			if text == "" || strings.Contains(told.String(), text) {
				t.Errorf("%q is told", text)
			}
		}
	})
}

// TestTheAuditLogIsFiltered checks that the log is filtered by actor, action and time, of a company and of all, and
// that a cursor is of one filter.
func TestTheAuditLogIsFiltered(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.unverified(t), e.unverified(t)
		for n := range 12 {
			e.clock.advance(time.Second)
			o := e.As(ticketing.Staff([]string{"Ada", "Obi", "Ada Obi"}[n%3]))
			id := []uuid.UUID{company, other}[n%4/2]
			var err error
			if n%2 == 0 {
				_, err = o.RenameCompany(t.Context(), id, fmt.Sprint("Adire ", n))
			} else {
				_, err = o.GrantGrace(t.Context(), id, opening.Add(time.Duration(n)*time.Hour))
			}
			is.NoErr(err)
		}
		at := func(n int) time.Time { return opening.Add(time.Duration(n) * time.Second) }
		nobody := func(ticketing.AuditEntry) bool { return false }
		for _, test := range []struct {
			name   string
			filter ticketing.AuditFilter
			means  func(a ticketing.AuditEntry) bool
			some   bool
		}{
			{"an actor", ticketing.AuditFilter{Actor: " Ada "}, func(a ticketing.AuditEntry) bool {
				return a.Actor == "Ada"
			}, true},
			{"an actor in other letters", ticketing.AuditFilter{Actor: "ada"}, nobody, false},
			{"an action", ticketing.AuditFilter{Action: "kyb.grace"}, func(a ticketing.AuditEntry) bool {
				return a.Action == "kyb.grace"
			}, true},
			{"an unknown action", ticketing.AuditFilter{Action: "kyb"}, nobody, false},
			{"a time", ticketing.AuditFilter{Since: at(4), Until: at(9)}, func(a ticketing.AuditEntry) bool {
				return !a.At.Before(at(4)) && a.At.Before(at(9))
			}, true},
			{
				"between milliseconds",
				ticketing.AuditFilter{Since: at(4).Add(1), Until: at(9).Add(1)},
				func(a ticketing.AuditEntry) bool { return a.At.After(at(4)) && !a.At.After(at(9)) }, true,
			},
			{
				"all of it",
				ticketing.AuditFilter{Actor: "Obi", Action: "kyb.grace", Since: at(2), Until: at(12)},
				func(a ticketing.AuditEntry) bool {
					return a.Actor == "Obi" && a.Action == "kyb.grace" && !a.At.Before(at(2)) && a.At.Before(at(12))
				}, true,
			},
		} {
			for _, id := range []uuid.UUID{company, {}} {
				var want []ticketing.AuditEntry
				for _, act := range e.acts(t, id) {
					if test.means(act) {
						want = append(want, act)
					}
				}
				is.True(!test.some || len(want) > 0)
				for limit := 1; limit <= 3; limit++ {
					filter := test.filter
					var found []ticketing.AuditEntry
					for filter.Limit = limit; ; {
						page, err := e.staff.ListAudit(t.Context(), id, filter)
						is.NoErr(err)
						found = append(found, page.Items...)
						if filter.Cursor = page.NextCursor; !page.HasMore {
							break
						}
					}
					if !slices.EqualFunc(found, want, func(a, b ticketing.AuditEntry) bool { return a.ID == b.ID }) {
						t.Errorf("%s: got %v, want %v", test.name, found, want)
					}
				}
			}
		}
		page, err := e.staff.ListAudit(t.Context(), company, auditPage(1))
		is.NoErr(err)
		for _, filter := range []ticketing.AuditFilter{
			{Actor: "Ada"}, {Action: "Ada"}, {Since: at(1)}, {Until: at(1)}, {Since: at(2)},
		} {
			filter.Cursor = page.NextCursor
			_, err := e.staff.ListAudit(t.Context(), company, filter)
			is.Equal(code(err), ticketing.CodeInvalidCursor)
		}
		for _, filter := range []ticketing.AuditFilter{
			{Actor: strings.Repeat("a", 201)},
			{Actor: "two\nlines"},
			{Action: strings.Repeat("a", 101)},
			{Action: "a\x00b"},
			{Actor: "\xff"},
			{Since: at(2), Until: at(2)},
			{Since: at(3), Until: at(2)},
			{Since: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
		} {
			_, err := e.staff.ListAudit(t.Context(), company, filter)
			is.Equal(code(err), ticketing.CodeInvalidRequest)
		}
	})
}
