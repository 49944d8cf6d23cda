package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// ValidationOutcome is what the gate is told (section 2.8).
type ValidationOutcome string

// The outcomes of a validation.
const (
	OutcomeAdmitted         ValidationOutcome = "ADMITTED"
	OutcomeAlreadyValidated ValidationOutcome = "ALREADY_VALIDATED"
)

// TicketValidation is the answer at the gate. For ALREADY_VALIDATED its id, location and time are those of the
// original validation.
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

// Ticket is what the admission was sold as.
type Ticket struct {
	Title    string   `json:"title"`
	Tier     string   `json:"tier"`
	Branding Branding `json:"branding"`
}

// ValidateParams are the members of section 4.9.
type ValidateParams struct {
	Location string // at most 200 characters; blank means none
}

const maxLocation = 200

// opValidate scopes the idempotency keys of validations.
const opValidate = "admissions.validate"

var (
	errAdmissionNotFound = notFound("The admission")
	errAdmissionVoided   = conflict("The order of the admission is cancelled or refunded.")
)

// ValidateAdmission admits the holder of a ticket, once (section 4.9). It needs COMPANY:ticket:validate and an
// idempotency key: one for all transport retries of one gate action, a new one for a new scan. A later scan is
// ALREADY_VALIDATED with the original's id, location and time. The event's status does not matter.
//
// Errors: IDEMPOTENCY_KEY_REQUIRED, INVALID_REQUEST, CONFLICT for the key, NOT_FOUND (an admission of another event or
// not sold, too), CONFLICT where the order is cancelled or refunded.
func (s *Service) ValidateAdmission(
	ctx context.Context, caller Caller, eventID, admissionID uuid.UUID, key string, params ValidateParams,
) (TicketValidation, error) {
	return do(ctx, s, s.scans, caller, key, scan{EventID: eventID, AdmissionID: admissionID, Params: params},
		normaliseScan)
}

func newScans(s *Service, g Grouping) *operation[scan, TicketValidation] {
	op := &operation[scan, TicketValidation]{
		name: opValidate, grant: GrantTicketValidate, apply: s.scanAdmissions, replay: recallScans,
	}
	return op.grouped(s, g, 0, func(scan) int { return 1 })
}

// scan is the input of a validation.
type scan struct {
	EventID     uuid.UUID
	AdmissionID uuid.UUID
	Params      ValidateParams
}

func normaliseScan(v *violations, in scan) scan {
	in.Params.Location = text(v, "location", in.Params.Location, maxLocation, false)
	return in
}

type scanCall = call[scan, TicketValidation]

// scanAdmissions decides scans in the order they came. The lock of an admission makes its first scan the only one.
func (s *Service) scanAdmissions(ctx context.Context, tx Tx, at time.Time, calls []*scanCall) error {
	refs := make([]AdmissionRef, len(calls))
	for i, c := range calls {
		refs[i] = AdmissionRef{CompanyID: c.company.ID, ID: c.params.AdmissionID}
	}
	refs = distinct(refs)
	locked, err := tx.LockAdmissions(ctx, refs)
	if err != nil {
		return err
	}
	scanned := make(map[AdmissionRef]*AdmissionRecord, len(refs))
	for i, ref := range refs {
		scanned[ref] = &locked[i]
	}
	tickets, err := readTickets(ctx, tx, locked)
	if err != nil {
		return err
	}
	var admitted []AdmissionRecord
	var facts []FactRecord
	for _, c := range calls {
		a := scanned[AdmissionRef{CompanyID: c.company.ID, ID: c.params.AdmissionID}]
		outcome := OutcomeAlreadyValidated
		switch {
		case a.ID == uuid.Nil || a.EventID != c.params.EventID:
			c.err = errAdmissionNotFound
			continue
		case a.ValidationID != uuid.Nil:
		case a.Voided:
			c.err = errAdmissionVoided
			continue
		default:
			outcome = OutcomeAdmitted
			a.ValidationID, a.Location = s.newID(), c.params.Params.Location
			a.ValidatedAt = later(at, tickets.orders[a.orderRef()].ConfirmedAt)
			admitted = append(admitted, *a)
			facts = append(facts, s.fact(c.company, a.ValidatedAt, FactTicketValidated, a.ID))
		}
		c.result = tickets.validation(*a, outcome)
		c.record = ResultRecord{Outcome: string(outcome), Subject: a.ID}
	}
	if len(admitted) == 0 {
		return nil
	}
	if err := tx.UpdateAdmissions(ctx, admitted); err != nil {
		return err
	}
	return tx.AppendFacts(ctx, facts)
}

// recallScans renders spent keys from their admissions: an admission is validated once, and that never changes.
func recallScans(ctx context.Context, tx ReadTx, calls []*scanCall) error {
	refs := make([]AdmissionRef, len(calls))
	for i, c := range calls {
		refs[i] = AdmissionRef{CompanyID: c.ref.CompanyID, ID: c.earlier.Subject}
	}
	found, err := tx.Admissions(ctx, refs)
	if err != nil {
		return err
	}
	tickets, err := readTickets(ctx, tx, found)
	if err != nil {
		return err
	}
	for i, c := range calls {
		c.result = tickets.validation(found[i], ValidationOutcome(c.earlier.Outcome))
	}
	return nil
}

// tickets are the orders of admissions, and the branding that each was sold under.
type tickets struct {
	orders    map[OrderRef]OrderRecord
	brandings map[BrandingRef]BrandingRecord
}

func readTickets(ctx context.Context, tx ReadTx, admissions []AdmissionRecord) (tickets, error) {
	read := tickets{orders: map[OrderRef]OrderRecord{}}
	var refs []OrderRef
	for _, a := range admissions {
		if a.ID != uuid.Nil {
			refs = append(refs, a.orderRef())
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
	looks := make([]BrandingRef, len(orders))
	for i, o := range orders {
		read.orders[refs[i]] = o
		looks[i] = BrandingRef{CompanyID: o.CompanyID, Version: o.Branding}
	}
	read.brandings, err = findBrandings(ctx, tx, distinct(looks))
	return read, err
}

func (a AdmissionRecord) orderRef() OrderRef { return OrderRef{CompanyID: a.CompanyID, ID: a.OrderID} }

// validation is what the gate is told.
func (t tickets) validation(a AdmissionRecord, outcome ValidationOutcome) TicketValidation {
	look := BrandingRef{CompanyID: a.CompanyID, Version: t.orders[a.orderRef()].Branding}
	return TicketValidation{
		ID: a.ValidationID, Object: "ticket_validation", Outcome: outcome, AdmissionID: a.ID, EventID: a.EventID,
		OrderID: a.OrderID, Location: optional(a.Location),
		Ticket:      Ticket{Title: a.Title, Tier: a.Tier, Branding: t.brandings[look].branding()},
		ValidatedAt: Time{a.ValidatedAt},
	}
}
