// Package driver is the contract between package ticketing and its stores, as database/sql/driver is for databases. It
// is for authors of stores. A host opens a store of package [github.com/floatgate/ticketing/store] or
// [github.com/floatgate/ticketing/store/memory], passes it to ticketing.New, and calls nothing here.
//
// The package holds no rule of the service. It declares the transactions of a store, the records that it keeps, the
// references that identify them, and the queries that list them.
//
// # Where to begin
//
//   - [Store] is what a store implements. Its comment has the promises that every store keeps, and the lock order.
//   - [ReadTx] and [Tx] are its transactions, with one small interface for each subject.
//   - [Gate] begins an Update, with the locks of companies and the claims of idempotency keys.
//   - [DurableStore], [GroupingStore] and, for transactions, [WaitingReader], [Announcer], [LineReader],
//     [PriceReader] and [SaleLocker] are optional. The contract will grow by such optional interfaces, and by optional
//     fields, alone.
//   - [PurposeOf] returns what a transaction is for.
//
// # Names
//
// A record has the name of its subject: [Order] is an order as a store keeps it, and ticketing.Order is an order as the
// API shows it. A reference identifies a record; its name ends in Ref, or is OrderNumber or IdempotencyKey. A query
// that lists begins after its field After, always in the order of the list.
//
// # Tests
//
// Package [github.com/floatgate/ticketing/store/storetest] checks that a store keeps the promises of [Store]. One call
// runs all its checks:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) driver.Store { return open(t) })
//	}
package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Store keeps and finds records. The rules of the service are in package ticketing. A Store is safe for concurrent use.
//
// # What fn may do
//
// fn works through the transaction that it is called with. It does nothing else that could be observed outside: no
// other I/O, no clock, no channel. It may run again from the start after a transient failure, so each run sets all its
// outcomes. It uses the transaction from one goroutine and does not keep it after it returns. It begins no other
// transaction of the same store.
//
// # What a store promises
//
//   - If fn returns an error or panics, the Update keeps nothing. A panic continues to the caller. Update returns an
//     error of fn unchanged (errors.Is and == hold).
//   - An Update sees its own writes. Writes may be sent late: their error may come from a later call or from Update
//     itself. A read sends them first.
//   - An error of any call dooms the transaction: if fn ignores it, Update fails and keeps nothing.
//   - Records passed in and returned are copies: changing one afterwards changes nothing that is kept.
//   - Times are kept in UTC with milliseconds; a zero time is kept as none. Texts are kept exactly.
//   - A method that takes a list of references returns a list of the same length and order. It holds the zero record
//     where nothing is kept. A list method returns records in the order that it documents, and an empty result is no
//     error.
//   - Lock methods of one record return the zero record where nothing is kept. A change of a record that is not kept
//     fails with [ErrNotFound], and a write that breaks a constraint with a [ConstraintError].
//   - Ids are ordered byte by byte and texts by code point.
//   - A context that has ended begins nothing. If it ends while a transaction waits to begin, the wait ends with the
//     context's error. After [Gate.Begin] the end of the context does not stop an Update.
//   - A call before Begin, a second Begin, and a call after the transaction has ended are errors.
//   - Transient failures (a serialisation failure, a deadlock, a connection lost before the commit was sent) are
//     retried a bounded number of times with jitter. A lock that is not granted in time is [ErrBusy].
//
// # Lock order
//
// The gate comes first, then claims of idempotency keys, the event (for those who change it), tiers, batches,
// admissions, settlements, deliveries, notifications and the progress of sums. Wallets come after those, and sums last,
// with the other writes. Locks of one kind are taken in the order of their keys. Every writer keeps this order, so no
// two writers deadlock. A decision rests only on data that is locked or guarded by the gate, and that was read by a
// statement that began after the lock was granted.
type Store interface {
	// View runs fn for reading. Each call sees what is committed when it runs.
	View(ctx context.Context, fn func(ctx context.Context, tx ReadTx) error) error
	// Snapshot runs fn for reading. All its calls see the same moment.
	Snapshot(ctx context.Context, fn func(ctx context.Context, tx ReadTx) error) error
	// Update runs fn for writing, all or nothing. fn calls [Gate.Begin] first, which begins the transaction.
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// ReadTx is a transaction that reads. It has one small interface for each subject; code that needs one subject takes
// only that interface.
type ReadTx interface {
	CompanyReader
	KeyReader
	PeopleReader
	AccountReader
	EventReader
	InventoryReader
	OrderReader
	WalletReader
	SettlementReader
	BookReader
	BookCheckReader
	SalesReader
	FactReader
	WebhookEndpointReader
	MessageReader
	DeliveryReader
	NotificationReader
	MailSenderReader
	AuditReader
	FindReader
}

// Tx is a transaction that reads and writes. It has one small interface for each subject. A method whose name begins
// with Lock keeps other writers from the rows that it returns until the end of the transaction.
type Tx interface {
	ReadTx
	Gate
	CompanyWriter
	KeyWriter
	PeopleWriter
	AccountWriter
	EventWriter
	InventoryWriter
	OrderWriter
	WalletWriter
	SettlementWriter
	BookCheckWriter
	SalesWriter
	FactWriter
	WebhookEndpointWriter
	MessageWriter
	DeliveryWriter
	NotificationWriter
	MailSenderWriter
	AuditWriter
}

// Gate begins an Update. It has one fair readers-writer lock for each company, called the company's gate. It also has
// the claims of idempotency keys, and the results of spent keys.
//
// The gate guards what a sale only reads: company, API key, verification, branding, commission rate and status of the
// event. It also guards members, verification cases, bank accounts and webhook endpoints with their secrets. A writer
// holds it shared; a change of any of those holds it exclusively. A shared hold is never upgraded, because two
// transactions that did so would wait for each other.
type Gate interface {
	// Begin begins the transaction. Every fn calls it first, and once. It reports which of the claimed keys are in flight
	// elsewhere, in the order of BeginOptions.Keys. If every claim is in flight, it returns at once and begins nothing; fn
	// then returns.
	//
	// Claims belong to the store, not to the service, so two services on one store exclude each other. Claims end with the
	// Update, however it ends. A crash leaves no claim.
	Begin(ctx context.Context, in BeginOptions) (inFlight []bool, err error)
	// Results returns the results of keys, and the zero record for an unspent key.
	Results(ctx context.Context, refs []IdempotencyKey) ([]IdempotencyResult, error)
	// AppendResults keeps the results of new keys.
	AppendResults(ctx context.Context, results []IdempotencyResult) error
}

// BeginOptions holds the gates and claims that an Update begins with.
type BeginOptions struct {
	// Shared are the companies whose guarded state the update only reads. Their gates are held shared. A company is in
	// Shared or in Exclusive, not in both. A store takes the gates of both lists together, in one order.
	//
	// The gate of the zero company guards what belongs to no company: categories, users and what they sign in with, staff,
	// the names of secrets. The update that creates a company may name it before it exists.
	Shared []uuid.UUID
	// Exclusive are the companies whose guarded state the update changes. Their gates are held exclusively.
	Exclusive []uuid.UUID
	// Keys are the idempotency keys of the update; no two are equal.
	Keys []IdempotencyKey
	// LockTimeout is how long the update waits for locks before it fails with [ErrBusy]. Zero means the timeout that the
	// store is configured with.
	LockTimeout time.Duration
	// Reads announces the reads that fn makes first, as [Announcer] does. A store may make them in the message that begins
	// the transaction, after the locks and claims were granted, or ignore them. nil announces none. A store may also
	// return records that it remembers, if it finds at that moment that they are what it would read; the LastUsedAt of an
	// API key may be older.
	Reads func(ctx context.Context, tx Tx)
	// Locks announces what fn locks first with [SaleLocker], with the same arguments in the same order. A store may lock
	// it in the message that begins the transaction, after the gates and the claims and before the reads, or ignore it. It
	// locks nothing of it, and waits for nothing, if no claim of Keys was granted. If fn then locks something else, or
	// nothing, the update holds these locks, too. nil announces none.
	Locks *SaleLocks
}

// SaleLocks are the stock and the wallets that a sale locks, as the arguments of [SaleLocker.LockSale].
type SaleLocks struct {
	Stock   []StockQuery
	Wallets []WalletRef
}

// An Announcer is a transaction that makes several reads in one message. It is optional: without it each read is made
// when it is called.
type Announcer interface {
	// Announce calls reads with a transaction that keeps each read and returns zero records. The reads are made together
	// with the next one. The next call of a method with exactly the arguments of one of them returns what was read then,
	// once; a read that is announced again before that is made once. A write and a lock of the transaction forget what was
	// announced. A read that was announced and is not called costs its work, and changes nothing.
	Announce(ctx context.Context, reads func(ctx context.Context, tx ReadTx))
}

// A LineReader is a [ReadTx] that reads orders together with their lines in one message. It is optional: without it two
// calls are made.
type LineReader interface {
	// OrdersWithLines does what [OrderReader.Orders] does, and then [OrderReader.OrderLines] for the orders found.
	OrdersWithLines(ctx context.Context, refs []OrderRef) ([]Order, []Admission, error)
	// ListOrdersWithLines does the same with [OrderReader.ListOrders].
	ListOrdersWithLines(ctx context.Context, query OrderQuery) ([]Order, []Admission, error)
}

// A PriceReader is a [ReadTx] that reads what several quotes are computed from at once. It is optional: without it a
// call is made for each.
type PriceReader interface {
	// PriceLists returns what [InventoryReader.PriceList] returns for each query. Each list is of one moment, lists of
	// different queries may be of different ones.
	PriceLists(ctx context.Context, queries []PriceQuery) ([]PriceList, error)
}

// A SaleLocker is a [Tx] that locks the stock and the wallets of sales in one message. It is optional: without it two
// calls are made.
type SaleLocker interface {
	// LockSale does what [InventoryWriter.LockStock] and then [WalletWriter.LockWallets] do.
	LockSale(ctx context.Context, queries []StockQuery, wallets []WalletRef) ([]Batch, []LockedWallet, error)
}

// A DurableStore may outlive its process. If Durable returns true, ticketing.New requires secret keys: with random
// keys, the next process could use neither API keys nor encrypted values.
type DurableStore interface {
	Store
	Durable() bool
}

// Grouping is how calls that share a transaction are grouped best on a store. A zero field leaves the choice to the
// service.
type Grouping struct {
	// Lanes is how many groups may run at the same time.
	Lanes int
	// ByCompany limits a group to one company, for databases that keep companies on different nodes.
	ByCompany bool
	// Reads makes many reads of one resource share a transaction, for stores where announced reads are one message: see
	// [Announcer].
	Reads bool
	// Local means that a transaction takes a processor of this process, and few resources for a group more. While a group
	// waited for callers to call again, that processor would be idle. So it waits only for those who call again at once.
	Local bool
}

// A GroupingStore returns how calls are grouped best on it. The service uses it for fields that its configuration
// leaves open.
type GroupingStore interface {
	Store
	Grouping() Grouping
}

// ErrNotFound is the error of a change of a record that does not exist.
var ErrNotFound = errors.New("ticketing: record not found")

// ErrBusy is the error of a transaction that did not get a lock or a connection in time. It wrote nothing; the same
// transaction may be tried again.
var ErrBusy = errors.New("ticketing: the database is busy, try again")

// ErrUnavailable is the error of a store whose database cannot be reached or has no space left. After a lost connection
// the outcome of a commit is unknown; repeat the same call with the same idempotency key to find out.
var ErrUnavailable = errors.New("ticketing: the database is unavailable")

// ErrIncomplete is the error of a read that returns a part of the records besides, where a method documents it: a node
// of the store does not respond, and what is on it is missing. It is an [ErrUnavailable].
var ErrIncomplete = fmt.Errorf("%w in part: a node of the cluster does not respond", ErrUnavailable)

// ConstraintError is the error of a write that breaks a constraint. It dooms the transaction. The service prevents such
// writes under its locks, so this error shows a fault of the service, except where a method documents it.
type ConstraintError struct {
	// Constraint is the store's name of the constraint, such as "orders_pkey". It is empty if the database does not report
	// it.
	Constraint string
}

// Error names the constraint and never a value, since the text may be logged.
func (e *ConstraintError) Error() string {
	if e.Constraint == "" {
		return "ticketing: a constraint is broken"
	}
	return "ticketing: constraint " + e.Constraint + " is broken"
}

// Position is a place in a listing that is ordered by time, then by id. The zero Position is the beginning.
type Position struct {
	At time.Time
	ID uuid.UUID
}
