package console

import (
	"slices"
	"strings"
)

// navItem is a link of the navigation.
type navItem struct {
	Name, Icon, Path string
	Short            string // its name on the bar of a phone
	Key              string // the letter that leads to it after "g"; empty: there is none
	Current          bool

	bar bool
}

// navGroup is a heading of the navigation with its links. The pages that come first have no heading.
type navGroup struct {
	Name  string
	Items []navItem
}

// The headings of the navigation, in their order. A heading without a page is not shown.
const (
	groupSelling      = "Selling"
	groupMoney        = "Money"
	groupIntegrations = "Integrations"
	groupCompany      = "Company"
	groupSettings     = "Settings"
	groupRecords      = "Records"
)

// groupNames returns the headings of the navigation in their order. The first is that of pages without a heading.
func groupNames() []string {
	return []string{
		"", groupSelling, groupMoney, groupIntegrations, groupCompany, groupSettings, groupRecords,
	}
}

// navigation returns the pages of the scope that the person may see, under their headings.
func (c *call) navigation(current *page) []navGroup {
	var groups []navGroup
	for _, name := range groupNames() {
		group := navGroup{Name: name}
		for _, p := range c.console.nav {
			if p.group != name || p.scope != current.scope || c.permit(p) != nil {
				continue
			}
			group.Items = append(group.Items, navItem{
				Name: p.nav, Icon: p.icon, Path: c.expand(p.path), Short: p.nav, bar: p.bar, Current: isCurrent(p, current),
				Key: c.console.keys[p],
			})
		}
		if len(group.Items) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// keysOf returns the letter of each page of the navigation: the first letter of its name that no earlier page of its
// scope has. It does not depend on permissions, so colleagues have the same letters.
func keysOf(nav []*page) map[*page]string {
	type place struct {
		scope  scope
		letter rune
	}
	taken, keys := map[place]bool{}, map[*page]string{}
	for _, p := range nav {
		for _, letter := range strings.ToLower(p.nav) {
			if letter >= 'a' && letter <= 'z' && !taken[place{p.scope, letter}] {
				taken[place{p.scope, letter}], keys[p] = true, string(letter)
				break
			}
		}
	}
	return keys
}

// isCurrent reports whether a page of the navigation is the current one, or the nearest above it.
func isCurrent(p, current *page) bool {
	return p.path == current.path || len(current.path) > len(p.path) && current.nav == "" &&
		strings.HasPrefix(current.path, p.path+"/") && strings.Count(p.path, "/") > strings.Count(rootOf(p.scope), "/")
}

// rootOf returns the first page of a scope, which every other page of it begins with.
func rootOf(s scope) string {
	switch s {
	case scopeCompany:
		return "/business/{companyId}"
	case scopePlatform:
		return "/platform"
	case scopeSelf:
	}
	return accountPath
}

// onBar is how many pages the bar of a phone has beside the button for the others.
const onBar = 4

// Bar returns the pages on the bar of a phone: those of the navigation that are meant for it, then the other ones, then
// those of the person.
func (f *frame) Bar() []navItem {
	var first, rest []navItem
	for _, group := range f.Nav {
		for _, item := range group.Items {
			if item.bar {
				first = append(first, item)
			} else {
				rest = append(rest, item)
			}
		}
	}
	all := slices.Concat(first, rest, f.Yours())
	return all[:min(onBar, len(all))]
}

// BarHasCurrent reports whether the current page is on the bar of a phone.
func (f *frame) BarHasCurrent() bool {
	return slices.ContainsFunc(f.Bar(), func(item navItem) bool { return item.Current })
}

// Yours returns the links of the person: the platform, their companies, and their own page.
func (f *frame) Yours() []navItem {
	var items []navItem
	if f.IsStaff && !f.OnPlatform {
		items = append(items, navItem{Name: "Platform", Short: "Platform", Icon: "shield", Path: queuesPath})
	}
	if !f.Self {
		items = append(items, navItem{Name: "Your companies", Short: "Companies", Icon: "building", Path: "/business"})
	}
	return append(items, navItem{
		Name: f.Email, Short: "You", Icon: "person", Path: accountPath, Current: f.Here == accountPath,
	})
}
