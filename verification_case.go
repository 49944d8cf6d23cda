package ticketing

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// VerificationFacts are what a company states about itself for verification. In a draft some may be empty. In a
// submission none is.
type VerificationFacts = driver.VerificationFacts

// VerificationCase is one application of a company for verification. The company edits it as a draft and submits it,
// and staff decide it. What was submitted is never changed; the next edit begins another case.
type VerificationCase struct {
	Number int64 `json:"number"` // 1, 2, 3 … within the company
	// Status is UNVERIFIED for a draft, SUBMITTED until staff decide, and then their decision.
	Status VerificationStatus `json:"status"`

	VerificationFacts

	SubmittedAt *Time `json:"submittedAt"`
	DecidedAt   *Time `json:"decidedAt"`
	// Reason is why it was rejected. Only staff see it; for a company's administrators it is nil.
	Reason    *string `json:"reason"`
	CreatedAt Time    `json:"createdAt"`
	UpdatedAt Time    `json:"updatedAt"`
}

// CompanyVerification is everything about a company's verification.
type CompanyVerification struct {
	Verification

	// Current reports whether the company may sell now, with an approval or with a grace.
	Current bool `json:"current"`
	// Cases are the company's applications, newest first.
	Cases []VerificationCase `json:"cases"`
}

// UpdateVerificationParams change the facts that are not nil. A pointer to "" clears a fact.
type UpdateVerificationParams struct {
	LegalName, RegistrationNumber, Country, Address, ContactName, ContactEmail, ContactPhone *string
}

// showCase returns what an operator sees of the case. The reason is only for staff: it may name what the company must
// not learn.
func showCase(r driver.VerificationCase, toStaff bool) VerificationCase {
	shown := VerificationCase{
		Number: r.Number, Status: r.Status, VerificationFacts: r.Facts, SubmittedAt: optionalTime(r.SubmittedAt),
		DecidedAt: optionalTime(r.DecidedAt), CreatedAt: Time{Time: r.CreatedAt}, UpdatedAt: Time{Time: r.UpdatedAt},
	}
	if toStaff {
		shown.Reason = optional(r.Reason)
	}
	return shown
}

// isEditable reports whether the company may change the case: only a draft.
func isEditable(r driver.VerificationCase) bool { return r.Status == VerificationUnverified }

// nextCase returns the case to edit: the draft, or else a new draft with the facts of the last case, so that a company
// renews without entering them again. The zero record is before the first case. The new draft is not kept here: only an
// edit or a submission writes it.
func nextCase(r driver.VerificationCase, companyID uuid.UUID, at time.Time) driver.VerificationCase {
	if isEditable(r) {
		return r
	}
	return driver.VerificationCase{
		CompanyID: companyID, Number: r.Number + 1, Status: VerificationUnverified, Facts: r.Facts, CreatedAt: at,
		UpdatedAt: at,
	}
}

// GetVerification returns a company's verification and its cases, as of one moment. The reason of a rejection is shown
// only to staff. It has at most the newest 10,000 cases. It needs COMPANY:kyb:read.
func (o Operator) GetVerification(ctx context.Context, companyID uuid.UUID) (CompanyVerification, error) {
	if err := o.allow(PermissionKYBRead, companyID); err != nil {
		return CompanyVerification{}, err
	}
	var found CompanyVerification
	at := o.s.now()
	read := func(ctx context.Context, tx driver.ReadTx, company driver.Company) error {
		cases, err := tx.ListVerificationCases(ctx, companyID, maxListed)
		found = CompanyVerification{
			Verification: showVerification(company.Verification), Current: isCurrent(company.Verification, at),
			Cases: make([]VerificationCase, len(cases)),
		}
		for i, record := range cases {
			found.Cases[i] = showCase(record, o.actor.isStaff())
		}
		return err
	}
	if err := o.lookAt(ctx, driver.Store.Snapshot, PermissionKYBRead, companyID, read); err != nil {
		return CompanyVerification{}, err
	}
	return found, nil
}

// UpdateVerification edits the draft of a company. If the last case was decided, it begins a draft with the facts of
// that case. While a case is SUBMITTED it is CONFLICT, so staff decide exactly what was submitted. A change that
// changes nothing begins no draft. It needs COMPANY:kyb:manage.
//
// It is INVALID_REQUEST for a fact that is too long or has control characters, for a malformed email address, and for a
// country that is no code of ISO 3166-1 alpha-2. A draft grants nothing: only staff decide whether a company may sell.
func (o Operator) UpdateVerification(
	ctx context.Context, companyID uuid.UUID, params UpdateVerificationParams,
) (VerificationCase, error) {
	if err := o.allowWrite(PermissionKYBManage, companyID); err != nil {
		return VerificationCase{}, err
	}
	var edited driver.VerificationCase
	err := o.changeExclusive(ctx, PermissionKYBManage, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			newest, err := firstRecord(tx.ListVerificationCases(ctx, companyID, 1))
			if err != nil {
				return err
			}
			if newest.Status == VerificationSubmitted {
				return conflict("The verification is submitted. It can be edited once it is decided.")
			}
			edited = nextCase(newest, companyID, at)
			if edited.Facts, err = params.apply(newest.Facts); err != nil {
				return err
			}
			// Nothing changed, so no draft begins. The first edit makes a draft even if it is empty.
			if edited.Facts == newest.Facts && newest.Number != 0 {
				edited = newest
				return nil
			}
			edited.UpdatedAt = notBefore(at, edited.UpdatedAt)
			if err := tx.PutVerificationCase(ctx, edited); err != nil {
				return err
			}
			// The audit log keeps which facts changed but not their values: these describe a person, and the case keeps
			// them.
			return o.audit(ctx, tx, at, "kyb.edit", companyID, about("company", companyID),
				changes{after: map[string]any{"case": edited.Number, "facts": differingFacts(edited.Facts, newest.Facts)}})
		})
	if err != nil {
		return VerificationCase{}, err
	}
	return showCase(edited, o.actor.isStaff()), nil
}

// SubmitVerification submits a company's draft, which has all facts, to staff. If the last case was decided and there
// is no draft since, its facts are submitted again. A case that is SUBMITTED already stays as it is; one that lacks a
// fact is CONFLICT. It needs COMPANY:kyb:submit.
//
// A current approval stays current until staff decide, so a company can renew it before it expires without a gap. A
// company without one becomes SUBMITTED.
func (o Operator) SubmitVerification(ctx context.Context, companyID uuid.UUID) (VerificationCase, error) {
	var submitted driver.VerificationCase
	err := o.changeExclusive(ctx, PermissionKYBSubmit, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			newest, err := firstRecord(tx.ListVerificationCases(ctx, companyID, 1))
			if err != nil {
				return err
			}
			if newest.Status == VerificationSubmitted {
				submitted = newest
				return nil
			}
			// A decided case is not changed: its facts are submitted as a new case.
			submitted = nextCase(newest, companyID, at)
			if missing := missingFacts(submitted.Facts); len(missing) > 0 {
				return conflict("The verification lacks %s.", strings.Join(missing, ", "))
			}
			// From here on the facts are fixed: staff decide on what they read.
			submitted.Status, submitted.SubmittedAt = VerificationSubmitted, at
			submitted.UpdatedAt = notBefore(at, submitted.UpdatedAt)
			if err := tx.PutVerificationCase(ctx, submitted); err != nil {
				return err
			}
			was := auditCompany(*company)
			// The audit log shows the case's move even if the company's own status stays APPROVED.
			was.Case = VerificationUnverified
			// A company with a current approval keeps it, and only its case is SUBMITTED.
			if !isApproved(company.Verification, at) {
				company.Verification.Status, company.Verification.ApprovalExpiresAt = VerificationSubmitted, time.Time{}
				company.Verification.Reason = ""
				company.UpdatedAt = notBefore(at, company.UpdatedAt)
				if err := tx.UpdateCompany(ctx, *company); err != nil {
					return err
				}
			}
			is := auditCompany(*company)
			is.Case = VerificationSubmitted
			return o.audit(ctx, tx, at, "kyb.submit", companyID, about("company", companyID), changes{was, is})
		})
	if err != nil {
		return VerificationCase{}, err
	}
	return showCase(submitted, o.actor.isStaff()), nil
}

// closeCase gives the submitted case of a company, if there is one, the status and reason that staff decided. It
// reports whether there was one. The caller holds the company's gate exclusively, so nobody submits another case
// meanwhile. At most the newest case can be SUBMITTED, because a submitted case blocks the next draft.
func closeCase(ctx context.Context, tx driver.Tx, at time.Time, company driver.Company) (closed bool, err error) {
	newest, err := firstRecord(tx.ListVerificationCases(ctx, company.ID, 1))
	if err != nil || newest.Status != VerificationSubmitted {
		return false, err
	}
	newest.Status, newest.Reason, newest.DecidedAt = company.Verification.Status, company.Verification.Reason, at
	newest.UpdatedAt = notBefore(at, newest.UpdatedAt)
	return true, tx.PutVerificationCase(ctx, newest)
}

// apply returns the facts with the changes, normalised and checked. Empty facts pass: only a submission needs all.
func (p UpdateVerificationParams) apply(f VerificationFacts) (VerificationFacts, error) {
	var v violations
	// Lengths count characters after trimming. Only the address may have several lines.
	for _, fact := range []struct {
		given *string
		kept  *string
		read  func(s string) string
	}{
		{p.LegalName, &f.LegalName, func(s string) string { return trimmedText(&v, "legalName", s, 200, false) }},
		{p.RegistrationNumber, &f.RegistrationNumber, func(s string) string {
			return trimmedText(&v, "registrationNumber", s, 100, false)
		}},
		{p.Country, &f.Country, func(s string) string { return country(&v, "country", s) }},
		{p.Address, &f.Address, func(s string) string { return trimmedText(&v, "address", s, 500, true) }},
		{p.ContactName, &f.ContactName, func(s string) string { return trimmedText(&v, "contactName", s, 200, false) }},
		{p.ContactEmail, &f.ContactEmail, func(s string) string { return email(&v, "contactEmail", s, 254) }},
		{p.ContactPhone, &f.ContactPhone, func(s string) string { return trimmedText(&v, "contactPhone", s, 50, false) }},
	} {
		if fact.given != nil {
			*fact.kept = fact.read(*fact.given)
		}
	}
	return f, v.err()
}

// factFields returns the facts and their names on the wire, in the order of the JSON. One list for both functions below
// keeps the names and their order the same in the audit log and in refusals.
func factFields(f VerificationFacts) []struct{ name, value string } {
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

// differingFacts returns the names of the facts that differ from another version. The audit log keeps these names and
// not the values.
func differingFacts(f, from VerificationFacts) []string {
	names := []string{}
	before := factFields(from)
	for i, field := range factFields(f) {
		if field != before[i] {
			names = append(names, field.name)
		}
	}
	return names
}

// missingFacts returns the names of the facts that are empty.
func missingFacts(f VerificationFacts) []string {
	var names []string
	for _, field := range factFields(f) {
		if field.value == "" {
			names = append(names, field.name)
		}
	}
	return names
}

// country normalises a code of ISO 3166-1 alpha-2 to upper case. It may be empty. The list is compiled in, so a code is
// valid in every process alike.
func country(v *violations, path, s string) string {
	s = strings.ToUpper(strings.TrimSpace(s))
	if s != "" && !slices.Contains(strings.Fields(countries), s) {
		v.add(path, "must be a code of ISO 3166-1 alpha-2, such as NG")
	}
	return s
}

// countries are the officially assigned codes of ISO 3166-1 alpha-2.
const countries = `
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC
CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD
GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH
KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW
MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC
SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY
UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`
