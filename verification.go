package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// VerificationStatus is the state of a company's verification (KYB).
type VerificationStatus = driver.VerificationStatus

// The statuses of a verification and of its cases. An approval may expire, and a grace may be in force beside any
// status. A case that is UNVERIFIED is a draft.
const (
	VerificationUnverified = driver.VerificationUnverified
	VerificationSubmitted  = driver.VerificationSubmitted
	VerificationApproved   = driver.VerificationApproved
	VerificationRejected   = driver.VerificationRejected
	VerificationRevoked    = driver.VerificationRevoked
)

// Verification is what an operator sees of a company's verification.
//
// A sale reads it. The facts behind a decision are in the cases, so a renewal in progress does not change it.
type Verification struct {
	Status            VerificationStatus `json:"status"`
	ApprovalExpiresAt *Time              `json:"approvalExpiresAt"` // nil: it does not expire, or there is no approval
	GraceUntil        *Time              `json:"graceUntil"`        // nil: no grace
}

// isApproved reports whether an approval is current. It expires at ApprovalExpiresAt, not after it.
func isApproved(v driver.Verification, at time.Time) bool {
	return v.Status == VerificationApproved && (v.ApprovalExpiresAt.IsZero() || at.Before(v.ApprovalExpiresAt))
}

// isCurrent reports whether the company may sell at the given time: with a current approval, or with an explicit grace,
// which is not an approval (section 1, precondition 1).
//
// A sale asks it twice, see settleTimes: at the clock's time, and at that of its ledger entries if the clock is before
// them.
func isCurrent(v driver.Verification, at time.Time) bool {
	return isApproved(v, at) || at.Before(v.GraceUntil)
}

// showVerification returns what an operator sees. It leaves out the reason.
func showVerification(v driver.Verification) Verification {
	return Verification{
		Status: v.Status, ApprovalExpiresAt: optionalTime(v.ApprovalExpiresAt), GraceUntil: optionalTime(v.GraceUntil),
	}
}

// errUnverified is the operator plane's refusal for a company that may not be funded, paid out or given keys. Its
// message is the contract's (section 2.9, items 2 and 6, and section 5.1).
var errUnverified = conflict("Current company verification is required")

// ApprovalParams are the terms of an approval.
type ApprovalParams struct {
	ExpiresAt *time.Time // nil: the approval never expires
}

// ApproveVerification approves a company, and the submitted case if there is one, from any status. The approval is
// current until params.ExpiresAt, which must be in the future; otherwise the error is INVALID_REQUEST. To renew an
// approval without a gap, approve again before it expires. It needs tenant_kyb:decide.
func (o Operator) ApproveVerification(
	ctx context.Context, companyID uuid.UUID, params ApprovalParams,
) (Company, error) {
	var expires time.Time // A store keeps the zero time for an approval that never expires.
	if params.ExpiresAt != nil {
		expires = storedTime(*params.ExpiresAt)
	}
	approve := func(at time.Time, verification *driver.Verification) error {
		var v violations
		if params.ExpiresAt != nil {
			future(&v, "expires", expires, at)
		}
		verification.Status, verification.ApprovalExpiresAt, verification.Reason = VerificationApproved, expires, ""
		return v.err()
	}
	return o.decideVerification(ctx, "kyb.approve", companyID, approve)
}

// RejectVerification rejects a company, and the submitted case if there is one, from any status. The reason has 1 to
// 500 characters, and only staff see it: the refusal of a checkout discloses no private reason (section 7). A current
// approval ends; a grace stays in force. It needs tenant_kyb:decide.
func (o Operator) RejectVerification(ctx context.Context, companyID uuid.UUID, reason string) (Company, error) {
	return o.decideVerification(ctx, "kyb.reject", companyID, func(_ time.Time, verification *driver.Verification) error {
		var v violations
		verification.Reason = requiredText(&v, "reason", reason, 1, 500)
		verification.Status, verification.ApprovalExpiresAt = VerificationRejected, time.Time{}
		return v.err()
	})
}

// RevokeVerification ends approval and grace, from any status, and refuses the submitted case if there is one. The next
// checkout is COMPANY_VERIFICATION_REQUIRED; reads and ticket validation go on (section 7). It needs tenant_kyb:decide.
func (o Operator) RevokeVerification(ctx context.Context, companyID uuid.UUID) (Company, error) {
	return o.decideVerification(ctx, "kyb.revoke", companyID, func(_ time.Time, verification *driver.Verification) error {
		*verification = driver.Verification{Status: VerificationRevoked}
		return nil
	})
}

// decideVerification changes a company's verification, and the submitted case with it. If neither changes, it writes
// nothing, not even an audit row, so a repeated decision has no effect.
func (o Operator) decideVerification(
	ctx context.Context, action string, companyID uuid.UUID,
	rule func(at time.Time, verification *driver.Verification) error,
) (Company, error) {
	var decided Company
	err := o.changeExclusive(ctx, PermissionKYBDecide, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			before := *company
			if err := rule(at, &company.Verification); err != nil {
				return err
			}
			// The case gets the decision in the same transaction, so the company and its case never disagree.
			closed, err := closeCase(ctx, tx, at, *company)
			if err != nil {
				return err
			}
			if decided = showCompany(before); *company == before && !closed {
				return nil
			}
			company.UpdatedAt = notBefore(at, before.UpdatedAt)
			decided = showCompany(*company)
			if err := tx.UpdateCompany(ctx, *company); err != nil {
				return err
			}
			// The log shows the case only if there was one to decide.
			was, is := auditCompany(before), auditCompany(*company)
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

// GrantGrace lets a company sell until the given time, which must be in the future, whatever the status of its
// verification. The status stays as it is, since a grace is not an approval. It needs tenant_kyb:decide.
func (o Operator) GrantGrace(ctx context.Context, companyID uuid.UUID, until time.Time) (Company, error) {
	until = storedTime(until)
	return o.changeCompany(ctx, PermissionKYBDecide, "kyb.grace", companyID,
		func(at time.Time, company *driver.Company) error {
			var v violations
			future(&v, "until", until, at)
			company.Verification.GraceUntil = until
			return v.err()
		})
}

// EndGrace ends a grace and leaves the verification as it is. A company without a grace stays as it is. It needs
// tenant_kyb:decide.
func (o Operator) EndGrace(ctx context.Context, companyID uuid.UUID) (Company, error) {
	return o.changeCompany(ctx, PermissionKYBDecide, "kyb.end-grace", companyID,
		func(_ time.Time, company *driver.Company) error {
			company.Verification.GraceUntil = time.Time{}
			return nil
		})
}
