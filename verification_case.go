package ticketing

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// VerificationFacts are what a company says of itself, so that staff can verify it. A draft may lack some (empty); a
// submission has all.
type VerificationFacts struct {
	LegalName          string `json:"legalName"`          // at most 200 characters
	RegistrationNumber string `json:"registrationNumber"` // at most 100
	Country            string `json:"country"`            // of registration: a code of ISO 3166-1 alpha-2
	Address            string `json:"address"`            // at most 500, on one line or several
	ContactName        string `json:"contactName"`        // at most 200
	ContactEmail       string `json:"contactEmail"`       // at most 254; trimmed and lower-cased
	ContactPhone       string `json:"contactPhone"`       // at most 50
}

// VerificationCase is one application of a company for its verification: a draft that the company edits, then submitted,
// then decided by staff. What was submitted is never changed; the next edit begins another case.
type VerificationCase struct {
	Number int64 `json:"number"` // 1, 2, 3 …
	// Status is UNVERIFIED for a draft, SUBMITTED until staff decide, and then what they decided.
	Status VerificationStatus `json:"status"`

	VerificationFacts

	SubmittedAt *Time `json:"submittedAt"`
	DecidedAt   *Time `json:"decidedAt"`
	// Reason is why it was rejected, for staff only: to a company's administrators it is nil.
	Reason    *string `json:"reason"`
	CreatedAt Time    `json:"createdAt"`
	UpdatedAt Time    `json:"updatedAt"`
}

// CompanyVerification is all that there is about a company's verification.
type CompanyVerification struct {
	Verification

	// Current tells whether the company may sell now, by an approval or by a grace.
	Current bool `json:"current"`
	// Cases are the company's applications, the newest first.
	Cases []VerificationCase `json:"cases"`
}

// VerificationCaseRecord is a case as a store keeps it.
type VerificationCaseRecord struct {
	CompanyID   uuid.UUID
	Number      int64
	Status      VerificationStatus
	Facts       VerificationFacts
	Reason      string // why it was rejected; for staff only
	SubmittedAt time.Time
	DecidedAt   time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// VerificationReader finds cases.
type VerificationReader interface {
	// ListVerificationCases answers with a company's cases, highest number first.
	ListVerificationCases(ctx context.Context, companyID uuid.UUID, limit int) ([]VerificationCaseRecord, error)
}

// VerificationWriter keeps cases.
type VerificationWriter interface {
	// PutVerificationCase keeps a case, new or known, by its company and number; the time of creation of a known one
	// stays.
	PutVerificationCase(ctx context.Context, record VerificationCaseRecord) error
}

// UpdateVerificationParams change what is not nil; a pointer to "" clears a fact.
type UpdateVerificationParams struct {
	LegalName, RegistrationNumber, Country, Address, ContactName, ContactEmail, ContactPhone *string
}

func (r VerificationCaseRecord) shown(toStaff bool) VerificationCase {
	shown := VerificationCase{
		Number: r.Number, Status: r.Status, VerificationFacts: r.Facts, SubmittedAt: when(r.SubmittedAt),
		DecidedAt: when(r.DecidedAt), CreatedAt: Time{r.CreatedAt}, UpdatedAt: Time{r.UpdatedAt},
	}
	if toStaff {
		shown.Reason = optional(r.Reason)
	}
	return shown
}

func (r VerificationCaseRecord) editable() bool { return r.Status == VerificationUnverified }

// next is the case to edit: the draft, or one that begins with the facts of the last.
func (r VerificationCaseRecord) next(companyID uuid.UUID, at time.Time) VerificationCaseRecord {
	if r.editable() {
		return r
	}
	return VerificationCaseRecord{
		CompanyID: companyID, Number: r.Number + 1, Status: VerificationUnverified, Facts: r.Facts, CreatedAt: at,
		UpdatedAt: at,
	}
}

// GetVerification shows a company's verification and its cases, as of one moment. It needs COMPANY:kyb:read.
func (o Operator) GetVerification(ctx context.Context, companyID uuid.UUID) (CompanyVerification, error) {
	if err := o.allow(PermissionKYBRead, companyID); err != nil {
		return CompanyVerification{}, err
	}
	var found CompanyVerification
	at := o.s.now()
	read := func(ctx context.Context, tx ReadTx, company CompanyRecord) error {
		cases, err := tx.ListVerificationCases(ctx, companyID, maxListed)
		found = CompanyVerification{
			Verification: company.Verification.verification(), Current: company.Verification.current(at),
			Cases: make([]VerificationCase, len(cases)),
		}
		for i, record := range cases {
			found.Cases[i] = record.shown(o.actor.CompanyID == uuid.Nil)
		}
		return err
	}
	if err := o.snapshot(ctx, PermissionKYBRead, companyID, read); err != nil {
		return CompanyVerification{}, err
	}
	return found, nil
}

// UpdateVerification edits the draft of a company's case, and begins one where the last was decided, with its facts. While
// a case is submitted it is CONFLICT. What changes nothing begins no other. It needs COMPANY:kyb:manage.
func (o Operator) UpdateVerification(
	ctx context.Context, companyID uuid.UUID, params UpdateVerificationParams,
) (VerificationCase, error) {
	if err := o.allowWrite(PermissionKYBManage, companyID); err != nil {
		return VerificationCase{}, err
	}
	var edited VerificationCaseRecord
	err := o.change(ctx, PermissionKYBManage, companyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			newest, err := only(tx.ListVerificationCases(ctx, companyID, 1))
			if err != nil {
				return err
			}
			if newest.Status == VerificationSubmitted {
				return conflict("The verification is submitted. It can be edited once it is decided.")
			}
			edited = newest.next(companyID, at)
			if edited.Facts, err = params.apply(newest.Facts); err != nil {
				return err
			}
			if edited.Facts == newest.Facts && newest.Number != 0 {
				edited = newest
				return nil
			}
			edited.UpdatedAt = later(at, edited.UpdatedAt)
			if err := tx.PutVerificationCase(ctx, edited); err != nil {
				return err
			}
			// Which facts changed, and not to what: they tell of a person, and the case keeps them.
			return o.audit(ctx, tx, at, "kyb.edit", companyID, about("company", companyID),
				changes{after: map[string]any{"case": edited.Number, "facts": edited.Facts.differing(newest.Facts)}})
		})
	if err != nil {
		return VerificationCase{}, err
	}
	return edited.shown(o.actor.CompanyID == uuid.Nil), nil
}

// SubmitVerification hands a company's draft, which has all facts, to staff; where the last case was decided and none was
// drafted since, its facts are submitted again. A current approval stays current until staff decide, so that it can be
// renewed before it expires without a gap; a company without one is SUBMITTED. What is submitted already stays as it
// is; a case that lacks a fact is CONFLICT. It needs COMPANY:kyb:submit.
func (o Operator) SubmitVerification(ctx context.Context, companyID uuid.UUID) (VerificationCase, error) {
	var submitted VerificationCaseRecord
	err := o.change(ctx, PermissionKYBSubmit, companyID,
		func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error {
			newest, err := only(tx.ListVerificationCases(ctx, companyID, 1))
			if err != nil {
				return err
			}
			if newest.Status == VerificationSubmitted {
				submitted = newest
				return nil
			}
			submitted = newest.next(companyID, at)
			if missing := submitted.Facts.missing(); len(missing) > 0 {
				return conflict("The verification lacks %s.", strings.Join(missing, ", "))
			}
			submitted.Status, submitted.SubmittedAt = VerificationSubmitted, at
			submitted.UpdatedAt = later(at, submitted.UpdatedAt)
			if err := tx.PutVerificationCase(ctx, submitted); err != nil {
				return err
			}
			was := company.audited()
			was.Case = VerificationUnverified
			if !company.Verification.approved(at) {
				company.Verification.Status, company.Verification.ApprovalExpiresAt = VerificationSubmitted, time.Time{}
				company.Verification.Reason = ""
				company.UpdatedAt = later(at, company.UpdatedAt)
				if err := tx.UpdateCompany(ctx, *company); err != nil {
					return err
				}
			}
			is := company.audited()
			is.Case = VerificationSubmitted
			return o.audit(ctx, tx, at, "kyb.submit", companyID, about("company", companyID), changes{was, is})
		})
	if err != nil {
		return VerificationCase{}, err
	}
	return submitted.shown(o.actor.CompanyID == uuid.Nil), nil
}

// closeCase gives the submitted case of a company, if there is one, the status that was decided.
func closeCase(ctx context.Context, tx Tx, at time.Time, company CompanyRecord) (closed bool, err error) {
	newest, err := only(tx.ListVerificationCases(ctx, company.ID, 1))
	if err != nil || newest.Status != VerificationSubmitted {
		return false, err
	}
	newest.Status, newest.Reason, newest.DecidedAt = company.Verification.Status, company.Verification.Reason, at
	newest.UpdatedAt = later(at, newest.UpdatedAt)
	return true, tx.PutVerificationCase(ctx, newest)
}

func (p UpdateVerificationParams) apply(f VerificationFacts) (VerificationFacts, error) {
	var v violations
	for _, fact := range []struct {
		given *string
		kept  *string
		read  func(s string) string
	}{
		{p.LegalName, &f.LegalName, func(s string) string { return text(&v, "legalName", s, 200, false) }},
		{p.RegistrationNumber, &f.RegistrationNumber, func(s string) string {
			return text(&v, "registrationNumber", s, 100, false)
		}},
		{p.Country, &f.Country, func(s string) string { return country(&v, "country", s) }},
		{p.Address, &f.Address, func(s string) string { return text(&v, "address", s, 500, true) }},
		{p.ContactName, &f.ContactName, func(s string) string { return text(&v, "contactName", s, 200, false) }},
		{p.ContactEmail, &f.ContactEmail, func(s string) string { return email(&v, "contactEmail", s, 254) }},
		{p.ContactPhone, &f.ContactPhone, func(s string) string { return text(&v, "contactPhone", s, 50, false) }},
	} {
		if fact.given != nil {
			*fact.kept = fact.read(*fact.given)
		}
	}
	return f, v.err()
}

// fields are the facts and their names on the wire, in their order.
func (f VerificationFacts) fields() []struct{ name, value string } {
	return []struct{ name, value string }{
		{"legalName", f.LegalName},
		{"registrationNumber", f.RegistrationNumber},
		{"country", f.Country},
		{"address", f.Address},
		{"contactName", f.ContactName},
		{"contactEmail", f.ContactEmail},
		{"contactPhone", f.ContactPhone},
	}
}

// differing names the facts that are other ones.
func (f VerificationFacts) differing(from VerificationFacts) []string {
	names := []string{}
	before := from.fields()
	for i, field := range f.fields() {
		if field != before[i] {
			names = append(names, field.name)
		}
	}
	return names
}

// missing names the facts that are empty.
func (f VerificationFacts) missing() []string {
	var names []string
	for _, field := range f.fields() {
		if field.value == "" {
			names = append(names, field.name)
		}
	}
	return names
}

// country is a code of ISO 3166-1 alpha-2 in upper case, or empty.
func country(v *violations, path, s string) string {
	s = strings.ToUpper(strings.TrimSpace(s))
	if s != "" && !slices.Contains(strings.Fields(countries), s) {
		v.add(path, "must be a code of ISO 3166-1 alpha-2, such as NG")
	}
	return s
}

// countries are the officially assigned codes of ISO 3166-1 alpha-2.
const countries = `
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF
CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH
GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW
KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG
NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN
SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT
ZA ZM ZW`
