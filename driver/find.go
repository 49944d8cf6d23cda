package driver

import (
	"context"

	"github.com/google/uuid"
)

// RecordKind is what a record is, see [FindReader].
type RecordKind string

// The kinds of records that an id alone finds.
const (
	RecordCompany         RecordKind = "COMPANY"
	RecordEvent           RecordKind = "EVENT"
	RecordOrder           RecordKind = "ORDER"
	RecordAdmission       RecordKind = "ADMISSION" // a sold one
	RecordAPIKey          RecordKind = "API_KEY"
	RecordWebhookEndpoint RecordKind = "WEBHOOK_ENDPOINT"
	RecordDelivery        RecordKind = "DELIVERY"
	RecordSettlement      RecordKind = "SETTLEMENT"
	RecordRate            RecordKind = "RATE"   // of a commission schedule, only of one company: see RecordQuery
	RecordMember          RecordKind = "MEMBER" // by the id of the user; without removed members
	RecordStaff           RecordKind = "STAFF"  // by the id of the user, without removed ones; it belongs to no company
)

// RecordQuery selects the records that have an id.
type RecordQuery struct {
	ID    uuid.UUID
	Kinds []RecordKind
	// CompanyID selects the records of one company. Zero selects those of any company, or of none, and no RATE, whose
	// index begins with the company.
	CompanyID uuid.UUID
	// Members is the largest number of members to return. A user may be a member of several companies; they are ordered by
	// the companies' ids. No other kind has two records with one id.
	Members int
}

// FoundRecord is where a record with an id is kept.
type FoundRecord struct {
	Kind      RecordKind
	CompanyID uuid.UUID // zero: it belongs to no company. For a company it is the id itself
}

// EventSearch selects events by the beginning of their titles, ordered by [FoldedName] and then by id.
type EventSearch struct {
	CompanyID uuid.UUID // zero: of any company
	Prefix    string    // of the folded title, folded itself
	Limit     int
}

// FindReader finds records of all companies by an id, the beginning of a title, an email or a reference. Each method
// uses an index, and no sale writes any of these indexes.
type FindReader interface {
	// FindRecords returns where records with an id are kept, by kind in the order of the constants above.
	FindRecords(ctx context.Context, query RecordQuery) ([]FoundRecord, error)
	// SearchEvents returns the events whose titles begin with a text.
	SearchEvents(ctx context.Context, search EventSearch) ([]Event, error)
	// FindBuyerOrders returns orders of an email in all companies, as far as the index of buyers has them, see
	// [BuyerOrder]. They are ordered by company, highest id first, and then highest number first. It returns those after a
	// place in that order; the zero place is the beginning.
	FindBuyerOrders(ctx context.Context, email string, after OrderNumber, limit int) ([]Order, error)
	// FindFloatCredits returns the fundings of all companies with a reference, by company.
	FindFloatCredits(ctx context.Context, reference string, limit int) ([]FloatCredit, error)
}
