package ticketing

import (
	"bytes"
	"context"
	"slices"
	"sync"
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

// watchedDeliveries is how many deliveries have a state at the same time. Each is read alone, and what is read for one
// page must not keep all others waiting.
const watchedDeliveries = 20

// delivery sets the states of WatchDelivery: those with the smallest ids, so that the same have one each time.
func (w watcher) delivery(ctx context.Context, watched []Watched, states []WatchedState) error {
	var ids []uuid.UUID
	for _, one := range watched {
		if one.Topic == WatchDelivery {
			ids = append(ids, one.ID)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	for _, id := range ids[:min(watchedDeliveries, len(ids))] {
		found, err := w.tx.FindDelivery(ctx, id)
		if err != nil {
			return err
		}
		for i, one := range watched {
			if one == (Watched{CompanyID: found.CompanyID, Topic: WatchDelivery, ID: id}) {
				states[i].Undated = true // A replay of it has another time.
				states[i].Version = digestOf(found.ID, found.Status, len(found.Attempts), found.DueAt)
			}
		}
	}
	return nil
}

const (
	// watchedMailers is how many companies have a state of their mails at the same time, like watchedDeliveries.
	watchedMailers = 20
	// watchedFailures is how many of the newest failed mails count. They may be older than the newest mails.
	watchedFailures = 5
)

// mails sets the states of WatchMails by the mails that the page shows: each changes with its status, its attempts and
// the time of the next one.
func (w watcher) mails(ctx context.Context, watched []Watched, states []WatchedState) error {
	var companies []uuid.UUID
	for _, one := range watched {
		if one.Topic == WatchMails {
			companies = append(companies, one.CompanyID)
		}
	}
	slices.SortFunc(companies, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	companies = slices.Compact(companies)
	for _, id := range companies[:min(watchedMailers, len(companies))] {
		newest, err := w.tx.ListNotifications(ctx, driver.NotificationQuery{CompanyID: id, Limit: DefaultPageLimit})
		if err != nil {
			return err
		}
		failed, err := w.tx.ListNotifications(ctx, driver.NotificationQuery{
			CompanyID: id, Status: driver.NotificationFailed, Limit: watchedFailures,
		})
		if err != nil {
			return err
		}
		state := WatchedState{Undated: true} // An attempt has another time than the mail.
		var parts []any
		for _, one := range slices.Concat(newest, failed) {
			parts = append(parts, one.Number, one.Copy, one.Status, len(one.Attempts), one.DueAt)
			state.ChangedAt = laterOf(state.ChangedAt, laterOf(one.CreatedAt, one.FinishedAt))
		}
		state.Version = digestOf(parts...)
		for i, one := range watched {
			if one.Topic == WatchMails && one.CompanyID == id {
				states[i] = state
			}
		}
	}
	return nil
}

// watchedSalesFor is how long a process uses the sums of all companies that it has read.
const watchedSalesFor = 10 * time.Second

// watchedSales holds the version of WatchSales that the process has read. mu is held while it is read.
type watchedSales struct {
	mu      sync.Mutex
	readAt  time.Time
	version uint64
}

// watchSales returns the state of WatchSales by the sums of the last hour: a dispatch adds to those of the time of the
// sale. They are read for each company, so at most every ten seconds.
func (s *Service) watchSales(ctx context.Context, at time.Time) (WatchedState, error) {
	kept := s.watchedSales
	kept.mu.Lock()
	defer kept.mu.Unlock()
	// A clock that was set back makes the age negative.
	if age := at.Sub(kept.readAt); age >= 0 && age < watchedSalesFor {
		return WatchedState{Version: kept.version, Undated: true}, nil
	}
	now := at.Truncate(driver.SalesInterval)
	bounds := []time.Time{now.Add(-platformPastAfter), now.Add(2 * driver.SalesInterval)}
	err := s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		found, err := tx.PlatformSums(ctx, bounds, 0)
		if err == nil {
			kept.version, kept.readAt = digestOf(found.Periods), at
		}
		return err
	})
	return WatchedState{Version: kept.version, Undated: true}, err
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
