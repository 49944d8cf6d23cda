package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// PreconditionName names one of the six preconditions for a successful checkout (section 1).
type PreconditionName string

// The preconditions, in the order of section 1.
const (
	// PreconditionVerification: "Company status is active and its KYB case holds a current approval, or an explicit
	// legacy-review rollout grace state is in force".
	PreconditionVerification PreconditionName = "VERIFICATION"
	// PreconditionBranding: "Branding exists". Every company starts with one.
	PreconditionBranding PreconditionName = "BRANDING"
	// PreconditionCommission: "An explicit commission rate is effective at the transaction time".
	PreconditionCommission PreconditionName = "COMMISSION_RATE"
	// PreconditionFloat: "FLOAT has been credited", and the company's wallets may move. A FLOAT of 0.00 is
	// missing, since it pays for no ticket that has a price: it was spent, or only free tickets were sold.
	PreconditionFloat PreconditionName = "FLOAT"
	// PreconditionAPIKey: "The API key carries the exact needed grants". One active key with COMPANY:checkout:create
	// meets it, because a checkout needs no other grant.
	PreconditionAPIKey PreconditionName = "API_KEY"
	// PreconditionTestInbox: "For acceptance tests, a test inbox consents to the transactional email". It is agreed
	// outside of the service, so it is always UNCHECKED.
	PreconditionTestInbox PreconditionName = "TEST_INBOX"
)

// PreconditionState says whether a precondition is met.
type PreconditionState string

// The states of a precondition.
const (
	PreconditionMet       PreconditionState = "MET"
	PreconditionMissing   PreconditionState = "MISSING"
	PreconditionUnchecked PreconditionState = "UNCHECKED" // only people can know
)

// Precondition is one of the six preconditions for a successful checkout.
type Precondition struct {
	Name  PreconditionName  `json:"name"`
	State PreconditionState `json:"state"`
	// Since is when the precondition was met: the time of the current branding, the EffectiveFrom of the rate, or the
	// creation of the key. It is nil if it is not met or no time is recorded.
	Since *Time `json:"since"`
	// Until is when it will no longer be met: the end of the approval or of the grace, whichever is later. It is nil if
	// there is no such time.
	Until *Time `json:"until"`
	// Missing says what is missing, in words for the company. It is empty if the precondition is met.
	Missing string `json:"missing"`
}

// Readiness says whether a company can sell, and what is missing. It is for people. POST /checkouts is the
// authoritative check: it also looks at the event, its inventory and the price (section 1).
type Readiness struct {
	// Ready reports whether every precondition that the service can check is met.
	Ready bool `json:"ready"`
	// At is the time that a sale would have: now, or the time of the last ledger entry if the clock is before it.
	At Time `json:"at"`
	// Preconditions are all six, in the order of section 1.
	Preconditions []Precondition `json:"preconditions"`
}

// Readiness returns the six preconditions for a successful checkout with the state of each, as of one moment. On a
// store that is bound to a transaction of PostgreSQL the parts may be of different moments. A company that does not
// exist is NOT_FOUND.
//
// It needs only COMPANY:kyb:read, although it is also about branding, commission, wallets and keys. It says whether
// they exist, and shows no balance and no rate. So everybody who may see the company sees what it lacks.
func (o Operator) Readiness(ctx context.Context, companyID uuid.UUID) (Readiness, error) {
	if err := o.allow(PermissionKYBRead, companyID); err != nil {
		return Readiness{}, err
	}
	now := o.s.now()
	var shown Readiness
	err := o.lookAt(ctx, driver.Store.Snapshot, PermissionKYBRead, companyID,
		func(ctx context.Context, tx driver.ReadTx, company driver.Company) error {
			ref := driver.BrandingRef{CompanyID: companyID, Version: company.BrandingVersion}
			branding, err := firstRecord(tx.Brandings(ctx, []driver.BrandingRef{ref}))
			if err != nil {
				return err
			}
			wallets, err := tx.Wallets(ctx, driver.WalletRefs(companyID))
			if err != nil {
				return err
			}
			// A sale has this time, see settleTimes.
			at := notBefore(notBefore(now, wallets[0].LastAt), wallets[1].LastAt)
			rate, err := firstRecord(tx.EffectiveRates(ctx, []uuid.UUID{companyID}, at))
			if err != nil {
				return err
			}
			keys, err := tx.ListAPIKeys(ctx, companyID, maxListed)
			if err != nil {
				return err
			}
			shown = newReadiness(at, []Precondition{
				verificationPrecondition(company, now, at), brandingPrecondition(branding), ratePrecondition(rate),
				floatPrecondition(wallets), keyPrecondition(keys),
				{
					Name: PreconditionTestInbox, State: PreconditionUnchecked,
					Missing: "The service cannot see it. Before acceptance tests, agree with the owner of a test inbox that it gets " +
						"the ticket mails.",
				},
			})
			return nil
		})
	if err != nil {
		return Readiness{}, err
	}
	return shown, nil
}

// newReadiness returns the preconditions with the state of each: what has words about something missing is not met.
func newReadiness(at time.Time, all []Precondition) Readiness {
	shown := Readiness{Ready: true, At: Time{Time: at}, Preconditions: all}
	for i, p := range all {
		switch {
		case p.State != "":
		case p.Missing == "":
			all[i].State = PreconditionMet
		default:
			// The times are of what meets it, so there are none.
			all[i].State, all[i].Since, all[i].Until = PreconditionMissing, nil, nil
			shown.Ready = false
		}
	}
	return shown
}

// verificationPrecondition checks the verification as a sale does, which looks at two times if the clock went back.
func verificationPrecondition(company driver.Company, now, at time.Time) Precondition {
	v := company.Verification
	p := Precondition{Name: PreconditionVerification}
	switch {
	case company.Status != CompanyActive:
		p.Missing = "The company is suspended. Platform staff can activate it."
	case isCurrent(v, now) && isCurrent(v, at):
		// An approval for good never ends, and of two ends the later one counts.
		switch until := v.ApprovalExpiresAt; {
		case !isApproved(v, at):
			p.Until = optionalTime(v.GraceUntil)
		case !until.IsZero():
			p.Until = optionalTime(notBefore(until, v.GraceUntil))
		}
	case v.Status == VerificationApproved:
		p.Missing = "The approval of the company has expired. Submit the verification again."
	case v.Status == VerificationSubmitted:
		p.Missing = "The verification was submitted. Platform staff have not decided yet."
	case v.Status == VerificationRejected:
		p.Missing = "The verification was rejected. Correct it and submit it again."
	case v.Status == VerificationRevoked:
		p.Missing = "The approval was revoked. Submit the verification again."
	default:
		p.Missing = "The company is not verified. Fill in the verification and submit it."
	}
	return p
}

// brandingPrecondition is about the current version, which is the zero record where there is none.
func brandingPrecondition(current driver.Branding) Precondition {
	p := Precondition{Name: PreconditionBranding, Since: optionalTime(current.CreatedAt)}
	if current.Version == 0 {
		p.Missing = "The company has no branding. Save one."
	}
	return p
}

// ratePrecondition is about the effective rate, which is the zero record where there is none.
func ratePrecondition(effective driver.Rate) Precondition {
	p := Precondition{Name: PreconditionCommission, Since: optionalTime(effective.EffectiveFrom)}
	if effective.ID == uuid.Nil {
		p.Missing = "No commission rate is in force. Platform staff schedule it."
	}
	return p
}

// floatPrecondition is about both wallets, because a sale moves both.
func floatPrecondition(wallets []driver.Wallet) Precondition {
	p := Precondition{Name: PreconditionFloat}
	for _, wallet := range wallets {
		switch {
		case p.Missing != "":
		case wallet.Status != WalletActive:
			p.Missing = "The wallet " + string(wallet.Kind) + " is suspended. Platform staff can activate it."
		case wallet.Kind == ledger.Float && wallet.Sequence == 0:
			p.Missing = "FLOAT was never credited. Platform staff credit what the company has paid in."
		case wallet.Kind == ledger.Float && wallet.Balance <= 0:
			p.Missing = "FLOAT is empty. Platform staff credit what the company has paid in."
		}
	}
	return p
}

// keyPrecondition is about the company's keys, newest first.
func keyPrecondition(keys []driver.APIKey) Precondition {
	p := Precondition{Name: PreconditionAPIKey, Missing: "The company has no active API key. Issue one."}
	for _, key := range slices.Backward(keys) {
		if key.Status != APIKeyActive {
			continue
		}
		if slices.Contains(key.Grants, GrantCheckoutCreate) {
			p.Since, p.Missing = optionalTime(key.CreatedAt), ""
			break
		}
		p.Missing = "No active API key carries " + string(GrantCheckoutCreate) + ". Issue one that does."
	}
	return p
}
