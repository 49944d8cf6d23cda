package console

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const (
	findPath         = "/business/{companyId}/find"
	platformFindPath = "/platform/find"
)

// findPages returns the pages that search one company, or all. The text may be an email: it is in the query and never
// part of a path, which the log of a proxy would keep.
func findPages(in scope) []page {
	one := page{
		path: findPath, scope: in, title: "Find", template: "find.html", query: []string{"q"}, load: loadFind,
		permissions: []ticketing.Permission{ticketing.PermissionCompanyOrderRead},
	}
	if in == scopePlatform {
		one.path, one.permissions = platformFindPath, []ticketing.Permission{ticketing.PermissionTenantRead}
	}
	return []page{one}
}

// FindPath returns the address of the search for the header of every page, and "" where the person may not search. On
// the pages about the person staff search the platform, and a member chooses a company first unless there is only one.
func (f *frame) FindPath() string {
	path := findPath
	switch {
	case f.OnPlatform:
		path = platformFindPath
	case f.companyID != uuid.Nil:
	case f.Self && f.IsStaff:
		return platformFindPath
	default:
		if list, ok := f.Data.(companies); ok && len(list.Companies) == 1 {
			return f.Path(findPath, "companyId", list.Companies[0].CompanyID)
		}
		return ""
	}
	if f.permit(f.console.pages[path]) != nil {
		return ""
	}
	return f.expand(path)
}

// foundOne is something that was found, with its page.
type foundOne struct {
	ticketing.Found

	Path string `json:"-"` // of its page; empty: the person may not see it
}

// Erased reports whether the buyer was erased, so that the address is not a real one.
func (o foundOne) Erased() bool { return o.Email != nil && isErased(*o.Email) }

// Name returns its name in the list.
func (o foundOne) Name() string {
	switch {
	case o.Kind == ticketing.FoundAuditEntry:
		return formatAction(o.Title)
	case o.Kind == ticketing.FoundMovement:
		return formatWallets(strings.Replace(o.Title, " ", " no. ", 1))
	case o.Title != "":
		return o.Title
	case o.Email != nil && !o.Erased():
		return *o.Email
	case o.Kind == ticketing.FoundBuyer:
		return "An erased buyer"
	}
	return formatWords(o.Kind)
}

// State returns the status, and "" without one.
func (o foundOne) State() string {
	if o.Status == nil {
		return ""
	}
	return *o.Status
}

// Others reports whether the email is not the name already.
func (o foundOne) Others() bool { return o.Email != nil && o.Name() != *o.Email }

// foundKind is the things of one kind that were found.
type foundKind struct {
	Name  string // such as "Orders"
	ID    string
	Items []foundOne
	More  bool // there may be more of them
}

// HasState reports whether things of this kind have a status.
func (k foundKind) HasState() bool { return k.Items[0].Status != nil }

// HasAmount reports whether things of this kind have an amount.
func (k foundKind) HasAmount() bool { return k.Items[0].Amount != nil }

// HasID reports whether things of this kind have an id.
func (k foundKind) HasID() bool { return k.Items[0].ID != nil }

// findList is what a text finds.
type findList struct {
	itemList[foundOne]

	Search field
	Kinds  []foundKind
}

// foundAtMost is how many of each kind are found.
const foundAtMost = 10

func loadFind(ctx context.Context, c *call) (view, error) {
	text := strings.TrimSpace(c.query("q"))
	list := findList{Search: field{Name: "q", Label: "Find", ID: "find", Value: text, Autocomplete: "off", Max: "320"}}
	if text == "" {
		return view{data: list, paged: true}, nil
	}
	found, err := c.operator.Find(ctx, c.companyID, text)
	refusal, refused := errors.AsType[*ticketing.Error](err)
	if refused && refusal.Code == ticketing.CodeInvalidRequest && !c.exchange.api {
		list.Search.Violation = "This text cannot be searched for: it is longer than 320 characters, " +
			"or has control characters."
		return view{data: list}, nil
	}
	if err != nil {
		return view{}, err
	}
	for _, one := range found {
		shown := foundOne{Found: one, Path: c.pathOfFound(one)}
		list.Items = append(list.Items, shown)
		if n := len(list.Kinds); n == 0 || list.Kinds[n-1].ID != string(one.Kind) {
			list.Kinds = append(list.Kinds, foundKind{Name: foundName(one.Kind), ID: string(one.Kind)})
		}
		last := &list.Kinds[len(list.Kinds)-1]
		last.Items = append(last.Items, shown)
		last.More = len(last.Items) == foundAtMost
	}
	shown := view{data: list, paged: true}
	if len(list.Items) == 1 && namesOne(text) && hasPage(list.Items[0].Kind) {
		shown.location = list.Items[0].Path
	}
	return shown, nil
}

// namesOne reports whether a text is an id or a code. It then names one thing, and a browser is redirected to it at
// once.
func namesOne(text string) bool {
	_, notAnID := ticketing.ParseID(text)
	_, _, notACode := ticketing.ParseAdmissionCode(text)
	return notAnID == nil || notACode == nil
}

// hasPage reports whether a thing has a page of its own. Others are in a list, perhaps not on its first page.
func hasPage(kind ticketing.FoundKind) bool {
	return !slices.Contains([]ticketing.FoundKind{
		ticketing.FoundSettlement, ticketing.FoundAPIKey, ticketing.FoundRate, ticketing.FoundMember, ticketing.FoundStaff,
		ticketing.FoundAuditEntry,
	}, kind)
}

// foundName returns the heading of a kind.
func foundName(kind ticketing.FoundKind) string {
	switch kind {
	case ticketing.FoundCompany:
		return "Companies"
	case ticketing.FoundEvent:
		return "Events"
	case ticketing.FoundOrder:
		return "Orders"
	case ticketing.FoundAdmission:
		return "Tickets"
	case ticketing.FoundBuyer:
		return "Buyers"
	case ticketing.FoundFunding:
		return "Credits of float"
	case ticketing.FoundMovement:
		return "Movements"
	case ticketing.FoundSettlement:
		return "Settlements"
	case ticketing.FoundAPIKey:
		return "API keys"
	case ticketing.FoundWebhookEndpoint:
		return "Webhooks"
	case ticketing.FoundDelivery:
		return "Deliveries"
	case ticketing.FoundRate:
		return "Commission rates"
	case ticketing.FoundMember:
		return "Members"
	case ticketing.FoundStaff:
		return "Staff"
	case ticketing.FoundAuditEntry:
		return "Audit log"
	}
	return string(kind)
}

// pathOfFound returns the address of the page of what was found, and "" where the person may not see that page.
func (c *call) pathOfFound(one ticketing.Found) string {
	pattern, variable, id, query := "", "", one.ID, url.Values{}
	switch one.Kind {
	case ticketing.FoundCompany:
		if pattern = "/business/{companyId}"; c.companyID == uuid.Nil {
			pattern = companyPath
		}
	case ticketing.FoundEvent:
		pattern, variable = eventPath, "eventId"
	case ticketing.FoundOrder:
		pattern, variable = orderPath, "orderId"
	case ticketing.FoundAdmission:
		pattern, variable, id = orderPath, "orderId", one.OrderID
	case ticketing.FoundBuyer:
		pattern = buyersPath
		query.Set("email", *one.Email)
	case ticketing.FoundFunding:
		pattern = ledgerPath
		query.Set("reference", one.Title)
	case ticketing.FoundMovement:
		wallet, _, _ := strings.Cut(one.Title, " ")
		pattern, query = ledgerPath, url.Values{"wallet": {wallet}, "reference": {*one.Reference}}
	case ticketing.FoundSettlement:
		pattern = settlementsPath
	case ticketing.FoundAPIKey:
		pattern = "/business/{companyId}/api-keys"
	case ticketing.FoundWebhookEndpoint:
		pattern, variable = endpointPath, "endpointId"
	case ticketing.FoundDelivery:
		pattern, variable = deliveryPath, "deliveryId"
	case ticketing.FoundRate:
		pattern = commissionPath
	case ticketing.FoundMember:
		pattern = membersPath
	case ticketing.FoundStaff:
		pattern = staffPath
	case ticketing.FoundAuditEntry:
		if pattern = auditPath; c.companyID == uuid.Nil {
			pattern = platformAuditPath
		}
		query = url.Values{ // The millisecond of the entry.
			"action": {one.Title}, "since": {one.At.UTC().Format(timeFormat)},
			"until": {one.At.Add(time.Millisecond).UTC().Format(timeFormat)},
		}
	}
	p := c.console.pages[pattern]
	if p == nil || !c.mayReach(p) {
		return ""
	}
	pairs := []any{}
	if one.CompanyID != nil {
		pairs = append(pairs, "companyId", *one.CompanyID)
	}
	if variable != "" {
		pairs = append(pairs, variable, *id)
	}
	path := c.fill(pattern, pairs)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// mayReach reports whether the person may see a page of a result. Staff have the grants that read at every company. On
// the platform nobody has grants, so grants do not count there.
func (c *call) mayReach(p *page) bool {
	if c.companyID != uuid.Nil {
		return c.permit(p) == nil
	}
	for _, permission := range p.permissions {
		if !holds(c.actor, permission) {
			return false
		}
	}
	return true
}
