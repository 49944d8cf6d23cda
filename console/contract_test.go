package console_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

const (
	kybRead       = ticketing.PermissionKYBRead
	walletRead    = ticketing.PermissionWalletRead
	webhookRead   = ticketing.PermissionWebhookRead
	webhookManage = ticketing.PermissionWebhookManage
	webhookReplay = ticketing.PermissionWebhookReplay
	mailRead      = ticketing.PermissionNotificationRead
	mailResend    = ticketing.PermissionNotificationResend
	memberManage  = ticketing.PermissionMemberManage
	tenantRead    = ticketing.PermissionTenantRead
	tenantManage  = ticketing.PermissionManage
	decide        = ticketing.PermissionKYBDecide
	staffManage   = ticketing.PermissionStaffManage

	// Those of the data plane are grants.
	eventRead       = ticketing.Permission(ticketing.GrantEventRead)
	eventManage     = ticketing.Permission(ticketing.GrantEventManage)
	inventoryRead   = ticketing.Permission(ticketing.GrantInventoryRead)
	inventoryManage = ticketing.Permission(ticketing.GrantInventoryManage)
)

// permissionsOfPages are what a person must hold for each page. The test compares the table of the console with it, so
// that it notices a row that loses a permission.
func permissionsOfPages() map[string][]ticketing.Permission {
	const company, platform = "/business/{companyId}", "/platform/companies/{companyId}"
	all := func(some ...ticketing.Permission) []ticketing.Permission { return some }
	return map[string][]ticketing.Permission{
		"/business": nil, "/account": nil,
		company: nil, // Each part of the overview needs its own.
		company + "/verification": all(
			kybRead, ticketing.PermissionKYBManage, ticketing.PermissionKYBSubmit,
		),
		company + "/events":                           all(eventRead),
		company + "/events/new":                       all(eventRead, eventManage),
		company + "/events/{eventId}":                 all(eventRead, inventoryRead),
		company + "/events/{eventId}/edit":            all(eventRead, eventManage),
		company + "/branding":                         all(ticketing.PermissionBrandingRead),
		company + "/branding/mail":                    all(ticketing.PermissionBrandingRead),
		company + "/api-keys":                         all(ticketing.PermissionAPIKeyRead),
		company + "/commission":                       all(walletRead),
		company + "/webhooks":                         all(webhookRead),
		company + "/webhooks/{endpointId}":            all(webhookRead),
		company + "/webhooks/deliveries":              all(webhookRead),
		company + "/webhooks/deliveries/{deliveryId}": all(webhookRead),
		company + "/webhooks/replay":                  all(webhookRead, webhookReplay),
		company + "/ledger":                           all(walletRead),
		company + "/reports":                          all(walletRead),
		company + "/settlements":                      all(ticketing.PermissionSettlementRead),
		company + "/members":                          all(ticketing.PermissionMemberRead),
		company + "/orders":                           all(ticketing.PermissionCompanyOrderRead),
		company + "/orders/{orderId}":                 all(ticketing.PermissionCompanyOrderRead),
		company + "/buyers":                           all(ticketing.PermissionBuyerRead),
		company + "/buyers/erase": all(
			ticketing.PermissionBuyerRead, ticketing.PermissionBuyerErase, ticketing.PermissionCompanyOrderRead,
		),
		company + "/mail":           all(mailRead),
		company + "/mail/{orderId}": all(mailRead),
		company + "/mail/resend":    all(mailRead, mailResend),
		company + "/audit":          all(ticketing.PermissionAuditRead),
		company + "/find":           all(ticketing.PermissionCompanyOrderRead),
		"/platform":                 all(tenantRead),
		"/platform/cases":           all(tenantRead),
		"/platform/companies":       all(tenantRead),
		platform:                    all(tenantRead, kybRead, walletRead),
		platform + "/verification":  all(tenantRead, kybRead),
		platform + "/float": all(
			tenantRead, kybRead, walletRead, ticketing.PermissionAuditRead,
		),
		platform + "/commission": all(tenantRead, kybRead, walletRead),
		"/platform/money":        all(tenantRead, kybRead, walletRead),
		"/platform/settlements":  all(tenantRead, ticketing.PermissionSettlementRead),
		"/platform/categories":   all(tenantRead),
		"/platform/mail-sender":  all(tenantRead),
		"/platform/staff":        all(tenantRead),
		"/platform/audit":        all(tenantRead),
		"/platform/books":        all(tenantRead, walletRead),
		"/platform/find":         all(tenantRead),
	}
}

// need is what an act requires of a person.
type need struct {
	permission ticketing.Permission // or a grant of the data plane
	recent     bool                 // a sign-in within the last ten minutes
}

// needsOfActs are what each act requires of a person.
func needsOfActs() map[string]need {
	const recent = true
	return map[string]need{
		"sign_out": {}, "session.end": {}, "session.end_others": {}, "confirm.mail": {}, "confirm.code": {},
		"appearance.set": {}, "passkey.rename": {}, "passkey.remove": {recent: recent},
		"session.export": {}, "passkey.export": {},

		"verification.save":       {ticketing.PermissionKYBManage, false},
		"verification.submit":     {ticketing.PermissionKYBSubmit, false},
		"branding.save":           {ticketing.PermissionBrandingManage, false},
		"api_key.issue":           {ticketing.PermissionAPIKeyManage, recent},
		"api_key.rotate":          {ticketing.PermissionAPIKeyManage, recent},
		"api_key.revoke":          {ticketing.PermissionAPIKeyManage, false},
		"webhook.create":          {webhookManage, recent},
		"webhook.update":          {webhookManage, false},
		"webhook.enable":          {webhookManage, false},
		"webhook.disable":         {webhookManage, false},
		"webhook.delete":          {webhookManage, false},
		"webhook.prepare_secret":  {webhookManage, recent},
		"webhook.activate_secret": {webhookManage, false},
		"webhook.trigger":         {webhookManage, false},
		"webhook.replay":          {webhookReplay, false},
		"webhook.replay_many":     {webhookReplay, false},

		"event.create":     {eventManage, false},
		"event.update":     {eventManage, false},
		"event.publish":    {eventManage, false},
		"event.unpublish":  {eventManage, false},
		"event.cancel":     {eventManage, false},
		"event.end":        {tenantManage, false},
		"inventory.create": {inventoryManage, false},
		"inventory.price":  {inventoryManage, false},
		"inventory.pause":  {inventoryManage, false},
		"inventory.resume": {inventoryManage, false},
		"inventory.cancel": {inventoryManage, false},

		"bank_account.set":           {ticketing.PermissionSettlementRequest, recent},
		"settlement.request":         {ticketing.PermissionSettlementRequest, recent},
		"member.invite":              {memberManage, recent},
		"member.update":              {memberManage, recent},
		"member.remove":              {memberManage, recent},
		"notification.resend":        {mailResend, false},
		"notification.resend_failed": {mailResend, false},
		"order.refund":               {ticketing.PermissionOrderRefund, recent},
		"order.cancel":               {ticketing.PermissionOrderRefund, recent},
		"order.export":               {ticketing.PermissionCompanyOrderRead, recent},
		"buyer.ask_erase":            {ticketing.PermissionBuyerErase, false},
		"buyer.erase":                {ticketing.PermissionBuyerErase, recent},
		"movement.export":            {walletRead, recent},
		"statement.export":           {walletRead, recent},
		"ledger.export":              {walletRead, recent},
		"audit.export":               {ticketing.PermissionAuditRead, true},
		"event.export":               {walletRead, false},
		"sales.export":               {walletRead, false},
		"buyer.export":               {ticketing.PermissionBuyerRead, recent},
		"member.export":              {ticketing.PermissionMemberRead, recent},
		"api_key.export":             {ticketing.PermissionAPIKeyRead, false},
		"webhook.export":             {webhookRead, false},
		"settlement.export":          {ticketing.PermissionSettlementRead, false},
		"notification.export":        {mailRead, false},
		"commission.export":          {walletRead, false},
		"inventory.export":           {walletRead, false},
		"endpoint.export":            {webhookRead, false},
		"attempt.export":             {webhookRead, false},
		"branding.export":            {ticketing.PermissionBrandingRead, false},

		"platform_audit.export":      {tenantRead, true},
		"company.export":             {tenantRead, false},
		"case.export":                {tenantRead, false},
		"dead_letter.export":         {tenantRead, false},
		"staff.export":               {tenantRead, recent},
		"float.export":               {ticketing.PermissionAuditRead, recent},
		"books.export":               {walletRead, false},
		"category.export":            {tenantRead, false},
		"money.export":               {walletRead, recent},
		"company.create":             {tenantManage, false},
		"company.rename":             {tenantManage, false},
		"company.suspend":            {tenantManage, recent},
		"company.activate":           {tenantManage, false},
		"wallet.suspend":             {tenantManage, recent},
		"wallet.activate":            {tenantManage, false},
		"verification.approve":       {decide, false},
		"verification.reject":        {decide, false},
		"verification.grace":         {decide, false},
		"verification.end-grace":     {decide, false},
		"verification.revoke":        {decide, recent},
		"float.credit":               {ticketing.PermissionFloatCredit, recent},
		"commission.schedule":        {ticketing.PermissionCommissionSchedule, recent},
		"settlement.approve":         {ticketing.PermissionSettlementDecide, recent},
		"settlement.reject":          {ticketing.PermissionSettlementDecide, recent},
		"category.create":            {tenantManage, false},
		"category.deactivate":        {tenantManage, false},
		"mail_sender.set":            {tenantManage, false},
		"mail_sender.remove":         {tenantManage, false},
		"mail_sender.test":           {tenantManage, false},
		"staff.add":                  {staffManage, recent},
		"staff.update":               {staffManage, recent},
		"staff.remove":               {staffManage, recent},
		"books.verify":               {walletRead, false},
		"platform_settlement.export": {ticketing.PermissionSettlementRead, false},
		"books.verify_all":           {walletRead, false},
	}
}

func TestPagesAndActsNeedWhatIsWrittenDown(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	pages := map[string][]ticketing.Permission{}
	for _, page := range console.Pages() {
		pages[page.Path] = page.Permissions
		for _, grant := range page.Grants {
			pages[page.Path] = append(pages[page.Path], ticketing.Permission(grant))
		}
	}
	ok.Equal(pages, permissionsOfPages())
	acts := map[string]need{}
	for _, act := range console.Acts() {
		asked := need{recent: act.Recent}
		if len(act.Permissions) > 0 {
			asked.permission = act.Permissions[0]
		}
		if len(act.Grants) > 0 {
			asked.permission = ticketing.Permission(act.Grants[0])
		}
		acts[act.Name] = asked
	}
	for name, want := range needsOfActs() {
		ok.Equal(acts[name], want) // name
	}
	ok.Equal(len(acts), len(needsOfActs()))
}

// bodies are members with which an act that needs a recent sign-in is well-formed. Any other such act has no members.
func bodies() map[string]string {
	return map[string]string{
		"api_key.issue":       `{"name":"Shop","grants":["COMPANY:event:read"]}`,
		"webhook.create":      `{"url":"https://example.com/","events":["order.created"]}`,
		"bank_account.set":    `{"bank":"Bank","accountNumber":"0123456789","accountName":"Adire"}`,
		"member.invite":       `{"email":"ada@example.com","name":"Ada","role":"VIEWER"}`,
		"member.update":       `{"role":"VIEWER"}`,
		"staff.add":           `{"email":"ada@example.com","name":"Ada","role":"AUDITOR"}`,
		"staff.update":        `{"role":"AUDITOR"}`,
		"float.credit":        `{"amount":"1.00","reference":"ref-00000001"}`,
		"commission.schedule": `{"value":"2.5","unit":"PERCENT"}`,
		"settlement.reject":   `{"reason":"No such account"}`,
		"order.refund":        `{"reason":"The buyer is ill"}`,
		"order.cancel":        `{"reason":"A stolen card"}`,
		"buyer.erase":         `{"email":"ada@example.com"}`,
	}
}

// fields returns the members of a JSON object as fields of a form.
func fields(t *testing.T, body string) (pairs []string) {
	t.Helper()
	var object map[string]any
	is.New(t).NoErr(json.Unmarshal([]byte(cmp.Or(body, "{}")), &object))
	for name, value := range object {
		if list, isList := value.([]any); isList {
			value = list[0]
		}
		pairs = append(pairs, name, fmt.Sprint(value))
	}
	return pairs
}

func TestActWithAStarAsksForARecentSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.clock.advance(11 * time.Minute)
	for _, route := range console.Acts() {
		if !route.Recent {
			continue
		}
		ok, path, body := is.New(t), s.filled(route.Path), bodies()[route.Name]
		got := s.postJSON(t, chief, path, body)
		ok.Equal(got.StatusCode, http.StatusForbidden) // route.Name
		ok.Equal(got.code(t), "CONFIRM_REQUIRED")      // route.Name
		asked := s.post(t, chief, path, fields(t, body)...)
		ok.Equal(asked.StatusCode, http.StatusForbidden) // route.Name
		ok.True(asked.has("<h1>Confirm your identity<")) // route.Name
	}
}

// TestGuideLeadsToThePagesOfTheContract checks that the integration guide links to the console and names the four pages
// of the contract below a company. The address of a company has its id, which a link of the guide cannot know.
func TestGuideLeadsToThePagesOfTheContract(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	guide, err := os.ReadFile("../httpapi/guide/guide.html")
	ok.NoErr(err)
	_, after, found := strings.Cut(string(guide), `href="/business"`)
	ok.True(found)
	after, _, _ = strings.Cut(after, "</p>")
	ok.True(strings.Contains(after, "/business/{tenantId}"))
	for _, name := range []string{"verification", "branding", "api-keys", "webhooks"} {
		ok.True(strings.Contains(after, "/"+name)) // name
		ok.True(slices.ContainsFunc(console.Pages(), func(route console.Route) bool {
			return route.Path == "/business/{companyId}/"+name
		}))
	}
}
