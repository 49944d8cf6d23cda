package storetest_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func brokenPlatform() []broken {
	return []broken{
		{
			"filters companies after cutting the page", "company search/every order and filter, in pages",
			reading(func(tx driver.ReadTx) driver.ReadTx { return cutCompanies{tx} }),
		},
		{
			"lists companies by name whatever the order", "company search/every order and filter, in pages",
			reading(func(tx driver.ReadTx) driver.ReadTx { return alphabetical{tx} }),
		},
		{
			"lists companies where they were first", "company search/a change moves a company", listsByFirstName,
		},
		{
			"moves companies in an Update that failed", "company search/an Update that failed moves nothing",
			updating(keepsOnError),
		},
		{
			"knows the cases of every letter", "company search/letters from A to Z alone have two cases",
			reading(func(tx driver.ReadTx) driver.ReadTx { return multilingual{tx} }),
		},
		{
			"lists the case first that was submitted last",
			"verification cases/submitted ones of all companies, longest waiting first",
			reading(func(tx driver.ReadTx) driver.ReadTx { return lastSubmitted{tx} }),
		},
		{
			"lists decided cases", "verification cases/submitted ones of all companies, longest waiting first",
			writing(func(tx driver.Tx) driver.Tx { return undecided{tx} }),
		},
		{
			"takes pending settlements for the open ones", "settlements/open ones of all companies, oldest first",
			reading(func(tx driver.ReadTx) driver.ReadTx { return pendingAlone{tx} }),
		},
		{
			"lists any wallets for the lowest", "wallets/the lowest FLOAT of all companies",
			reading(func(tx driver.ReadTx) driver.ReadTx { return cutWallets{tx} }),
		},
		{
			"forgets the first millisecond of a day", "deliveries/those of all companies that failed are counted",
			reading(func(tx driver.ReadTx) driver.ReadTx { return lateSince{tx} }),
		},
		{
			"counts dead letters without an end", "deliveries/those of all companies that failed are counted",
			reading(func(tx driver.ReadTx) driver.ReadTx { return unbounded{tx} }),
		},
		{
			"leaves gaps out of book checks", "book checks/answers are aligned",
			reading(func(tx driver.ReadTx) driver.ReadTx { return gaplessChecks{tx} }),
		},
		{
			"keeps the first book check", "book checks/the latest one is kept",
			writing(func(tx driver.Tx) driver.Tx { return firstCheck{tx} }),
		},
		{
			"keeps any book check for the latest", "book checks/the latest one is kept",
			writing(func(tx driver.Tx) driver.Tx { return anyCheck{tx} }),
		},
	}
}

type cutCompanies struct{ driver.ReadTx }

func (c cutCompanies) SearchCompanies(ctx context.Context, query driver.CompanyQuery) ([]driver.Company, error) {
	status := query.Status
	query.Status = ""
	found, err := c.ReadTx.SearchCompanies(ctx, query)
	return slices.DeleteFunc(found, func(c driver.Company) bool { return status != "" && c.Status != status }), err
}

type alphabetical struct{ driver.ReadTx }

func (a alphabetical) SearchCompanies(ctx context.Context, query driver.CompanyQuery) ([]driver.Company, error) {
	found, err := a.ReadTx.SearchCompanies(ctx, query)
	slices.SortFunc(found, func(a, b driver.Company) int { return strings.Compare(a.Name, b.Name) })
	return found, err
}

// stationary lists companies by the name that they had first.
type stationary struct {
	driver.ReadTx

	first map[uuid.UUID]string
}

func listsByFirstName(s driver.Store) driver.Store {
	first := make(map[uuid.UUID]string)
	return reading(func(tx driver.ReadTx) driver.ReadTx { return stationary{tx, first} })(
		writing(func(tx driver.Tx) driver.Tx { return recording{tx, first} })(s))
}

func (s stationary) SearchCompanies(ctx context.Context, query driver.CompanyQuery) ([]driver.Company, error) {
	found, err := s.ReadTx.SearchCompanies(ctx, query)
	if query.Order == driver.CompaniesByName {
		slices.SortFunc(found, func(a, b driver.Company) int { return strings.Compare(s.first[a.ID], s.first[b.ID]) })
	}
	return found, err
}

type recording struct {
	driver.Tx

	first map[uuid.UUID]string
}

func (r recording) CreateCompany(ctx context.Context, company driver.Company) error {
	r.first[company.ID] = company.Name
	return r.Tx.CreateCompany(ctx, company)
}

type multilingual struct{ driver.ReadTx }

func (m multilingual) SearchCompanies(ctx context.Context, query driver.CompanyQuery) ([]driver.Company, error) {
	prefix := strings.ToLower(query.Prefix)
	query.Prefix = ""
	found, err := m.ReadTx.SearchCompanies(ctx, query)
	return slices.DeleteFunc(found, func(c driver.Company) bool {
		return !strings.HasPrefix(strings.ToLower(c.Name), prefix)
	}), err
}

type lastSubmitted struct{ driver.ReadTx }

func (l lastSubmitted) ListSubmittedCases(
	ctx context.Context, after driver.Position, limit int,
) ([]driver.VerificationCase, error) {
	found, err := l.ReadTx.ListSubmittedCases(ctx, after, limit)
	slices.Reverse(found)
	return found, err
}

// undecided keeps the first status of a case.
type undecided struct{ driver.Tx }

func (u undecided) PutVerificationCase(ctx context.Context, record driver.VerificationCase) error {
	if record.Status == driver.VerificationRejected {
		record.Status = driver.VerificationSubmitted
	}
	return u.Tx.PutVerificationCase(ctx, record)
}

type pendingAlone struct{ driver.ReadTx }

func (p pendingAlone) ListOpenSettlements(
	ctx context.Context, after driver.Position, limit int,
) ([]driver.Settlement, error) {
	found, err := p.ReadTx.ListOpenSettlements(ctx, after, limit)
	return slices.DeleteFunc(found, func(s driver.Settlement) bool { return s.Status != driver.SettlementPending }), err
}

// cutWallets applies the limit to the list before it sorts it.
type cutWallets struct{ driver.ReadTx }

func (c cutWallets) LowestFloats(ctx context.Context, limit int) ([]driver.Wallet, error) {
	found, err := c.ReadTx.LowestFloats(ctx, 99)
	slices.SortFunc(found, func(a, b driver.Wallet) int { return slices.Compare(a.CompanyID[:], b.CompanyID[:]) })
	return found[:min(limit, len(found))], err
}

type lateSince struct{ driver.ReadTx }

func (l lateSince) CountDeadLetters(
	ctx context.Context, since time.Time, limit int,
) ([]driver.DeadLetters, error) {
	return l.ReadTx.CountDeadLetters(ctx, since.Add(time.Millisecond), limit)
}

type unbounded struct{ driver.ReadTx }

func (u unbounded) CountDeadLetters(ctx context.Context, since time.Time, _ int) ([]driver.DeadLetters, error) {
	return u.ReadTx.CountDeadLetters(ctx, since, 1_000_000)
}

type gaplessChecks struct{ driver.ReadTx }

func (g gaplessChecks) BookChecks(ctx context.Context, companies []uuid.UUID) ([]driver.BookCheck, error) {
	found, err := g.ReadTx.BookChecks(ctx, companies)
	return slices.DeleteFunc(found, func(c driver.BookCheck) bool { return c.CompanyID == uuid.Nil }), err
}

type firstCheck struct{ driver.Tx }

func (f firstCheck) PutBookChecks(ctx context.Context, checks []driver.BookCheck) error {
	for _, check := range checks {
		kept, err := f.BookChecks(ctx, []uuid.UUID{check.CompanyID})
		if err != nil || kept[0].CompanyID != uuid.Nil {
			return err
		}
	}
	return f.Tx.PutBookChecks(ctx, checks)
}

// anyCheck moves a check to the time of the kept one, if that is later.
type anyCheck struct{ driver.Tx }

func (a anyCheck) PutBookChecks(ctx context.Context, checks []driver.BookCheck) error {
	checks = slices.Clone(checks)
	for i, check := range checks {
		kept, err := a.BookChecks(ctx, []uuid.UUID{check.CompanyID})
		if err != nil {
			return err
		}
		if kept[0].VerifiedAt.After(check.VerifiedAt) {
			checks[i].VerifiedAt = kept[0].VerifiedAt
		}
	}
	return a.Tx.PutBookChecks(ctx, checks)
}
