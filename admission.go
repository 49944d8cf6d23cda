package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// ValidationOutcome is the result of a validation at the door (section 2.8).
type ValidationOutcome string

// The outcomes of a validation. Let the holder in on ADMITTED only: ALREADY_VALIDATED means that an earlier scan
// admitted somebody with this ticket.
const (
	OutcomeAdmitted         ValidationOutcome = "ADMITTED"
	OutcomeAlreadyValidated ValidationOutcome = "ALREADY_VALIDATED"
)

// TicketValidation is the result of [Service.ValidateAdmission]. For ALREADY_VALIDATED its id, location and time are
// those of the original validation.
type TicketValidation struct {
	ID          uuid.UUID         `json:"id"`
	Object      string            `json:"object"` // "ticket_validation"
	Outcome     ValidationOutcome `json:"outcome"`
	AdmissionID uuid.UUID         `json:"admissionId"`
	EventID     uuid.UUID         `json:"eventId"`
	OrderID     uuid.UUID         `json:"orderId"`
	Location    *string           `json:"location"`
	Ticket      Ticket            `json:"ticket"`
	ValidatedAt Time              `json:"validatedAt"`
}

// Ticket describes an admission as it was sold. Its branding is that of the order, not the company's current one.
type Ticket struct {
	Title    string   `json:"title"`
	Tier     string   `json:"tier"`
	Branding Branding `json:"branding"`
}

// ValidateParams are the members of section 4.9.
type ValidateParams struct {
	Location string // at most 200 characters; blank means none
}

// maxLocation is the limit of a validation's location in characters (section 8).
const maxLocation = 200

// opValidate scopes the idempotency keys of validations. Spent keys keep it forever, so it never changes.
const opValidate = "admissions.validate"

// errAdmissionNotFound covers an unknown admission and one of another event or company, which look the same to a caller
// (section 7). errAdmissionVoided does not apply to an admission that was validated before its order ended.
var (
	errAdmissionNotFound = notFound("The admission")
	errAdmissionVoided   = conflict("The order of the admission is cancelled or refunded.")
)

// ValidateAdmission admits the holder of a ticket, once (section 4.9). It needs COMPANY:ticket:validate and an
// idempotency key. Use one key for all transport retries of one scan at the door, and a new key for a new scan. A later
// scan is ALREADY_VALIDATED with the id, location and time of the original. The event's status does not matter, since
// people stand at the door.
//
// Validation does not need a current company verification (section 7, rule 6). Concurrent scans of one ticket admit
// once, also in different processes.
//
// Errors: IDEMPOTENCY_KEY_REQUIRED, INVALID_REQUEST, CONFLICT for the key, NOT_FOUND (also for an admission of another
// event and for one that is not sold), CONFLICT where the order is cancelled or refunded and the ticket was never
// validated.
func (s *Service) ValidateAdmission(
	ctx context.Context, caller Caller, eventID, admissionID uuid.UUID, key string, params ValidateParams,
) (TicketValidation, error) {
	return runKeyed(ctx, s, s.scans, caller, key, scan{EventID: eventID, AdmissionID: admissionID, Params: params},
		normaliseScan)
}

// newScans returns the operation that validates admissions. Each validation counts as one towards its group, and no
// weight limits a group.
//
// A validation has no precondition beyond the caller's authority: the company need not be verified, so that people who
// bought before a revocation still get in.
func newScans(s *Service, g Grouping) *operation[scan, TicketValidation] {
	op := &operation[scan, TicketValidation]{
		name: opValidate, grant: GrantTicketValidate, apply: s.scanAdmissions, replay: replayScans,
		hasFact: func(v *TicketValidation) bool { return v.Outcome == OutcomeAdmitted },
	}
	return op.grouped(s, g, 0, func(scan) int { return 1 })
}

// scan is the input of a validation. Its idempotency digest covers both ids, so a key that is used for another event or
// admission is CONFLICT. See inputDigest before renaming a field.
type scan struct {
	EventID     uuid.UUID
	AdmissionID uuid.UUID
	Params      ValidateParams
}

// normaliseScan trims the location, so that white space does not change the idempotency digest.
func normaliseScan(v *violations, in scan) scan {
	in.Params.Location = trimmedText(v, "location", in.Params.Location, maxLocation, false)
	return in
}

// scanCall is a validation on its way through the pipeline.
type scanCall = call[scan, TicketValidation]

// scanAdmissions decides validations in the order they arrived. It locks every admission before it reads its state, so
// the first validation of an admission is the only one that admits.
//
// An admission that is already validated stays ALREADY_VALIDATED after its order is cancelled or refunded: only a first
// validation fails for a voided admission. The time of a validation is never before the confirmation of its order, even
// if the clock was set back.
func (s *Service) scanAdmissions(ctx context.Context, tx driver.Tx, at time.Time, calls []*scanCall) error {
	refs := make([]driver.AdmissionRef, len(calls))
	for i, c := range calls {
		refs[i] = driver.AdmissionRef{CompanyID: c.company.ID, ID: c.params.AdmissionID}
	}
	refs = distinct(refs)
	// Refunds and cancellations take the same locks. So a scan sees an order that ended before it, or the ending waits
	// for the scan.
	locked, err := tx.LockAdmissions(ctx, refs)
	if err != nil {
		return err
	}
	// Calls for one admission share its record, so that a later one in the group finds it validated.
	scanned := make(map[driver.AdmissionRef]*driver.Admission, len(refs))
	for i, ref := range refs {
		scanned[ref] = &locked[i]
	}
	// What a result shows beside the admission is read after the lock and needs none of its own.
	tickets, err := readTickets(ctx, tx, locked)
	if err != nil {
		return err
	}
	var admitted []driver.Admission
	var facts []driver.Fact
	for _, c := range calls {
		a := scanned[driver.AdmissionRef{CompanyID: c.company.ID, ID: c.params.AdmissionID}]
		outcome := OutcomeAlreadyValidated
		switch {
		case a.ID == uuid.Nil || a.EventID != c.params.EventID:
			c.err = errAdmissionNotFound
			continue
		// Validated before, also by an earlier call of this group.
		case a.ValidationID != uuid.Nil:
		case a.Voided:
			c.err = errAdmissionVoided
			continue
		default:
			outcome = OutcomeAdmitted
			a.ValidationID, a.Location = derivedID(a.ID, validationMask), c.params.Params.Location
			a.ValidatedAt = notBefore(at, tickets.orders[a.OrderRef()].ConfirmedAt)
			admitted = append(admitted, *a)
			facts = append(facts, s.fact(c.company, a.ValidatedAt, FactTicketValidated, a.ID))
		}
		// Both outcomes spend the key. A transport retry of an ALREADY_VALIDATED scan gets the same result again.
		c.result = tickets.validation(*a, outcome)
		c.record = driver.IdempotencyResult{Outcome: string(outcome), Subject: a.ID}
	}
	// A group of repeated scans changes no admission and writes no fact.
	if len(admitted) == 0 {
		return nil
	}
	// The fact commits with the validation: there is never one without the other.
	if err := tx.UpdateAdmissions(ctx, admitted); err != nil {
		return err
	}
	return tx.AppendFacts(ctx, facts)
}

// replayScans restores the results of spent keys from their admissions. It needs no stored result: an admission is
// validated once, and its validation never changes.
func replayScans(ctx context.Context, tx driver.ReadTx, calls []*scanCall) error {
	refs := make([]driver.AdmissionRef, len(calls))
	for i, c := range calls {
		refs[i] = driver.AdmissionRef{CompanyID: c.ref.CompanyID, ID: c.earlier.Subject}
	}
	found, err := tx.Admissions(ctx, refs)
	if err != nil {
		return err
	}
	tickets, err := readTickets(ctx, tx, found)
	if err != nil {
		return err
	}
	// The records are in the order of the references.
	for i, c := range calls {
		c.result = tickets.validation(found[i], ValidationOutcome(c.earlier.Outcome))
	}
	return nil
}

// tickets holds the orders of some admissions and the branding that each was sold under. Both maps are keyed by what an
// admission names, so that a group of scans reads each order and each branding once.
type tickets struct {
	orders    map[driver.OrderRef]driver.Order
	brandings map[driver.BrandingRef]driver.Branding
}

// readTickets reads the orders and the branding versions of the admissions. It ignores zero records. Neither the
// identity nor the branding version of an order changes, so the reads need no lock.
func readTickets(ctx context.Context, tx driver.ReadTx, admissions []driver.Admission) (tickets, error) {
	read := tickets{orders: map[driver.OrderRef]driver.Order{}}
	var refs []driver.OrderRef
	for _, a := range admissions {
		// An id that was never sold has the zero record, which names no order.
		if a.ID != uuid.Nil {
			refs = append(refs, a.OrderRef())
		}
	}
	if len(refs) == 0 {
		return read, nil
	}
	refs = distinct(refs)
	orders, err := tx.Orders(ctx, refs)
	if err != nil {
		return read, err
	}
	looks := make([]driver.BrandingRef, len(orders))
	for i, o := range orders {
		read.orders[refs[i]] = o
		looks[i] = driver.BrandingRef{CompanyID: o.CompanyID, Version: o.Branding}
	}
	read.brandings, err = findBrandings(ctx, tx, distinct(looks))
	return read, err
}

// validation returns what the contract shows of a validated admission (section 2.8).
//
// An outcome of ALREADY_VALIDATED has the same id, location and time as the first validation had.
func (t tickets) validation(a driver.Admission, outcome ValidationOutcome) TicketValidation {
	look := driver.BrandingRef{CompanyID: a.CompanyID, Version: t.orders[a.OrderRef()].Branding}
	return TicketValidation{
		ID: a.ValidationID, Object: "ticket_validation", Outcome: outcome, AdmissionID: a.ID, EventID: a.EventID,
		OrderID: a.OrderID, Location: optional(a.Location),
		Ticket:      Ticket{Title: a.Title, Tier: a.Tier, Branding: showBranding(t.brandings[look])},
		ValidatedAt: Time{Time: a.ValidatedAt},
	}
}
