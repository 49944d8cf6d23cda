package ticketing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/seal"
)

// Limits of a bank account. A number of Nigeria's uniform form has 10 digits; other countries' have fewer or more, and
// which of them a bank knows only the bank can tell.
const (
	minAccountNumber = 6
	maxAccountNumber = 20
	minBankName      = 2
	maxBankName      = 120

	bankAccountDomain = "bank-account"
)

// AccountNumber is the number of a bank account, 6 to 20 digits. However it is printed, logged or marshalled, it shows
// no more than its last four digits.
type AccountNumber string

// BankAccountParams are where a company's earnings go.
type BankAccountParams struct {
	Bank          string // 2 to 120 characters
	AccountNumber AccountNumber
	AccountName   string // 2 to 120 characters
}

// BankAccount is where a company's earnings are paid out to, as anyone ever sees it: of its number, no more than the
// last four digits leave the service.
type BankAccount struct {
	Bank             string `json:"bank"`
	AccountName      string `json:"accountName"`
	BankAccountLast4 string `json:"bankAccountLast4"`
	CreatedAt        Time   `json:"createdAt"`
}

// BankAccountRecord is a version of a company's bank account as a store keeps it. A settlement keeps the version that
// it was requested with.
type BankAccountRecord struct {
	CompanyID   uuid.UUID
	Version     int64 // 1, 2, 3 …: the highest is the current one
	Bank        string
	AccountName string
	Number      string // sealed, see package internal/seal
	Last4       string // of the number
	CreatedAt   time.Time
}

// BankAccountRef names a version of a bank account.
type BankAccountRef struct {
	CompanyID uuid.UUID
	Version   int64
}

// StaleBankAccountQuery asks for a part of the current bank accounts that were sealed under another key than one.
type StaleBankAccountQuery struct {
	SecretName string    // of the one
	After      uuid.UUID // the company to begin behind; zero: from the beginning
	Limit      int
}

// BankAccountResealing tells what became of the bank accounts that were encrypted under another than the first secret
// key.
type BankAccountResealing struct {
	// Resealed is how many were encrypted anew.
	Resealed int `json:"resealed"`
	// Left is how many still are not encrypted under the first: what does not decrypt, or was set meanwhile by a process
	// with another first key. While there are any, their keys must be given.
	Left int `json:"left"`
}

// BankAccountReader finds bank accounts.
type BankAccountReader interface {
	BankAccounts(ctx context.Context, refs []BankAccountRef) ([]BankAccountRecord, error)
	// CurrentBankAccount finds the highest version of a company; the zero record where there is none.
	CurrentBankAccount(ctx context.Context, companyID uuid.UUID) (BankAccountRecord, error)
	// StaleBankAccounts answers with accounts of whichever company that are current and were sealed under another key
	// than one, by the company's id.
	StaleBankAccounts(ctx context.Context, query StaleBankAccountQuery) ([]BankAccountRecord, error)
}

// BankAccountWriter keeps bank accounts.
type BankAccountWriter interface {
	// AppendBankAccount keeps a new version. It comes about only behind the company's closed gate.
	AppendBankAccount(ctx context.Context, account BankAccountRecord) error
	// UpdateBankAccount keeps the sealed number, which another key has sealed anew.
	UpdateBankAccount(ctx context.Context, account BankAccountRecord) error
}

// String is the number as it may be seen, such as "…6789".
func (n AccountNumber) String() string { return "…" + n.last4() }

// Format writes what String answers, whatever the verb.
func (n AccountNumber) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, n.String()) }

// MarshalText writes what String answers.
func (n AccountNumber) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// last4 are the last four digits; nothing of what is too short to be a number.
func (n AccountNumber) last4() string {
	if len(n) < minAccountNumber {
		return ""
	}
	return string(n[len(n)-4:])
}

func (n AccountNumber) check(v *violations, path string) {
	if len(n) < minAccountNumber || len(n) > maxAccountNumber || strings.Trim(string(n), "0123456789") != "" {
		v.add(path, fmt.Sprintf("must be %d to %d digits", minAccountNumber, maxAccountNumber))
	}
}

// sealsUnder encrypts under the secret keys, by the names that digests know them by.
func sealsUnder(names []string, secrets [][]byte) (*seal.Ring, error) {
	keys := make([]seal.Key, len(secrets))
	for i, secret := range secrets {
		keys[i] = seal.Key{Name: names[i], Secret: secret}
	}
	return seal.New(keys)
}

func (a BankAccountRecord) bankAccount() BankAccount {
	return BankAccount{
		Bank: a.Bank, AccountName: a.AccountName, BankAccountLast4: a.Last4, CreatedAt: Time{a.CreatedAt},
	}
}

// audited is what the audit log tells of a bank account. The version tells apart numbers that end alike.
func (a BankAccountRecord) audited() any {
	if a.Version == 0 {
		return nil
	}
	return struct {
		Version          int64  `json:"version"`
		Bank             string `json:"bank"`
		AccountName      string `json:"accountName"`
		BankAccountLast4 string `json:"bankAccountLast4"`
	}{a.Version, a.Bank, a.AccountName, a.Last4}
}

// sealedFor is whose number it is: one that was moved to another company or version does not open.
func (a BankAccountRecord) sealedFor() string { return fmt.Sprintf("%s/%d", a.CompanyID, a.Version) }

// sealNumber encrypts the number of a bank account under the first secret key.
func (s *Service) sealNumber(a *BankAccountRecord, number AccountNumber) error {
	sealed, err := s.seals.Seal(s.rand, bankAccountDomain, a.sealedFor(), []byte(number))
	a.Number = sealed
	return err
}

// openNumber decrypts the number of a bank account, and tells whether the first secret key had encrypted it.
func (s *Service) openNumber(a BankAccountRecord) (number AccountNumber, current bool, err error) {
	opened, current, err := s.seals.Open(a.Number, bankAccountDomain, a.sealedFor())
	switch {
	case errors.Is(err, seal.ErrUnknownKey):
		err = fmt.Errorf("%w: the bank account of company %s was encrypted under another one", ErrSecretKeys, a.CompanyID)
	case err != nil:
		err = fmt.Errorf("ticketing: the bank account of company %s was changed from outside: %w", a.CompanyID, err)
	}
	return AccountNumber(opened), current, err
}

// SetBankAccount says where the company's settlements go from now on (section 2.9, item 6); one that is open already
// keeps the account it was requested with. The number is encrypted under [Config.SecretKeys]: no method gives more of
// it back than the last four digits. The account that is set already stays as it is. It needs
// COMPANY:settlement:request.
//
// Where the present number cannot be decrypted any more, setting the account anew mends it.
func (o Operator) SetBankAccount(
	ctx context.Context, companyID uuid.UUID, params BankAccountParams,
) (BankAccount, error) {
	if err := o.allowWrite(PermissionSettlementRequest, companyID); err != nil {
		return BankAccount{}, err
	}
	var v violations
	params.Bank = requiredText(&v, "bank", params.Bank, minBankName, maxBankName)
	params.AccountNumber.check(&v, "accountNumber")
	params.AccountName = requiredText(&v, "accountName", params.AccountName, minBankName, maxBankName)
	if err := v.err(); err != nil {
		return BankAccount{}, err
	}
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return BankAccount{}, err
	}
	var set BankAccountRecord
	err := o.change(ctx, PermissionSettlementRequest, companyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			present, err := tx.CurrentBankAccount(ctx, companyID)
			if err != nil {
				return err
			}
			if present.Bank == params.Bank && present.AccountName == params.AccountName {
				if number, _, err := o.s.openNumber(present); err == nil && number == params.AccountNumber {
					set = present
					return o.s.sealAnew(ctx, tx, present)
				}
			}
			set = BankAccountRecord{
				CompanyID: companyID, Version: present.Version + 1, Bank: params.Bank, AccountName: params.AccountName,
				Last4: params.AccountNumber.last4(), CreatedAt: later(at, present.CreatedAt),
			}
			if err := o.s.sealNumber(&set, params.AccountNumber); err != nil {
				return err
			}
			if err := tx.AppendBankAccount(ctx, set); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "bank-account.set", companyID, about("company", companyID),
				changes{present.audited(), set.audited()})
		})
	if err != nil {
		return BankAccount{}, err
	}
	return set.bankAccount(), nil
}

// sealAnew decrypts the number of a bank account, which fails where it cannot be, and encrypts it again where another
// than the first secret key had.
func (s *Service) sealAnew(ctx context.Context, tx BankAccountWriter, account BankAccountRecord) error {
	number, current, err := s.openNumber(account)
	if err != nil || current {
		return err
	}
	if err := s.sealNumber(&account, number); err != nil {
		return err
	}
	return tx.UpdateBankAccount(ctx, account)
}

// ResealBankAccounts encrypts the number of every company's bank account under the first of [Config.SecretKeys] that
// another had encrypted, so that the other can be given up; sales go on meanwhile. It may be repeated. No account becomes
// another one, and the audit log does not tell of it, as of other uses of the keys. One that does not decrypt stays as it
// is and is told to the log; setting it anew mends it. It needs tenant:manage.
func (o Operator) ResealBankAccounts(ctx context.Context) (BankAccountResealing, error) {
	resealed, left, err := resealAll(ctx, o,
		func(ctx context.Context, tx ReadTx, after BankAccountRecord) ([]BankAccountRecord, error) {
			return tx.StaleBankAccounts(ctx, StaleBankAccountQuery{
				SecretName: o.s.keys.Names()[0], After: after.CompanyID, Limit: resealPage,
			})
		},
		func(ctx context.Context, stale BankAccountRecord) (bool, error) {
			return o.s.reseal(ctx, stale.CompanyID)
		})
	return BankAccountResealing{Resealed: resealed, Left: left}, err
}

// reseal encrypts a company's bank account under the first secret key, and tells whether it had to and could. The shared
// gate keeps the account from being set meanwhile; whoever else encrypts it anew at once writes what decrypts, too.
func (s *Service) reseal(ctx context.Context, companyID uuid.UUID) (resealed bool, err error) {
	err = s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
		resealed = false
		if _, err := tx.Enter(ctx, Entrance{Share: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		account, err := tx.CurrentBankAccount(ctx, companyID)
		if err != nil {
			return err
		}
		number, current, err := s.openNumber(account)
		if err != nil {
			s.log.WarnContext(ctx, "a bank account was not encrypted anew", "company", companyID, "error", err)
			return nil
		}
		if current {
			return nil
		}
		if err := s.sealNumber(&account, number); err != nil {
			return err
		}
		resealed = true
		return tx.UpdateBankAccount(ctx, account)
	})
	return resealed && err == nil, err
}

// GetBankAccount shows where the company's settlements go. It needs COMPANY:settlement:read. NOT_FOUND where no account
// is set.
func (o Operator) GetBankAccount(ctx context.Context, companyID uuid.UUID) (BankAccount, error) {
	var found BankAccountRecord
	err := o.view(ctx, PermissionSettlementRead, companyID,
		func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
			var err error
			found, err = tx.CurrentBankAccount(ctx, companyID)
			return err
		})
	if err == nil && found.Version == 0 {
		err = notFound("The bank account")
	}
	if err != nil {
		return BankAccount{}, err
	}
	return found.bankAccount(), nil
}
