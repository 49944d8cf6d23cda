package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// VerificationStatus is where a company's verification (KYB) stands.
type VerificationStatus string

// The statuses of a verification. An approval may have an expiry, and a grace may stand beside any of them.
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

// current tells whether the company may sell at this time: a current approval, or an explicit grace, which is not an
// approval (section 1, precondition 1).
func (v VerificationRecord) current(at time.Time) bool {
	approved := v.Status == VerificationApproved && (v.ApprovalExpiresAt.IsZero() || at.Before(v.ApprovalExpiresAt))
	return approved || at.Before(v.GraceUntil)
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
// status. It needs tenant_kyb:decide.
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

// RejectVerification rejects a company from whatever status, for a reason of 1 to 500 characters that only staff see.
// A grace stays in force. It needs tenant_kyb:decide.
func (o Operator) RejectVerification(ctx context.Context, companyID uuid.UUID, reason string) (Company, error) {
	return o.decide(ctx, "kyb.reject", companyID, func(_ time.Time, verification *VerificationRecord) error {
		var v violations
		verification.Reason = requiredText(&v, "reason", reason, 1, 500)
		verification.Status, verification.ApprovalExpiresAt = VerificationRejected, time.Time{}
		return v.err()
	})
}

// GrantGrace lets a company sell until a moment in the future, whatever the status of its verification, which stays
// as it is: a grace is not an approval. It needs tenant_kyb:decide.
func (o Operator) GrantGrace(ctx context.Context, companyID uuid.UUID, until time.Time) (Company, error) {
	until = moment(until)
	return o.decide(ctx, "kyb.grace", companyID, func(at time.Time, verification *VerificationRecord) error {
		var v violations
		future(&v, "until", until, at)
		verification.GraceUntil = until
		return v.err()
	})
}

// RevokeVerification takes back approval and grace, from whatever status. It needs tenant_kyb:decide.
func (o Operator) RevokeVerification(ctx context.Context, companyID uuid.UUID) (Company, error) {
	return o.decide(ctx, "kyb.revoke", companyID, func(_ time.Time, verification *VerificationRecord) error {
		*verification = VerificationRecord{Status: VerificationRevoked}
		return nil
	})
}

func (o Operator) decide(
	ctx context.Context, action string, companyID uuid.UUID,
	rule func(at time.Time, verification *VerificationRecord) error,
) (Company, error) {
	return o.changeCompany(ctx, PermissionKYBDecide, action, companyID, func(at time.Time, company *CompanyRecord) error {
		return rule(at, &company.Verification)
	})
}
