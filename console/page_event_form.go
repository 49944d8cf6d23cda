package console

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
)

// eventForm is what the pages of a new and of a changed event show.
type eventForm struct {
	Event *ticketing.Event `json:"event"` // nil: a new one
	// Categories are those that the event may have, its own among them.
	Categories []ticketing.Category `json:"categories"`
}

func loadNewEvent(ctx context.Context, c *call) (view, error) {
	categories, err := c.activeCategories(ctx)
	return view{data: eventForm{Categories: categories}}, err
}

func loadEventEdit(ctx context.Context, c *call) (view, error) {
	event, err := c.console.svc.GetEvent(ctx, c.caller, c.pathID("eventId"))
	if err != nil {
		return view{}, err
	}
	categories, err := c.activeCategories(ctx)
	if own := event.Category; own != nil && !hasCategory(categories, own.ID) {
		// It was deactivated, and the event may keep it.
		categories = append(categories, ticketing.Category{ID: own.ID, Name: own.Name, Slug: own.Slug})
	}
	return view{title: "Edit " + event.Title, data: eventForm{Event: &event, Categories: categories}}, err
}

// activeCategories returns the categories that an event may get. Staff create them, and the form shows their names.
func (c *call) activeCategories(ctx context.Context) ([]ticketing.Category, error) {
	all, err := c.console.staff().ListCategories(ctx)
	active := []ticketing.Category{}
	for _, category := range all {
		if category.Status == ticketing.CategoryActive {
			active = append(active, category)
		}
	}
	return active, err
}

func hasCategory(all []ticketing.Category, id uuid.UUID) bool {
	for _, category := range all {
		if category.ID == id {
			return true
		}
	}
	return false
}

// Open reports whether the event can change; a new one can.
func (f eventForm) Open() bool { return f.Event == nil || isOpenEvent(*f.Event) }

// TicketCategories returns the ticket categories that the event has; a new one has the presets.
func (f eventForm) TicketCategories() []string {
	if f.Event == nil {
		return ticketing.PresetCategories()
	}
	return f.Event.TicketCategories
}

// Value returns what a field has before somebody types.
func (f eventForm) Value(name string) string {
	const lagos = "Africa/Lagos"
	if f.Event == nil {
		return map[string]string{"timezone": lagos, "status": string(ticketing.EventDraft)}[name]
	}
	e, category := f.Event, ""
	if e.Category != nil {
		category = e.Category.ID.String()
	}
	return map[string]string{
		"title": e.Title, "description": textIn(e.Description), "date": textIn(e.Schedule.Date),
		"startsAt": textIn(e.Schedule.StartsAt), "endsAt": textIn(e.Schedule.EndsAt),
		"timezone": textIn(e.Schedule.Timezone), "location": textIn(e.Location.Name), "venue": textIn(e.Location.Venue),
		"imageUrl": e.ImageURL, "organizerName": textIn(e.OrganizerName), "categoryId": category,
	}[name]
}

// textIn returns what a pointer points to, and "" for nil.
func textIn(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// CategoryOptions returns the categories as options of the field.
func (f eventForm) CategoryOptions(shown *form) []option {
	chosen := f.Value("categoryId")
	if shown.Refused() {
		chosen = shown.refused.values.Get("categoryId")
	}
	options := []option{{Label: "None", Chosen: chosen == ""}}
	for _, category := range f.Categories {
		id := category.ID.String()
		options = append(options, option{Value: id, Label: category.Name, Chosen: id == chosen})
	}
	return options
}

// Lines returns a field of names, one a line. A violation of one of them says which.
func (f *form) Lines(name, label string, options ...string) field {
	shown := f.Field(name, label, options...)
	if shown.Violation != "" || !f.Refused() {
		return shown
	}
	for i, line := range linesOf(shown.Value) {
		if text := f.refused.violations[name+"["+strconv.Itoa(i)+"]"]; text != "" {
			shown.Violation = "“" + cut(line, maxShownName) + "” " + text
			break
		}
	}
	return shown
}

// maxShownName is how much of a refused name is repeated, in characters.
const maxShownName = 60

// newEvent are the members of a new event with its idempotency key.
type newEvent struct {
	key    string
	params ticketing.CreateEventParams
}

func readNewEvent(m *members) newEvent {
	p := newEvent{key: m.text("idempotencyKey"), params: ticketing.CreateEventParams{
		Title: m.text("title"), Description: m.optionalText("description"), Date: trimmed(m, "date"),
		StartsAt: trimmed(m, "startsAt"), EndsAt: trimmed(m, "endsAt"), Timezone: trimmed(m, "timezone"),
		Location: m.optionalText("location"), Venue: m.optionalText("venue"), ImageURL: trimmed(m, "imageUrl"),
		OrganizerName: m.optionalText("organizerName"), Status: enum[ticketing.EventStatus](m, "status"),
	}}
	p.params.CategoryID, _ = optionalParsed(m, "categoryId", ticketing.ParseID)
	if names := m.lines("ticketCategories"); names != nil {
		p.params.TicketCategories = *names
	}
	return p
}

// trimmed reads a text that has to be there. In a form, white space around it is no mistake.
func trimmed(m *members, name string) string {
	text := m.text(name)
	if m.object == nil {
		text = strings.TrimSpace(text)
	}
	return text
}

// lines reads a list of texts that may be absent: a JSON list, or the lines of a text area that are not empty.
func (m *members) lines(name string) *[]string {
	if m.object != nil {
		return strictjson.Changed(m.object, name, strictjson.Items(strictjson.Text))
	}
	text, sent := m.field(name)
	if !sent {
		return nil
	}
	names := linesOf(text)
	return &names
}

// linesOf returns the lines of a text that are not empty.
func linesOf(text string) []string {
	lines := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func createEvent(ctx context.Context, c *call, p newEvent) (outcome, error) {
	if times, ok := parseSchedule(p.params.Date, p.params.StartsAt, p.params.EndsAt, p.params.Timezone); ok {
		if err := times.check(); err != nil {
			return outcome{}, err
		}
	}
	event, err := runKeyed(ctx, "the event", func() (ticketing.Event, error) {
		return c.console.svc.CreateEvent(ctx, c.caller, p.key, p.params)
	})
	return outcome{data: event, next: c.fill(eventPath, []any{"eventId", event.ID})}, err
}

// readEventChange reads the members of a change. A program leaves out what stays as it is, and clears with null; a form
// has all members.
func readEventChange(m *members) ticketing.UpdateEventParams {
	p := ticketing.UpdateEventParams{
		Title: m.changedText("title"), Description: m.clearedText("description"), Date: m.changedWord("date"),
		StartsAt: m.changedWord("startsAt"), EndsAt: m.changedWord("endsAt"), Timezone: m.changedWord("timezone"),
		Location: m.clearedText("location"), Venue: m.clearedText("venue"), ImageURL: m.changedWord("imageUrl"),
		OrganizerName: m.clearedText("organizerName"), TicketCategories: m.lines("ticketCategories"),
	}
	if text := m.clearedText("categoryId"); text != nil {
		id, err := uuid.Nil, error(nil)
		if *text != "" {
			id, err = ticketing.ParseID(*text)
		}
		if err != nil {
			m.reader.Refuse("categoryId", err.Error())
		}
		p.CategoryID = &id
	}
	return p
}

// clearedText is changedText of a member that null clears.
func (m *members) clearedText(name string) *string {
	if m.object != nil {
		return strictjson.Clearable(m.object, name, strictjson.Text)
	}
	return m.changedText(name)
}

// changedWord is changedText without white space around it, in a form.
func (m *members) changedWord(name string) *string {
	text := m.changedText(name)
	if text != nil && m.object == nil {
		return new(strings.TrimSpace(*text))
	}
	return text
}

func updateEvent(ctx context.Context, c *call, p ticketing.UpdateEventParams) (outcome, error) {
	id := c.pathID("eventId")
	before, err := c.console.svc.GetEvent(ctx, c.caller, id)
	if err != nil {
		return outcome{}, err
	}
	if err := checkNewSchedule(before.Schedule, p); err != nil {
		return outcome{}, err
	}
	changed, err := c.console.svc.UpdateEvent(ctx, c.caller, id, p)
	return outcome{data: changed, next: c.expand(eventPath)}, err
}

// checkNewSchedule checks the schedule of a change. An unchanged one is not checked: a host may have imported it.
func checkNewSchedule(s ticketing.Schedule, p ticketing.UpdateEventParams) error {
	date, start, end, zone := textIn(s.Date), textIn(s.StartsAt), textIn(s.EndsAt), textIn(s.Timezone)
	before := [4]string{date, start, end, zone}
	for _, one := range []struct{ to, from *string }{
		{&date, p.Date}, {&start, p.StartsAt}, {&end, p.EndsAt}, {&zone, p.Timezone},
	} {
		if one.from != nil {
			*one.to = *one.from
		}
	}
	times, ok := parseSchedule(date, start, end, zone)
	if !ok || before == [4]string{date, start, end, zone} {
		return nil // The service checks the forms.
	}
	return times.check()
}
