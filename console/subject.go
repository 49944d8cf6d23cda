package console

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// subject is what an act was done to, as people name it.
type subject struct {
	Kind string    // such as "Webhook"
	Name string    // empty: it has none, or was removed
	ID   uuid.UUID // zero: it has none
	Path string    // of its page; empty: it has none, or the person may not see it
}

// ShortID returns the beginning of the id, and "" without one.
func (s subject) ShortID() string {
	if s.ID == uuid.Nil {
		return ""
	}
	return formatShort(s.ID)
}

// newSubject returns the subject of an act, without its name.
func newSubject(text string) subject {
	if kind, id, ok := strings.Cut(text, " "); ok {
		if parsed, err := ticketing.ParseID(id); err == nil {
			return subject{Kind: formatWords(kind), ID: parsed}
		}
	}
	return subject{Kind: formatWords(text)}
}

// nameSubjects adds the subjects to the acts of a page of the log. For a company it reads the names of keys and
// endpoints once each, and only if an act is about one.
func (c *call) nameSubjects(ctx context.Context, acts []shownAct) error {
	names := map[uuid.UUID]string{c.company.ID: c.company.Name}
	is := func(kind string) bool {
		return c.companyID != uuid.Nil && slices.ContainsFunc(acts, func(act shownAct) bool {
			return strings.HasPrefix(act.Subject, kind+" ")
		})
	}
	if is("key") && holds(c.actor, ticketing.PermissionAPIKeyRead) {
		keys, err := c.operator.ListAPIKeys(ctx, c.companyID)
		if err != nil {
			return err
		}
		for _, key := range keys {
			names[key.ID] = key.Name
		}
	}
	if is("webhook") && holds(c.actor, ticketing.PermissionWebhookRead) {
		endpoints, err := c.operator.ListWebhookEndpoints(ctx, c.companyID)
		if err != nil {
			return err
		}
		for _, endpoint := range endpoints {
			names[endpoint.ID] = endpoint.URL
		}
	}
	for i := range acts {
		about := newSubject(acts[i].Subject)
		if about.Name = names[about.ID]; about.ID == uuid.Nil {
			about.Name = ""
		}
		about.Path = c.pathOf(about)
		acts[i].About = about
	}
	return nil
}

// pathOf returns the path of the page of a subject.
func (c *call) pathOf(about subject) string {
	if c.companyID == uuid.Nil {
		return ""
	}
	pattern, variable := "", ""
	switch about.Kind {
	case "Webhook":
		if about.Name != "" {
			pattern, variable = endpointPath, "endpointId"
		}
	case "Delivery":
		pattern, variable = deliveryPath, "deliveryId"
	case "Event":
		pattern, variable = eventPath, "eventId"
	case "Order":
		pattern, variable = orderPath, "orderId"
	case "Key":
		pattern = "/business/{companyId}/api-keys"
	case "Settlement":
		pattern = settlementsPath
	}
	if p := c.console.pages[pattern]; p == nil || c.permit(p) != nil {
		return ""
	}
	return c.fill(pattern, []any{variable, about.ID})
}
