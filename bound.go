package ticketing

import (
	"context"
	"errors"
)

var errBoundRun = errors.New("ticketing: a service that is bound to a transaction does no background work")

// WithStore is this service on a store that is bound to a transaction of the host's, as package store makes one with
// its Bind: with the same clock, ids, secret keys and rules, for as long as the transaction lasts.
//
//	bound, err := db.Bind(ctx, tx)
//	…
//	order, err := svc.WithStore(bound).Checkout(ctx, caller, key, params)
//
// Every method of the data plane and every [Operator] method works as it does on the service, save that nothing is
// kept before the host commits, and that with PostgreSQL [Operator.VerifyLedger] and [Operator.Dashboard] are refused:
// they compare what is of one moment, and the host's transaction sees none. Other reads that are of one moment outside
// see there what is committed as they go on. An answer is no promise until the commit: a sale that the host rolls back
// never was, and its idempotency key is unspent. Meanwhile the key is in flight for everybody else, and the same call
// within the transaction is answered again. A refusal leaves the transaction as it was, and the host decides what
// becomes of it.
//
// Call [Service.Ready] of the service before. Otherwise the first call in a transaction remembers the secret keys there,
// behind a gate that every other service on a new database then waits at until the host commits.
//
// What a service does for its own transactions is the host's here:
//
//   - calls do not share transactions, and nothing runs again after a passing failure: that is [ErrBusy], and the host
//     runs its own transaction again;
//   - facts are told after the commit by [Service.Run] of the service that this one was made of, and the host calls its
//     [Service.Wake]. Run of this one fails;
//   - [Service.Authenticate] keeps no time of use.
func (s *Service) WithStore(bound Store) *Service {
	within := &Service{choices: s.choices, bound: true}
	within.use(hostsStore{bound})
	within.secrets.passed.Store(s.secrets.passed.Load())
	within.group(Grouping{Off: true})
	return within
}

// hostsStore is a store that is bound to a transaction of a host's. Where one moment is only better to have, a Snapshot
// of it reads as a View does: the host's transaction may see none.
type hostsStore struct{ Store }

func (h hostsStore) Snapshot(ctx context.Context, fn func(ctx context.Context, tx ReadTx) error) error {
	return h.View(ctx, fn)
}

// wholeSnapshot is a Snapshot for what is wrong unless all of it is of one moment. It fails where there is none.
func (s *Service) wholeSnapshot(ctx context.Context, fn func(ctx context.Context, tx ReadTx) error) error {
	store := s.store
	if within, bound := store.(hostsStore); bound {
		store = within.Store
	}
	return store.Snapshot(ctx, fn)
}
