package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/cursor"
	"github.com/floatgate/ticketing/ledger"
)

// CompanyStatus is whether a company may act at all.
type CompanyStatus string

// The statuses of a company. The keys of a suspended company answer as if they were unknown.
const (
	CompanyActive    CompanyStatus = "ACTIVE"
	CompanySuspended CompanyStatus = "SUSPENDED"
)

// Company is a tenant: it prepays FLOAT and sells tickets with it.
type Company struct {
	ID           uuid.UUID     `json:"id"`
	Name         string        `json:"name"`
	Status       CompanyStatus `json:"status"`
	Verification Verification  `json:"verification"`
	CreatedAt    Time          `json:"createdAt"`
	UpdatedAt    Time          `json:"updatedAt"`
}

// CompanyRecord is a company as a store keeps it. It changes only behind the company's closed gate.
type CompanyRecord struct {
	ID              uuid.UUID
	Name            string
	Status          CompanyStatus
	Verification    VerificationRecord
	BrandingVersion int64 // the current branding, see BrandingRecord
	// WebhookEndpoints is how many webhook endpoints it ever registered: the number of the newest.
	WebhookEndpoints int64
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// CompanyReader finds companies.
type CompanyReader interface {
	Companies(ctx context.Context, ids []uuid.UUID) ([]CompanyRecord, error)
	// ListCompanies answers with those after a position, oldest first.
	ListCompanies(ctx context.Context, after Position, limit int) ([]CompanyRecord, error)
}

// CompanyWriter keeps companies.
type CompanyWriter interface {
	CreateCompany(ctx context.Context, company CompanyRecord) error
	UpdateCompany(ctx context.Context, company CompanyRecord) error
}

func (c CompanyRecord) company() Company {
	return Company{
		ID: c.ID, Name: c.Name, Status: c.Status, Verification: c.Verification.verification(),
		CreatedAt: Time{c.CreatedAt}, UpdatedAt: Time{c.UpdatedAt},
	}
}

// findCompany is NOT_FOUND where there is none.
func findCompany(ctx context.Context, tx CompanyReader, id uuid.UUID) (CompanyRecord, error) {
	company, err := only(tx.Companies(ctx, []uuid.UUID{id}))
	if err == nil && company.ID == uuid.Nil {
		return company, errNoCompany
	}
	return company, err
}

// CreateCompany makes an active, unverified company with the default branding and both wallets at 0.00. The name has
// 2 to 120 characters. It needs tenant:manage.
func (o Operator) CreateCompany(ctx context.Context, name string) (Company, error) {
	if err := o.allowWrite(PermissionManage, uuid.Nil); err != nil {
		return Company{}, err
	}
	var v violations
	name = requiredText(&v, "name", name, 2, 120)
	if err := v.err(); err != nil {
		return Company{}, err
	}
	at := o.s.now()
	company := CompanyRecord{
		ID: o.s.newID(), Name: name, Status: CompanyActive,
		Verification:    VerificationRecord{Status: VerificationUnverified},
		BrandingVersion: 1, CreatedAt: at, UpdatedAt: at,
	}
	err := o.s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, Entrance{Close: []uuid.UUID{company.ID}}); err != nil {
			return err
		}
		if err := tx.CreateCompany(ctx, company); err != nil {
			return err
		}
		if err := tx.AppendBranding(ctx, defaultBranding(company)); err != nil {
			return err
		}
		err := tx.CreateWallets(ctx, []WalletRecord{
			emptyWallet(company.ID, ledger.Float), emptyWallet(company.ID, ledger.Earnings),
		})
		if err != nil {
			return err
		}
		return o.audit(ctx, tx, at, "company.create", company.ID, about("company", company.ID),
			changes{after: company.audited()})
	})
	if err != nil {
		return Company{}, err
	}
	return company.company(), nil
}

// GetCompany shows a company and its verification. It needs COMPANY:kyb:read.
func (o Operator) GetCompany(ctx context.Context, id uuid.UUID) (Company, error) {
	var found Company
	err := o.view(ctx, PermissionKYBRead, id, func(_ context.Context, _ ReadTx, company CompanyRecord) error {
		found = company.company()
		return nil
	})
	return found, err
}

// ListCompanies pages through all companies, oldest first. It needs tenant:manage.
func (o Operator) ListCompanies(ctx context.Context, params PageParams) (Page[Company], error) {
	if err := o.allow(PermissionManage, uuid.Nil); err != nil {
		return Page[Company]{}, err
	}
	var v violations
	limit := params.limit(&v)
	if err := v.err(); err != nil {
		return Page[Company]{}, err
	}
	scope := cursor.Scope("companies")
	after, err := params.read(scope, positionSize)
	if err != nil {
		return Page[Company]{}, err
	}
	var records []CompanyRecord
	err = o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		records, err = tx.ListCompanies(ctx, parsePosition(after), limit+1)
		return err
	})
	if err != nil {
		return Page[Company]{}, err
	}
	records, next := turn(records, limit, scope, func(c CompanyRecord) []byte {
		return Position{At: c.CreatedAt, ID: c.ID}.bytes()
	})
	page := Page[Company]{Items: make([]Company, len(records)), HasMore: next != "", NextCursor: next}
	for i, record := range records {
		page.Items[i] = record.company()
	}
	return page, nil
}

// RenameCompany gives a company another name of 2 to 120 characters. Its branding keeps its own. It needs tenant:manage.
func (o Operator) RenameCompany(ctx context.Context, id uuid.UUID, name string) (Company, error) {
	if err := o.allowWrite(PermissionManage, id); err != nil {
		return Company{}, err
	}
	var v violations
	name = requiredText(&v, "name", name, 2, 120)
	if err := v.err(); err != nil {
		return Company{}, err
	}
	return o.changeCompany(ctx, PermissionManage, "company.rename", id, func(_ time.Time, company *CompanyRecord) error {
		company.Name = name
		return nil
	})
}

// SuspendCompany stops a company: its keys answer as if they were unknown, and no write of a caller of it goes through.
// One that is suspended already stays as it is. It needs tenant:manage.
func (o Operator) SuspendCompany(ctx context.Context, id uuid.UUID) (Company, error) {
	return o.setStatus(ctx, "company.suspend", id, CompanySuspended)
}

// ActivateCompany ends a suspension. One that is active already stays as it is. It needs tenant:manage.
func (o Operator) ActivateCompany(ctx context.Context, id uuid.UUID) (Company, error) {
	return o.setStatus(ctx, "company.activate", id, CompanyActive)
}

func (o Operator) setStatus(
	ctx context.Context, action string, id uuid.UUID, status CompanyStatus,
) (Company, error) {
	return o.changeCompany(ctx, PermissionManage, action, id, func(_ time.Time, company *CompanyRecord) error {
		company.Status = status
		return nil
	})
}

// auditedCompany is what the audit log tells of a company. Why it was rejected is for staff only.
type auditedCompany struct {
	Name              string             `json:"name"`
	Status            CompanyStatus      `json:"status"`
	Verification      VerificationStatus `json:"verification"`
	ApprovalExpiresAt *Time              `json:"approvalExpiresAt"`
	GraceUntil        *Time              `json:"graceUntil"`
	Case              VerificationStatus `json:"case,omitempty"` // of the case that changed, if one did
}

func (c CompanyRecord) audited() auditedCompany {
	return auditedCompany{
		Name: c.Name, Status: c.Status, Verification: c.Verification.Status,
		ApprovalExpiresAt: when(c.Verification.ApprovalExpiresAt), GraceUntil: when(c.Verification.GraceUntil),
	}
}

// changeCompany changes the company's own record and keeps it, unless nothing changed.
func (o Operator) changeCompany(
	ctx context.Context, permission Permission, action string, id uuid.UUID,
	rule func(at time.Time, company *CompanyRecord) error,
) (Company, error) {
	var changed Company
	err := o.change(ctx, permission, id, func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error {
		before := *company
		if err := rule(at, company); err != nil {
			return err
		}
		if *company == before {
			changed = before.company()
			return nil
		}
		company.UpdatedAt = later(at, before.UpdatedAt)
		changed = company.company()
		if err := tx.UpdateCompany(ctx, *company); err != nil {
			return err
		}
		return o.audit(ctx, tx, at, action, id, about("company", id), changes{before.audited(), company.audited()})
	})
	if err != nil {
		return Company{}, err
	}
	return changed, nil
}
