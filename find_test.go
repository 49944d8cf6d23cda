package ticketing_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// maxFound is how many of a kind are found.
const maxFound = 10

// findable is a text of a subject, and what it finds.
type findable struct {
	text       string
	kind       ticketing.FoundKind
	permission ticketing.Permission // without which it is not found
	id         uuid.UUID            // of what is found; zero: it has none
}

// findables returns a text for each kind that belongs to a company.
func (own subject) findables(t *testing.T, e *env) []findable {
	t.Helper()
	order, err := e.staff.GetOrder(t.Context(), own.order)
	is.New(t).NoErr(err)
	admission := order.Lines[0].AdmissionID
	code := ticketing.FormatAdmissionCode(own.event, admission)
	const read = ticketing.PermissionCompanyOrderRead
	reference := "PSK-of-" + own.company.String()
	acts, err := e.staff.ListAudit(t.Context(), own.company, ticketing.AuditFilter{Action: "company.create"})
	is.New(t).NoErr(err)
	return []findable{
		{own.company.String(), ticketing.FoundCompany, ticketing.PermissionKYBRead, own.company},
		{own.event.String(), ticketing.FoundEvent, read, own.event},
		{strings.ToUpper(own.order.String()), ticketing.FoundOrder, read, own.order},
		{" " + admission.String() + "\r\n", ticketing.FoundAdmission, read, admission},
		{code, ticketing.FoundAdmission, read, admission},
		{strings.ToLower(code) + "\n", ticketing.FoundAdmission, read, admission},
		{order.Lines[0].ID.String(), ticketing.FoundAdmission, read, admission},
		{own.key.String(), ticketing.FoundAPIKey, ticketing.PermissionAPIKeyRead, own.key},
		{own.endpoint.String(), ticketing.FoundWebhookEndpoint, ticketing.PermissionWebhookRead, own.endpoint},
		{own.delivery.String(), ticketing.FoundDelivery, ticketing.PermissionWebhookRead, own.delivery},
		{own.settlement.String(), ticketing.FoundSettlement, ticketing.PermissionSettlementRead, own.settlement},
		{reference, ticketing.FoundFunding, ticketing.PermissionWalletRead, uuid.Nil},
		{own.user.String(), ticketing.FoundMember, ticketing.PermissionMemberRead, own.user},
		{acts.Items[0].ID.String(), ticketing.FoundAuditEntry, ticketing.PermissionAuditRead, acts.Items[0].ID},
	}
}

// without returns all permissions but some.
func without(some ...ticketing.Permission) []ticketing.Permission {
	return slices.DeleteFunc(ticketing.AllPermissions(), func(p ticketing.Permission) bool {
		return slices.Contains(some, p)
	})
}

// TestFindShowsWhatTheActorMaySee checks each kind by every sort of actor: who lacks its permission, and who belongs to
// another company, learns nothing of it.
func TestFindShowsWhatTheActorMaySee(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		own, other := e.subject(t), e.subject(t)
		e.sellFor(t, &own)
		e.hookFor(t, &own)
		_, err := e.staff.RemoveMember(t.Context(), other.company, other.user) // A user in both is found in both.
		is.NoErr(err)
		_, err = e.staff.SuspendCompany(t.Context(), own.company) // Its people and staff still find everything.
		is.NoErr(err)
		company, err := e.staff.GetCompany(t.Context(), own.company)
		is.NoErr(err)
		for _, one := range own.findables(t, e) {
			finds := func(actor ticketing.Actor, in uuid.UUID, want ...ticketing.FoundKind) {
				t.Helper()
				actor.Name = "Ada"
				found, err := e.As(actor).Find(t.Context(), in, one.text)
				is.NoErr(err)
				kinds := []ticketing.FoundKind{}
				for _, f := range found {
					kinds = append(kinds, f.Kind)
					is.Equal(*f.CompanyID, own.company)
					is.Equal(*f.CompanyName, company.Name)
					is.True(!f.At.IsZero())
					is.True(f.ID == nil && one.id == uuid.Nil || *f.ID == one.id) // one.text
				}
				is.Equal(kinds, append([]ticketing.FoundKind{}, want...)) // one.text
			}
			refuses := func(actor ticketing.Actor, in uuid.UUID, want ticketing.Code) {
				t.Helper()
				found, err := e.As(actor).Find(t.Context(), in, one.text)
				is.Equal(code(err), want)
				is.Equal(len(found), 0)
			}
			all, orders := ticketing.AllPermissions(), ticketing.PermissionCompanyOrderRead
			// Staff.
			finds(ticketing.Actor{Permissions: all}, uuid.Nil, one.kind)
			finds(ticketing.Actor{Permissions: all}, own.company, one.kind)
			finds(ticketing.Actor{Permissions: all}, other.company)
			refuses(ticketing.Actor{Permissions: all}, uuid.New(), ticketing.CodeNotFound)
			refuses(ticketing.Actor{Permissions: without(ticketing.PermissionTenantRead)}, uuid.Nil,
				ticketing.CodePermissionDenied)
			exact := []ticketing.Permission{one.permission, orders}
			finds(ticketing.Actor{Permissions: exact}, own.company, one.kind)
			switch one.permission {
			case orders:
				lacking := without(orders, ticketing.PermissionOrderRead)
				finds(ticketing.Actor{Permissions: lacking}, uuid.Nil)
				refuses(ticketing.Actor{Permissions: lacking}, own.company, ticketing.CodePermissionDenied)
			case ticketing.PermissionKYBRead, ticketing.PermissionAuditRead: // tenant:read lists those of all companies.
				finds(ticketing.Actor{Permissions: without(one.permission)}, uuid.Nil, one.kind)
				finds(ticketing.Actor{Permissions: without(one.permission)}, own.company)
			default:
				finds(ticketing.Actor{Permissions: without(one.permission)}, uuid.Nil)
				finds(ticketing.Actor{Permissions: without(one.permission)}, own.company)
			}
			// A company's people.
			finds(ticketing.Actor{CompanyID: own.company, Permissions: all}, own.company, one.kind)
			finds(ticketing.Actor{CompanyID: own.company, Permissions: exact}, own.company, one.kind)
			if one.permission != orders {
				finds(ticketing.Actor{CompanyID: own.company, Permissions: without(one.permission)}, own.company)
			}
			refuses(ticketing.Actor{CompanyID: own.company, Permissions: all}, uuid.Nil, ticketing.CodePermissionDenied)
			// Those of another one.
			finds(ticketing.Actor{CompanyID: other.company, Permissions: all}, other.company)
			refuses(ticketing.Actor{CompanyID: other.company, Permissions: all}, own.company, ticketing.CodeNotFound)
			refuses(ticketing.Actor{CompanyID: other.company, Permissions: all}, uuid.Nil, ticketing.CodePermissionDenied)
		}
		// The event of a code has to be that of the admission.
		order, err := e.staff.GetOrder(t.Context(), own.order)
		is.NoErr(err)
		for _, text := range []string{
			ticketing.FormatAdmissionCode(other.event, order.Lines[0].AdmissionID),
			ticketing.FormatAdmissionCode(own.event, own.order),
		} {
			found, err := e.staff.Find(t.Context(), uuid.Nil, text)
			is.NoErr(err)
			is.Equal(len(found), 0)
		}
	})
}

// TestFindARate holds that the id of a commission rate finds it at its company, for those who may see the schedule, and
// nowhere else.
func TestFindARate(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		own, other := e.verified(t), e.verified(t)
		rate, err := money.ParseRate("2.50", money.Percent)
		is.NoErr(err)
		scheduled, err := e.staff.ScheduleCommission(t.Context(), own, ticketing.CommissionParams{Rate: rate})
		is.NoErr(err)
		find := func(in uuid.UUID, permissions ...ticketing.Permission) []ticketing.Found {
			t.Helper()
			actor := ticketing.Actor{Name: "Ada", Permissions: permissions}
			found, err := e.As(actor).Find(t.Context(), in, scheduled.ID.String())
			is.NoErr(err)
			return found
		}
		all := ticketing.AllPermissions()
		found := find(own, all...)
		is.Equal(len(found), 1)
		is.Equal(found[0].Kind, ticketing.FoundRate)
		is.Equal(found[0].Title, "2.5 PERCENT")
		is.Equal(*found[0].CompanyID, own)
		is.Equal(found[0].At, scheduled.CreatedAt)
		is.Equal(len(find(other, all...)), 0)
		is.Equal(len(find(uuid.Nil, all...)), 0)
		is.Equal(len(find(own, without(ticketing.PermissionWalletRead)...)), 0)
	})
}

// TestFindAMovement holds that a wallet and a sequence find the movement at its company, for those who may see the
// ledger.
func TestFindAMovement(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		own, other := e.subject(t), e.subject(t)
		e.sellFor(t, &own)
		find := func(in uuid.UUID, text string, permissions ...ticketing.Permission) []ticketing.Found {
			t.Helper()
			found, err := e.As(ticketing.Actor{Name: "Ada", Permissions: permissions}).Find(t.Context(), in, text)
			is.NoErr(err)
			return found
		}
		all := ticketing.AllPermissions()
		movements, err := e.staff.ListMovements(t.Context(), own.company, ticketing.MovementFilter{Wallet: ledger.Float})
		is.NoErr(err)
		want := movements.Items[0]
		is.Equal(want.Kind, ledger.CheckoutDebit)
		number := strconv.FormatInt(want.Sequence, 10)
		for _, text := range []string{
			"FLOAT " + number, " float\u00a0" + number, "Float No. " + number, "FLOAT no " + number,
		} {
			found := find(own.company, text, all...)
			is.Equal(len(found), 1) // text
			is.Equal([]any{found[0].Kind, found[0].Title, *found[0].Status, *found[0].Reference, *found[0].Amount, found[0].At},
				[]any{
					ticketing.FoundMovement, "FLOAT " + number, "CHECKOUT_DEBIT", own.order.String(), want.Amount, want.CreatedAt,
				})
			is.Equal(*found[0].CompanyID, own.company)
		}
		accrued := find(own.company, "earnings 1", all...)
		is.Equal(len(accrued), 1)
		is.Equal(accrued[0].Title, "EARNINGS 1")
		is.Equal(len(find(own.company, "FLOAT "+number, without(ticketing.PermissionWalletRead)...)), 0)
		is.Equal(len(find(other.company, "EARNINGS 1", all...)), 0) // It has sold nothing.
		is.Equal(len(find(uuid.Nil, "EARNINGS 1", all...)), 0)      // Every company has one.
		for _, text := range []string{
			"FLOAT", "FLOAT 0", "FLOAT -1", "FLOAT 999", "FLOAT 1 1", "FLOAT 1x", "FLOAT no. no. 1", "CASH 1",
			"FLOAT 99999999999999999999", "1 FLOAT", "FLOAT +1", "FLOAT 01",
		} {
			is.Equal(len(find(own.company, text, all...)), 0) // text
		}
	})
}

// TestFindAnAuditEntryOfThePlatform holds that an entry about no company is found on the platform, by staff alone.
func TestFindAnAuditEntryOfThePlatform(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		_, err := e.staff.CreateCategory(t.Context(), "Music", "music")
		is.NoErr(err)
		acts, err := e.staff.ListAudit(t.Context(), uuid.Nil, ticketing.AuditFilter{Action: "category.create"})
		is.NoErr(err)
		text := acts.Items[0].ID.String()
		found, err := e.staff.Find(t.Context(), uuid.Nil, text)
		is.NoErr(err)
		is.Equal(len(found), 1)
		is.Equal([]any{found[0].Kind, found[0].Title, found[0].CompanyID == nil, found[0].At},
			[]any{ticketing.FoundAuditEntry, "category.create", true, acts.Items[0].At})
		found, err = e.staff.Find(t.Context(), company, text)
		is.NoErr(err)
		is.Equal(len(found), 0)
	})
}

// TestFindShowsHowThingsAre checks what is shown of each kind, before and after it has ended.
func TestFindShowsHowThingsAre(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		own := e.subject(t)
		e.sellFor(t, &own)
		e.hookFor(t, &own)
		statuses := func() map[ticketing.FoundKind]string {
			shown := map[ticketing.FoundKind]string{}
			for _, one := range own.findables(t, e) {
				found, err := e.staff.Find(t.Context(), own.company, one.text)
				is.NoErr(err)
				is.Equal(len(found), 1)
				text := found[0].Title
				if found[0].Status != nil {
					text += " " + *found[0].Status
				}
				if found[0].Email != nil {
					text += " " + *found[0].Email
				}
				if found[0].Amount != nil {
					text += " " + found[0].Amount.String()
				}
				if found[0].OrderID != nil {
					is.Equal(*found[0].OrderID, own.order)
				}
				shown[one.kind] = text
			}
			return shown
		}
		endpoint, err := e.staff.GetWebhookEndpoint(t.Context(), own.endpoint)
		is.NoErr(err)
		want := map[ticketing.FoundKind]string{
			ticketing.FoundCompany: "Adire Concerts ACTIVE", ticketing.FoundEvent: "Adire Live PUBLISHED",
			ticketing.FoundOrder:           "Adire Live CONFIRMED ada@example.com 100.00",
			ticketing.FoundAdmission:       "VIP VALID 100.00",
			ticketing.FoundAPIKey:          "gate ACTIVE",
			ticketing.FoundWebhookEndpoint: endpoint.URL + " ENABLED",
			ticketing.FoundDelivery:        "order.created FAILED",
			ticketing.FoundSettlement:      " PENDING 10.00",
			ticketing.FoundFunding:         "PSK-of-" + own.company.String() + " 1000.00",
			ticketing.FoundMember:          "Bisi VIEWER bisi@adire.ng",
			ticketing.FoundAuditEntry:      "company.create",
		}
		is.Equal(statuses(), want)

		order, err := e.staff.GetOrder(t.Context(), own.order)
		is.NoErr(err)
		_, err = e.ValidateAdmission(t.Context(), ticketing.TrustedCaller(own.company, ticketing.GrantTicketValidate),
			own.event, order.Lines[0].AdmissionID, "scan-0001", ticketing.ValidateParams{})
		is.NoErr(err)
		want[ticketing.FoundAdmission] = "VIP ADMITTED 100.00"
		is.Equal(statuses(), want)

		_, err = e.staff.RevokeAPIKey(t.Context(), own.key)
		is.NoErr(err)
		_, err = e.staff.CancelOrder(t.Context(), own.order, "A stolen card")
		is.NoErr(err)
		_, err = e.staff.RejectSettlement(t.Context(), own.settlement, "No such account")
		is.NoErr(err)
		_, err = e.staff.EndEvent(t.Context(), own.event)
		is.NoErr(err)
		_, err = e.staff.SuspendCompany(t.Context(), own.company)
		is.NoErr(err)
		_, err = e.staff.DisableWebhookEndpoint(t.Context(), own.endpoint)
		is.NoErr(err)
		want[ticketing.FoundAdmission] = "VIP VOID 100.00"
		want[ticketing.FoundAPIKey] = "gate REVOKED"
		want[ticketing.FoundOrder] = "Adire Live CANCELLED ada@example.com 100.00"
		want[ticketing.FoundSettlement] = " REJECTED 10.00"
		want[ticketing.FoundEvent] = "Adire Live ENDED"
		want[ticketing.FoundCompany] = "Adire Concerts SUSPENDED"
		want[ticketing.FoundWebhookEndpoint] = endpoint.URL + " DISABLED"
		is.Equal(statuses(), want)

		// One who was removed, and an endpoint that was, are nobody and nothing any more.
		_, err = e.staff.RemoveMember(t.Context(), own.company, own.user)
		is.NoErr(err)
		is.NoErr(e.staff.DeleteWebhookEndpoint(t.Context(), own.endpoint))
		for _, text := range []string{own.user.String(), own.endpoint.String(), "bisi@adire.ng"} {
			for _, in := range []uuid.UUID{uuid.Nil, own.company} {
				found, err := e.staff.Find(t.Context(), in, text)
				is.NoErr(err)
				is.Equal(len(found), 0) // text
			}
		}
	})
}

// TestFindAScan checks that the id of a validation, as the API and webhooks show it, finds the ticket that was scanned,
// also after a repeated scan and after the end of the order. A ticket that nobody scanned has no such id.
func TestFindAScan(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ctx := t.Context()
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 10_00, 2)
		basket := basketOf(event.ID, "ada@example.com")
		basket.Lines[0].Quantity = 2
		order, err := shop.Checkout(ctx, shop.Caller, shop.Key(), basket)
		is.NoErr(err)
		scanned, other := order.Lines[0].AdmissionID, order.Lines[1].AdmissionID
		scan := func() uuid.UUID {
			done, err := shop.ValidateAdmission(ctx, shop.Caller, event.ID, scanned, shop.Key(), ticketing.ValidateParams{})
			is.NoErr(err)
			return done.ID
		}
		id := scan()
		is.Equal(scan(), id)
		shown, err := ticketing.ParseID(id.String()) // version 4, as every id of the contract
		is.NoErr(err)
		is.Equal(shown, id)
		finds := func(in uuid.UUID, id uuid.UUID, want ...uuid.UUID) {
			t.Helper()
			found, err := shop.Staff.Find(ctx, in, id.String())
			is.NoErr(err)
			is.Equal(len(found), len(want))
			for i, one := range found {
				is.Equal(one.Kind, ticketing.FoundAdmission)
				is.Equal(*one.ID, want[i])
			}
		}
		finds(uuid.Nil, id, scanned)
		finds(shop.Company.ID, id, scanned)
		finds(shop.Neighbour(t).Company.ID, id)
		_, err = shop.Staff.CancelOrder(ctx, order.ID, "A stolen card")
		is.NoErr(err)
		finds(uuid.Nil, id, scanned)

		unused := other
		for i := range unused { // the id that its validation would have
			unused[i] ^= scanned[i] ^ id[i]
		}
		finds(uuid.Nil, unused)
		finds(uuid.Nil, other, other)
	})
}

// summary returns what was found, in short.
func summary(found []ticketing.Found) []string {
	texts := []string{}
	for _, one := range found {
		text := string(one.Kind)
		if one.CompanyName != nil {
			text += " of " + *one.CompanyName
		}
		texts = append(texts, text)
	}
	return texts
}

// TestAPersonIsFoundByTheirEmail checks that an email finds the orders of a buyer at once at their company, and in all
// companies after the dispatch, with the members and the staff of that email, and nothing of somebody who was erased.
func TestAPersonIsFoundByTheirEmail(t *testing.T) {
	t.Parallel()
	onShops(t, &ticketingtest.Config{Float: 5_000_00}, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ctx := t.Context()
		neighbour := shop.Neighbour(t)
		first, second := shop.Company.Name, neighbour.Company.Name
		is.True(first != second)
		ids := map[uuid.UUID]int{}
		for i, of := range []*ticketingtest.Shop{shop, neighbour, neighbour} {
			event := of.Event(t)
			of.Inventory(t, event.ID, "VIP", 10_00, 10)
			sold, err := of.Checkout(ctx, of.Caller, of.Key(), basketOf(event.ID, "Ada@Example.com"))
			is.NoErr(err)
			ids[sold.ID] = i
			shop.Clock.Advance(time.Minute)
		}
		finds := func(in uuid.UUID, text string, want ...string) []ticketing.Found {
			t.Helper()
			found, err := shop.Staff.Find(ctx, in, text)
			is.NoErr(err)
			is.Equal(summary(found), append([]string{}, want...))
			return found
		}
		finds(shop.Company.ID, " ADA@example.com", "ORDER of "+first, "BUYER of "+first)
		finds(neighbour.Company.ID, "ada@example.com", "ORDER of "+second, "ORDER of "+second, "BUYER of "+second)
		finds(neighbour.Company.ID, "ADA@exam", "BUYER of "+second)
		finds(neighbour.Company.ID, "ada@example.co", "BUYER of "+second) // also where the beginning is an email itself

		// The company with the lower id sold the newer orders.
		lower, higher := shop, neighbour
		if lower.Company.ID.String() > higher.Company.ID.String() {
			lower, higher = higher, lower
		}
		var newest []uuid.UUID
		for _, of := range []*ticketingtest.Shop{higher, lower} {
			event := of.Event(t)
			of.Inventory(t, event.ID, "VIP", 10_00, 20)
			newest = newest[:0]
			for range maxFound + 1 {
				sold, err := of.Checkout(ctx, of.Caller, of.Key(), basketOf(event.ID, "bayo@example.com"))
				is.NoErr(err)
				newest = append([]uuid.UUID{sold.ID}, newest...)
				shop.Clock.Advance(time.Minute)
				if of == higher && len(newest) == maxFound/2 {
					break
				}
			}
		}

		shop.Work(t)
		all := 3 + maxFound/2 + maxFound + 1
		for n := all; len(shop.Facts.Of(ticketing.FactOrderCreated)) < all; n++ {
			_, err := shop.Facts.Wait(ctx, n)
			is.NoErr(err)
		}
		found := finds(uuid.Nil, "ada@example.com", "ORDER of "+second, "ORDER of "+second, "ORDER of "+first,
			"BUYER of "+second, "BUYER of "+first)
		is.Equal([]int{ids[*found[0].ID], ids[*found[1].ID], ids[*found[2].ID]}, []int{2, 1, 0}) // newest first
		finds(uuid.Nil, "ada@exam")
		found, err := shop.Staff.Find(ctx, uuid.Nil, "bayo@example.com")
		is.NoErr(err)
		for i, id := range newest[:maxFound] {
			is.Equal(*found[i].ID, id)
		}

		_, err = shop.Staff.AddMember(ctx, shop.Company.ID, ticketing.AddMemberParams{
			Email: "ada@example.com", Name: "Ada", Role: ticketing.RoleViewer,
		})
		is.NoErr(err)
		_, err = shop.Staff.AddStaff(ctx, ticketing.AddStaffParams{
			Email: "ada@example.com", Name: "Ada", Role: ticketing.StaffAuditor,
		})
		is.NoErr(err)
		finds(shop.Company.ID, "ada@example.com", "ORDER of "+first, "BUYER of "+first, "MEMBER of "+first)
		finds(neighbour.Company.ID, "ada@example.com", "ORDER of "+second, "ORDER of "+second, "BUYER of "+second)

		for _, of := range []uuid.UUID{shop.Company.ID, neighbour.Company.ID} {
			erased, err := shop.Staff.EraseBuyer(ctx, of, "ada@example.com")
			is.NoErr(err)
			is.True(erased.Erased)
		}
		found = finds(uuid.Nil, "ada@example.com", "MEMBER of "+first, "STAFF")
		finds(uuid.Nil, found[1].ID.String(), "MEMBER of "+first, "STAFF")
		finds(shop.Company.ID, found[1].ID.String(), "MEMBER of "+first)
		finds(neighbour.Company.ID, "ada@exam")
		for id, of := range ids {
			sold := finds(uuid.Nil, id.String(), "ORDER of "+[]string{first, second, second}[of])
			is.True(strings.HasSuffix(*sold[0].Email, "@erased.invalid"))
			finds(uuid.Nil, *sold[0].Email, summary(sold)...) // by the address that was made up
		}
	})
}

// TestFindComparesBeginnings checks that titles and names are found by their beginning whatever the case of A to Z, at
// most ten of each, and that a text means nothing but itself.
func TestFindComparesBeginnings(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		long := strings.Repeat("é", 60)
		event := func(company uuid.UUID, title string) {
			_, err := e.CreateEvent(t.Context(), ticketing.TrustedCaller(company, ticketing.GrantEventManage),
				"event-"+uuid.NewString(), ticketing.CreateEventParams{
					Title: title, Date: "2026-12-24", StartsAt: "20:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
					ImageURL: "https://cdn.adire.ng/live.jpg", Status: ticketing.EventDraft,
				})
			is.NoErr(err)
		}
		own, other := e.unverified(t), e.unverified(t)
		_, err := e.staff.RenameCompany(t.Context(), other, "JAZZ Ọjà")
		is.NoErr(err)
		for _, title := range []string{"Jazz Night", "jazz brunch", "_azz", "100%", long + "b", "\u202eJazz"} {
			event(own, title)
		}
		for i := range 11 {
			event(other, fmt.Sprint("Jazz ", i))
		}
		titles := func(in uuid.UUID, text string) []string {
			t.Helper()
			found, err := e.staff.Find(t.Context(), in, text)
			is.NoErr(err)
			shown := []string{}
			for _, one := range found {
				shown = append(shown, one.Title)
			}
			return shown
		}
		is.Equal(titles(own, " JAZZ "), []string{"jazz brunch", "Jazz Night"})
		is.Equal(titles(own, "jazz n"), []string{"Jazz Night"})
		is.Equal(titles(own, "azz"), []string{})
		is.Equal(titles(own, "_azz"), []string{"_azz"})
		is.Equal(titles(own, "%"), []string{})
		is.Equal(titles(own, "100%"), []string{"100%"})
		is.Equal(titles(own, "\u202ejazz"), []string{"\u202eJazz"})
		is.Equal(titles(own, long+"a"), []string{long + "b"}) // 60 characters are compared.
		is.Equal(titles(own, strings.Repeat("É", 60)), []string{})
		is.Equal(titles(own, "Adire"), []string{}) // At a company there is no list of companies.
		is.Equal(titles(uuid.Nil, "adire"), []string{"Adire Concerts"})
		is.Equal(titles(uuid.Nil, "jazz Ọ"), []string{"JAZZ Ọjà"})
		is.Equal(titles(uuid.Nil, "jazz ọ"), []string{}) // Only A to Z have two cases.
		is.Equal(len(titles(other, "jazz")), 10)
		is.Equal(len(titles(uuid.Nil, "jazz")), 11)
	})
}

// TestFindRefusesMalformedTexts checks texts that no store could look for.
func TestFindRefusesMalformedTexts(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.unverified(t)
		for _, test := range []struct{ text, want string }{
			{"", "text: must not be empty"},
			{" \t\r\n\u00a0", "text: must not be empty"},
			{strings.Repeat("é", 320), ""},
			{strings.Repeat("é", 321), "text: must be at most 320 characters"},
			{strings.Repeat("x", 10_000), "text: must be at most 320 characters"},
			{"a\x00b", "text: must not contain control characters"},
			{"a\nb", "text: must not contain control characters"},
			{"a\xffb", "text: must be valid UTF-8"},
			{"'; DROP TABLE ticketing_events; --", ""},
			{"\u202e\u2066 x", ""},
			{"SVC1:" + uuid.NewString(), ""},
			{uuid.Nil.String(), ""},
		} {
			for _, in := range []uuid.UUID{uuid.Nil, company} {
				found, err := e.staff.Find(t.Context(), in, test.text)
				is.New(t).Equal(said(err), test.want)
				is.New(t).Equal(len(found), 0)
			}
		}
	})
}

// TestFindOfAWebhookEvent checks that the id which a receiver knows leads to the deliveries of the event, for who may
// see them, at the company alone.
func TestFindOfAWebhookEvent(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		own, other := e.subject(t), e.subject(t)
		e.sellFor(t, &own)
		e.hookFor(t, &own)
		for _, tt := range []struct {
			in          uuid.UUID
			permissions []ticketing.Permission
			want        int
		}{
			{own.company, ticketing.AllPermissions(), 1},
			{own.company, without(ticketing.PermissionWebhookRead), 0},
			{other.company, ticketing.AllPermissions(), 0},
			{uuid.Nil, ticketing.AllPermissions(), 0},
		} {
			actor := ticketing.Actor{Name: "Ada", Permissions: tt.permissions}
			found, err := e.As(actor).Find(t.Context(), tt.in, own.message.String())
			is.NoErr(err)
			is.Equal(len(found), tt.want)
			for _, one := range found {
				is.Equal([]any{one.Kind, *one.ID, one.Title}, []any{ticketing.FoundDelivery, own.delivery, "order.created"})
			}
		}
	})
}
