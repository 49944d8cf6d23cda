package console

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// listExports returns the exports of the lists whose files have the same content as their pages. Those with people in
// them need a recent sign-in.
func listExports() []export {
	const recent = true
	of := func(list ticketing.ExportedList, page string, permission ticketing.Permission, recent bool) export {
		return export{
			name: string(list) + ".export", scope: scopeCompany, page: page, permission: permission, recent: recent,
			file: strings.ReplaceAll(string(list), "_", "-") + ".csv",
			record: func(ctx context.Context, c *call) error {
				return c.operator.RecordListExport(ctx, c.companyID, list, c.values)
			},
		}
	}
	with := func(e export, open func(context.Context, *call) (rowPages, error), columns string, filter ...string) export {
		e.open, e.columns, e.filter = open, strings.Fields(columns), filter
		return e
	}
	ofPlatform := func(e export) export {
		e.scope = scopePlatform
		return e
	}
	inventory := with(of(ticketing.ExportedInventory, eventPath, ticketing.PermissionWalletRead, false), exportInventory,
		strings.Join(inventoryColumns(), " "))
	inventory.record = func(ctx context.Context, c *call) error {
		return c.operator.RecordListExport(ctx, c.companyID, ticketing.ExportedInventory,
			map[string]string{"event": c.pathID("eventId").String()})
	}
	fundings := ofPlatform(with(of(ticketing.ExportedFundings, floatPath, ticketing.PermissionAuditRead, recent),
		exportFundings, "at reference actor amount balanceAfter"))
	fundings.record = func(ctx context.Context, c *call) error {
		return c.operator.RecordListExport(ctx, c.pathID("companyId"), ticketing.ExportedFundings, nil)
	}
	attempts := with(of(ticketing.ExportedAttempts, deliveryPath, ticketing.PermissionWebhookRead, false), exportAttempts,
		"at httpStatus durationMs error")
	attempts.record = func(ctx context.Context, c *call) error {
		return c.operator.RecordListExport(ctx, c.companyID, ticketing.ExportedAttempts,
			map[string]string{"delivery": c.pathID("deliveryId").String()})
	}
	payouts := of(ticketing.ExportedSettlements, payoutsPath, ticketing.PermissionSettlementRead, false)
	payouts.name, payouts.file = "platform_settlement.export", "open-settlements.csv"
	return []export{
		with(of(ticketing.ExportedEvents, eventsPath, ticketing.PermissionWalletRead, false), exportEvents,
			"id title status date startsAt endsAt timezone venue sold total onSale paused gross createdAt", "status"),
		with(of(ticketing.ExportedBuyers, buyersPath, ticketing.PermissionBuyerRead, recent), exportBuyers,
			"email fullname phone firstOrderAt changedAt", "email"),
		with(of(ticketing.ExportedSales, reportsPath, ticketing.PermissionWalletRead, false), exportSales,
			strings.Join(salesColumns(), " "), reportFilters()...),
		with(of(ticketing.ExportedAPIKeys, apiKeysPath, ticketing.PermissionAPIKeyRead, false), exportAPIKeys,
			"id name status grants predecessorId createdAt lastUsedAt revokedAt"),
		with(of(ticketing.ExportedDeliveries, deliveriesPath, ticketing.PermissionWebhookRead, false), exportDeliveries,
			"id event eventId endpointId url status attempts lastHttpStatus lastError createdAt nextAttemptAt finishedAt "+
				"replayOf", withZone(deliveryFilterNames())...),
		with(of(ticketing.ExportedSettlements, settlementsPath, ticketing.PermissionSettlementRead, false),
			exportSettlements, "id amount status bankAccountLast4 requestedAt decidedAt reason"),
		with(of(ticketing.ExportedMembers, membersPath, ticketing.PermissionMemberRead, recent), exportMembers,
			"userId name email role createdAt lastSeenAt"),
		with(of(ticketing.ExportedMails, mailPath, ticketing.PermissionNotificationRead, false), exportMails,
			"orderId copy kind status elsewhere attempts lastError createdAt nextAttemptAt sentAt", withZone(mailFilters())...),
		with(of(ticketing.ExportedCommission, commissionPath, ticketing.PermissionWalletRead, false), exportCommission,
			"id effectiveFrom state value unit createdAt"),
		inventory, attempts,
		with(of(ticketing.ExportedBrandings, brandingPath, ticketing.PermissionBrandingRead, false), exportBrandings,
			"version createdAt brandName logoUrl primaryColor accentColor checkoutFooter ticketFooter emailFooter supportEmail"),
		with(of(ticketing.ExportedEndpoints, webhooksPath, ticketing.PermissionWebhookRead, false), exportEndpoints,
			"id url status events lastSuccessAt failures24h pending createdAt updatedAt"),
		ofPlatform(with(of(ticketing.ExportedCompanies, companiesPath, ticketing.PermissionTenantRead, false),
			exportCompanies, "id name status verification approvalExpiresAt graceUntil createdAt float floatStatus",
			companyFilters()...)),
		ofPlatform(with(payouts, exportPayouts,
			"id companyId company amount status bankAccountLast4 requestedAt")),
		ofPlatform(with(of(ticketing.ExportedStaff, staffPath, ticketing.PermissionTenantRead, recent), exportStaff,
			"userId name email role createdAt lastSeenAt")),
		fundings,
		ofPlatform(with(of(ticketing.ExportedCases, casesPath, ticketing.PermissionTenantRead, false), exportCases,
			"companyId company number legalName submittedAt")),
		ofPlatform(with(of(ticketing.ExportedDeadLetters, queuesPath, ticketing.PermissionTenantRead, false),
			exportDeadLetters, strings.Join(deadLetterColumns(), " "))),
		ofPlatform(with(of(ticketing.ExportedCategories, categoriesPath, ticketing.PermissionTenantRead, false),
			exportCategories, "id name slug status")),
		ofPlatform(with(of(ticketing.ExportedBooks, booksPath, ticketing.PermissionWalletRead, false), exportBooks,
			"companyId company verifiedAt ok problems movements")),
		ofPlatform(with(of(ticketing.ExportedMoney, platformMoneyPath, ticketing.PermissionWalletRead, recent), exportMoney,
			strings.Join(moneyColumns(), " "), moneyFilters()...)),
	}
}

// listActs returns the acts of these exports in a scope.
func listActs(of scope) []act {
	var all []act
	for _, one := range listExports() {
		if one.scope == of {
			all = append(all, one.act())
		}
	}
	return all
}

// rowsOf returns the rows of a list that has pages.
func rowsOf[T any](
	list func(context.Context, ticketing.PageParams) (ticketing.Page[T], error), row func(T) []string,
) rowPages {
	return func(ctx context.Context, cursor string) ([][]string, string, error) {
		found, err := list(ctx, ticketing.PageParams{Cursor: cursor, Limit: exportPage})
		return rowsOfAll(found.Items, row), found.NextCursor, err
	}
}

// rowsOfWhole returns the rows of a list that is read as a whole, since its length is limited.
func rowsOfWhole[T any](list func(context.Context) ([]T, error), row func(T) []string) rowPages {
	return func(ctx context.Context, _ string) ([][]string, string, error) {
		found, err := list(ctx)
		return rowsOfAll(found, row), "", err
	}
}

func rowsOfAll[T any](items []T, row func(T) []string) [][]string {
	rows := make([][]string, len(items))
	for i, item := range items {
		rows[i] = row(item)
	}
	return rows
}

func exportEvents(_ context.Context, c *call) (rowPages, error) {
	filter := ticketing.EventFilter{Status: ticketing.EventStatus(c.query("status"))}
	return rowsOf(func(ctx context.Context, params ticketing.PageParams) (ticketing.Page[shownEvent], error) {
		filter.PageParams = params
		found, err := c.console.svc.ListEvents(ctx, c.caller, filter)
		if err != nil {
			return ticketing.Page[shownEvent]{}, err
		}
		shown, err := showEvents(ctx, c, found.Items)
		return ticketing.Page[shownEvent]{Items: shown, NextCursor: found.NextCursor}, err
	}, func(e shownEvent) []string {
		stock, gross := make([]string, 4), ""
		if e.Stock != nil {
			for i, count := range []int64{e.Stock.Sold, e.Stock.Total, e.Stock.Available, e.Stock.Paused} {
				stock[i] = cellOf(count)
			}
		}
		if e.Gross != nil {
			gross = e.Gross.String()
		}
		return []string{
			e.ID.String(), e.Title, string(e.Status), textIn(e.Schedule.Date), textIn(e.Schedule.StartsAt),
			textIn(e.Schedule.EndsAt), textIn(e.Schedule.Timezone), textIn(e.Location.Venue), stock[0], stock[1], stock[2],
			stock[3], gross, cellAt(&e.CreatedAt),
		}
	}), nil
}

func exportBuyers(_ context.Context, c *call) (rowPages, error) {
	return rowsOf(func(ctx context.Context, params ticketing.PageParams) (ticketing.Page[ticketing.CompanyBuyer], error) {
		return c.operator.ListBuyers(ctx, c.companyID, ticketing.BuyerFilter{PageParams: params, Prefix: c.query("email")})
	}, func(b ticketing.CompanyBuyer) []string {
		return []string{b.Email, textIn(b.Fullname), textIn(b.Phone), cellAt(&b.CreatedAt), cellAt(&b.UpdatedAt)}
	}), nil
}

func exportSales(_ context.Context, c *call) (rowPages, error) {
	zone, err := c.queryZone()
	if err != nil {
		return nil, err
	}
	eventID, err := c.queryID("event")
	if err != nil {
		return nil, err
	}
	covered, err := c.reportPeriod(zone)
	if err != nil {
		return nil, err
	}
	local := func(at ticketing.Time) string { return at.In(zone).Format(time.RFC3339) }
	return func(ctx context.Context, _ string) ([][]string, string, error) {
		sold, err := covered.sales(ctx, c, eventID, c.query("event") != "")
		rows := rowsOfAll(sold.Items, func(r ticketing.SalesRow) []string {
			return []string{
				local(r.From), local(r.To), textIn(r.Tier), cellOf(r.Orders), cellOf(r.Admissions), r.Gross.String(),
				r.Commission.String(), r.Refunded.String(), r.Reversed.String(), cellOf(r.Admitted),
			}
		})
		if (report{Sales: sold, From: covered.from()}).Partial() {
			rows = append(rows, notComplete(local(*sold.CompleteFrom), salesColumns()))
		}
		return rows, "", err
	}, nil
}

// salesColumns returns the columns of the file of a report.
func salesColumns() []string {
	return strings.Fields("from to tier orders tickets gross commission refunded reversed admitted")
}

func exportAPIKeys(_ context.Context, c *call) (rowPages, error) {
	return rowsOfWhole(func(ctx context.Context) ([]ticketing.APIKey, error) {
		return c.operator.ListAPIKeys(ctx, c.companyID)
	}, func(k ticketing.APIKey) []string {
		grants, predecessor := make([]string, len(k.Grants)), ""
		for i, grant := range k.Grants {
			grants[i] = string(grant)
		}
		if k.PredecessorID != nil {
			predecessor = k.PredecessorID.String()
		}
		return []string{
			k.ID.String(), k.Name, string(k.Status), strings.Join(grants, " "), predecessor, cellAt(&k.CreatedAt),
			cellAt(k.LastUsedAt), cellAt(k.RevokedAt),
		}
	}), nil
}

func exportDeliveries(_ context.Context, c *call) (rowPages, error) {
	filter, err := deliveryFilter(c)
	return rowsOf(func(
		ctx context.Context, params ticketing.PageParams,
	) (ticketing.Page[ticketing.WebhookDelivery], error) {
		return c.operator.ListDeliveries(ctx, c.companyID, filter, params)
	}, func(d ticketing.WebhookDelivery) []string {
		status, replayOf := "", ""
		if d.LastHTTPStatus != nil {
			status = strconv.Itoa(*d.LastHTTPStatus)
		}
		if d.ReplayOf != nil {
			replayOf = d.ReplayOf.String()
		}
		return []string{
			d.ID.String(), string(d.EventType), d.EventID.String(), d.EndpointID.String(), d.URL, string(d.Status),
			strconv.Itoa(d.Attempts), status, textIn(d.LastError), cellAt(&d.CreatedAt), cellAt(d.NextAttemptAt),
			cellAt(d.FinishedAt), replayOf,
		}
	}), err
}

func exportSettlements(_ context.Context, c *call) (rowPages, error) {
	return rowsOf(func(ctx context.Context, params ticketing.PageParams) (ticketing.Page[ticketing.Settlement], error) {
		return c.operator.ListSettlements(ctx, c.companyID, params)
	}, func(s ticketing.Settlement) []string {
		return []string{
			s.ID.String(), s.Amount.String(), string(s.Status), s.BankAccountLast4, cellAt(&s.RequestedAt),
			cellAt(s.DecidedAt), textIn(s.Reason),
		}
	}), nil
}

func exportMembers(_ context.Context, c *call) (rowPages, error) {
	return rowsOfPeople(c, func(ctx context.Context) ([]ticketing.Member, error) {
		return c.operator.ListMembers(ctx, c.companyID)
	}, func(m ticketing.Member) uuid.UUID { return m.UserID }, func(m ticketing.Member) []string {
		return []string{m.UserID.String(), m.Name, m.Email, string(m.Role), cellAt(&m.CreatedAt)}
	}), nil
}

// rowsOfPeople is rowsOfWhole with a further cell that has when each person was last seen. It is empty if the page has
// no such time.
func rowsOfPeople[T any](
	c *call, list func(context.Context) ([]T, error), id func(T) uuid.UUID, row func(T) []string,
) rowPages {
	return func(ctx context.Context, _ string) ([][]string, string, error) {
		found, err := list(ctx)
		if err != nil {
			return nil, "", err
		}
		seen, err := lastSeen(ctx, c, found, id)
		if err != nil {
			return nil, "", err
		}
		rows := rowsOfAll(found, row)
		for i := range rows {
			rows[i] = append(rows[i], cellAt(seen[i]))
		}
		return rows, "", nil
	}
}

func exportMails(_ context.Context, c *call) (rowPages, error) {
	filter, err := mailFilter(c)
	return rowsOf(func(ctx context.Context, params ticketing.PageParams) (ticketing.Page[ticketing.Notification], error) {
		return c.operator.ListNotifications(ctx, c.companyID, filter, params)
	}, func(n ticketing.Notification) []string {
		return []string{
			n.OrderID.String(), strconv.Itoa(n.Copy), string(n.Kind), string(n.Status), strconv.FormatBool(n.Elsewhere),
			strconv.Itoa(n.Attempts), textIn(n.LastError), cellAt(&n.CreatedAt), cellAt(n.NextAttemptAt), cellAt(n.SentAt),
		}
	}), err
}

func exportCommission(_ context.Context, c *call) (rowPages, error) {
	return rowsOfWhole(func(ctx context.Context) ([]scheduledRate, error) {
		rates, err := c.operator.ListCommissionRates(ctx, c.companyID)
		return newCommission(rates, c.now).Rates, err
	}, func(r scheduledRate) []string {
		return []string{r.ID.String(), cellAt(&r.EffectiveFrom), r.State, r.Value, string(r.Unit), cellAt(&r.CreatedAt)}
	}), nil
}

// exportInventory returns the batches of an event, each with its tier.
func exportInventory(_ context.Context, c *call) (rowPages, error) {
	return func(ctx context.Context, _ string) ([][]string, string, error) {
		tiers, err := c.console.svc.ListStock(ctx, c.caller, c.pathID("eventId"))
		var rows [][]string
		for _, tier := range tiers {
			for _, b := range tier.Batches {
				rows = append(rows, []string{
					tier.Tier, strconv.Itoa(b.Number), b.Title, string(b.Status), b.UnitPrice.String(), cellOf(b.Sold),
					cellOf(b.Quantity), cellAt(&b.CreatedAt),
				})
			}
		}
		if (eventDetail{Tiers: tiers}).MoreBatches() {
			rows = append(rows, remark("AND MORE: the event has further batches.", inventoryColumns()))
		}
		return rows, "", err
	}, nil
}

// inventoryColumns returns the columns of the file of batches.
func inventoryColumns() []string {
	return strings.Fields("tier batch title status unitPrice sold quantity createdAt")
}

func exportEndpoints(_ context.Context, c *call) (rowPages, error) {
	return rowsOfWhole(func(ctx context.Context) ([]shownEndpoint, error) {
		return endpointsWithHealth(ctx, c)
	}, func(e shownEndpoint) []string {
		events := make([]string, len(e.Events))
		for i, event := range e.Events {
			events[i] = string(event)
		}
		return []string{
			e.ID.String(), e.URL, string(e.Status), strings.Join(events, " "), cellAt(e.Health.LastSuccessAt),
			strconv.Itoa(e.Health.Failures24h), strconv.Itoa(e.Health.Pending), cellAt(&e.CreatedAt), cellAt(&e.UpdatedAt),
		}
	}), nil
}

// exportBrandings returns all versions of a company's branding, newest first.
func exportBrandings(_ context.Context, c *call) (rowPages, error) {
	return rowsOf(func(
		ctx context.Context, params ticketing.PageParams,
	) (ticketing.Page[ticketing.BrandingVersion], error) {
		return c.operator.ListBrandings(ctx, c.companyID, params)
	}, func(b ticketing.BrandingVersion) []string {
		return []string{
			cellOf(b.Version), cellAt(&b.CreatedAt), b.BrandName, textIn(b.LogoURL), b.PrimaryColor, b.AccentColor,
			textIn(b.CheckoutFooter), textIn(b.TicketFooter), textIn(b.EmailFooter), textIn(b.SupportEmail),
		}
	}), nil
}

// exportAttempts returns the attempts of a delivery.
func exportAttempts(_ context.Context, c *call) (rowPages, error) {
	return rowsOfWhole(func(ctx context.Context) ([]ticketing.DeliveryAttempt, error) {
		delivery, err := ownDelivery(ctx, c)
		return delivery.Log, err
	}, func(a ticketing.DeliveryAttempt) []string {
		status := ""
		if a.Status != 0 {
			status = strconv.Itoa(a.Status)
		}
		return []string{cellAt(&a.At), status, cellOf(a.DurationMS), a.Error}
	}), nil
}

// cellAt returns a time in the format of files, or an empty cell.
func cellAt(at *ticketing.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(timeFormat)
}

func cellOf(n int64) string { return strconv.FormatInt(n, 10) }
