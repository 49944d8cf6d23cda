package console_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/driver"
)

const platformAudit = "/platform/audit"

// fillLog renames the company of a site so often that its log has as many further actions. The latest name is the last.
func (s *site) fillLog(t *testing.T, count int) {
	t.Helper()
	for i := range count {
		_, err := s.staff.RenameCompany(t.Context(), s.company, "Adire "+strconv.Itoa(i))
		is.New(t).NoErr(err)
		s.clock.advance(1e9)
	}
}

// readCSV returns the rows of a download.
func readCSV(t *testing.T, p page) [][]string {
	t.Helper()
	ok := is.New(t)
	ok.Equal(p.StatusCode, http.StatusOK)
	ok.Equal(p.Header.Get("Content-Type"), "text/csv; charset=utf-8")
	rows, err := csv.NewReader(strings.NewReader(p.text)).ReadAll()
	ok.NoErr(err)
	return rows
}

// exports returns the exports in a company's log, latest first, each as actor and filter.
func (s *site) exports(t *testing.T, path string) (found []string) {
	t.Helper()
	var entries []struct {
		Person  struct{ Email string }            `json:"person"`
		Subject string                            `json:"subject"`
		Changes map[string]struct{ After string } `json:"changes"`
	}
	s.get(t, chief, "/api/v2"+path+"?action=audit.export").data(t, &entries)
	for _, entry := range entries {
		found = append(found, fmt.Sprint(entry.Person.Email, " ", entry.Subject, " ", entry.Changes))
	}
	return found
}

func TestAuditIsExportedWholeAndLeavesAnEntry(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	const renames = 250 // more than two pages
	s.fillLog(t, renames)
	rows := readCSV(t, s.post(t, viewer, auditLog+"/export", "action", "company.rename"))
	ok.Equal(rows[0], []string{"at", "actor", "name", "email", "action", "subject", "changes"})
	ok.Equal(len(rows), 1+renames)
	ok.True(strings.Contains(rows[1][6], "Adire 249")) // the newest first
	ok.True(strings.Contains(rows[renames][6], "Adire 0"))
	ok.Equal(s.exports(t, auditLog), []string{
		"viewer@example.com company " + s.company.String() + " map[action:{company.rename}]",
	})

	// A program gets the same file. It contains the entry of the previous export.
	s.clock.advance(1e9)
	rows = readCSV(t, s.postJSON(t, owner, auditLog+"/export", `{"actor":"viewer@example.com"}`))
	ok.Equal(len(rows), 2)
	ok.Equal(rows[1][2:5], []string{"viewer", "viewer@example.com", "audit.export"})
	ok.Equal(len(s.exports(t, auditLog)), 2)
	page := s.get(t, owner, auditLog)
	ok.True(page.has(`>Downloaded a file: audit</a>`))
	ok.True(page.has(`<th scope="row">Action</th><td><bdi>company.rename</bdi></td>`))
}

func TestPlatformAuditIsExportedWithItsCompanies(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.fillLog(t, 1)
	ok.True(s.get(t, auditor, platformAudit+"?action=company.rename").has(`action="/platform/audit/export"`))
	rows := readCSV(t, s.post(t, auditor, platformAudit+"/export", "action", "company.rename"))
	ok.Equal(rows[0][:3], []string{"companyId", "company", "at"})
	ok.Equal(len(rows), 2)
	ok.Equal(rows[1][:2], []string{s.company.String(), "Adire 0"})
	ok.Equal(s.exports(t, platformAudit), []string{"auditor@example.com platform map[action:{company.rename}]"})
	ok.Equal(len(s.exports(t, auditLog)), 0) // That of the platform is about no company.
}

// TestExportSaysNothingOfAddresses exports by the address of a user and by an unknown one. The entries are equal, so a
// company does not learn who is a user.
func TestExportSaysNothingOfAddresses(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, typed := range []string{address(auditor), "nobody@example.com"} {
		readCSV(t, s.post(t, viewer, auditLog+"/export", "actor", typed))
	}
	entries := s.exports(t, auditLog)
	ok.Equal(len(entries), 2)
	ok.Equal(entries[0], entries[1])
	ok.True(strings.Contains(entries[0], "an address"))
}

func TestRefusedExportLeavesNoEntry(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for _, members := range []string{
		`{"since":"2026-11-22","until":"2026-11-20"}`, `{"since":"yesterday"}`, `{"limit":"1"}`, `{"action":1}`,
		`{"action":"` + strings.Repeat("a", 101) + `"}`,
	} {
		got := s.postJSON(t, owner, auditLog+"/export", members)
		ok.Equal(got.StatusCode, http.StatusBadRequest) // members
		ok.Equal(got.Header.Get("Content-Disposition"), "")
	}
	ok.Equal(s.post(t, owner, auditLog+"/export", "since", "yesterday").StatusCode, http.StatusBadRequest)
	ok.Equal(s.post(t, stranger, auditLog+"/export").StatusCode, http.StatusNotFound)
	ok.Equal(len(s.exports(t, auditLog)), 0)
}

// failing is a store that fails at a read of the log, by a panic or by an error.
type failing struct {
	driver.Store

	left   *atomic.Int64 // reads of the log before it fails
	panics bool
}

func (f failing) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	return f.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		return fn(ctx, failingLog{tx, f})
	})
}

type failingLog struct {
	driver.ReadTx

	of failing
}

func (f failingLog) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	switch {
	case f.of.left.Add(-1) >= 0:
		return f.ReadTx.ListAudit(ctx, query)
	case f.of.panics:
		panic("the secret of the store")
	}
	return nil, fmt.Errorf("dial 10.0.0.1: %w", ticketing.ErrUnavailable)
}

// TestExportThatIsCutOffSaysSo checks that the last line of a file says that it is incomplete, after an error and after
// a panic, and that the log of the server says why. Before the first byte a failure is a page like any other.
func TestExportThatIsCutOffSaysSo(t *testing.T) {
	t.Parallel()
	for name, panics := range map[string]bool{"panic": true, "error": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ok, s := is.New(t), newSite(t)
			s.fillLog(t, 300)
			store := failing{s.store, new(atomic.Int64), panics}
			svc, err := ticketing.New(store, &ticketing.Config{Clock: s.clock.now})
			ok.NoErr(err)
			handler, err := console.New(svc, &console.Config{
				Clock: s.clock.now, Logger: slog.New(slog.NewTextHandler(s.log, nil)),
			})
			ok.NoErr(err)
			s.server.Config.Handler = handler
			got := s.post(t, owner, auditLog+"/export")
			ok.True(got.StatusCode >= http.StatusInternalServerError)
			ok.True(got.has("<h1>"))

			store.left.Store(2)
			rows := readCSV(t, s.post(t, owner, auditLog+"/export", "action", "company.rename"))
			ok.Equal(len(rows), 1+200+1)
			ok.Equal(rows[201][0], "CUT OFF after 200 rows: the list goes on. Export it again, or a shorter time of it.")
			ok.Equal(len(rows[201]), 7)
			ok.True(strings.Contains(s.log.String(), "audit.csv was cut off"))
			ok.True(!strings.Contains(s.log.String(), "the secret of the store"))
		})
	}
}

// TestExportIsSentPageByPage checks that the memory of a download does not grow with the list: the first page has
// arrived before the last one is read.
func TestExportIsSentPageByPage(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.fillLog(t, 300)
	store := &waiting{Store: s.store, wait: make(chan struct{})}
	svc, err := ticketing.New(store, &ticketing.Config{Clock: s.clock.now})
	ok.NoErr(err)
	s.server.Config.Handler, err = console.New(svc, &console.Config{Clock: s.clock.now})
	ok.NoErr(err)
	r := s.request(t, http.MethodPost, auditLog+"/export", strings.NewReader("action=company.rename"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := s.clients[owner].Do(r)
	ok.NoErr(err)
	defer func() { _ = response.Body.Close() }()
	rows := csv.NewReader(response.Body)
	for range 1 + 100 {
		_, err := rows.Read()
		ok.NoErr(err)
	}
	close(store.wait)
	rest, err := rows.ReadAll()
	ok.NoErr(err)
	ok.Equal(len(rest), 200)
}

// waiting is a store whose second page of the log waits.
type waiting struct {
	driver.Store

	wait  chan struct{}
	reads atomic.Int64
}

func (w *waiting) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	return w.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error { return fn(ctx, waitingLog{tx, w}) })
}

type waitingLog struct {
	driver.ReadTx

	of *waiting
}

func (w waitingLog) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	if w.of.reads.Add(1) == 2 {
		<-w.of.wait
	}
	return w.ReadTx.ListAudit(ctx, query)
}
