package ticketing

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// FoundKind is the kind of a result of [Operator.Find].
type FoundKind string

// The kinds of what is found.
const (
	FoundCompany         FoundKind = "COMPANY"
	FoundEvent           FoundKind = "EVENT"
	FoundOrder           FoundKind = "ORDER"
	FoundAdmission       FoundKind = "ADMISSION"
	FoundBuyer           FoundKind = "BUYER"
	FoundFunding         FoundKind = "FUNDING"
	FoundMovement        FoundKind = "MOVEMENT" // of a wallet
	FoundSettlement      FoundKind = "SETTLEMENT"
	FoundAPIKey          FoundKind = "API_KEY"
	FoundWebhookEndpoint FoundKind = "WEBHOOK_ENDPOINT"
	FoundDelivery        FoundKind = "DELIVERY"
	FoundRate            FoundKind = "RATE" // an entry of a commission schedule
	FoundMember          FoundKind = "MEMBER"
	FoundStaff           FoundKind = "STAFF"
	FoundAuditEntry      FoundKind = "AUDIT_ENTRY"
)

// kindOrder returns the place of a kind among what is found.
func kindOrder(kind FoundKind) int {
	return slices.Index([]FoundKind{
		FoundCompany, FoundEvent, FoundOrder, FoundAdmission, FoundBuyer, FoundFunding, FoundMovement, FoundSettlement,
		FoundAPIKey, FoundWebhookEndpoint, FoundDelivery, FoundRate, FoundMember, FoundStaff, FoundAuditEntry,
	}, kind)
}

// Found is one result of [Operator.Find].
type Found struct {
	Kind        FoundKind  `json:"kind"`
	CompanyID   *uuid.UUID `json:"companyId"`   // nil: it belongs to no company, as STAFF
	CompanyName *string    `json:"companyName"` // likewise
	// ID is its id, and of a person that of the user. A BUYER, a FUNDING and a MOVEMENT have none.
	ID *uuid.UUID `json:"id"`
	// Title is the name of a company, a key or a person, the title of an event or a ticket, the event's title of an ORDER,
	// the URL of an endpoint, the type of a delivery, the value and unit of a RATE, the reference of a FUNDING, the wallet
	// and the sequence of a MOVEMENT such as "FLOAT 17", or the action of an AUDIT_ENTRY. It is empty for a SETTLEMENT,
	// and for a BUYER without a name.
	Title string  `json:"title"`
	Email *string `json:"email"` // of a person, and of the buyer of an ORDER; nil: it has none
	// Status is the status of the record, the role of a person, or the kind of a MOVEMENT. It is VALID, ADMITTED or VOID
	// for an ADMISSION, and nil for what has no status.
	Status    *string    `json:"status"`
	OrderID   *uuid.UUID `json:"orderId"`   // of an ADMISSION; else nil
	Reference *string    `json:"reference"` // of a MOVEMENT, as in [LedgerEntry]; else nil
	// Amount is the gross of an ORDER, the price of an ADMISSION, or what a FUNDING, a MOVEMENT or a SETTLEMENT moved;
	// else nil.
	Amount *money.Amount `json:"amount"`
	At     Time          `json:"at"` // when it was made: an ADMISSION when it was sold
}

// The statuses of an admission that was found.
const (
	admissionValid    = "VALID"
	admissionAdmitted = "ADMITTED" // its holder was let in
	admissionVoid     = "VOID"     // its order was refunded or cancelled
)

const (
	// maxFindText is the longest text that can be searched for, in characters: that of an email.
	maxFindText = maxBuyerEmail
	// maxFound is how many of each kind are found.
	maxFound = 10
)

// Find returns what a text names, at a company or, with the zero id, at all companies and on the platform. White space
// around the text is ignored. It may be
//
//   - an id of a company, an event, an order, an admission, an API key, a webhook endpoint, a delivery, a settlement or
//     a user who is a member or staff, and of an entry of the audit log;
//   - the id of a line of an order, or of a validation: the admission is found, unless the record is from before an
//     upgrade, when these ids were random;
//   - at one company, the id of a commission rate, and that of an event that webhooks carry: its deliveries are found,
//     newest first;
//   - at one company, a wallet and the sequence of a movement, such as "FLOAT 17";
//   - the code that a ticket shows, see [ParseAdmissionCode], with the event of the admission;
//   - an email, in any case, of a buyer, a member or staff: their orders, newest first, are found, too;
//   - the reference of a funding, compared exactly;
//   - the beginning of an event's title, or of a company's name at all companies. The first 60 characters are compared,
//     where A to Z equal a to z;
//   - the beginning of a buyer's email, at one company.
//
// It finds at most ten of each kind, in the order of the constants above, and nothing is no error. The order of a sale
// is found by its buyer's email in all companies as soon as the sale's fact was dispatched. At one company it is found
// at once, unless ten thousand newer orders wait for the dispatch. Orders from before an upgrade are found by an email
// when [Service.Run] has indexed them; [Operator.ListOrders] finds them before.
//
// A text that is empty, longer than 320 characters, or has control characters or invalid UTF-8 is INVALID_REQUEST.
//
// It needs tenant_order:read or COMPANY:order:read at a company, and tenant:read for all. What the actor may not see is
// not found, as if it did not exist: each kind needs the permission of the methods that read it. Events, which the data
// plane reads, need that of orders, which show their titles.
func (o Operator) Find(ctx context.Context, companyID uuid.UUID, text string) ([]Found, error) {
	permission, run := PermissionTenantRead, o.platformSnapshot
	if companyID != uuid.Nil {
		permission, run = o.readsOrders(), o.snapshot
	}
	if err := o.allow(permission, companyID); err != nil {
		return nil, err
	}
	var v violations
	text = requiredText(&v, "text", text, 1, maxFindText)
	if err := v.err(); err != nil {
		return nil, err
	}
	var found []Found
	err := run(ctx, permission, companyID, func(ctx context.Context, tx driver.ReadTx) error {
		f := finder{Operator: o, tx: tx, companyID: companyID, found: []Found{}}
		if err := f.find(ctx, text); err != nil {
			return err
		}
		slices.SortStableFunc(f.found, func(a, b Found) int { return cmp.Compare(kindOrder(a.Kind), kindOrder(b.Kind)) })
		found = f.found
		return f.nameCompanies(ctx)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// platformSnapshot is snapshot for what belongs to no company.
func (o Operator) platformSnapshot(ctx context.Context, permission Permission, _ uuid.UUID, read operatorRead) error {
	if err := o.allow(permission, uuid.Nil); err != nil {
		return err
	}
	return o.s.store.Snapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		return read(ctx, tx)
	})
}

// finder finds what a text names, in one transaction.
type finder struct {
	Operator

	tx        driver.ReadTx
	companyID uuid.UUID // zero: all companies
	found     []Found
}

// find finds what the text names by its form: an id, a code, an email or any other text.
func (f *finder) find(ctx context.Context, text string) error {
	if id, err := ParseID(text); err == nil {
		if err := f.byID(ctx, id); err != nil {
			return err
		}
		return f.fundings(ctx, text) // A provider may use any text as a reference.
	}
	if eventID, id, err := ParseAdmissionCode(text); err == nil {
		if err := f.byCode(ctx, eventID, id); err != nil {
			return err
		}
		return f.fundings(ctx, text)
	}
	if isEmail(text) {
		if err := f.byEmail(ctx, strings.ToLower(text)); err != nil {
			return err
		}
		return f.fundings(ctx, text)
	}
	for _, search := range []func(context.Context, string) error{
		f.companies, f.events, f.buyers, f.fundings, f.movement,
	} {
		if err := search(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// sees reports whether the actor may see a kind. The company itself needs COMPANY:kyb:read, as for
// [Operator.GetCompany].
func (f *finder) sees(kind FoundKind) bool {
	permission := PermissionTenantRead
	switch kind {
	case FoundCompany:
		if f.companyID != uuid.Nil {
			permission = PermissionKYBRead
		}
	case FoundEvent, FoundOrder, FoundAdmission:
		permission = f.readsOrders()
	case FoundBuyer:
		permission = PermissionBuyerRead
	case FoundFunding, FoundMovement, FoundRate:
		permission = PermissionWalletRead
	case FoundSettlement:
		permission = PermissionSettlementRead
	case FoundAPIKey:
		permission = PermissionAPIKeyRead
	case FoundWebhookEndpoint, FoundDelivery:
		permission = PermissionWebhookRead
	case FoundMember:
		permission = PermissionMemberRead
	case FoundStaff:
		if f.companyID != uuid.Nil {
			return false
		}
	case FoundAuditEntry:
		permission = f.readsAudit(f.companyID)
	}
	return f.holds(permission) == nil
}

// nameCompanies sets the name of the company of each that has one.
func (f *finder) nameCompanies(ctx context.Context) error {
	var ids []uuid.UUID
	for _, one := range f.found {
		if one.CompanyID != nil {
			ids = append(ids, *one.CompanyID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ids = distinct(ids)
	names, err := companyNames(ctx, f.tx, ids)
	if err != nil {
		return err
	}
	for i, one := range f.found {
		if one.CompanyID != nil {
			f.found[i].CompanyName = &names[slices.Index(ids, *one.CompanyID)]
		}
	}
	return nil
}
