package ticketing

import (
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Grant is a right on the data plane (section 5). A read grant never implies the manage grant.
type Grant = driver.Grant

// The seven grants that a public API key may carry.
const (
	GrantEventRead       = driver.GrantEventRead
	GrantEventManage     = driver.GrantEventManage
	GrantInventoryRead   = driver.GrantInventoryRead
	GrantInventoryManage = driver.GrantInventoryManage
	GrantCheckoutCreate  = driver.GrantCheckoutCreate
	GrantOrderRead       = driver.GrantOrderRead
	GrantTicketValidate  = driver.GrantTicketValidate
)

// AllGrants returns the seven grants, in the order of section 5.
func AllGrants() []Grant {
	return []Grant{
		GrantEventRead, GrantEventManage, GrantInventoryRead, GrantInventoryManage, GrantCheckoutCreate,
		GrantOrderRead, GrantTicketValidate,
	}
}

// Caller acts on the data plane, for one company and with its grants. [Service.Authenticate] returns one for an API
// key. [TrustedCaller] returns one for a host that authenticates by itself. The zero Caller may do nothing.
//
// A Caller is what was true when it was made. Every write checks the company, the key and the grant again in its
// transaction (section 5, rule 5).
type Caller struct {
	companyID uuid.UUID
	keyID     uuid.UUID
	grants    []Grant
}

// TrustedCaller returns a caller without an API key. It is for code that has decided by itself who may act for the
// company. Every write still checks that the company is active, and a checkout that it is verified.
func TrustedCaller(companyID uuid.UUID, grants ...Grant) Caller {
	return Caller{companyID: companyID, grants: slices.Clone(grants)}
}

// CompanyID returns the id of the company that the caller acts for.
func (c Caller) CompanyID() uuid.UUID { return c.companyID }

// KeyID returns the id of the caller's API key, or the zero id for a trusted caller.
func (c Caller) KeyID() uuid.UUID { return c.keyID }

// Require returns nil if the caller carries exactly this grant, and else PERMISSION_DENIED. For the zero Caller it
// returns AUTHENTICATION_FAILED. Every operation calls it first; an adapter may call it earlier, before it reads a
// body.
func (c Caller) Require(grant Grant) error {
	if c.companyID == uuid.Nil {
		return errAuthenticationFailed
	}
	if !slices.Contains(c.grants, grant) {
		return errPermissionDenied
	}
	return nil
}

// The refusals of authentication and authority. They are the same for all causes, so that a client cannot find out
// whether a key exists or why a company is not verified (sections 5 and 7).
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
