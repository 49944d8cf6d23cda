package store

import (
	"bytes"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// A distributed engine keeps each company on one node. It runs a plain read of several companies on all nodes. But it
// refuses one that locks rows, or that reads the first rows for each of several companies: such a statement must be
// about one company. The store then makes one for each of them, in the order of their ids, which is the order in which
// all transactions lock.

// spanning is a fragment that must be about one company on a distributed engine.
type spanning interface {
	fragment
	// ofEach returns the fragment of each company, or none if it may span several.
	ofEach() []fragment
}

// ofEachCompany returns the values of each company's statement: the same ones, unless a fragment among them must be
// about one company.
func ofEachCompany(values []any) [][]any {
	for i, value := range values {
		of, ok := value.(spanning)
		if !ok {
			continue
		}
		parts := of.ofEach()
		if len(parts) < 2 {
			continue
		}
		all := make([][]any, len(parts))
		for j, part := range parts {
			all[j] = slices.Clone(values)
			all[j][i] = part
		}
		return all
	}
	return [][]any{values}
}

// byCompany divides records by their company, in the order of the companies' ids.
func byCompany[T any](records []T, companyOf func(T) uuid.UUID) [][]T {
	sorted := slices.Clone(records)
	compare := func(a, b T) int {
		x, y := companyOf(a), companyOf(b)
		return bytes.Compare(x[:], y[:])
	}
	slices.SortStableFunc(sorted, compare)
	var parts [][]T
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && compare(sorted[0], sorted[n]) == 0 {
			n++
		}
		parts = append(parts, sorted[:n:n])
		sorted = sorted[n:]
	}
	return parts
}

// ofEach divides the rows by their first column, which is the company.
func (s set) ofEach() []set {
	var sets []set
	for _, rows := range byCompany(s.rows, func(row []any) uuid.UUID { return row[0].(uuid.UUID) }) {
		sets = append(sets, set{columns: s.columns, rows: rows})
	}
	return sets
}

// fragments returns a fragment of each set.
func fragments(sets []set, of func(set) fragment) []fragment {
	parts := make([]fragment, len(sets))
	for i, one := range sets {
		parts[i] = of(one)
	}
	return parts
}

func (f keyedRows) ofEach() []fragment {
	if !f.lock {
		return nil
	}
	return fragments(f.set.ofEach(), func(of set) fragment {
		return keyedRows{set: of, table: f.table, where: f.where, lock: true}
	})
}

func (h heads) ofEach() []fragment {
	return fragments(h.set.ofEach(), func(of set) fragment { return heads{of, h.lock} })
}

func (t terms) ofEach() []fragment {
	return fragments(t.of.ofEach(), func(of set) fragment { return terms{t.at, t.next, of} })
}

func (e effective) ofEach() []fragment {
	of := set{columns: []string{"company_id"}, rows: columnOf(e.companies)}
	return fragments(of.ofEach(), func(of set) fragment {
		return effective{[]uuid.UUID{of.rows[0][0].(uuid.UUID)}, e.at}
	})
}

func (s stock) ofEach() []fragment {
	parts := byCompany(s, func(q driver.StockQuery) uuid.UUID { return q.CompanyID })
	all := make([]fragment, len(parts))
	for i, part := range parts {
		all[i] = stock(part)
	}
	return all
}
