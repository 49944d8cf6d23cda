package ticketing

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// WatchTopic is a subject whose changes [Service.Watch] detects.
type WatchTopic string

// The topics. WatchQueues and WatchSales concern the platform, the others concern one company.
const (
	// WatchMoney is what moves money: sales, refunds, fundings and settlements.
	WatchMoney WatchTopic = "MONEY"
	// WatchAudit is what the company's audit log has: among it cancellations of orders and erasures of buyers, which move
	// no money. With the zero company it is the log of all companies and the platform.
	WatchAudit WatchTopic = "AUDIT"
	// WatchEvent is one event, its stock and what was counted of it: sales, refunds and scans. Scans are counted a moment
	// after they commit, by the dispatch of their facts.
	WatchEvent WatchTopic = "EVENT"
	// WatchOrder is the status of one order and the scans of its admissions.
	WatchOrder WatchTopic = "ORDER"
	// WatchDeliveries is webhook deliveries that are created, succeed or fail.
	WatchDeliveries WatchTopic = "DELIVERIES"
	// WatchDelivery is one webhook delivery: its attempts and its status. Of more than twenty that are watched together
	// only the twenty with the smallest ids change.
	WatchDelivery WatchTopic = "DELIVERY"
	// WatchMails is the newest ticket mails and the newest failed ones, as many as a page shows of them by default. Of
	// more than twenty companies that are watched together only the twenty with the smallest ids change.
	WatchMails WatchTopic = "MAILS"
	// WatchSales is what all companies together sold, refunded and admitted in the last hour, as far as it was counted,
	// read at most ten seconds ago. Its version also differs when a quarter of an hour begins.
	WatchSales WatchTopic = "SALES"
	// WatchQueues is the work that waits for staff: cases, settlements, dead letters and companies that are low on FLOAT.
	WatchQueues WatchTopic = "QUEUES"
)

// Watched is a topic of a company. The CompanyID of WatchQueues and WatchSales is zero.
type Watched struct {
	CompanyID uuid.UUID
	Topic     WatchTopic
	ID        uuid.UUID // of what WatchEvent, WatchOrder and WatchDelivery watch; zero for the other topics
}

// WatchedState identifies the state of what is watched.
type WatchedState struct {
	// Version differs after each change. Compare versions only for equality.
	Version uint64
	// ChangedAt is the time of the latest change that has one. It is zero if there was none.
	ChangedAt time.Time
	// Undated reports whether there may be a later change than ChangedAt, since some changes of the topic have no time. A
	// page that was made before this state was read may then be outdated. It is true for WatchEvent, WatchOrder,
	// WatchDelivery, WatchMails, WatchSales and WatchQueues, and for WatchDeliveries while some fail.
	Undated bool
}

// The first page of staff shows this many of each queue at most.
const watchedQueue = 11

// Watch returns the state of each topic, in the order of watched. It is for trusted surfaces with pages that
// update themselves: it checks no permission and shows only that something changed. It reads in one transaction,
// whatever the number of companies: one query for each of WatchMoney, WatchAudit and WatchDeliveries, two for all
// orders, three for all events, one for each delivery of WatchDelivery, and two for each company of WatchMails;
// WatchSales has a query of its own. It reads what is kept anyway, so a sale or a scan writes nothing for it. What does
// not exist has the state of a company that has never sold.
func (s *Service) Watch(ctx context.Context, watched []Watched) ([]WatchedState, error) {
	if err := checkTopics(watched); err != nil {
		return nil, err
	}
	var states []WatchedState
	// The balances of all companies are read and kept apart from the transaction.
	var floats LowFloats
	for _, one := range watched {
		if one.Topic == WatchQueues {
			var err error
			if floats, err = s.lowFloats(ctx); err != nil {
				return nil, err
			}
			break
		}
	}
	at := s.now()
	var sales WatchedState
	if slices.ContainsFunc(watched, func(one Watched) bool { return one.Topic == WatchSales }) {
		var err error
		if sales, err = s.watchSales(ctx, at); err != nil {
			return nil, err
		}
	}
	err := s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
		announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) { _, _ = watch(ctx, tx, at, watched, floats) })
		states, err = watch(ctx, tx, at, watched, floats)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, one := range watched {
		if one.Topic == WatchSales {
			states[i] = sales
		}
	}
	return states, nil
}

// checkTopics refuses what is not a topic.
func checkTopics(watched []Watched) error {
	for _, one := range watched {
		switch one.Topic {
		case WatchMoney, WatchAudit, WatchEvent, WatchOrder, WatchDelivery, WatchDeliveries, WatchMails, WatchSales,
			WatchQueues:
		default:
			return fmt.Errorf("ticketing: %q is not a topic to watch", one.Topic)
		}
	}
	return nil
}

// watch returns the state of each topic.
func watch(
	ctx context.Context, tx driver.ReadTx, at time.Time, watched []Watched, floats LowFloats,
) ([]WatchedState, error) {
	states := make([]WatchedState, len(watched))
	w := watcher{tx: tx, at: at, floats: floats}
	for _, set := range []func(context.Context, []Watched, []WatchedState) error{
		w.money, w.deliveries, w.delivery, w.mails, w.audits, w.events, w.orders,
	} {
		if err := set(ctx, watched, states); err != nil {
			return nil, err
		}
	}
	for i, one := range watched {
		if one.Topic == WatchQueues {
			var err error
			if states[i], err = w.queues(ctx); err != nil {
				return nil, err
			}
		}
	}
	return states, nil
}

// watcher is one call of Watch.
type watcher struct {
	tx     driver.ReadTx
	at     time.Time
	floats LowFloats
}

// money sets the states of WatchMoney: every movement appends an entry to a wallet.
func (w watcher) money(ctx context.Context, watched []Watched, states []WatchedState) error {
	var refs []driver.WalletRef
	var of []int
	for i, one := range watched {
		if one.Topic == WatchMoney {
			of = append(of, i)
			refs = append(refs, driver.WalletRef{CompanyID: one.CompanyID, Wallet: ledger.Float},
				driver.WalletRef{CompanyID: one.CompanyID, Wallet: ledger.Earnings})
		}
	}
	if len(refs) == 0 {
		return nil
	}
	wallets, err := w.tx.Wallets(ctx, refs)
	if err != nil {
		return err
	}
	for n, i := range of {
		float, earnings := wallets[2*n], wallets[2*n+1]
		states[i] = WatchedState{
			Version:   digestOf(float.Sequence, float.Status, earnings.Sequence, earnings.Status),
			ChangedAt: laterOf(float.LastAt, earnings.LastAt),
		}
	}
	return nil
}

// deliveries sets the states of WatchDeliveries, for all companies in one query. What it reads does not grow with the
// number of deliveries. A company without an endpoint has no new delivery.
func (w watcher) deliveries(ctx context.Context, watched []Watched, states []WatchedState) error {
	var companies []uuid.UUID
	of := make(map[uuid.UUID][]driver.EndpointHealth)
	for _, one := range watched {
		if _, known := of[one.CompanyID]; one.Topic == WatchDeliveries && !known {
			of[one.CompanyID] = nil
			companies = append(companies, one.CompanyID)
		}
	}
	if len(companies) == 0 {
		return nil
	}
	found, err := w.tx.EndpointHealth(ctx, driver.EndpointHealthQuery{
		Companies: companies, Since: w.at.Add(-endpointHealthPeriod), Most: MaxEndpointCount,
	})
	if err != nil {
		return err
	}
	for _, one := range found {
		of[one.CompanyID] = append(of[one.CompanyID], one)
	}
	for i, one := range watched {
		if one.Topic != WatchDeliveries {
			continue
		}
		var parts []any
		for _, health := range of[one.CompanyID] {
			parts = append(parts, health)
			states[i].ChangedAt = laterOf(states[i].ChangedAt, laterOf(health.NewestAt, health.LastSuccessAt))
			// A failure has no time here, and leaves one of the two.
			states[i].Undated = states[i].Undated || health.Failed > 0 || health.Retrying > 0
		}
		states[i].Version = digestOf(parts...)
	}
	return nil
}

// queues returns the state of what waits for staff.
func (w watcher) queues(ctx context.Context) (WatchedState, error) {
	cases, err := w.tx.ListSubmittedCases(ctx, driver.Position{}, watchedQueue)
	if err != nil {
		return WatchedState{}, err
	}
	open, err := w.tx.ListOpenSettlements(ctx, driver.Position{}, watchedQueue)
	if err != nil {
		return WatchedState{}, err
	}
	dead, err := w.tx.CountDeadLetters(ctx, w.at.Add(-deadLettersOf), MaxDeadLetters)
	if err != nil {
		return WatchedState{}, err
	}
	state := WatchedState{Undated: true} // What has left a queue is not read.
	parts := []any{len(cases), len(open)}
	for _, one := range cases {
		parts = append(parts, one.CompanyID, one.Number)
		state.ChangedAt = laterOf(state.ChangedAt, one.SubmittedAt)
	}
	for _, one := range open {
		parts = append(parts, one.CompanyID, one.Number, one.Status)
		state.ChangedAt = laterOf(state.ChangedAt, one.RequestedAt)
	}
	for _, one := range dead {
		parts = append(parts, one)
	}
	for _, one := range w.floats.Companies[:min(watchedQueue, len(w.floats.Companies))] {
		parts = append(parts, one)
	}
	state.Version = digestOf(parts...)
	return state, nil
}

// digestOf returns a digest of values by how they are printed.
func digestOf(values ...any) uint64 {
	h := fnv.New64a()
	for _, value := range values {
		_, _ = fmt.Fprintf(h, "%v\x00", value) // A hash accepts everything.
	}
	return h.Sum64()
}

// laterOf returns the later of two times.
func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Commits returns a channel that is closed when this process commits something that [Service.Watch] may show. So a
// surface can call Watch at once, and otherwise only now and then for commits of other processes. The channel may also
// be closed for other commits. Each call returns the channel of the next commit.
func (s *Service) Commits() <-chan struct{} { return s.commits.wait() }

// commitSignal signals those who wait at the time.
type commitSignal struct {
	mu   sync.Mutex
	next chan struct{} // nil: nobody waits
}

func (c *commitSignal) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

func (c *commitSignal) send() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// Sessions returns the sessions of several secrets, in their order, and the zero Session for one that has ended or
// never existed. Unlike [Accounts.Session] it does not count as a use: a page that updates itself does not keep its
// session alive.
func (a Accounts) Sessions(ctx context.Context, secrets []string) ([]Session, error) {
	at := a.s.now()
	var sessions []Session
	err := a.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		sessions = make([]Session, len(secrets))
		refs := make([]driver.SessionRef, len(secrets))
		users := make([]uuid.UUID, len(secrets))
		given := make([]accountSecret, len(secrets))
		for i, secret := range secrets {
			if userID, id, parsed, ok := parseAccountSecret(sessionPrefix, secret); ok {
				refs[i], users[i], given[i] = driver.SessionRef{UserID: userID, ID: id}, userID, parsed
			}
		}
		found, err := tx.Sessions(ctx, refs)
		if err != nil {
			return err
		}
		staff, err := tx.StaffMembers(ctx, users)
		if err != nil {
			return err
		}
		for i, session := range found {
			isStaff := staff[i].Role != ""
			if session.ID != uuid.Nil && given[i].matches(session.Digest) && at.Before(a.s.sessions.expiry(session, isStaff)) {
				sessions[i] = a.showSession(session, isStaff)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sessions, nil
}
