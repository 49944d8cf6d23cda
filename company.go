package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// CompanyStatus is the status of a company. A company that is not active can neither sell nor request a
// settlement. Its people still manage what is theirs, such as keys and webhooks.
type CompanyStatus = driver.CompanyStatus

// The statuses of a company. The keys of a suspended company give the same error as unknown ones (section 5, rule 3).
const (
	CompanyActive    = driver.CompanyActive
	CompanySuspended = driver.CompanySuspended
)

// Company is a tenant: it prepays FLOAT and sells tickets with it (section 1).
type Company struct {
	ID           uuid.UUID     `json:"id"`
	Name         string        `json:"name"`
	Status       CompanyStatus `json:"status"`
	Verification Verification  `json:"verification"`
	CreatedAt    Time          `json:"createdAt"`
	UpdatedAt    Time          `json:"updatedAt"`
}

// showCompany returns the company as an operator sees it.
func showCompany(c driver.Company) Company {
	return Company{
		ID: c.ID, Name: c.Name, Status: c.Status, Verification: showVerification(c.Verification),
		CreatedAt: Time{Time: c.CreatedAt}, UpdatedAt: Time{Time: c.UpdatedAt},
	}
}

// findCompany returns a company, or NOT_FOUND if it does not exist. It takes no lock. A change reads the company under
// its gate, which guards the record.
func findCompany(ctx context.Context, tx driver.CompanyReader, id uuid.UUID) (driver.Company, error) {
	company, err := firstRecord(tx.Companies(ctx, []uuid.UUID{id}))
	if err == nil && company.ID == uuid.Nil {
		return company, errNoCompany
	}
	return company, err
}

// CreateCompany creates an active, unverified company, with the default branding and both wallets at 0.00. The name has
// 2 to 120 characters. It needs tenant:manage.
//
// The company cannot sell yet: it needs an approval or a grace, a commission rate, float and an API key (section 1).
//
// All of it is written in one transaction, so no company is without its branding or its wallets.
func (o Operator) CreateCompany(ctx context.Context, name string) (Company, error) {
	if err := o.allowWrite(PermissionManage, uuid.Nil); err != nil {
		return Company{}, err
	}
	var v violations
	name = requiredText(&v, "name", name, 2, 120)
	if err := v.err(); err != nil {
		return Company{}, err
	}
	// The id and the time are made before the transaction, which may run again.
	at := o.s.now()
	company := driver.Company{
		ID: o.s.newID(), Name: name, Status: CompanyActive,
		Verification:    driver.Verification{Status: VerificationUnverified},
		BrandingVersion: 1, CreatedAt: at, UpdatedAt: at,
	}
	err := o.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		// Every Update begins with Begin. Nobody else can hold the gate of a new company.
		in := driver.BeginOptions{Exclusive: []uuid.UUID{company.ID}}
		if err := o.begin(ctx, tx, in, PermissionManage, uuid.Nil); err != nil {
			return err
		}
		if err := tx.CreateCompany(ctx, company); err != nil {
			return err
		}
		if err := tx.AppendBranding(ctx, defaultBranding(company)); err != nil {
			return err
		}
		err := tx.CreateWallets(ctx, []driver.Wallet{
			emptyWallet(company.ID, ledger.Float), emptyWallet(company.ID, ledger.Earnings),
		})
		if err != nil {
			return err
		}
		return o.audit(ctx, tx, at, "company.create", company.ID, about("company", company.ID),
			changes{after: auditCompany(company)})
	})
	if err != nil {
		return Company{}, err
	}
	return showCompany(company), nil
}

// GetCompany returns a company and its verification. It needs COMPANY:kyb:read.
func (o Operator) GetCompany(ctx context.Context, id uuid.UUID) (Company, error) {
	var found Company
	err := o.lookAt(ctx, driver.Store.View, PermissionKYBRead, id,
		func(_ context.Context, _ driver.ReadTx, company driver.Company) error {
			found = showCompany(company)
			return nil
		})
	return found, err
}

// RenameCompany changes a company's name, of 2 to 120 characters. Its branding keeps the brand name. It needs
// tenant:manage.
func (o Operator) RenameCompany(ctx context.Context, id uuid.UUID, name string) (Company, error) {
	if err := o.allowWrite(PermissionManage, id); err != nil {
		return Company{}, err
	}
	var v violations
	name = requiredText(&v, "name", name, 2, 120)
	if err := v.err(); err != nil {
		return Company{}, err
	}
	return o.changeCompany(ctx, PermissionManage, "company.rename", id, func(_ time.Time, company *driver.Company) error {
		company.Name = name
		return nil
	})
}

// SuspendCompany suspends a company. Its keys give AUTHENTICATION_FAILED, as unknown ones do, and no write of a caller
// of the company goes through. Its webhooks go on, because they report sales that happened. A company that is already
// suspended stays as it is. It needs tenant:manage.
//
// A sale that has entered the gate before is completed. Later ones fail with PERMISSION_DENIED, or with
// AUTHENTICATION_FAILED if they come with a key.
func (o Operator) SuspendCompany(ctx context.Context, id uuid.UUID) (Company, error) {
	return o.setStatus(ctx, "company.suspend", id, CompanySuspended)
}

// ActivateCompany ends a suspension. A company that is already active stays as it is. It needs tenant:manage.
func (o Operator) ActivateCompany(ctx context.Context, id uuid.UUID) (Company, error) {
	return o.setStatus(ctx, "company.activate", id, CompanyActive)
}

// setStatus changes a company's status. The change holds the company's gate exclusively, so it waits for the writes
// that are under way and stops all later ones. A key of the company that was authenticated before is refused by the
// next check of its authority.
func (o Operator) setStatus(
	ctx context.Context, action string, id uuid.UUID, status CompanyStatus,
) (Company, error) {
	return o.changeCompany(ctx, PermissionManage, action, id, func(_ time.Time, company *driver.Company) error {
		company.Status = status
		return nil
	})
}

// auditedCompany is what the audit log shows of a company. The reason of a rejection is for staff only.
//
// Its members are named here and not taken from the record, so that a new member of the record does not get into the
// log unseen.
type auditedCompany struct {
	Name              string             `json:"name"`
	Status            CompanyStatus      `json:"status"`
	Verification      VerificationStatus `json:"verification"`
	ApprovalExpiresAt *Time              `json:"approvalExpiresAt"`
	GraceUntil        *Time              `json:"graceUntil"`
	Case              VerificationStatus `json:"case,omitempty"` // of the verification case that changed, if one did
}

// auditCompany returns what the audit log shows of the company.
func auditCompany(c driver.Company) auditedCompany {
	return auditedCompany{
		Name: c.Name, Status: c.Status, Verification: c.Verification.Status,
		ApprovalExpiresAt: optionalTime(c.Verification.ApprovalExpiresAt),
		GraceUntil:        optionalTime(c.Verification.GraceUntil),
	}
}

// changeCompany applies rule to the company's own record, and keeps and audits the result if the record changed. The
// update time never goes back, even if the clock was set back.
//
// rule runs in the transaction, which may run again. It must depend on nothing but its arguments.
func (o Operator) changeCompany(
	ctx context.Context, permission Permission, action string, id uuid.UUID,
	rule func(at time.Time, company *driver.Company) error,
) (Company, error) {
	var changed Company
	err := o.changeExclusive(ctx, permission, id,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			// The record is compared as a whole: a rule need not report whether it changed anything.
			before := *company
			if err := rule(at, company); err != nil {
				return err
			}
			// A change that changes nothing leaves UpdatedAt alone and is not audited.
			if *company == before {
				changed = showCompany(before)
				return nil
			}
			company.UpdatedAt = notBefore(at, before.UpdatedAt)
			changed = showCompany(*company)
			if err := tx.UpdateCompany(ctx, *company); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, action, id, about("company", id), changes{auditCompany(before), auditCompany(*company)})
		})
	if err != nil {
		return Company{}, err
	}
	return changed, nil
}
