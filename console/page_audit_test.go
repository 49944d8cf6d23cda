package console_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const auditLog = "/business/{companyId}/audit"

func TestAuditShowsWhoDidWhat(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.post(t, owner, members+"/"+s.users[viewer].String()+"/role", "role", "ADMINISTRATOR")
	_, err := s.As(ticketing.Staff("=1+1 <b>")).RenameCompany(t.Context(), s.company, "Adire <i>Live</i>")
	ok.NoErr(err)
	page := s.get(t, viewer, auditLog)
	ok.Equal(page.StatusCode, http.StatusOK)
	ok.True(page.has("<bdi>owner@example.com</bdi>"))
	ok.True(page.has(`title="member.update">Changed a member&#39;s role</a>`))
	ok.True(page.has(`<th scope="row">Role</th><td><bdi>Viewer</bdi></td><td><bdi>Administrator</bdi></td>`))
	ok.True(page.has("=1&#43;1 &lt;b&gt;"))
	ok.True(page.has("Adire &lt;i&gt;Live&lt;/i&gt;"))

	mine := s.get(t, viewer, auditLog+"?actor="+url.QueryEscape("Owner@example.com"))
	ok.True(mine.has(`title="member.update"`))
	ok.True(!mine.has(`title="company.rename"`))
	renamed := s.get(t, viewer, auditLog+"?action=company.rename")
	ok.True(!renamed.has(`title="member.update"`))
	ok.True(renamed.has(`<option value="company.rename" selected>Renamed the company</option>`))
	ok.True(s.get(t, viewer, auditLog+"?actor=nobody@example.org").has("No entries match"))
	ok.True(s.get(t, viewer, auditLog+"?until=2020-01-01").has("No entries match"))
	ok.Equal(s.get(t, viewer, auditLog+"?since=2026-11-22&until=2026-11-20").StatusCode, http.StatusBadRequest)
	ok.Equal(s.get(t, stranger, auditLog).StatusCode, http.StatusNotFound)

	var entries []struct {
		Action string `json:"action"`
		Person *struct {
			Name, Email string
		} `json:"person"`
	}
	s.get(t, viewer, "/api/v2"+auditLog+"?action=member.update").data(t, &entries)
	ok.Equal(len(entries), 1)
	ok.Equal(entries[0].Person.Name, owner)
	ok.Equal(entries[0].Person.Email, address(owner))
}

// TestAuditNamesMembersAndStaff checks that each log has the name and the email of both, also of who was removed.
func TestAuditNamesMembersAndStaff(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.clock.advance(1e9) // On the first page, before the entries that made the site.
	s.post(t, owner, "/business/{companyId}/branding/save", "brandName", "Adire")
	s.post(t, onboarding, "/business/{companyId}/branding/save", "brandName", "Adire Live")
	s.post(t, chief, "/platform/categories/create", "name", "Comedy", "slug", "comedy")
	s.post(t, chief, "/platform/staff/"+s.users[onboarding].String()+"/remove")
	for _, path := range []string{auditLog, platformAudit} {
		page := s.get(t, chief, path)
		for _, who := range []string{owner, onboarding} {
			ok.True(page.has("<bdi>" + who + "</bdi></a>"))      // path, who
			ok.True(page.has("<bdi>" + address(who) + "</bdi>")) // path, who
		}
		file := s.post(t, chief, path+"/export").text
		ok.True(strings.Contains(file, ","+owner+","+address(owner)+","))
		ok.True(strings.Contains(file, ","+onboarding+","+address(onboarding)+","))
	}
	removed := s.get(t, chief, platformAudit+"?action=staff.remove")
	ok.True(removed.has("<bdi>"+chief+"</bdi></a>") && removed.has("<bdi>"+onboarding+"</bdi> <bdi>"+address(onboarding)))
}

func TestAuditIsDownloadedWithoutFormulas(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, name := range []string{"=1+1", "+1", "-1", "@sum", "plain, \"quoted\""} {
		_, err := s.As(ticketing.Staff(name)).RenameCompany(t.Context(), s.company, "Company of "+name)
		ok.NoErr(err)
	}
	file := s.post(t, viewer, auditLog+"/export", "action", "company.rename")
	ok.Equal(file.StatusCode, http.StatusOK)
	ok.Equal(file.Header.Get("Content-Type"), "text/csv; charset=utf-8")
	ok.Equal(file.Header.Get("Content-Disposition"), `attachment; filename="audit.csv"`)
	rows, err := csv.NewReader(strings.NewReader(file.text)).ReadAll()
	ok.NoErr(err)
	ok.Equal(len(rows), 6)
	var actors []string
	for _, row := range rows[1:] {
		actors = append(actors, row[1])
	}
	ok.Equal(len(actors), 5)
	for _, want := range []string{"'=1+1", "'+1", "'-1", "'@sum", "plain, \"quoted\""} {
		ok.True(strings.Contains(strings.Join(actors, "\n"), want)) // want
	}
	form := s.get(t, viewer, auditLog+"?action=company.rename")
	ok.True(form.has(`<input type="hidden" name="action" value="company.rename">`))
	ok.True(form.has(`/audit/export"`))
}

func TestAuditHasPages(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, name := range []string{"Adire One", "Adire Two", "Adire Three"} {
		_, err := s.staff.RenameCompany(t.Context(), s.company, name)
		ok.NoErr(err)
		s.clock.advance(1e9)
	}
	page := s.get(t, viewer, auditLog+"?limit=2&action=company.rename")
	ok.Equal(strings.Count(page.text, `title="company.rename"`), 2)
	ok.True(page.has("Next page"))
	ok.Equal(s.get(t, viewer, auditLog+"?format=csv").StatusCode, http.StatusBadRequest)
}
