package store

import (
	"context"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// companySearch holds the differences between the orders of a list of companies.
type companySearch struct {
	index   string
	column  string // what the index begins with; the id follows it
	present string // the condition of a partial index
	descend bool
}

func (s *session) companySearch(order driver.CompanyOrder) companySearch {
	switch order {
	case driver.CompaniesByName:
		return companySearch{index: "ticketing_companies_name", column: s.store.engine.traits().folded("name")}
	case driver.CompaniesByExpiry:
		return companySearch{
			index: "ticketing_companies_expiry", column: "approval_expires_at",
			present: " AND approval_expires_at IS NOT NULL",
		}
	case driver.CompaniesNewest, driver.CompaniesOldest:
	}
	return companySearch{
		index: "ticketing_companies_list", column: "created_at", descend: order != driver.CompaniesOldest,
	}
}

// SearchCompanies returns a page of the companies that a query selects. It reads the index of the order from the
// beginning of the page until the page is full, and checks every other condition on the way.
func (s *session) SearchCompanies(ctx context.Context, ask driver.CompanyQuery) ([]driver.Company, error) {
	search := s.companySearch(ask.Order)
	folded := s.store.engine.traits().folded("name")
	behind, order := ">", ""
	after := []any{ask.After.At.UnixMilli(), ask.After.ID}
	if search.descend {
		behind, order = "<", " DESC"
		if ask.After == (driver.CompanyPlace{}) {
			after = []any{int64(math.MaxInt64), uuid.Max}
		}
	}
	where, args := "("+search.column+", id) "+behind+" (?, ?)"+search.present, after
	if ask.Order == driver.CompaniesByName {
		// SQLite can begin an index of an expression at a value, but not at a pair of values.
		where = folded + " >= ? AND (" + folded + " > ? OR id > ?)"
		args = []any{max(ask.After.Name, ask.Prefix), ask.After.Name, ask.After.ID}
	}
	condition := func(text string, values ...any) {
		where += " AND " + text
		args = append(args, values...)
	}
	if ask.Prefix != "" {
		if ask.Order != driver.CompaniesByName {
			condition(folded+" >= ?", ask.Prefix)
		}
		if end := afterPrefix(ask.Prefix); end != "" {
			condition(folded+" < ?", end)
		}
	}
	if ask.Status != "" {
		condition("status = ?", string(ask.Status))
	}
	if ask.Verification != "" {
		condition("verification = ?", string(ask.Verification))
	}
	if !ask.ExpiresBefore.IsZero() {
		condition("approval_expires_at < ?", ask.ExpiresBefore.UnixMilli())
	}
	from := " FROM ticketing_companies"
	page := from + s.store.engine.traits().useIndex(search.index) + " WHERE " + where +
		" ORDER BY " + search.column + order + ", id" + order + " LIMIT ?"
	onCluster := s.store.engine.traits().oneNode
	if !onCluster {
		// Select the ids of the page first, from the index alone if the index has all columns of the condition. On a
		// cluster that would ask every shard twice.
		page = from + " WHERE id IN (SELECT id" + page + ")"
	}
	statement := build(s.store.engine, "SELECT "+companyColumns+page, append(args, max(ask.Limit, 0))...)
	// Other conditions may read far more of each shard than a page.
	statement.oneConnection = onCluster && ask.Status == "" && ask.Verification == "" &&
		(ask.Prefix == "" || ask.Order == driver.CompaniesByName) &&
		(ask.ExpiresBefore.IsZero() || ask.Order == driver.CompaniesByExpiry)
	found, err := fetch(ctx, s, "SearchCompanies", scanCompany, statement)
	slices.SortFunc(found, func(a, b driver.Company) int {
		ordered := ask.Order.PlaceOf(a).Compare(ask.Order.PlaceOf(b))
		if search.descend {
			return -ordered
		}
		return ordered
	})
	return found, err
}

// afterPrefix returns the first text, by code point, that comes after all texts with a prefix. It is empty if there is
// none.
func afterPrefix(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch last {
		case utf8.MaxRune:
			continue
		case surrogates - 1:
			last = afterSurrogates
		default:
			last++
		}
		return prefix + string(last)
	}
	return ""
}

// No text has a code point from surrogates up to afterSurrogates.
const (
	surrogates      = 0xD800
	afterSurrogates = 0xE000
)
