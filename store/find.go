package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// recordPart is the query for the place of a record of a kind. Its first value is the id.
type recordPart struct {
	kind driver.RecordKind
	text string
}

// recordParts returns the queries in the order of the kinds. Each table has an index that begins with the id, except
// that of rates, whose key begins with the company. The directory has the companies of API keys.
func recordParts() []recordPart {
	const of = ", company_id FROM ticketing_"
	return []recordPart{
		{driver.RecordCompany, ", id FROM ticketing_companies WHERE id = ?"},
		{driver.RecordEvent, of + "events WHERE id = ?"},
		{driver.RecordOrder, of + "orders WHERE id = ?"},
		{driver.RecordAdmission, of + "admissions WHERE id = ?"},
		{driver.RecordAPIKey, of + "api_key_directory WHERE id = ?"},
		{driver.RecordWebhookEndpoint, of + "webhook_endpoints WHERE id = ?"},
		{driver.RecordDelivery, of + "webhook_deliveries WHERE id = ?"},
		{driver.RecordSettlement, of + "settlements WHERE id = ?"},
		{driver.RecordRate, of + "commission_rates WHERE id = ? AND company_id = ?"},
		{driver.RecordMember, of + "members WHERE user_id = ? AND role <> ''"},
		{driver.RecordStaff, ", NULL FROM ticketing_staff WHERE user_id = ? AND role <> ''"},
	}
}

// FindRecords looks for all kinds in one statement. On a distributed engine it runs one statement for each kind, since
// a statement cannot read tables that are distributed in different ways.
func (s *session) FindRecords(ctx context.Context, ask driver.RecordQuery) ([]driver.FoundRecord, error) {
	scan := func(row rowSet, r *driver.FoundRecord) error {
		return row.Scan((*string)(&r.Kind), (*id)(&r.CompanyID))
	}
	var parts []string
	var args [][]any
	for _, part := range recordParts() {
		isRate := part.kind == driver.RecordRate
		if !slices.Contains(ask.Kinds, part.kind) || isRate && ask.CompanyID == uuid.Nil {
			continue
		}
		text, values := "SELECT '"+string(part.kind)+"'"+part.text, []any{ask.ID}
		if isRate {
			values = append(values, ask.CompanyID)
		}
		if part.kind == driver.RecordMember {
			if ask.CompanyID != uuid.Nil {
				text += " AND company_id = ?"
				values = append(values, ask.CompanyID)
			}
			text = "SELECT * FROM (" + text + " ORDER BY company_id LIMIT ?) AS part"
			values = append(values, max(ask.Members, 0))
		}
		parts, args = append(parts, text), append(args, values)
	}
	if !s.store.Grouping().ByCompany && len(parts) > 0 {
		parts, args = []string{strings.Join(parts, " UNION ALL ")}, [][]any{slices.Concat(args...)}
	}
	var all []driver.FoundRecord
	for i, text := range parts {
		found, err := query(ctx, s, "FindRecords", scan, text, args[i]...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if ask.CompanyID != uuid.Nil {
		all = slices.DeleteFunc(all, func(r driver.FoundRecord) bool { return r.CompanyID != ask.CompanyID })
	}
	order := make(map[driver.RecordKind]int)
	for i, part := range recordParts() {
		order[part.kind] = i
	}
	slices.SortFunc(all, func(a, b driver.FoundRecord) int {
		return cmp.Or(cmp.Compare(order[a.Kind], order[b.Kind]), slices.Compare(a.CompanyID[:], b.CompanyID[:]))
	})
	return all, nil
}

// SearchEvents reads the index of titles from the first one that has the prefix.
func (s *session) SearchEvents(ctx context.Context, ask driver.EventSearch) ([]driver.Event, error) {
	traits := s.store.engine.traits()
	title := traits.folded("title")
	index, where, args := "ticketing_events_all_title", title+" >= ?", []any{ask.Prefix}
	if ask.CompanyID != uuid.Nil {
		index, where, args = "ticketing_events_title", "company_id = ? AND "+where, []any{ask.CompanyID, ask.Prefix}
	}
	if end := afterPrefix(ask.Prefix); end != "" {
		where += " AND " + title + " < ?"
		args = append(args, end)
	}
	return query(ctx, s, "SearchEvents", scanEvent, "SELECT "+eventColumns+" FROM ticketing_events"+
		traits.useIndex(index)+" WHERE "+where+" ORDER BY "+title+", id LIMIT ?", append(args, max(ask.Limit, 0))...)
}

// FindBuyerOrders reads entries of the index of buyers, and the order of each by its number.
func (s *session) FindBuyerOrders(
	ctx context.Context, email string, after driver.OrderNumber, limit int,
) ([]driver.Order, error) {
	if after == (driver.OrderNumber{}) {
		after = driver.OrderNumber{CompanyID: uuid.Max, Number: math.MaxInt64}
	}
	found, err := query(ctx, s, "FindBuyerOrders", scanOrder, "SELECT "+orderColumns+
		` FROM (SELECT company_id AS entry_company, number AS entry_number FROM ticketing_buyer_orders
			WHERE email = ? AND (company_id, number) < (?, ?) ORDER BY company_id DESC, number DESC LIMIT ?) AS entries
		JOIN ticketing_orders ON company_id = entry_company AND number = entry_number AND buyer_email = ?`,
		email, after.CompanyID, after.Number, max(limit, 0), email)
	slices.SortFunc(found, func(a, b driver.Order) int {
		return cmp.Or(slices.Compare(b.CompanyID[:], a.CompanyID[:]), cmp.Compare(b.Number, a.Number))
	})
	return found, err
}

// FindFloatCredits reads the index of references.
func (s *session) FindFloatCredits(
	ctx context.Context, reference string, limit int,
) ([]driver.FloatCredit, error) {
	return query(ctx, s, "FindFloatCredits", scanFloatCredit,
		"SELECT company_id, reference, amount, sequence FROM ticketing_float_credits"+
			s.store.engine.traits().useIndex("ticketing_float_credits_reference")+
			" WHERE reference = ? ORDER BY company_id LIMIT ?", reference, max(limit, 0))
}
