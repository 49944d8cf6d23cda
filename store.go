package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Store is what the service asks of persistence. It keeps and finds records; every rule lives in this package.
// Package store keeps them in SQL, package store/memory in memory, and package store/storetest tells whether one
// written elsewhere keeps the promises below.
//
// # What fn may do
//
// fn works through the transaction it is handed and does nothing else that could be seen outside: no other I/O, no
// clock, no channel. It may run again from the start after a passing failure, so it assigns every outcome afresh. It
// uses the transaction from one goroutine, keeps it no longer than it runs, and begins no other transaction of the
// same store.
//
// # What a store promises
//
//   - Nothing of an Update is kept when fn returns an error or panics; a panic goes on to the caller. Update returns
//     an error of fn as it is (errors.Is and == hold).
//   - Within an Update its own writes are visible. Writes may be sent late: their error may come from a later call or
//     from Update itself, and a read sends them first.
//   - An error of any call dooms the transaction: an Update whose fn swallowed one fails and keeps nothing.
//   - Records handed in and out are copies: changing one afterwards changes nothing kept.
//   - Times are kept in UTC with milliseconds; a zero time is kept as none. Texts are kept exactly.
//   - A method that takes a list of references answers with a list of the same length and order, holding the zero
//     record where nothing is kept. A list method answers in the order it names, and an empty answer is no error.
//   - Passing failures (a serialisation failure, a deadlock, a connection lost before the commit was sent) are tried
//     again a bounded number of times with jitter; a lock that is not had in time is [ErrBusy].
//
// # Lock order
//
// The gate, then claims of idempotency keys, then the event (for those who change it), tiers, batches, admissions,
// settlements, deliveries, and wallets last, each by key. A decision rests only on data that is locked or behind the gate, read by a statement
// that began after the lock was had.
type Store interface {
	// View runs fn for reading. Each call sees what is committed when it runs.
	View(ctx context.Context, fn func(ctx context.Context, tx ReadTx) error) error
	// Snapshot runs fn for reading. All its calls see one moment.
	Snapshot(ctx context.Context, fn func(ctx context.Context, tx ReadTx) error) error
	// Update runs fn for writing, all or nothing. The transaction begins with [Gate.Enter], which fn calls first.
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// ReadTx is what can be read, a role for each subject.
type ReadTx interface {
	SecretReader
	CompanyReader
	BrandingReader
	CommissionReader
	APIKeyReader
	CategoryReader
	EventReader
	TermsReader
	InventoryReader
	OrderReader
	OrderEndingReader
	WalletReader
	BankAccountReader
	SettlementReader
	BookReader
	FactReader
	WebhookEndpointReader
	MessageReader
	DeliveryReader
	WorkReader
	AuditReader
	UserReader
	MemberReader
	VerificationReader
}

// Tx is what can be read and written, a role for each subject.
type Tx interface {
	ReadTx
	Gate
	ResultKeeper
	SecretWriter
	CompanyWriter
	BrandingWriter
	CommissionWriter
	APIKeyWriter
	CategoryWriter
	EventWriter
	InventoryWriter
	OrderWriter
	OrderEndingWriter
	WalletWriter
	BankAccountWriter
	SettlementWriter
	FactWriter
	WebhookEndpointWriter
	MessageWriter
	DeliveryWriter
	AuditWriter
	UserWriter
	MemberWriter
	VerificationWriter
}

// Gate is the way into an Update: one fair readers-writer lock for each company, and the keys in flight.
//
// What a sale only reads (company, API key, verification, branding, commission rate, status of the event) is guarded
// by the company's gate: writers share it, whoever changes one of those closes it. The gate is never upgraded.
type Gate interface {
	// Enter begins the transaction and is the first call of every fn, made once. It answers which of the claimed keys
	// are in flight elsewhere, in the order of Entrance.Claim. Where every claim is in flight it answers at once and
	// begins nothing; fn then returns.
	//
	// Claims belong to the store, not to the service, so that two services on one store exclude each other. They end
	// with the Update, whatever its end; a crash leaves none.
	Enter(ctx context.Context, in Entrance) (inFlight []bool, err error)
}

// Entrance says what an Update is about.
type Entrance struct {
	// Share are the companies whose guarded state the update reads.
	Share []uuid.UUID
	// Close are the companies whose guarded state the update changes.
	Close []uuid.UUID
	// Claim are the idempotency keys of the update; no two are equal.
	Claim []ResultRef
	// Patience is how long the update waits for locks before it is [ErrBusy]. Zero means as long as the store is
	// configured to.
	Patience time.Duration
}

// A DurableStore outlives its process. [New] asks for secret keys where it has one.
type DurableStore interface {
	Store
	Durable() bool
}

// ErrNotFound is a store's answer to a change of a record that is not there.
var ErrNotFound = errors.New("ticketing: record not found")

// ErrBusy is a store's answer when a lock was not had in time. Nothing was written; the same call may be made again.
var ErrBusy = errors.New("ticketing: the database is busy, try again")

// ErrUnavailable is a store's answer when its database cannot be reached or has no room.
var ErrUnavailable = errors.New("ticketing: the database is unavailable")

// ConstraintError is a store's answer to a write that breaks a constraint. The transaction is doomed.
type ConstraintError struct {
	// Constraint is the store's name of it, such as "orders_pkey"; empty where the database does not say which.
	Constraint string
}

// Error names the constraint and never a value.
func (e *ConstraintError) Error() string {
	if e.Constraint == "" {
		return "ticketing: a constraint is broken"
	}
	return "ticketing: constraint " + e.Constraint + " is broken"
}

// only is the one record that a list method was asked for.
func only[T any](found []T, err error) (T, error) {
	if err != nil || len(found) == 0 {
		var none T
		return none, err
	}
	return found[0], nil
}
