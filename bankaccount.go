package ticketing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/seal"
)

// Limits of a bank account. An account number of Nigeria's uniform form has 10 digits, and those of other countries
// have fewer or more. Only the bank can say which numbers exist.
const (
	minAccountNumber = 6
	maxAccountNumber = 20
	minBankName      = 2
	maxBankName      = 120

	// bankAccountDomain keeps an encrypted account number from being opened as another kind of secret.
	bankAccountDomain = "bank-account"
)

// AccountNumber is the number of a bank account, 6 to 20 digits. It shows no more than its last four digits, whether it
// is printed, logged or marshalled. So a number that gets into a log or an error by mistake is not disclosed. A
// conversion to string gives the whole number.
type AccountNumber string

// BankAccountParams describe where a company's earnings are paid.
//
// They replace the whole account. No member of the current one is kept.
type BankAccountParams struct {
	Bank          string // 2 to 120 characters
	AccountNumber AccountNumber
	AccountName   string // 2 to 120 characters
}

// BankAccount is the account to which a company's earnings are paid, as anyone sees it. Only the last four digits of
// its number leave the service (section 2.9, item 6).
type BankAccount struct {
	Bank             string `json:"bank"`
	AccountName      string `json:"accountName"`
	BankAccountLast4 string `json:"bankAccountLast4"`
	CreatedAt        Time   `json:"createdAt"`
}

// BankAccountReencryption is the result of [Operator.ReencryptBankAccounts].
type BankAccountReencryption struct {
	// Reencrypted is how many accounts were encrypted again, under the first secret key.
	Reencrypted int `json:"resealed"`
	// Left is how many accounts are still encrypted under another secret key than the first. They do not decrypt, or a
	// process with another first key set them meanwhile. As long as there are any, their secret keys must stay in the
	// configuration.
	Left int `json:"left"`
}

// String returns the number as it may be seen, such as "…6789".
func (n AccountNumber) String() string { return "…" + n.last4() }

// Format writes what String returns, whatever the verb. It keeps %#v and the like from printing all digits.
func (n AccountNumber) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, n.String()) }

// MarshalText returns what String returns.
func (n AccountNumber) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// last4 returns the last four digits, or none of a text that is too short to be a number.
func (n AccountNumber) last4() string {
	if len(n) < minAccountNumber {
		return ""
	}
	return string(n[len(n)-4:])
}

// check checks that the number has 6 to 20 digits and nothing else.
func (n AccountNumber) check(v *violations, path string) {
	if len(n) < minAccountNumber || len(n) > maxAccountNumber || strings.Trim(string(n), "0123456789") != "" {
		v.add(path, fmt.Sprintf("must be %d to %d digits", minAccountNumber, maxAccountNumber))
	}
}

// sealsUnder returns the ring that encrypts under the secret keys. It uses the names by which digests know them.
//
// A digest and an encrypted value therefore name the same key alike, which lets the database say which keys are in use.
func sealsUnder(names []string, secrets [][]byte) (*seal.Ring, error) {
	keys := make([]seal.Key, len(secrets))
	for i, secret := range secrets {
		keys[i] = seal.Key{Name: names[i], Secret: secret}
	}
	return seal.New(keys)
}

// showBankAccount returns what may be shown of the account.
func showBankAccount(a driver.BankAccount) BankAccount {
	return BankAccount{
		Bank: a.Bank, AccountName: a.AccountName, BankAccountLast4: a.Last4, CreatedAt: Time{Time: a.CreatedAt},
	}
}

// auditedBankAccount returns what the audit log shows of a bank account: not the number. The version distinguishes
// accounts whose numbers end in the same digits.
func auditedBankAccount(a driver.BankAccount) any {
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

// bankAccountSealName binds an encrypted number to its company and version. A number that was copied to another record
// does not decrypt.
func bankAccountSealName(a driver.BankAccount) string {
	return fmt.Sprintf("%s/%d", a.CompanyID, a.Version)
}

// sealNumber encrypts the number of a bank account under the first secret key.
func (s *Service) sealNumber(a *driver.BankAccount, number AccountNumber) error {
	sealed, err := s.seals.Seal(s.rand, bankAccountDomain, bankAccountSealName(*a), []byte(number))
	a.Number = sealed
	return err
}

// openNumber decrypts the number of a bank account, and reports whether the first secret key had encrypted it. The
// error is [ErrSecretKeys] if the secret key is not configured. Any other error means that the record was changed
// outside the service.
//
// A number is decrypted to compare it, to encrypt it again, and to prove before a settlement that it can be paid. No
// method returns it.
func (s *Service) openNumber(a driver.BankAccount) (number AccountNumber, current bool, err error) {
	opened, current, err := s.seals.Open(a.Number, bankAccountDomain, bankAccountSealName(a))
	switch {
	case errors.Is(err, seal.ErrUnknownKey):
		err = fmt.Errorf("%w: the bank account of company %s was encrypted under another one", ErrSecretKeys, a.CompanyID)
	case err != nil:
		err = fmt.Errorf("ticketing: the bank account of company %s was changed from outside: %w", a.CompanyID, err)
	}
	return AccountNumber(opened), current, err
}

// SetBankAccount sets the account to which the company's future settlements are paid (section 2.9, item 6). An open
// settlement keeps the account that it was requested with. The number is encrypted under [Config.SecretKeys], and no
// method returns more of it than the last four digits. Setting the current account again changes nothing. It needs
// COMPANY:settlement:request.
//
// If the present number cannot be decrypted any more, setting the account again repairs it with a new version.
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
	// A number that was encrypted under the keys of another database could not be paid out to.
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return BankAccount{}, err
	}
	var set driver.BankAccount
	err := o.changeExclusive(ctx, PermissionSettlementRequest, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			// The exclusive gate keeps the versions without a gap: nobody appends one meanwhile.
			present, err := tx.CurrentBankAccount(ctx, companyID)
			if err != nil {
				return err
			}
			// A number that does not decrypt cannot be compared, and is replaced by a new version.
			if present.Bank == params.Bank && present.AccountName == params.AccountName {
				if number, _, err := o.s.openNumber(present); err == nil && number == params.AccountNumber {
					set = present
					return o.s.reencryptNumber(ctx, tx, present)
				}
			}
			set = driver.BankAccount{
				CompanyID: companyID, Version: present.Version + 1, Bank: params.Bank, AccountName: params.AccountName,
				Last4: params.AccountNumber.last4(), CreatedAt: notBefore(at, present.CreatedAt),
			}
			if err := o.s.sealNumber(&set, params.AccountNumber); err != nil {
				return err
			}
			if err := tx.AppendBankAccount(ctx, set); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "bank-account.set", companyID, about("company", companyID),
				changes{auditedBankAccount(present), auditedBankAccount(set)})
		})
	if err != nil {
		return BankAccount{}, err
	}
	return showBankAccount(set), nil
}

// reencryptNumber encrypts the number of a bank account again if another than the first secret key had encrypted it. It
// fails if the number does not decrypt.
func (s *Service) reencryptNumber(ctx context.Context, tx driver.SettlementWriter, account driver.BankAccount) error {
	number, current, err := s.openNumber(account)
	if err != nil || current {
		return err
	}
	if err := s.sealNumber(&account, number); err != nil {
		return err
	}
	return tx.UpdateBankAccount(ctx, account)
}

// ReencryptBankAccounts encrypts the numbers of all companies' current bank accounts under the first of
// [Config.SecretKeys], where another key had encrypted them. That other key can be retired afterwards. Sales go on
// meanwhile, and the call may be repeated. It needs tenant:manage.
//
// No account changes its version, and the audit log has no entry of it, as of other uses of the keys. An account that
// does not decrypt stays as it is and is logged. Setting it again repairs it.
func (o Operator) ReencryptBankAccounts(ctx context.Context) (BankAccountReencryption, error) {
	reencrypted, left, err := reencryptAll(ctx, o,
		// The names of the secret keys are in their order, so the first is the one to encrypt under.
		func(ctx context.Context, tx driver.ReadTx, after driver.BankAccount) ([]driver.BankAccount, error) {
			return tx.StaleBankAccounts(ctx, driver.StaleBankAccountQuery{
				SecretName: o.s.keys.Names()[0], After: after.CompanyID, Limit: reencryptPage,
			})
		},
		func(ctx context.Context, stale driver.BankAccount) (bool, error) {
			return o.reencryptBankAccount(ctx, stale.CompanyID)
		})
	return BankAccountReencryption{Reencrypted: reencrypted, Left: left}, err
}

// reencryptBankAccount encrypts a company's bank account under the first secret key, and reports whether it did. It
// returns false where that was not necessary or not possible. The shared gate keeps the account from being set
// meanwhile. Another process may encrypt the same account at the same time: either result decrypts.
func (o Operator) reencryptBankAccount(ctx context.Context, companyID uuid.UUID) (reencrypted bool, err error) {
	s := o.s
	err = s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		// The outcome is assigned afresh, since the transaction may run again.
		reencrypted = false
		in := driver.BeginOptions{Shared: []uuid.UUID{companyID}}
		if err := o.begin(ctx, tx, in, PermissionManage, uuid.Nil); err != nil {
			return err
		}
		account, err := tx.CurrentBankAccount(ctx, companyID)
		if err != nil {
			return err
		}
		number, current, err := s.openNumber(account)
		if err != nil {
			s.log.WarnContext(ctx, "a bank account was not re-encrypted", "company", companyID, "error", err)
			return nil
		}
		if current {
			return nil
		}
		if err := s.sealNumber(&account, number); err != nil {
			return err
		}
		reencrypted = true
		return tx.UpdateBankAccount(ctx, account)
	})
	return reencrypted && err == nil, err
}

// GetBankAccount returns the account to which the company's settlements are paid. It needs COMPANY:settlement:read. It
// is NOT_FOUND if no account is set.
func (o Operator) GetBankAccount(ctx context.Context, companyID uuid.UUID) (BankAccount, error) {
	var found driver.BankAccount
	err := o.view(ctx, PermissionSettlementRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
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
	return showBankAccount(found), nil
}
