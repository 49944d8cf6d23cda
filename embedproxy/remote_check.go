package embedproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// The title and version of the contract's document (section 9).
const (
	contractTitle   = "Service Public API"
	contractVersion = "1"
)

// checkTimeout bounds each request of [Remote].
const checkTimeout = 15 * time.Second

// checkContract checks that the deployment's openapi.json is the document of this contract. It does not send the key.
func (r *remote) checkContract(ctx context.Context) error {
	a, err := r.check(ctx, call{method: http.MethodGet, path: "/openapi.json", anonymous: true})
	if err != nil {
		return fmt.Errorf("embedproxy: read %s/openapi.json: %w", r.base, err)
	}
	var document struct {
		Info struct {
			Title   string `json:"title"`
			Version string `json:"version"`
		} `json:"info"`
	}
	if a.status != http.StatusOK || json.Unmarshal(a.body, &document) != nil ||
		document.Info.Title != contractTitle || document.Info.Version != contractVersion {
		return fmt.Errorf("embedproxy: %s/openapi.json is not %q in version %s: is the base address right?", r.base,
			contractTitle, contractVersion)
	}
	return nil
}

// Grants returns the three grants of an embed key (section 4.12). A key for [Remote], or the caller of a handler for
// [Local], must have these and no others.
func Grants() []ticketing.Grant {
	return []ticketing.Grant{ticketing.GrantEventRead, ticketing.GrantInventoryRead, ticketing.GrantCheckoutCreate}
}

// grantCheck is a request that the API refuses with 403 if the grant is missing, and with 400 otherwise.
type grantCheck struct {
	grant        ticketing.Grant
	method, path string
	body         string
}

// grantChecks returns one request for each grant. A write lacks its idempotency key, which the API checks right after
// the grant. A read has an invalid query, and a quote an empty body.
func grantChecks() []grantCheck {
	const get, post, empty = http.MethodGet, http.MethodPost, "{}"
	event, admission := uuid.NewString(), uuid.NewString()
	return []grantCheck{
		{ticketing.GrantEventRead, get, "/events?limit=0", ""},
		{ticketing.GrantInventoryRead, post, "/pricing/quote", empty},
		{ticketing.GrantCheckoutCreate, post, "/checkouts", empty},
		{ticketing.GrantEventManage, post, "/events", empty},
		{ticketing.GrantInventoryManage, post, "/events/" + event + "/inventory", empty},
		{ticketing.GrantOrderRead, get, "/orders?limit=0", ""},
		{ticketing.GrantTicketValidate, post, "/events/" + event + "/admissions/" + admission + "/validate", empty},
	}
}

// checkGrants checks that the key holds the embed grants and no other. Its error names everything that is wrong.
func (r *remote) checkGrants(ctx context.Context) error {
	var missing, excess []string
	for _, c := range grantChecks() {
		held, err := r.holds(ctx, c)
		if err != nil {
			return err
		}
		switch wanted := slices.Contains(Grants(), c.grant); {
		case wanted && !held:
			missing = append(missing, string(c.grant))
		case held && !wanted:
			excess = append(excess, string(c.grant))
		}
	}
	var problems []string
	if len(missing) > 0 {
		problems = append(problems, "it lacks "+strings.Join(missing, ", "))
	}
	if len(excess) > 0 {
		problems = append(problems, "it must not hold "+strings.Join(excess, ", "))
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New("embedproxy: the API key is not an embed key: " + strings.Join(problems, "; "))
}

// holds reports whether the key holds the grant of a check.
func (r *remote) holds(ctx context.Context, c grantCheck) (bool, error) {
	question := call{method: c.method, path: c.path}
	if c.body != "" {
		question.body = []byte(c.body)
	}
	a, err := r.check(ctx, question)
	if err == nil {
		err = a.succeed(http.StatusOK)
	}
	refused, ok := errors.AsType[*failure](err)
	switch {
	case err == nil:
		return false, fmt.Errorf("embedproxy: the API accepted an invalid request: %s %s", c.method, c.path)
	case !ok:
		return false, fmt.Errorf("embedproxy: check the API key with %s %s: %w", c.method, c.path, err)
	case refused.status == http.StatusUnauthorized:
		return false, errors.New("embedproxy: the API refuses the API key: it is malformed or revoked, " +
			"or its company is inactive")
	case refused.status == http.StatusForbidden:
		return false, nil
	case refused.status == http.StatusBadRequest:
		return true, nil
	case refused.status == http.StatusTooManyRequests:
		return false, fmt.Errorf("embedproxy: the API limits the rate of requests: try again in %s seconds",
			refused.retryAfter)
	}
	return false, fmt.Errorf("embedproxy: check the API key with %s %s: status %d, code %s", c.method, c.path,
		refused.status, refused.code)
}

// check makes a call of [Remote].
func (r *remote) check(ctx context.Context, c call) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	c.requestID = uuid.NewString()
	return r.exchange(ctx, c)
}
