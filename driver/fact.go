package driver

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/ids"
	"github.com/floatgate/ticketing/webhook"
)

// FactType is the kind of a fact: what happened.
type FactType string

// The four facts that webhooks deliver (section 6), and the request for the ticket mail of a sale.
const (
	FactOrderCreated      FactType = webhook.TypeOrderCreated
	FactCommissionAccrued FactType = webhook.TypeCommissionAccrued
	FactBalanceLow        FactType = webhook.TypeBalanceLow
	FactTicketValidated   FactType = webhook.TypeTicketValidated
	FactTicketEmail       FactType = "notification.ticket_email"
)

// The facts of a sale are kept in one record, which saves a fifth of all that a sale writes. FactSale stands for
// order.created, commission.accrued and the ticket mail; FactSaleLow also stands for balance.low.
const (
	FactSale    FactType = "sale"
	FactSaleLow FactType = "sale.low"
)

// Fact is a fact, or all facts of a sale, in the outbox. The sale or validation writes it in its own transaction, so
// there is a fact if and only if the event happened. It has no body: the body is made of columns that never change, and
// is rendered when the fact is first dispatched.
type Fact struct {
	CompanyID uuid.UUID
	At        time.Time // when it happened, by the clock of the service
	ID        uuid.UUID
	Type      FactType
	Subject   uuid.UUID // the order, or the admission for ticket.validated
	// Endpoints is how many webhook endpoints the company had ever registered when the fact was written. The fact is
	// delivered only to those. A count needs no comparison of clocks.
	Endpoints int64
}

// Position returns the fact's place in the outbox, which is ordered by time, then id.
func (f Fact) Position() Position { return Position{At: f.At, ID: f.ID} }

// Facts returns the facts that a record stands for, in the order in which they are published. A record that is a single
// fact returns itself. Each fact of a sale has an id of its own, which is the same at every call. The id is the first
// 16 bytes of the SHA-256 of the following, made a UUID of version 4:
//
//	"ticketing/fact/v1\n", the 16 bytes of the record's id, the type
func (f Fact) Facts() []Fact {
	kinds := []FactType{FactOrderCreated, FactCommissionAccrued, FactTicketEmail}
	switch f.Type {
	case FactSale:
	case FactSaleLow:
		kinds = append(kinds, FactBalanceLow)
	default:
		return []Fact{f}
	}
	facts := make([]Fact, len(kinds))
	for i, kind := range kinds {
		facts[i] = f
		facts[i].Type = kind
		facts[i].ID = ids.Derive("ticketing/fact/v1\n", f.ID, string(kind))
	}
	return facts
}

// FactReader finds facts, and the companies with work to do, see [DueWork].
type FactReader interface {
	// ListFacts returns a company's facts after a position, handled or not, by time, then id.
	ListFacts(ctx context.Context, companyID uuid.UUID, after Position, limit int) ([]Fact, error)
	// UndispatchedFacts returns a company's facts after a position that are not dispatched, by time, then id.
	UndispatchedFacts(ctx context.Context, companyID uuid.UUID, after Position, limit int) ([]Fact, error)
	// DueWork returns, for each wanted kind, the first companies or endpoints that have due work, by kind, company and
	// endpoint. It is one query to the database for all kinds, because an idle service repeats it all the time. A long
	// queue of one company makes it no slower than a short one.
	//
	// Facts are due for dispatch from their commit on. They are due for publishing when they are dispatched, and at the
	// given time neither handled nor leased. A delivery or notification is due when it is pending and its DueAt has
	// passed. Due for removal is what is from before the given time: deliveries that were created before it, notifications
	// that were finished before it, and facts. Orders are due to be counted while Uncounted is above zero.
	DueWork(ctx context.Context, query WorkQuery) ([]DueWork, error)
}

// FactWriter keeps facts. A fact passes three stages. It is dispatched, which makes its deliveries. Then it is
// published to the host. It is handled when the host has accepted it.
type FactWriter interface {
	// AppendFacts keeps new facts, neither dispatched nor handled.
	AppendFacts(ctx context.Context, facts []Fact) error
	// TakeFacts locks a company's oldest facts that are not dispatched. It skips those that another transaction has
	// locked, so several processes can dispatch at the same time.
	TakeFacts(ctx context.Context, companyID uuid.UUID, limit int) ([]Fact, error)
	// DispatchFacts marks facts that were taken as dispatched. With handled set, it also marks them as handled, because no
	// host waits for them.
	DispatchFacts(ctx context.Context, facts []Fact, handled bool) error
	// LeaseFacts leases a company's oldest facts that are dispatched, and at the given time neither handled nor leased,
	// until another time. The caller publishes them within the lease; after it another process may lease them. It skips
	// those that another transaction is leasing.
	LeaseFacts(ctx context.Context, companyID uuid.UUID, at, until time.Time, limit int) ([]Fact, error)
	// CompleteFacts marks facts as handled.
	CompleteFacts(ctx context.Context, facts []Fact) error
	// PruneFacts removes up to limit of a company's facts, oldest first, and returns how many. It removes only facts from
	// before the given time, and from before the company's first fact that is not dispatched or not handled. So every
	// removed fact is no newer than any that is left: of two transactions that prune at the same time, one runs after the
	// other.
	PruneFacts(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error)
}
