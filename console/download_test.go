package console_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// slow is a store whose second page of the log, and whose entries of the ledger, wait.
type slow struct {
	driver.Store

	wait chan struct{}
	held chan struct{} // receives when a read begins to wait
}

func (s slow) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	return s.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error { return fn(ctx, slowReads{tx, s}) })
}

func (s slow) hold(ctx context.Context) error {
	select {
	case s.held <- struct{}{}:
	default:
	}
	select {
	case <-s.wait:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type slowReads struct {
	driver.ReadTx

	of slow
}

func (s slowReads) ListAudit(ctx context.Context, query driver.AuditQuery) ([]driver.AuditEntry, error) {
	if query.After.ID != uuid.Nil {
		if err := s.of.hold(ctx); err != nil {
			return nil, err
		}
	}
	return s.ReadTx.ListAudit(ctx, query)
}

func (s slowReads) ListEntries(ctx context.Context, query driver.LedgerQuery) ([]ledger.Entry, error) {
	if err := s.of.hold(ctx); err != nil {
		return nil, err
	}
	return s.ReadTx.ListEntries(ctx, query)
}

// slowDownloads puts a slow store under the console of a site, whose log has several pages then.
func (s *site) slowDownloads(t *testing.T, change ...func(*console.Config)) (store slow) {
	t.Helper()
	ok := is.New(t)
	s.fillLog(t, 150)
	s.credited(t, s.company)
	store = slow{s.store, make(chan struct{}), make(chan struct{}, 1)}
	svc, err := ticketing.New(store, &ticketing.Config{Clock: s.clock.now})
	ok.NoErr(err)
	config := console.Config{Clock: s.clock.now}
	for _, one := range change {
		one(&config)
	}
	s.server.Config.Handler, err = console.New(svc, &config)
	ok.NoErr(err)
	return store
}

// download begins a download, and returns after its headers.
func (s *site) download(t *testing.T, who, path string) *feed {
	t.Helper()
	r := s.request(t, http.MethodPost, path, nil)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	t.Cleanup(cancel)
	return s.send(t, who, r.WithContext(ctx))
}

// downloadMeanwhile begins a download, calls do while it waits, and returns the file as it was sent.
func (s *site) downloadMeanwhile(t *testing.T, store slow, who, path string, do func()) string {
	t.Helper()
	begun := make(chan *feed, 1)
	go func() { begun <- s.download(t, who, path) }()
	<-store.held
	do()
	response := <-begun
	ok := is.New(t)
	ok.Equal(response.StatusCode, http.StatusOK)
	text, err := io.ReadAll(response.Body)
	ok.NoErr(err)
	return string(text)
}

// TestDownloadEndsWithWhatAllowsIt takes away what a person needs for a download while it is sent.
func TestDownloadEndsWithWhatAllowsIt(t *testing.T) {
	t.Parallel()
	const afterAPage = `"CUT OFF after 100 rows`
	for _, tt := range []struct {
		name string
		who  string
		path string
		last string
		lose func(context.Context, *site) error
	}{
		{"session", owner, auditLog + "/export", afterAPage, func(ctx context.Context, s *site) error {
			_, err := s.Accounts().EndSessions(ctx, s.users[owner])
			return err
		}},
		{"membership", viewer, ledgerPage + "/statement", `"CUT OFF after 1 rows`, func(ctx context.Context, s *site) error {
			_, err := s.staff.RemoveMember(ctx, s.company, s.users[viewer])
			return err
		}},
		{"role of staff", auditor, ledgerPage + "/bundle", "CUT OFF: the file", func(ctx context.Context, s *site) error {
			_, err := s.staff.RemoveStaff(ctx, s.users[auditor])
			return err
		}},
		{"server", owner, auditLog + "/export", afterAPage, func(ctx context.Context, s *site) error {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			return s.server.Config.Shutdown(ctx)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ok, s := is.New(t), newSite(t)
			store := s.slowDownloads(t)
			text := s.downloadMeanwhile(t, store, tt.who, tt.path, func() { ok.NoErr(tt.lose(t.Context(), s)) })
			lines := strings.Split(strings.TrimSpace(text), "\n")
			ok.True(strings.HasPrefix(lines[len(lines)-1], tt.last))
		})
	}
}

// TestDownloadEndsWhenTheHostSaysSo signs the person out at a host that identifies people, during a download.
func TestDownloadEndsWhenTheHostSaysSo(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	var out atomic.Bool
	store := s.slowDownloads(t, func(c *console.Config) {
		c.Identify = func(*http.Request) (console.Person, error) {
			if out.Load() {
				return console.Person{}, console.ErrNobody
			}
			return console.Person{Email: address(owner), ProvedAt: s.clock.now()}, nil
		}
	})
	text := s.downloadMeanwhile(t, store, owner, auditLog+"/export", func() { out.Store(true) })
	ok.True(strings.Contains(text, `"CUT OFF after 100 rows`))
}

// TestDownloadsAreLimited begins as many downloads as a person, a company and a process may have.
func TestDownloadsAreLimited(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	store := s.slowDownloads(t)
	companies := []uuid.UUID{s.company}
	for i := range 4 {
		company := s.newCompany(t, fmt.Sprintf("Company %d", i))
		companies = append(companies, company)
		for n := range 120 {
			_, err := s.staff.RenameCompany(t.Context(), company, fmt.Sprintf("Company %d.%d", i, n))
			ok.NoErr(err)
		}
	}
	path := func(i int) string {
		return strings.ReplaceAll(auditLog, "{companyId}", companies[i].String()) + "/export"
	}
	refused := func(who string, i int, text string) {
		t.Helper()
		got := s.post(t, who, path(i), "action", "company.rename")
		ok.Equal(got.StatusCode, http.StatusTooManyRequests)
		ok.Equal(got.Header.Get("Retry-After"), "30")
		ok.True(got.has(text))
		ok.True(got.has("<h1>Audit log</h1>"))
		ok.Equal(strings.Count(got.text, `role="alert"`), 1) // The page says why, once,
		ok.True(got.has(`value="company.rename"`))           // and keeps its filter.
		checkPolicies(t, got)
	}
	begun := s.download(t, owner, path(0))
	s.download(t, owner, path(0))
	refused(owner, 0, "You have 2 downloads under way.")
	for range 2 {
		s.download(t, viewer, path(0))
	}
	refused(administrator, 0, "4 downloads are under way here.")
	for i, pair := range [][2]string{{chief, finance}, {onboarding, support}} {
		for range 2 {
			s.download(t, pair[0], path(1+i))
			s.download(t, pair[1], path(1+i))
		}
	}
	for n := range 4 {
		who := fmt.Sprintf("member%d", n)
		s.addMember(t, companies[3], who, ticketing.RoleViewer)
		s.addMember(t, companies[4], who, ticketing.RoleViewer)
		s.clients[who] = s.newClient(t)
		s.signIn(t, who)
	}
	for n := range 4 {
		s.download(t, fmt.Sprintf("member%d", n/2), path(3))
	}
	refused("member2", 4, "Too many downloads are under way.")
	ok.Equal(s.get(t, owner, auditLog).StatusCode, http.StatusOK) // The page itself is there.

	ok.NoErr(begun.Body.Close())
	for { // The server notices after a moment.
		again := s.download(t, "member2", path(4))
		if again.StatusCode == http.StatusOK {
			break
		}
		ok.Equal(again.StatusCode, http.StatusTooManyRequests)
		ok.NoErr(again.Body.Close())
	}
	close(store.wait)
}
