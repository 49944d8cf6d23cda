package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/webhook"
)

// FactType says what happened.
type FactType string

// The four facts that webhooks tell (section 6), and the ticket mail that a sale asks for.
const (
	FactOrderCreated      FactType = webhook.TypeOrderCreated
	FactCommissionAccrued FactType = webhook.TypeCommissionAccrued
	FactBalanceLow        FactType = webhook.TypeBalanceLow
	FactTicketValidated   FactType = webhook.TypeTicketValidated
	FactTicketEmail       FactType = "notification.ticket_email"
)

// The facts of a sale travel in one record, which is a fifth of all that a sale writes less: order.created,
// commission.accrued and the ticket mail, and with FactSaleLow balance.low.
const (
	FactSale    FactType = "sale"
	FactSaleLow FactType = "sale.low"
)

// FactRecord is a fact, or the facts of a sale, as a sale or a validation writes it, in its own transaction: lean, since
// everything a body is made of never changes.
type FactRecord struct {
	CompanyID uuid.UUID
	At        time.Time
	ID        uuid.UUID
	Type      FactType
	Subject   uuid.UUID // the order, or the admission of ticket.validated
	// Endpoints is how many webhook endpoints the company had ever registered when the fact was written: it is delivered
	// to those alone, whatever clocks say.
	Endpoints int64
}

// Facts are the facts that a record stands for, in the order in which they are told. Each of a sale's has an id of its
// own, the same whenever it is asked for: the first 16 bytes, made a UUID of version 4, of the SHA-256 of
//
//	"ticketing/fact/v1\n", the 16 bytes of the record's id, the type
func (f FactRecord) Facts() []FactRecord {
	kinds := []FactType{FactOrderCreated, FactCommissionAccrued, FactTicketEmail}
	switch f.Type {
	case FactSale:
	case FactSaleLow:
		kinds = append(kinds, FactBalanceLow)
	default:
		return []FactRecord{f}
	}
	facts := make([]FactRecord, len(kinds))
	for i, kind := range kinds {
		facts[i] = f
		facts[i].Type = kind
		facts[i].ID = madeID("ticketing/fact/v1\n", f.ID, string(kind))
	}
	return facts
}

// FactReader finds facts.
type FactReader interface {
	// ListFacts answers with a company's facts, handled or not, by time, then id, after a position.
	ListFacts(ctx context.Context, companyID uuid.UUID, after Position, limit int) ([]FactRecord, error)
}

// FactWriter keeps facts. A fact is dispatched first, which makes the deliveries of it, then told to the host, and
// handled when the host has taken it.
type FactWriter interface {
	// AppendFacts keeps new facts, neither dispatched nor handled.
	AppendFacts(ctx context.Context, facts []FactRecord) error
	// TakeFacts locks a company's oldest facts that are not dispatched. It passes over those that another transaction
	// has taken.
	TakeFacts(ctx context.Context, companyID uuid.UUID, limit int) ([]FactRecord, error)
	// DispatchFacts marks facts that were taken as dispatched, and where nobody is to be told as handled, too.
	DispatchFacts(ctx context.Context, facts []FactRecord, handled bool) error
	// LeaseFacts takes a company's oldest facts that are dispatched, and neither handled nor leased at a time, for
	// whoever handles them until another time. It passes over those that another transaction is taking.
	LeaseFacts(ctx context.Context, companyID uuid.UUID, at, until time.Time, limit int) ([]FactRecord, error)
	// CompleteFacts marks facts as handled.
	CompleteFacts(ctx context.Context, facts []FactRecord) error
	// PruneFacts removes up to a limit of a company's facts, the oldest first, and returns how many: those from before a
	// time, and from before the company's first fact that is not dispatched or not handled. So whatever was removed is
	// no newer than what is left: two that remove at once do so one after the other.
	PruneFacts(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error)
}
