package console

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// overviewPage is the first page of a company. The page needs no permission: each part of it needs its own.
func overviewPage() page {
	return page{
		bar:  true,
		path: "/business/{companyId}", scope: scopeCompany, title: "Overview", nav: "Overview", icon: "home",
		template: "overview.html", load: loadOverview,
		live: []ticketing.WatchTopic{ticketing.WatchMoney, ticketing.WatchDeliveries},
	}
}

// overview is what the first page shows. A part that the person may not see is nil.
type overview struct {
	Readiness    *ticketing.Readiness  `json:"readiness,omitempty"`
	Verification *overviewVerification `json:"verification,omitempty"`
	Dashboard    *ticketing.Dashboard  `json:"dashboard,omitempty"`
	Commission   *overviewCommission   `json:"commission,omitempty"`
	Settlement   *overviewSettlement   `json:"settlement,omitempty"`
	DeadLetters  *int                  `json:"deadLetters,omitempty"` // webhook deliveries that failed for good
	FailedMails  *failedMails          `json:"failedMails,omitempty"`
	// Sales and Float are of the last 30 days, each as far as it is today.
	Sales    *ticketing.SalesReport `json:"sales,omitempty"`
	Float    []balanceAt            `json:"floatByDay,omitempty"`
	Charts   []chart                `json:"-"`
	Branding *ticketing.Branding    `json:"-"`
	steps    []preconditionStep
}

// overviewVerification is the state of the verification, and for how long it lasts.
type overviewVerification struct {
	ticketing.Verification

	Current bool `json:"current"`
	// Days are the whole days until ApprovalExpiresAt; nil: it does not expire, or is over.
	Days *int `json:"days"`
}

// overviewCommission holds the rate in force; nil: there is none.
type overviewCommission struct {
	Rate *ticketing.CommissionRate `json:"rate"`
}

// overviewSettlement holds the settlement that waits for a decision; nil: there is none.
type overviewSettlement struct {
	Open *ticketing.Settlement `json:"open"`
}

// failedMails counts the ticket mails that failed for good, at most as many as one page of the list has.
type failedMails struct {
	Number int  `json:"number"`
	More   bool `json:"more"` // there are more than Number
}

// HasDeadLetters reports whether there is a dead letter.
func (o overview) HasDeadLetters() bool { return o.DeadLetters != nil && *o.DeadLetters > 0 }

// Percent returns the rate in force in the form that people read.
func (c overviewCommission) Percent() string { return percentOf(*c.Rate) }

// soon is how many days before its end an approval is shown as one that ends soon.
const soon = 30

// Soon reports whether the approval expires within 30 days.
func (v overviewVerification) Soon() bool { return v.Days != nil && *v.Days <= soon }

// Left returns how long the approval lasts.
func (v overviewVerification) Left() badge {
	if *v.Days == 0 {
		return badge{Text: "Less than a day left", Tone: "wait"}
	}
	return badge{Text: formatPlural(*v.Days, "day", "days") + " left", Tone: "wait"}
}

// Expired reports whether there was an approval that is over.
func (v overviewVerification) Expired() bool {
	return v.Status == ticketing.VerificationApproved && v.ApprovalExpiresAt != nil && v.Days == nil
}

// InGrace reports whether the verification is current only because of a grace.
func (v overviewVerification) InGrace() bool {
	return v.Current && v.Status != ticketing.VerificationApproved && v.GraceUntil != nil
}

// Steps returns the preconditions in the order of the contract.
func (o overview) Steps() []preconditionStep { return o.steps }

// Met returns how many preconditions are met, of those that the service can check.
func (o overview) Met() string {
	met, checked := 0, 0
	for _, step := range o.steps {
		if step.Unchecked() {
			continue
		}
		checked++
		if step.Met() {
			met++
		}
	}
	return fmt.Sprintf("%d of %d", met, checked)
}

// openSettlements are the statuses of a settlement that blocks another request.
func openSettlements() []ticketing.SettlementStatus {
	return []ticketing.SettlementStatus{
		ticketing.SettlementPending, ticketing.SettlementProcessing, ticketing.SettlementApproved,
	}
}

// loadOverview reads all parts that the person may see concurrently, those with the most reads first. Each sets its own
// members.
func loadOverview(ctx context.Context, c *call) (view, error) {
	var shown overview
	parts := []struct {
		permission ticketing.Permission
		load       func(context.Context, *call, *overview) error
	}{
		{ticketing.PermissionWalletRead, loadMonth},
		{ticketing.PermissionKYBRead, loadReadiness},
		{ticketing.PermissionWalletRead, loadMoney},
		{ticketing.PermissionWalletRead, loadRate},
		{ticketing.PermissionSettlementRead, loadOpenSettlement},
		{ticketing.PermissionWebhookRead, loadDeadLetters},
		{ticketing.PermissionNotificationRead, loadFailedMails},
		{ticketing.PermissionBrandingRead, loadLook},
	}
	var loads []func(context.Context) error
	for _, part := range parts {
		if holds(c.actor, part.permission) {
			loads = append(loads, func(ctx context.Context) error { return part.load(ctx, c, &shown) })
		}
	}
	if err := together(ctx, loads...); err != nil {
		return view{}, err
	}
	loaded := view{data: shown}
	if shown.Branding != nil {
		loaded.accent = accentOf(*shown.Branding)
	}
	return loaded, nil
}

func loadReadiness(ctx context.Context, c *call, shown *overview) error {
	readiness, err := c.operator.Readiness(ctx, c.companyID)
	if err != nil {
		return err
	}
	shown.Readiness = &readiness
	for _, one := range readiness.Preconditions {
		shown.steps = append(shown.steps, c.newStep(one))
	}
	state := c.company.Verification
	shown.Verification = &overviewVerification{
		Verification: state, Current: isVerified(state, c.now), Days: daysUntil(state.ApprovalExpiresAt, c.now),
	}
	return nil
}

func loadMoney(ctx context.Context, c *call, shown *overview) error {
	dashboard, err := c.operator.Dashboard(ctx, c.companyID)
	if err != nil {
		return err
	}
	const movements = 6
	dashboard.Movements = dashboard.Movements[:min(movements, len(dashboard.Movements))]
	shown.Dashboard = &dashboard
	return nil
}

// loadMonth reads the sales and the float of the last 30 days.
func loadMonth(ctx context.Context, c *call, shown *overview) error {
	zone, err := time.LoadLocation(homeZone)
	if err != nil {
		return err
	}
	today := c.now.In(zone)
	month := newPeriod(today.AddDate(0, 0, 1-reportDays), today, false)
	sold, err := month.sales(ctx, c, uuid.Nil, false)
	if err != nil {
		return err
	}
	if shown.Float, err = month.floats(ctx, c); err != nil {
		return err
	}
	shown.Sales = &sold
	shown.Charts = []chart{month.salesChart(sold), month.floatChart(shown.Float)}
	return nil
}

// Moved reports whether money has moved, so that there is something to chart.
func (o overview) Moved() bool { return o.Dashboard != nil && len(o.Dashboard.Movements) > 0 }

func loadRate(ctx context.Context, c *call, shown *overview) error {
	rates, err := c.operator.ListCommissionRates(ctx, c.companyID)
	if err != nil {
		return err
	}
	shown.Commission = &overviewCommission{Rate: rateInForce(rates, c.now)}
	return nil
}

func loadOpenSettlement(ctx context.Context, c *call, shown *overview) error {
	// A settlement can only be requested while none is open, so only the newest can be open.
	found, err := c.operator.ListSettlements(ctx, c.companyID, ticketing.PageParams{Limit: 1})
	if err != nil {
		return err
	}
	shown.Settlement = &overviewSettlement{}
	if len(found.Items) > 0 && slices.Contains(openSettlements(), found.Items[0].Status) {
		shown.Settlement.Open = &found.Items[0]
	}
	return nil
}

func loadDeadLetters(ctx context.Context, c *call, shown *overview) error {
	number, err := c.operator.CountDeliveries(ctx, c.companyID,
		ticketing.DeliveryFilter{Status: ticketing.DeliveryFailed})
	shown.DeadLetters = &number
	return err
}

func loadFailedMails(ctx context.Context, c *call, shown *overview) error {
	const most = 100
	found, err := c.operator.ListNotifications(ctx, c.companyID,
		ticketing.NotificationFilter{Status: ticketing.NotificationFailed}, ticketing.PageParams{Limit: most})
	shown.FailedMails = &failedMails{Number: len(found.Items), More: found.HasMore}
	return err
}

func loadLook(ctx context.Context, c *call, shown *overview) error {
	look, err := c.operator.GetBranding(ctx, c.companyID)
	shown.Branding = &look
	return err
}

// Reach returns the path of a page by its pattern. It is empty if the console has no such page, or the person may not
// see it.
func (c *call) Reach(pattern string) string {
	p := c.console.pages[pattern]
	if p == nil || c.permit(p) != nil || p.scope == scopePlatform && !holds(c.actor, ticketing.PermissionTenantRead) {
		return ""
	}
	return c.expand(pattern)
}

// ReachFailed is Reach for a list. The path selects failed items if the list has such a filter.
func (c *call) ReachFailed(pattern string) string {
	path := c.Reach(pattern)
	if path != "" && slices.Contains(c.console.pages[pattern].query, "status") {
		path += "?status=FAILED"
	}
	return path
}

// isVerified reports whether an approval or a grace is in force.
func isVerified(v ticketing.Verification, now time.Time) bool {
	if v.Status == ticketing.VerificationApproved && (v.ApprovalExpiresAt == nil || now.Before(v.ApprovalExpiresAt.Time)) {
		return true
	}
	return v.GraceUntil != nil && now.Before(v.GraceUntil.Time)
}

// daysUntil returns the whole days until a time, and nil if there is none or it is over.
func daysUntil(at *ticketing.Time, now time.Time) *int {
	if at == nil || !now.Before(at.Time) {
		return nil
	}
	const day = 24 * time.Hour
	return new(int(at.Sub(now) / day))
}
