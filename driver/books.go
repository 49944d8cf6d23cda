package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// SoldPlace is the place of a sold admission among those of its company. Places are ordered by the number of the order,
// then by line.
type SoldPlace struct {
	Number int64
	Line   int
}

// SoldQuery selects a part of what a company sold, lowest number first.
type SoldQuery struct {
	CompanyID uuid.UUID
	After     SoldPlace // only what comes after this place; for orders only its Number counts
	// Last is the number of the last order; 0 means no limit. A caller that reads far more than a page sets it, so that a
	// database does not read and sort everything that follows.
	Last  int64
	Limit int
}

// SubjectQuery selects a part of the spent idempotency keys of an operation, lowest key first, byte by byte.
type SubjectQuery struct {
	CompanyID          uuid.UUID
	Operation, Outcome string
	After              string // only keys after this one
	Limit              int
}

// KeySubject is a spent idempotency key and the id of the subject that it names.
type KeySubject struct {
	Key     string
	Subject uuid.UUID
}

// BookCheck is the last verification of a company's books.
type BookCheck struct {
	CompanyID  uuid.UUID
	VerifiedAt time.Time // when the verification began
	Entries    int64     // the number of movements that were verified
	Problems   int64     // 0: the books are correct
}

// BookCheckReader finds when books were verified.
type BookCheckReader interface {
	// BookChecks returns the last verification of the books of companies by their ids.
	BookChecks(ctx context.Context, companies []uuid.UUID) ([]BookCheck, error)
}

// BookCheckWriter keeps when books were verified. No gate guards it.
type BookCheckWriter interface {
	// PutBookChecks keeps verifications, one of each company. One that began before the kept one changes nothing.
	PutBookChecks(ctx context.Context, checks []BookCheck) error
}

// UnindexedQuery selects orders of a company that are missing from the index of buyers.
type UnindexedQuery struct {
	CompanyID uuid.UUID
	// Above and Through limit the numbers of the orders: only numbers higher than Above, up to and including Through.
	Above, Through int64
	Before         time.Time // only orders that were confirmed earlier; zero: no limit
}

// BookReader finds what the verification of a company's books reads. It reads all records in order, so some of these
// methods leave out fields that it does not compare. Nothing else calls them.
type BookReader interface {
	// ListSoldOrders returns orders, by number, without their buyers.
	ListSoldOrders(ctx context.Context, query SoldQuery) ([]Order, error)
	// ListSoldAdmissions returns admissions, by order and line, without their LineID, Title and Location.
	ListSoldAdmissions(ctx context.Context, query SoldQuery) ([]Admission, error)
	// ListOrderEndings returns a company's order endings, by the number of the order.
	ListOrderEndings(ctx context.Context, query OrderEndingQuery) ([]OrderEnding, error)
	// CountFloatCredits counts a company's fundings.
	CountFloatCredits(ctx context.Context, companyID uuid.UUID) (int64, error)
	// StockTotals returns the totals of a company's tiers, by event, then tier.
	StockTotals(ctx context.Context, companyID uuid.UUID) ([]StockTotal, error)
	// ListSubjects returns the spent keys of an operation with an outcome, and the subjects that they name, by key.
	ListSubjects(ctx context.Context, query SubjectQuery) ([]KeySubject, error)
	// UnindexedOrders returns the ids of orders that have no [BuyerOrder] of their buyer, by number.
	UnindexedOrders(ctx context.Context, query UnindexedQuery) ([]uuid.UUID, error)
	// OrphanCompanies returns company ids, lowest first, that records have although no such company exists. The records
	// are orders, admissions, movements and others of the books.
	OrphanCompanies(ctx context.Context, limit int) ([]uuid.UUID, error)
}
