package driver

import (
	"time"

	"github.com/google/uuid"
)

// BankAccount is a version of a company's bank account as a store keeps it. A settlement refers to the version that it
// was requested with, so a version is never replaced.
type BankAccount struct {
	CompanyID   uuid.UUID
	Version     int64 // 1, 2, 3 …; the highest is the current one
	Bank        string
	AccountName string
	Number      string // encrypted, an opaque text that the service writes
	Last4       string // of the number
	CreatedAt   time.Time
}

// BankAccountRef names a version of a bank account.
type BankAccountRef struct {
	CompanyID uuid.UUID
	Version   int64
}

// StaleBankAccountQuery selects a page of the current bank accounts that were not encrypted under the named secret key.
type StaleBankAccountQuery struct {
	SecretName string    // of the secret key
	After      uuid.UUID // only companies with higher ids; zero: from the beginning
	Limit      int
}
