package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// audits sets the states of WatchAudit: the newest entry of each company's log.
func (w watcher) audits(ctx context.Context, watched []Watched, states []WatchedState) error {
	var companies []uuid.UUID
	var of []int
	for i, one := range watched {
		if one.Topic == WatchAudit && one.CompanyID != uuid.Nil {
			companies, of = append(companies, one.CompanyID), append(of, i)
		}
	}
	if err := w.platformAudit(ctx, watched, states); err != nil || len(companies) == 0 {
		return err
	}
	newest, err := w.tx.NewestAudit(ctx, companies)
	if err != nil {
		return err
	}
	for n, i := range of {
		states[i] = WatchedState{Version: digestOf(newest[n].ID), ChangedAt: newest[n].At}
	}
	return nil
}

// platformAudit sets the states of WatchAudit of all companies and the platform: the newest entry of all.
func (w watcher) platformAudit(ctx context.Context, watched []Watched, states []WatchedState) error {
	all := Watched{Topic: WatchAudit}
	if !slices.Contains(watched, all) {
		return nil
	}
	newest, err := w.tx.ListAudit(ctx, driver.AuditQuery{Limit: 1})
	if err != nil || len(newest) == 0 {
		return err
	}
	for i, one := range watched {
		if one == all {
			states[i] = WatchedState{Version: digestOf(newest[0].ID), ChangedAt: newest[0].At}
		}
	}
	return nil
}

// delivery sets the states of WatchDelivery. Few people look at a delivery, so each is read alone.
func (w watcher) delivery(ctx context.Context, watched []Watched, states []WatchedState) error {
	for i, one := range watched {
		if one.Topic != WatchDelivery {
			continue
		}
		found, err := w.tx.FindDelivery(ctx, one.ID)
		if err != nil {
			return err
		}
		states[i].Undated = true // A replay of it has another time.
		if found.CompanyID == one.CompanyID {
			states[i].Version = digestOf(found.ID, found.Status, len(found.Attempts), found.DueAt)
		}
	}
	return nil
}

// sales sets the states of WatchSales by the sums of the last hour: a dispatch adds to those of the time of the sale.
func (w watcher) sales(ctx context.Context, watched []Watched, states []WatchedState) error {
	if !slices.ContainsFunc(watched, func(one Watched) bool { return one.Topic == WatchSales }) {
		return nil
	}
	now := w.at.Truncate(driver.SalesInterval)
	found, err := w.tx.PlatformSums(ctx, []time.Time{now.Add(-platformPastAfter), now.Add(2 * driver.SalesInterval)}, 0)
	if err != nil {
		return err
	}
	for i, one := range watched {
		if one.Topic == WatchSales {
			states[i] = WatchedState{Version: digestOf(found.Periods), Undated: true}
		}
	}
	return nil
}

// events sets the states of WatchEvent by each event, its sums and the counters of its stock. What it reads does not
// grow with what was sold.
func (w watcher) events(ctx context.Context, watched []Watched, states []WatchedState) error {
	var refs []driver.EventRef
	var of []int
	for i, one := range watched {
		if one.Topic == WatchEvent {
			refs, of = append(refs, driver.EventRef{CompanyID: one.CompanyID, ID: one.ID}), append(of, i)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	events, err := w.tx.Events(ctx, refs)
	if err != nil {
		return err
	}
	sums, err := w.tx.EventSums(ctx, refs)
	if err != nil {
		return err
	}
	stock, err := w.tx.CountEvents(ctx, refs)
	if err != nil {
		return err
	}
	for n, i := range of {
		changedAt := events[n].UpdatedAt
		// Neither the sums nor the counters have a time.
		states[i] = WatchedState{
			Version: digestOf(sums[n], stock[n], changedAt), ChangedAt: changedAt, Undated: true,
		}
	}
	return nil
}

// orders sets the states of WatchOrder. Nothing of an order changes but its status, its buyer and its admissions. Only
// scans have a time.
func (w watcher) orders(ctx context.Context, watched []Watched, states []WatchedState) error {
	var refs []driver.OrderRef
	var of []int
	for i, one := range watched {
		if one.Topic == WatchOrder {
			refs, of = append(refs, driver.OrderRef{CompanyID: one.CompanyID, ID: one.ID}), append(of, i)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	orders, lines, err := ordersWithLines(ctx, w.tx, refs)
	if err != nil {
		return err
	}
	scans, latest := make(map[uuid.UUID][]any), make(map[uuid.UUID]WatchedState) // by order
	for _, line := range lines {
		scans[line.OrderID] = append(scans[line.OrderID], line.ValidationID)
		latest[line.OrderID] = WatchedState{ChangedAt: laterOf(latest[line.OrderID].ChangedAt, line.ValidatedAt)}
	}
	for n, i := range of {
		order := orders[n]
		states[i] = latest[order.ID]
		states[i].Version = digestOf(append(scans[order.ID], order.Status, order.BuyerEmail)...)
		states[i].Undated = true
	}
	return nil
}
