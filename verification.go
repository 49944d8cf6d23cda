package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// VerificationStatus is where a company's verification (KYB) stands.
type VerificationStatus string

// The statuses of a verification and of its cases. An approval may have an expiry, and a grace may stand beside any of
// them. A case that is UNVERIFIED is a draft.
const (
	VerificationUnverified VerificationStatus = "UNVERIFIED"
	VerificationSubmitted  VerificationStatus = "SUBMITTED"
	VerificationApproved   VerificationStatus = "APPROVED"
	VerificationRejected   VerificationStatus = "REJECTED"
	VerificationRevoked    VerificationStatus = "REVOKED"
)

// Verification is what an operator sees of a company's verification.
type Verification struct {
	Status            VerificationStatus `json:"status"`
	ApprovalExpiresAt *Time              `json:"approvalExpiresAt"`
	GraceUntil        *Time              `json:"graceUntil"`
}

// VerificationRecord is a verification as a store keeps it, part of its company.
type VerificationRecord struct {
	Status            VerificationStatus
	ApprovalExpiresAt time.Time // zero: the approval does not expire
	GraceUntil        time.Time // zero: no grace
	Reason            string    // why it was rejected, for staff only
}

// approved tells whether an approval is current.
func (v VerificationRecord) approved(at time.Time) bool {
	return v.Status == VerificationApproved && (v.ApprovalExpiresAt.IsZero() || at.Before(v.ApprovalExpiresAt))
}

// current tells whether the company may sell at this time: a current approval, or an explicit grace, which is not an
// approval (section 1, precondition 1).
func (v VerificationRecord) current(at time.Time) bool {
	return v.approved(at) || at.Before(v.GraceUntil)
}

func (v VerificationRecord) verification() Verification {
	return Verification{
		Status: v.Status, ApprovalExpiresAt: when(v.ApprovalExpiresAt), GraceUntil: when(v.GraceUntil),
	}
}

// errUnverified is what the operator's plane says of a company that may not be funded or given keys (section 2.9,
// item 2, and section 5.1).
var errUnverified = conflict("Current company verification is required")

// ApproveVerification approves a company until a moment in the future, or (the zero time) for good, from whatever
// status, and with it the case that was submitted, if there is one. Before an approval expires this makes it longer
// without a gap. It needs tenant_kyb:decide.
func (o Operator) ApproveVerification(ctx context.Context, companyID uuid.UUID, expires time.Time) (Company, error) {
	forever := expires.IsZero()
	expires = moment(expires)
	return o.decide(ctx, "kyb.approve", companyID, func(at time.Time, verification *VerificationRecord) error {
		var v violations
		if !forever {
			future(&v, "expires", expires, at)
		}
		verification.Status, verification.ApprovalExpiresAt, verification.Reason = VerificationApproved, expires, ""
		return v.err()
	})
}

// RejectVerification rejects a company from whatever status, for a reason of 1 to 500 characters that only staff see, and
// with it the case that was submitted, if there is one. A current approval ends with it; a grace stays in force. It
// needs tenant_kyb:decide.
func (o Operator) RejectVerification(ctx context.Context, companyID uuid.UUID, reason string) (Company, error) {
	return o.decide(ctx, "kyb.reject", companyID, func(_ time.Time, verification *VerificationRecord) error {
		var v violations
		verification.Reason = requiredText(&v, "reason", reason, 1, 500)
		verification.Status, verification.ApprovalExpiresAt = VerificationRejected, time.Time{}
		return v.err()
	})
}

// RevokeVerification takes back approval and grace, from whatever status, and refuses the case that was submitted, if
// there is one. It needs tenant_kyb:decide.
func (o Operator) RevokeVerification(ctx context.Context, companyID uuid.UUID) (Company, error) {
	return o.decide(ctx, "kyb.revoke", companyID, func(_ time.Time, verification *VerificationRecord) error {
		*verification = VerificationRecord{Status: VerificationRevoked}
		return nil
	})
}

// decide changes a company's verification, and with it the case that was submitted, unless neither changes.
func (o Operator) decide(
	ctx context.Context, action string, companyID uuid.UUID,
	rule func(at time.Time, verification *VerificationRecord) error,
) (Company, error) {
	var decided Company
	err := o.change(ctx, PermissionKYBDecide, companyID,
		func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error {
			before := *company
			if err := rule(at, &company.Verification); err != nil {
				return err
			}
			closed, err := closeCase(ctx, tx, at, *company)
			if err != nil {
				return err
			}
			if decided = before.company(); *company == before && !closed {
				return nil
			}
			company.UpdatedAt = later(at, before.UpdatedAt)
			decided = company.company()
			if err := tx.UpdateCompany(ctx, *company); err != nil {
				return err
			}
			was, is := before.audited(), company.audited()
			if closed {
				was.Case, is.Case = VerificationSubmitted, company.Verification.Status
			}
			return o.audit(ctx, tx, at, action, companyID, about("company", companyID), changes{was, is})
		})
	if err != nil {
		return Company{}, err
	}
	return decided, nil
}

// GrantGrace lets a company sell until a moment in the future, whatever the status of its verification, which stays
// as it is: a grace is not an approval. It needs tenant_kyb:decide.
func (o Operator) GrantGrace(ctx context.Context, companyID uuid.UUID, until time.Time) (Company, error) {
	until = moment(until)
	return o.changeCompany(ctx, PermissionKYBDecide, "kyb.grace", companyID,
		func(at time.Time, company *CompanyRecord) error {
			var v violations
			future(&v, "until", until, at)
			company.Verification.GraceUntil = until
			return v.err()
		})
}

// EndGrace ends a grace and leaves the verification as it is. A company without one stays as it is. It needs
// tenant_kyb:decide.
func (o Operator) EndGrace(ctx context.Context, companyID uuid.UUID) (Company, error) {
	return o.changeCompany(ctx, PermissionKYBDecide, "kyb.end-grace", companyID,
		func(_ time.Time, company *CompanyRecord) error {
			company.Verification.GraceUntil = time.Time{}
			return nil
		})
}
