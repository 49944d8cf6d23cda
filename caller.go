package ticketing

import (
	"slices"

	"github.com/google/uuid"
)

// Grant is one right on the data plane (section 5). A read grant never implies the manage grant.
type Grant string

// The seven grants that a public API key may carry.
const (
	GrantEventRead       Grant = "COMPANY:event:read"
	GrantEventManage     Grant = "COMPANY:event:manage"
	GrantInventoryRead   Grant = "COMPANY:inventory:read"
	GrantInventoryManage Grant = "COMPANY:inventory:manage"
	GrantCheckoutCreate  Grant = "COMPANY:checkout:create"
	GrantOrderRead       Grant = "COMPANY:order:read"
	GrantTicketValidate  Grant = "COMPANY:ticket:validate"
)

// AllGrants are the seven grants, in the order of section 5.
func AllGrants() []Grant {
	return []Grant{
		GrantEventRead, GrantEventManage, GrantInventoryRead, GrantInventoryManage, GrantCheckoutCreate,
		GrantOrderRead, GrantTicketValidate,
	}
}

// Caller is who acts on the data plane: for one company, with its grants. [Service.Authenticate] makes one from an
// API key; [TrustedCaller] makes one for a host that trusts itself. The zero Caller may do nothing.
type Caller struct {
	companyID uuid.UUID
	keyID     uuid.UUID
	grants    []Grant
}

// TrustedCaller is a caller without an API key, for code that has decided by itself who may act for the company.
// Every write still checks that the company is active, and a checkout that it is verified.
func TrustedCaller(companyID uuid.UUID, grants ...Grant) Caller {
	return Caller{companyID: companyID, grants: slices.Clone(grants)}
}

// CompanyID is the company the caller acts for.
func (c Caller) CompanyID() uuid.UUID { return c.companyID }

// KeyID is the API key the caller came with, zero for a trusted caller.
func (c Caller) KeyID() uuid.UUID { return c.keyID }

// Require is nil when the caller carries exactly this grant, else PERMISSION_DENIED. Every operation asks it first;
// an adapter may ask it earlier, before it reads a body.
func (c Caller) Require(grant Grant) error {
	if c.companyID == uuid.Nil {
		return errAuthenticationFailed
	}
	if !slices.Contains(c.grants, grant) {
		return errPermissionDenied
	}
	return nil
}

var (
	errAuthenticationFailed = &Error{
		Code: CodeAuthenticationFailed, Message: "The API key is missing, malformed, revoked or not usable.",
	}
	errPermissionDenied = &Error{
		Code: CodePermissionDenied, Message: "The API key does not have the permission for this operation.",
	}
	errVerificationRequired = &Error{
		Code: CodeVerificationRequired, Message: "Current company verification is required",
	}
)
