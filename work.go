package ticketing

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
	WorkTell                           // facts to tell to [Config.OnFact]
	WorkDeliver                        // deliveries to send
	WorkPrune                          // deliveries that are final, to remove
	WorkPruneFacts                     // facts that are dispatched and handled, to remove
)

// DueWork is work that waits: of a company, and for WorkDeliver of one endpoint.
type DueWork struct {
	Kind      WorkKind
	CompanyID uuid.UUID
	Endpoint  int64 // its number; zero for the other kinds
	// Since is what the longest due of it is from: the DueAt of a delivery to send, the CreatedAt of one to remove, the At
	// of a fact. A query does not look at it.
	Since time.Time
}

// WorkQuery asks what is due.
type WorkQuery struct {
	At time.Time
	// After are the kinds that are asked for, each with where to begin behind: its zero company and endpoint is the
	// beginning. No kind is in it twice.
	After []DueWork
	Limit int // of each kind
}

// WorkReader finds work.
type WorkReader interface {
	// DueWork answers, for each kind that is asked for, with the first companies, or endpoints, that have work of it,
	// by kind, company and endpoint. It is one question to the database, whatever is asked, since an idle service asks
	// it again and again; and a long queue of one company makes it no slower than a short one.
	//
	// Facts are due for dispatch from their commit on; for telling when they were dispatched, and are neither handled
	// nor leased at the time; a delivery when it is pending and its DueAt has come. To remove is due what is from before
	// the time: deliveries that were created then, and facts.
	DueWork(ctx context.Context, query WorkQuery) ([]DueWork, error)
}
