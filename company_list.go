package ticketing

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// CompanyOrder is the sort order of a list of companies.
type CompanyOrder = driver.CompanyOrder

// The sort orders of a list of companies. Companies that are equal in it are sorted by id, in the same direction.
const (
	CompaniesNewest = driver.CompaniesNewest // by creation, newest first
	CompaniesOldest = driver.CompaniesOldest // by creation, oldest first
	// CompaniesByName is by the first 60 characters of the name, where A to Z count as a to z, and then by code point.
	CompaniesByName = driver.CompaniesByName
	// CompaniesByExpiry is by the end of the approval, earliest first. It leaves out companies without one.
	CompaniesByExpiry = driver.CompaniesByExpiry
)

// CompanyFilter selects companies and a page of them. A zero field selects all. A company is selected if it matches
// every field.
type CompanyFilter struct {
	PageParams

	// Prefix is what the name begins with, at most 60 characters, surrounding white space not counted. A to Z equal a
	// to z; every other letter must be as in the name, since databases disagree about the cases of those.
	Prefix string
	Status CompanyStatus
	// Verification is the current status of the company. An APPROVED company keeps that status while it applies for a
	// renewal: [Operator.ListSubmittedCases] lists the cases that wait for staff.
	Verification VerificationStatus
	// ExpiresBefore selects companies whose approval ends before then, or has ended. It is after the year 1 and before
	// the year 10000.
	ExpiresBefore time.Time
	// Order defaults to CompaniesNewest.
	Order CompanyOrder
}

// check checks the filter and returns it as a query of the store.
func (f CompanyFilter) check(v *violations) driver.CompanyQuery {
	query := driver.CompanyQuery{
		Prefix: driver.FoldedName(trimmedText(v, "prefix", f.Prefix, driver.FoldedNameLength, false)),
		Status: f.Status, Verification: f.Verification, ExpiresBefore: f.ExpiresBefore, Order: f.Order,
	}
	switch f.Status {
	case "", CompanyActive, CompanySuspended:
	default:
		v.add("status", "must be ACTIVE or SUSPENDED")
	}
	switch f.Verification {
	case "", VerificationUnverified, VerificationSubmitted, VerificationApproved, VerificationRejected,
		VerificationRevoked:
	default:
		v.add("verification", "must be UNVERIFIED, SUBMITTED, APPROVED, REJECTED or REVOKED")
	}
	if !f.ExpiresBefore.IsZero() {
		checkYear(v, "expiresBefore", f.ExpiresBefore)
		query.ExpiresBefore = upwards(f.ExpiresBefore)
	}
	switch f.Order {
	case "":
		query.Order = CompaniesNewest
	case CompaniesNewest, CompaniesOldest, CompaniesByName, CompaniesByExpiry:
	default:
		v.add("order", "must be NEWEST, OLDEST, NAME or EXPIRY")
	}
	return query
}

// companyListing opens the list of a query at a page. A cursor is bound to the order and to every field of the filter.
func companyListing(
	query driver.CompanyQuery, params PageParams, v violations,
) (listing[driver.Company, driver.CompanyPlace], error) {
	expires := ""
	if !query.ExpiresBefore.IsZero() {
		expires = strconv.FormatInt(query.ExpiresBefore.UnixMilli(), 10)
	}
	order := listOrder[driver.Company, driver.CompanyPlace]{
		position: query.Order.PlaceOf, size: positionSize, encode: timedPlaceBytes, decode: parseTimedPlace,
	}
	if query.Order == CompaniesByName {
		order.size, order.encode, order.decode = namedPlaceSize, namedPlaceBytes, parseNamedPlace
	}
	return openListing(order, params, v, "companies", query.Prefix, string(query.Status), string(query.Verification),
		expires, string(query.Order))
}

// timedPlaceBytes returns the place in a list by time as a cursor holds it.
func timedPlaceBytes(p driver.CompanyPlace) []byte {
	return positionBytes(driver.Position{At: p.At, ID: p.ID})
}

// parseTimedPlace is the inverse of timedPlaceBytes.
func parseTimedPlace(b []byte) (driver.CompanyPlace, error) {
	position, err := parsePosition(b)
	return driver.CompanyPlace{At: position.At, ID: position.ID}, err
}

// nameSize is the length of a folded name in a cursor, and namedPlaceSize that of a place in a list by name.
const (
	nameSize       = driver.FoldedNameLength * utf8.UTFMax
	namedPlaceSize = nameSize + len(uuid.UUID{})
)

// namedPlaceBytes returns the place in a list by name as a cursor holds it: the folded name, filled up with zero bytes,
// and the 16 bytes of the id. No name has a zero byte.
func namedPlaceBytes(p driver.CompanyPlace) []byte {
	b := make([]byte, namedPlaceSize)
	copy(b, p.Name)
	copy(b[nameSize:], p.ID[:])
	return b
}

// parseNamedPlace is the inverse of namedPlaceBytes. It refuses what no store could keep as a name.
func parseNamedPlace(b []byte) (driver.CompanyPlace, error) {
	name := string(bytes.TrimRight(b[:nameSize], "\x00"))
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return driver.CompanyPlace{}, errInvalidCursor
	}
	return driver.CompanyPlace{Name: name, ID: uuid.UUID(b[nameSize:])}, nil
}

// ListCompanies returns a page of the companies of the platform that a filter selects, in its order. It needs
// tenant:read.
//
// It is INVALID_REQUEST for a field of the filter that is none of its values, and INVALID_CURSOR for a cursor of
// another filter or order. A company whose name or approval changes between two pages may be on both or on neither, in
// a list that is ordered or filtered by it.
//
// A page reads companies in its order until it is full. So a filter that few companies meet may read all of them, which
// takes some milliseconds for ten thousand.
func (o Operator) ListCompanies(ctx context.Context, filter CompanyFilter) (Page[Company], error) {
	if err := o.allow(PermissionTenantRead, uuid.Nil); err != nil {
		return Page[Company]{}, err
	}
	var v violations
	query := filter.check(&v)
	list, err := companyListing(query, filter.PageParams, v)
	if err != nil {
		return Page[Company]{}, err
	}
	query.After, query.Limit = list.after, list.limit
	var records []driver.Company
	err = o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		records, err = tx.SearchCompanies(ctx, query)
		return err
	})
	if err != nil {
		return Page[Company]{}, err
	}
	var page Page[Company]
	records, page.HasMore, page.NextCursor = list.cut(records)
	page.Items = make([]Company, len(records))
	for i, record := range records {
		page.Items[i] = showCompany(record)
	}
	return page, nil
}

// CompanyNames returns the names of companies, in the order of the ids, and "" for one that does not exist. It makes
// one read, however many ids there are. It needs tenant:read.
func (o Operator) CompanyNames(ctx context.Context, ids []uuid.UUID) ([]string, error) {
	if err := o.allow(PermissionTenantRead, uuid.Nil); err != nil {
		return nil, err
	}
	var names []string
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
		names, err = companyNames(ctx, tx, ids)
		return err
	})
	return names, err
}

// companyNames returns the names of companies by their ids.
func companyNames(ctx context.Context, tx driver.CompanyReader, ids []uuid.UUID) ([]string, error) {
	companies, err := tx.Companies(ctx, ids)
	names := make([]string, len(companies))
	for i, company := range companies {
		names[i] = company.Name
	}
	return names, err
}
