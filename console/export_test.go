package console

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
)

// Route is a row of a table, for tests that walk over it.
type Route struct {
	Name        string // of an act
	Path        string
	Company     bool // in the scope of a company
	Platform    bool // in that of the platform
	Permissions []ticketing.Permission
	Grants      []ticketing.Grant
	Recent      bool
	Document    bool // a page that is a document of its own
	Query       []string
}

// Acts returns the table of acts.
func Acts() []Route {
	var all []Route
	for _, a := range acts() {
		r := Route{
			Name: a.name, Path: a.path, Company: a.scope == scopeCompany, Platform: a.scope == scopePlatform, Recent: a.recent,
		}
		if a.permission != "" {
			r.Permissions = []ticketing.Permission{a.permission}
		}
		if a.grant != "" {
			r.Grants = []ticketing.Grant{a.grant}
		}
		all = append(all, r)
	}
	return all
}

// Steps returns the paths of what is posted and is no act: sign-in, and what the script does with passkeys.
func Steps() []string {
	var all []string
	for _, one := range new(console).signInRoutes() {
		if one.post != nil {
			all = append(all, one.pattern)
		}
	}
	return all
}

// Icons returns the names of the icons in icons.svg.
func Icons() []string { return slices.Sorted(maps.Keys(icons())) }

// Icon returns an icon by its name.
func Icon(name string) string { return string(icon(name)) }

// UsedIcons returns the names of the icons that templates, pages and the navigation use, as often as they do.
func UsedIcons() []string {
	var used []string
	for _, p := range pages() {
		if p.icon != "" {
			used = append(used, p.icon)
		}
	}
	for _, item := range (&frame{IsStaff: true}).Yours() {
		used = append(used, item.Icon)
	}
	named := regexp.MustCompile(`\bicon"? "(\w+)"`)
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(templateFiles, file)
		if err != nil {
			panic(err)
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			used = append(used, match[1])
		}
	}
	return used
}

// Pages returns the table of pages.
func Pages() []Route {
	var all []Route
	for _, p := range pages() {
		all = append(all, routeOf(p))
	}
	return all
}

// Streams returns the streams of the pages that update by themselves.
func Streams() []Route {
	var all []Route
	for _, p := range pages() {
		if len(p.live) > 0 {
			stream := routeOf(p)
			stream.Path += streamPath
			all = append(all, stream)
		}
	}
	return all
}

func routeOf(p page) Route {
	return Route{
		Path: p.path, Company: p.scope == scopeCompany, Platform: p.scope == scopePlatform, Permissions: p.permissions,
		Grants: p.grants, Document: p.document, Query: p.query,
	}
}

// CSV returns the text of rows in a download.
func CSV(rows [][]string) string {
	var b strings.Builder
	w := newCSVWriter(&b, nil)
	w.write(rows)
	_ = w.flush() // A builder accepts everything.
	return b.String()
}

// FormatAgo returns how long before now a time was.
func FormatAgo(at, now time.Time) string { return formatAgo(at, now) }

// OwnPath returns a path of the console that somebody sent, and "" for anything else.
func OwnPath(text string) string { return ownPath(text) }

// Template renders a template of fields with a form that was refused, as the pages have it that use it.
func Template(name string, data any) (string, error) {
	all, err := newTemplates(time.Now, "")
	if err != nil {
		return "", err
	}
	for file := range all.all {
		one, err := all.get(file)
		if err != nil {
			return "", err
		}
		if one.Lookup(name) != nil {
			var b strings.Builder
			err = one.ExecuteTemplate(&b, name, data)
			return b.String(), err
		}
	}
	return "", fmt.Errorf("no page uses the template %q", name)
}

// AxisValues returns the values of the axis of a chart whose highest bar has a value, the highest first.
func AxisValues(highest int64, money bool) []string {
	unit, day := countUnit(), time.Date(2026, time.November, 24, 12, 0, 0, 0, time.UTC)
	if money {
		unit = moneyUnit()
	}
	var c chart
	c.draw(unit, newPeriod(day, day, false), []chartLine{{"Sales", []int64{highest}}})
	return c.Values
}

// AxisTimes returns the times that the axis of a chart names.
func AxisTimes(first, last time.Time, hourly bool) []string {
	return newPeriod(first, last, hourly).times()
}

// HasAuditWords reports whether pages have words for an action of the audit log.
func HasAuditWords(action string) bool {
	return slices.ContainsFunc(auditActions(), func(one auditAction) bool { return one.name == action })
}

// AuditActions returns the names of the actions that have words.
func AuditActions() []string {
	var names []string
	for _, one := range auditActions() {
		names = append(names, one.name)
	}
	return names
}
