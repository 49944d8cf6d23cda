package console

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const apiKeysPath = "/business/{companyId}/api-keys"

// apiKeysPage is where a company issues, rotates and revokes its keys (section 5.1).
func apiKeysPage() page {
	return page{
		group: groupIntegrations, bar: true,
		path: apiKeysPath, scope: scopeCompany, title: "API keys", nav: "API keys", icon: "key",
		permissions: []ticketing.Permission{ticketing.PermissionAPIKeyRead}, template: "api-keys.html",
		load: loadAPIKeys,
	}
}

// apiKeyActs returns the acts of the page.
func apiKeyActs() []act {
	const path = apiKeysPath
	return []act{
		newAct(act{
			name: "api_key.issue", scope: scopeCompany, path: path + "/issue", page: path, recent: true,
			permission: ticketing.PermissionAPIKeyManage, done: "The key was issued.",
		}, readAPIKey, func(ctx context.Context, c *call, params apiKeyParams) (outcome, error) {
			issued, err := c.operator.IssueAPIKey(ctx, c.companyID, params.name, params.grants)
			return outcome{data: issued, show: "issued-key.html"}, err
		}),
		newAct(act{
			name: "api_key.rotate", scope: scopeCompany, path: path + "/{keyId}/rotate", page: path, recent: true,
			permission: ticketing.PermissionAPIKeyManage, done: "The successor was created.",
		}, noMembers, func(ctx context.Context, c *call, _ none) (outcome, error) {
			if err := c.checkAPIKey(ctx); err != nil {
				return outcome{}, err
			}
			issued, err := c.operator.RotateAPIKey(ctx, c.pathID("keyId"))
			return outcome{data: issued, show: "issued-key.html"}, err
		}),
		newAct(act{
			name: "api_key.revoke", scope: scopeCompany, path: path + "/{keyId}/revoke", page: path,
			permission: ticketing.PermissionAPIKeyManage, done: "The key is revoked. It no longer works.",
		}, noMembers, func(ctx context.Context, c *call, _ none) (outcome, error) {
			if err := c.checkAPIKey(ctx); err != nil {
				return outcome{}, err
			}
			revoked, err := c.operator.RevokeAPIKey(ctx, c.pathID("keyId"))
			return outcome{data: revoked}, err
		}),
	}
}

// apiKeyParams are the members of a new key.
type apiKeyParams struct {
	name   string
	grants []ticketing.Grant
}

func readAPIKey(m *members) apiKeyParams {
	return apiKeyParams{name: m.text("name"), grants: enums[ticketing.Grant](m, "grants")}
}

// checkAPIKey returns NOT_FOUND for a key of another company than that of the path. Otherwise staff could reach it.
func (c *call) checkAPIKey(ctx context.Context) error {
	key, err := c.operator.GetAPIKey(ctx, c.pathID("keyId"))
	if err == nil && key.CompanyID != c.companyID {
		return &ticketing.Error{Code: ticketing.CodeNotFound, Message: "The API key was not found."}
	}
	return err
}

// apiKeys are a company's keys and its rotations that are under way.
type apiKeys struct {
	Keys      []ticketing.APIKey `json:"keys"` // newest first
	Rotations []rotation         `json:"rotations"`
	// Verified reports whether the verification permits to issue and rotate keys now.
	Verified bool `json:"verified"`
}

// Active returns the active keys.
func (k apiKeys) Active() []ticketing.APIKey { return k.withStatus(ticketing.APIKeyActive) }

// Revoked returns the revoked keys.
func (k apiKeys) Revoked() []ticketing.APIKey { return k.withStatus(ticketing.APIKeyRevoked) }

func (k apiKeys) withStatus(status ticketing.APIKeyStatus) []ticketing.APIKey {
	var keys []ticketing.APIKey
	for _, key := range k.Keys {
		if key.Status == status {
			keys = append(keys, key)
		}
	}
	return keys
}

// Full reports whether the company has as many active keys as it may have.
func (k apiKeys) Full() bool {
	const most = 2
	return len(k.Active()) >= most
}

// Rotatable returns the key of the first step of a rotation: the active one, if there is only one.
func (k apiKeys) Rotatable() *ticketing.APIKey {
	if active := k.Active(); len(active) == 1 {
		return &active[0]
	}
	return nil
}

// Name returns the name of a key that another one was rotated from.
func (k apiKeys) Name(id *uuid.UUID) string {
	for _, key := range k.Keys {
		if id != nil && key.ID == *id {
			return key.Name
		}
	}
	return ""
}

// Successor returns the key that was rotated from a key, and nil if there is none.
func (k apiKeys) Successor(id uuid.UUID) *ticketing.APIKey {
	for _, key := range k.Keys {
		if key.PredecessorID != nil && *key.PredecessorID == id {
			return &key
		}
	}
	return nil
}

// Grants returns the seven grants with what each allows.
func (k apiKeys) Grants() []grantChoice {
	words := map[ticketing.Grant]string{
		ticketing.GrantEventRead:       "Read events",
		ticketing.GrantEventManage:     "Create, change and cancel events",
		ticketing.GrantInventoryRead:   "Read tiers and prices",
		ticketing.GrantInventoryManage: "Create and change tiers",
		ticketing.GrantCheckoutCreate:  "Sell tickets",
		ticketing.GrantOrderRead:       "Read orders",
		ticketing.GrantTicketValidate:  "Validate tickets at the gate",
	}
	var choices []grantChoice
	for _, grant := range ticketing.AllGrants() {
		choices = append(choices, grantChoice{grant, words[grant]})
	}
	return choices
}

// grantChoice is a grant with what it allows.
type grantChoice struct {
	Grant ticketing.Grant
	Words string
}

// Chosen reports whether a box of several with one name is checked, as it was posted.
func (f *form) Chosen(name string, value any) bool {
	return f.Refused() && slices.Contains(f.refused.values[name], textOf(value))
}

// Violations returns the first violation of a field or of one of its items.
func (f *form) Violations(name string) string {
	if !f.Refused() {
		return ""
	}
	if text := f.refused.violations[name]; text != "" {
		return text
	}
	return f.refused.violations[name+"[0]"]
}

func loadAPIKeys(ctx context.Context, c *call) (view, error) {
	keys, err := c.operator.ListAPIKeys(ctx, c.companyID)
	if err != nil {
		return view{}, err
	}
	shown := apiKeys{
		Keys: keys, Rotations: rotationsOf(keys, c.now),
		Verified: !holds(c.actor, ticketing.PermissionKYBRead) || isVerified(c.company.Verification, c.now),
	}
	return view{data: shown}, nil
}
