package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// WorkKind is a kind of background work that waits in the store.
type WorkKind int

// The kinds of work.
const (
	WorkDispatch   WorkKind = iota + 1 // facts to make deliveries of
	WorkPublish                        // facts to publish to the host
	WorkDeliver                        // deliveries to send
	WorkPrune                          // final deliveries to remove
	WorkPruneFacts                     // facts to remove that are dispatched and handled
	WorkMail                           // notifications to send
	WorkPruneMail                      // final notifications to remove
	WorkCount                          // orders to count in the sums of sales, see [SalesProgress]
)

// DueWork is work that waits: of a company, or of one endpoint for WorkDeliver.
type DueWork struct {
	Kind      WorkKind
	CompanyID uuid.UUID
	Endpoint  int64 // its number; zero for the other kinds
	// Since is the time of the item that has been due longest: the DueAt of a delivery or notification to send, the
	// CreatedAt of a delivery to remove, the FinishedAt of a notification to remove, the At of a fact. A query ignores
	// it. It is zero for WorkCount.
	Since time.Time
}

// WorkQuery selects work that is due.
type WorkQuery struct {
	At time.Time // only work that is due at this time
	// After has one entry for each wanted kind: the company and endpoint after which to continue. Zero ids are the
	// beginning. No kind occurs twice.
	After []DueWork
	Limit int // of each kind
}

// Waiting is how much work of a kind waits in all companies together, whether it is due or not.
type Waiting struct {
	Kind  WorkKind
	Items int
	// Since is the time of the item that is due first, as in [DueWork]: the At of a fact, or the DueAt of a delivery or
	// notification, which may be in the future. It is zero where nothing waits.
	Since time.Time
}

// A WaitingReader is a [ReadTx] that counts what waits. The service uses it only for metrics, and works without it.
type WaitingReader interface {
	// Waiting returns how much work of each kind waits, in the order of kinds. The kinds are WorkDispatch, WorkDeliver and
	// WorkMail. It counts at most limit items of each kind, so that the cost of a long queue is bounded. Since is that of
	// all items, also of those that it does not count.
	Waiting(ctx context.Context, kinds []WorkKind, limit int) ([]Waiting, error)
}

// A NodesStore is a [Store] whose DueWork asks several nodes, each in a task of its own. The service looks for work
// less often while it finds none there, and works without it.
type NodesStore interface {
	Store
	// Nodes returns how many nodes the last DueWork asked: one if they are not asked one by one, or not yet.
	Nodes() int
}
