package ticketing_test

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// modelBatch is what equal admissions share. Its price and state are those of its unsold ones.
type modelBatch struct {
	title string
	price money.Amount
	state string
}

// grow returns the newest batch if it is equal, and otherwise adds a new one.
func (t *modelTier) grow(like modelBatch) *modelBatch {
	if n := len(t.batches); n > 0 && *t.batches[n-1] == like {
		return t.batches[n-1]
	}
	t.batches = append(t.batches, &like)
	return &like
}

func (b *modelBatch) admission(event *modelEvent) *modelAdmission {
	return &modelAdmission{event: event, batch: b, title: b.title, price: b.price, state: b.state}
}

func (b *modelBatch) unsold(t *modelTier) bool {
	return slices.ContainsFunc(t.admissions, func(a *modelAdmission) bool { return a.batch == b && a.state != "sold" })
}

// putBack makes the admissions of an order unsold again, by Section 3.1 and the status that the tier shows. They are
// cancelled if their batch was cancelled, or if their tier was and has had no new admissions since.
func (m *model) putBack(order *modelOrder) {
	type change struct {
		batch *modelBatch
		state string
		apart bool
	}
	changes := map[*modelBatch]*change{}
	for name, tier := range order.event.tiers {
		shown := tier.show(name).Status
		for _, a := range order.sold {
			if !slices.Contains(tier.admissions, a) || changes[a.batch] != nil {
				continue
			}
			c := &change{batch: a.batch}
			unsold := a.batch.unsold(tier)
			switch {
			case a.batch.state == "cancelled", tier.cancelled:
				c.state = "cancelled"
			case order.event.status == ticketing.EventDraft:
				c.state = "paused"
			case unsold:
				c.state = a.batch.state
			default:
				c.state = map[ticketing.InventoryStatus]string{
					ticketing.InventoryAvailable: "on sale", ticketing.InventorySoldOut: "on sale",
					ticketing.InventoryPaused: "paused", ticketing.InventoryCancelled: "cancelled",
				}[shown]
			}
			if c.apart = unsold && c.state != a.batch.state; c.apart {
				c.batch = &modelBatch{a.batch.title, a.batch.price, c.state}
			}
			changes[a.batch] = c
		}
	}
	for name, tier := range order.event.tiers {
		for _, batch := range slices.Clone(tier.batches) {
			c := changes[batch]
			if c == nil {
				continue
			}
			if c.apart {
				tier.batches = append(tier.batches, c.batch)
			}
			c.batch.state = c.state
			for _, a := range order.sold {
				at := slices.Index(tier.admissions, a)
				if a.batch != batch || at < 0 {
					continue
				}
				fresh := c.batch.admission(order.event)
				if c.apart {
					tier.admissions = append(slices.Delete(tier.admissions, at, at+1), fresh)
				} else {
					tier.admissions[at] = fresh
				}
			}
		}
		order.event.tiers[name] = tier
	}
}

func (m *model) refund(r *rapid.T) {
	order := m.drawOrder(r)
	restock := rapid.Bool().Draw(r, "restock")
	want := ticketing.Code("")
	switch {
	case order.Status == ticketing.OrderRefunded:
	case order.Status == ticketing.OrderCancelled, m.float.suspended, m.earnings.suspended,
		m.earnings.balance < order.Commission.Amount:
		want = ticketing.CodeConflict
	}
	done := order.Status != ticketing.OrderConfirmed
	got, err := m.shop.Staff.RefundOrder(m.ctx(), order.ID, ticketing.RefundParams{Reason: "model", Restock: restock})
	if !expect(r, "refund", err, want) || done {
		return
	}
	m.end(order, ticketing.OrderRefunded)
	at := slices.MaxFunc([]time.Time{m.saleTime(), order.ConfirmedAt.Time}, time.Time.Compare)
	m.float.balance, m.earnings.balance = m.float.balance+order.Gross, m.earnings.balance-order.Commission.Amount
	m.float.lastAt, m.earnings.lastAt = at, at
	same(r, "refunded at", got.Ending.At, ticketing.Time{Time: at})
	same(r, "refunded order", show(m.t, got.Order), show(m.t, order.Order))
	same(r, "restocked", got.Ending.Restocked, restock && !order.event.terminal())
	if got.Ending.Restocked {
		m.putBack(order)
	}
}

func (m *model) cancelOrder(r *rapid.T) {
	order := m.drawOrder(r)
	if !rarely(r, "really") {
		r.Skip("not every time")
	}
	want := ticketing.Code("")
	if order.Status == ticketing.OrderRefunded {
		want = ticketing.CodeConflict
	}
	got, err := m.shop.Staff.CancelOrder(m.ctx(), order.ID, "model")
	if !expect(r, "cancel order", err, want) {
		return
	}
	m.end(order, ticketing.OrderCancelled)
	same(r, "cancelled order", show(m.t, got.Order), show(m.t, order.Order))
}

func (m *model) drawOrder(r *rapid.T) *modelOrder {
	if len(m.orders) == 0 {
		r.Skip("nothing is sold")
	}
	return m.orders[len(m.orders)-1-rapid.IntRange(0, len(m.orders)-1).Draw(r, "order")]
}

func (m *model) end(order *modelOrder, status ticketing.OrderStatus) {
	order.Status = status
	for _, a := range order.sold {
		a.voided = true
	}
}

type modelSettlement struct{ ticketing.Settlement }

func (m *model) settle(r *rapid.T) {
	want := ticketing.Code("")
	open := slices.ContainsFunc(m.settled,
		func(s *modelSettlement) bool { return s.Status == ticketing.SettlementPending })
	if m.suspended || !m.verified || m.earnings.suspended || open || m.earnings.balance == 0 {
		want = ticketing.CodeConflict
	}
	got, err := m.shop.Staff.RequestSettlement(m.ctx(), m.shop.Company.ID)
	if !expect(r, "settle", err, want) {
		return
	}
	at := slices.MaxFunc([]time.Time{m.now, m.earnings.lastAt}, time.Time.Compare)
	same(r, "settlement", show(m.t, got), show(m.t, ticketing.Settlement{
		ID: got.ID, CompanyID: m.shop.Company.ID, Amount: m.earnings.balance, Status: ticketing.SettlementPending,
		BankAccountLast4: "2653", RequestedAt: ticketing.Time{Time: at},
	}))
	m.earnings.balance, m.earnings.lastAt = 0, at
	m.settled = append(m.settled, &modelSettlement{got})
}

func (m *model) approve(r *rapid.T) {
	m.decide(r, ticketing.SettlementCompleted, func(id uuid.UUID) (ticketing.Settlement, error) {
		return m.shop.Staff.ApproveSettlement(m.ctx(), id)
	})
}

func (m *model) reject(r *rapid.T) {
	m.decide(r, ticketing.SettlementRejected, func(id uuid.UUID) (ticketing.Settlement, error) {
		return m.shop.Staff.RejectSettlement(m.ctx(), id, "model")
	})
}

func (m *model) decide(
	r *rapid.T, status ticketing.SettlementStatus, call func(id uuid.UUID) (ticketing.Settlement, error),
) {
	if len(m.settled) == 0 {
		r.Skip("nothing is settled")
	}
	settlement := m.settled[len(m.settled)-1-rapid.IntRange(0, len(m.settled)-1).Draw(r, "settlement")]
	refund := status == ticketing.SettlementRejected
	want := ticketing.Code("")
	switch {
	case settlement.Status == status:
	case settlement.Status != ticketing.SettlementPending, refund && m.earnings.suspended:
		want = ticketing.CodeConflict
	}
	pending := settlement.Status == ticketing.SettlementPending
	got, err := call(settlement.ID)
	if !expect(r, string(status), err, want) {
		return
	}
	if pending {
		at := slices.MaxFunc([]time.Time{m.now, settlement.RequestedAt.Time}, time.Time.Compare)
		if refund {
			at = slices.MaxFunc([]time.Time{at, m.earnings.lastAt}, time.Time.Compare)
			m.earnings.balance, m.earnings.lastAt = m.earnings.balance+settlement.Amount, at
			settlement.Reason = of("model")
		}
		settlement.Status, settlement.DecidedAt = status, &ticketing.Time{Time: at}
	}
	same(r, "decided", show(m.t, got), show(m.t, settlement.Settlement))
}
