package ticketing

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/google/uuid"
)

// FactType says what happened.
type FactType string

// The four facts that webhooks tell (section 6), and the ticket mail that a sale asks for.
const (
	FactOrderCreated      FactType = "order.created"
	FactCommissionAccrued FactType = "commission.accrued"
	FactBalanceLow        FactType = "balance.low"
	FactTicketValidated   FactType = "ticket.validated"
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
		sum := sha256.Sum256(slices.Concat([]byte("ticketing/fact/v1\n"), f.ID[:], []byte(kind)))
		copy(facts[i].ID[:], sum[:])
		facts[i].ID[6] = facts[i].ID[6]&0x0f | 0x40
		facts[i].ID[8] = facts[i].ID[8]&0x3f | 0x80
	}
	return facts
}

// FactReader finds facts.
type FactReader interface {
	// ListFacts answers with a company's facts, handled or not, by time, then id, after a position.
	ListFacts(ctx context.Context, companyID uuid.UUID, after Position, limit int) ([]FactRecord, error)
	// DueCompanies answers with companies that have facts neither handled nor leased at a time.
	DueCompanies(ctx context.Context, at time.Time, limit int) ([]uuid.UUID, error)
}

// FactWriter keeps facts.
type FactWriter interface {
	AppendFacts(ctx context.Context, facts []FactRecord) error
	// LeaseFacts takes a company's oldest facts that are neither handled nor leased at a time, for whoever handles
	// them until another time. It passes over those that another transaction is taking.
	LeaseFacts(ctx context.Context, companyID uuid.UUID, at, until time.Time, limit int) ([]FactRecord, error)
	// CompleteFacts marks facts as handled.
	CompleteFacts(ctx context.Context, facts []FactRecord) error
}
