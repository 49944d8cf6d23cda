package driver

import (
	"time"

	"github.com/google/uuid"
)

// VerificationStatus is the state of a company's verification (KYB).
type VerificationStatus string

// The statuses of a verification and of its cases. An approval may expire. A grace may be in force with any status. A
// case that is UNVERIFIED is a draft.
const (
	VerificationUnverified VerificationStatus = "UNVERIFIED"
	VerificationSubmitted  VerificationStatus = "SUBMITTED"
	VerificationApproved   VerificationStatus = "APPROVED"
	VerificationRejected   VerificationStatus = "REJECTED"
	VerificationRevoked    VerificationStatus = "REVOKED"
)

// Verification is a company's verification as a store keeps it, inside the record of the company. It changes only under
// the company's gate, held exclusively, so a sale sees one state of it.
type Verification struct {
	Status            VerificationStatus
	ApprovalExpiresAt time.Time // zero: the approval does not expire
	GraceUntil        time.Time // zero: no grace
	Reason            string    // why it was rejected, for staff only
}

// VerificationFacts are what a company states about itself, so that staff can verify it. In a draft some may be empty;
// in a submission none is.
type VerificationFacts struct {
	LegalName          string `json:"legalName"`          // at most 200 characters
	RegistrationNumber string `json:"registrationNumber"` // at most 100
	Country            string `json:"country"`            // of registration: a code of ISO 3166-1 alpha-2
	Address            string `json:"address"`            // at most 500, may have several lines
	ContactName        string `json:"contactName"`        // at most 200
	ContactEmail       string `json:"contactEmail"`       // at most 254; trimmed and lower-cased
	ContactPhone       string `json:"contactPhone"`       // at most 50
}

// VerificationCase is a case as a store keeps it. Only the newest case of a company ever changes, and only under the
// company's gate, held exclusively.
type VerificationCase struct {
	CompanyID   uuid.UUID
	Number      int64 // 1, 2, 3 … within the company
	Status      VerificationStatus
	Facts       VerificationFacts
	Reason      string    // why it was rejected; for staff only
	SubmittedAt time.Time // zero: it was not submitted
	DecidedAt   time.Time // zero: it is not decided
	CreatedAt   time.Time
	UpdatedAt   time.Time
}
