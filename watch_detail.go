package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// audits sets the states of WatchAudit: the newest entry of each company's log.
func (w watcher) audits(ctx context.Context, watched []Watched, states []WatchedState) error {
	newest := make(map[uuid.UUID]WatchedState)
	for i, one := range watched {
		if one.Topic != WatchAudit {
			continue
		}
		state, known := newest[one.CompanyID]
		if !known {
			entries, err := w.tx.ListAudit(ctx, driver.AuditQuery{CompanyID: one.CompanyID, Limit: 1})
			if err != nil {
				return err
			}
			for _, entry := range entries {
				state = WatchedState{Version: digestOf(entry.ID), ChangedAt: entry.At}
			}
			newest[one.CompanyID] = state
		}
		states[i] = state
	}
	return nil
}

// events sets the states of WatchEvent by each event, its sums and the counters of its stock. What it reads does not
// grow with what was sold.
func (w watcher) events(ctx context.Context, watched []Watched, states []WatchedState) error {
	ids, of := make(map[uuid.UUID][]uuid.UUID), make(map[uuid.UUID][]int) // by company
	var refs []driver.EventRef
	for i, one := range watched {
		if one.Topic == WatchEvent {
			ids[one.CompanyID], of[one.CompanyID] = append(ids[one.CompanyID], one.ID), append(of[one.CompanyID], i)
			refs = append(refs, driver.EventRef{CompanyID: one.CompanyID, ID: one.ID})
		}
	}
	if len(refs) == 0 {
		return nil
	}
	found, err := w.tx.Events(ctx, refs)
	if err != nil {
		return err
	}
	changed := make(map[driver.EventRef]driver.Event, len(found))
	for n, event := range found {
		changed[refs[n]] = event
	}
	for companyID, ids := range ids {
		sums, err := w.tx.EventSums(ctx, companyID, ids)
		if err != nil {
			return err
		}
		stock, err := w.tx.CountEvents(ctx, companyID, ids)
		if err != nil {
			return err
		}
		for n, i := range of[companyID] {
			event := changed[driver.EventRef{CompanyID: companyID, ID: ids[n]}]
			// Neither the sums nor the counters have a time.
			states[i] = WatchedState{
				Version: digestOf(sums[n], stock[n], event.UpdatedAt), ChangedAt: event.UpdatedAt, Undated: true,
			}
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
	orders, err := w.tx.Orders(ctx, refs)
	if err != nil {
		return err
	}
	var numbers []driver.OrderNumber
	for _, order := range orders {
		if order.ID != uuid.Nil {
			numbers = append(numbers, order.NumberRef())
		}
	}
	lines, err := w.tx.OrderLines(ctx, numbers)
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
