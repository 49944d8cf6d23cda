package ticketing

import (
	"context"
	"errors"

	"github.com/floatgate/ticketing/driver"
)

// errBoundRun is returned by [Service.Run] and [Service.SendWebhooks] of a service from [Service.WithStore].
var errBoundRun = errors.New("ticketing: a service that is bound to a transaction does no background work")

// WithStore returns this service on a store that is bound to a transaction of the host. Such a store comes from Bind of
// package store. The new service has the same clock, ids, secret keys and rules, and is good until the transaction
// ends.
//
//	bound, err := db.Bind(ctx, tx)
//	…
//	order, err := svc.WithStore(bound).Checkout(ctx, caller, key, params)
//
// Every method of the data plane and every [Operator] method works as on the service, with two differences. Nothing is
// kept before the host commits. With PostgreSQL, [Operator.VerifyLedger] and [Operator.Dashboard] are refused: they
// compare what is of one moment, and the host's transaction has no snapshot of one moment. Other reads that take a
// snapshot elsewhere see what is committed as they go on.
//
// A result is no promise until the commit: a sale that the host rolls back never was, and its idempotency key is
// unspent. Until then the key is in flight for every other transaction, while the same call within this transaction is
// a replay. A refusal leaves the transaction as it was, and the host decides whether to commit it.
//
// Call [Service.Ready] of the original service first. Otherwise the first call in a transaction records the secret keys
// there, under an exclusive lock. On a new database every other service then waits for that lock until the host
// commits.
//
// The host takes over what a service does for its own transactions:
//
//   - Calls are not grouped. A transient failure is not retried: the call returns [ErrBusy], and the host runs its own
//     transaction again.
//   - [Service.Run] of the original service publishes facts after the commit, and the host calls [Service.Wake] of that
//     service. Run of this one fails.
//   - [Service.Authenticate] does not record the time of use, and [Service.Identify] reads each key.
func (s *Service) WithStore(bound driver.Store) *Service {
	within := &Service{choices: s.choices, bound: true}
	within.use(hostsStore{bound})
	within.secrets.passed.Store(s.secrets.passed.Load())
	within.group(Grouping{Off: true})
	return within
}

// hostsStore is a store that is bound to a transaction of the host. Its Snapshot reads like View, because the host's
// transaction may have no snapshot. It is for reads that prefer one moment but do not need it; see wholeSnapshot.
type hostsStore struct{ driver.Store }

// Snapshot implements [driver.Store] with View.
func (h hostsStore) Snapshot(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return h.View(ctx, fn)
}

// wholeSnapshot runs fn in a Snapshot. It is for reads whose result would be wrong if they were not of one moment. It
// fails where the store has no snapshot, as a store bound to a transaction of PostgreSQL.
func (s *Service) wholeSnapshot(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	store := s.store
	if within, bound := store.(hostsStore); bound {
		store = within.Store
	}
	return store.Snapshot(ctx, fn)
}
