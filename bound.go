package ticketing

import "errors"

var errBoundRun = errors.New("ticketing: a service that is bound to a transaction does no background work")

// WithStore is this service on a store that is bound to a transaction of the host's, as package store makes one with
// its Bind: with the same clock, ids, secret keys and rules, for as long as the transaction lasts.
//
//	bound, err := db.Bind(ctx, tx)
//	…
//	order, err := svc.WithStore(bound).Checkout(ctx, caller, key, params)
//
// Every method of the data plane and every [Operator] method works as it does on the service, save that nothing is
// kept before the host commits, and that with PostgreSQL what reads one moment ([Operator.VerifyLedger],
// [Operator.Dashboard]) is refused: the host's transaction sees none. An answer is no promise until then: a sale that
// the host rolls back never was, and its idempotency key is unspent. Meanwhile the key is in flight for everybody
// else, and the same call within the transaction is answered again. A refusal leaves the transaction as it was, and
// the host decides what becomes of it.
//
// What a service does for its own transactions is the host's here:
//
//   - calls do not share transactions, and nothing runs again after a passing failure: that is [ErrBusy], and the host
//     runs its own transaction again;
//   - facts are told after the commit by [Service.Run] of the service that this one was made of, and the host calls its
//     [Service.Wake]. Run of this one fails;
//   - [Service.Authenticate] keeps no time of use.
func (s *Service) WithStore(bound Store) *Service {
	within := &Service{choices: s.choices, store: bound, bound: true}
	within.secrets.passed.Store(s.secrets.passed.Load())
	within.group(Grouping{Off: true})
	return within
}
