package ticketing

import (
	"context"
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

// FactRecord is a fact as a sale or a validation writes it, in its own transaction: lean, since everything a body is
// made of never changes.
type FactRecord struct {
	CompanyID uuid.UUID
	At        time.Time
	ID        uuid.UUID
	Type      FactType
	Subject   uuid.UUID // the order, or the admission of ticket.validated
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
