package store

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/recent"
)

// A sale reads its company, API key, event, branding and rate, and a validation some of them. They seldom change, so
// they are remembered with the revision of their company. The message that begins a transaction then reads the
// revisions in their place, after the gates. A trigger makes a new revision in each transaction that changes one of
// these rows (migration 0016_revisions). So what is remembered with the revision that was read is what the statement
// would have read at the same moment. A revision is a random number: one of a transaction that was rolled back, or lost
// in a failover, never comes again.

const (
	// rememberFor is how long a record is remembered. It bounds how long rows that were changed without their triggers
	// are not noticed.
	rememberFor = time.Minute
	// mostRemembered is how many records of a kind are remembered at least, and at most twice as many are. One usually
	// takes about a kilobyte.
	mostRemembered = 2000
)

// memory are the records that a store remembers.
type memory struct {
	companies memoryOf[uuid.UUID, driver.Company]
	apiKeys   memoryOf[driver.APIKeyRef, driver.APIKey]
	terms     memoryOf[driver.SaleTermsRef, lastingTerms]
}

func newMemory() *memory {
	return &memory{
		companies: memoryOf[uuid.UUID, driver.Company]{
			records: recent.Map[uuid.UUID, remembered[driver.Company]]{Limit: mostRemembered}, lifetime: rememberFor,
			key:     func(c *driver.Company) uuid.UUID { return c.ID },
			company: func(id uuid.UUID) uuid.UUID { return id },
		},
		apiKeys: memoryOf[driver.APIKeyRef, driver.APIKey]{
			records: recent.Map[driver.APIKeyRef, remembered[driver.APIKey]]{Limit: mostRemembered}, lifetime: rememberFor,
			key:     func(k *driver.APIKey) driver.APIKeyRef { return driver.APIKeyRef{CompanyID: k.CompanyID, ID: k.ID} },
			company: func(ref driver.APIKeyRef) uuid.UUID { return ref.CompanyID },
			unshare: func(k *driver.APIKey) { k.Grants = slices.Clone(k.Grants) },
		},
		terms: memoryOf[driver.SaleTermsRef, lastingTerms]{
			records: recent.Map[driver.SaleTermsRef, remembered[lastingTerms]]{Limit: mostRemembered}, lifetime: rememberFor,
			key:     func(t *lastingTerms) driver.SaleTermsRef { return t.SaleTermsRef },
			company: func(ref driver.SaleTermsRef) uuid.UUID { return ref.CompanyID },
			lasts:   lastingTerms.lastAt,
		},
	}
}

// memoryOf are the remembered records of one kind.
type memoryOf[K comparable, R any] struct {
	records  recent.Map[K, remembered[R]]
	lifetime time.Duration // of a record
	key      func(*R) K
	company  func(K) uuid.UUID
	// unshare gives a record slices of its own; nil: it has none.
	unshare func(*R)
	// lasts reports whether a record that depends on the time is the one of a time, in milliseconds; nil: none does.
	lasts func(record R, at int64) bool
}

// remembered is a record with the revision of its company.
type remembered[R any] struct {
	record   R
	revision uuid.UUID
	until    time.Time
}

// recalled are remembered records in place of a part of a read. They count if the revisions of their companies are
// current.
type recalled struct {
	companies []uuid.UUID // of all records of the read, which are remembered with their revisions
	records   any         // a slice
	isCurrent func(revisions map[uuid.UUID]uuid.UUID) bool
	whole     func() *builder // returns the statement of the whole read
}

// recall returns what is remembered for the references, at a time if they depend on it, and those for which nothing is.
func (m *memoryOf[K, R]) recall(refs []K, at int64) (found *recalled, missing []K) {
	now := time.Now()
	found = &recalled{companies: make([]uuid.UUID, len(refs))}
	records, revisions := make([]R, 0, len(refs)), make([]uuid.UUID, 0, len(refs))
	known := make([]K, 0, len(refs))
	for i, ref := range refs {
		found.companies[i] = m.company(ref)
		one, ok := m.records.Get(ref)
		if !ok || !now.Before(one.until) || m.lasts != nil && !m.lasts(one.record, at) {
			missing = append(missing, ref)
			continue
		}
		known, records, revisions = append(known, ref), append(records, one.record), append(revisions, one.revision)
		if m.unshare != nil {
			m.unshare(&records[len(records)-1])
		}
	}
	found.records = records
	found.isCurrent = func(current map[uuid.UUID]uuid.UUID) bool {
		all := true
		for i, ref := range known {
			if current[m.company(ref)] != revisions[i] {
				m.records.Forget(ref)
				all = false
			}
		}
		return all
	}
	return found, missing
}

// remember remembers records that were read with the revisions of their companies, in one statement. A company without
// one is of tables that were distributed since.
func (m *memoryOf[K, R]) remember(records []R, revisions map[uuid.UUID]uuid.UUID) {
	until := time.Now().Add(m.lifetime)
	for i := range records {
		ref := m.key(&records[i])
		revision := revisions[m.company(ref)]
		if revision == uuid.Nil {
			continue
		}
		one := remembered[R]{records[i], revision, until}
		if m.unshare != nil {
			m.unshare(&one.record)
		}
		m.records.Put(ref, one)
	}
}

// recalls reports whether the message that begins a transaction makes its announced reads, so that it may read
// revisions instead.
func (e *postgresEngine) recalls() bool {
	return e.shards == nil && !e.rowGates && e.traits().joinsReads
}

// pending returns the announced reads that have a statement, and one of the revisions where records of others are
// remembered.
func (r *readAhead) pending(engine engine) []*announcedRead {
	var reads []*announcedRead
	var companies []uuid.UUID
	for _, read := range r.reads {
		if read.statement != nil {
			reads = append(reads, read)
		}
		if read.recalled != nil {
			companies = append(companies, read.recalled.companies...)
		}
	}
	if len(companies) == 0 {
		return reads
	}
	slices.SortFunc(companies, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	statement := build(engine, "SELECT id, revision FROM ticketing_companies WHERE ?",
		inIDs("id", slices.Compact(companies)))
	statement.prepare = keepAlways
	r.revisionsRead = &announcedRead{statement: statement}
	return append(reads, r.revisionsRead)
}

// checkRecalled compares the revisions, once they were read. Reads whose records are out of date wait again, as a
// whole, and are made with the first of them.
func (r *readAhead) checkRecalled() error {
	if r.revisionsRead == nil {
		return nil
	}
	r.revisions = make(map[uuid.UUID]uuid.UUID)
	rows := &recordRows{records: r.revisionsRead.records}
	for rows.Next() {
		var company, revision id
		if err := rows.Scan(&company, &revision); err != nil {
			return err
		}
		r.revisions[uuid.UUID(company)] = uuid.UUID(revision)
	}
	for _, read := range r.reads {
		if read.recalled != nil && !read.recalled.isCurrent(r.revisions) {
			read.statement, read.recalled, read.made = read.recalled.whole(), nil, false
		}
	}
	return nil
}
