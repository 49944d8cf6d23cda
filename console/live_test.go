package console_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/driver"
)

// liveOverview is the stream of the first page of a company.
const liveOverview = "/business/{companyId}/live"

// feed is an open stream.
type feed struct {
	*http.Response

	lines *bufio.Reader
}

// listen opens the stream at a path, for a page that was made just now.
func (s *site) listen(t *testing.T, who, path string) *feed {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	t.Cleanup(cancel)
	r := s.request(t, http.MethodGet, path+fmt.Sprintf("?since=%d", s.clock.now().UnixMilli()), nil).WithContext(ctx)
	return s.send(t, who, r)
}

func (s *site) send(t *testing.T, who string, r *http.Request) *feed {
	t.Helper()
	response, err := s.clients[who].Do(r)
	is.New(t).NoErr(err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return &feed{response, bufio.NewReader(response.Body)}
}

// opened reads the beginning of a stream.
func (f *feed) opened(t *testing.T) *feed {
	t.Helper()
	ok := is.New(t)
	ok.Equal(f.StatusCode, http.StatusOK)
	ok.Equal(f.Header.Get("Content-Type"), "text/event-stream")
	ok.Equal(f.Header.Get("Cache-Control"), "no-store")
	ok.Equal(f.next(), "id: 1")
	return f
}

// next returns the next event, and "" at the end of the stream.
func (f *feed) next() string {
	var event []string
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			return ""
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "" && len(event) > 0:
			return strings.Join(event, "|")
		case line == "" || strings.HasPrefix(line, ":"):
		default:
			event = append(event, line)
		}
	}
}

// The texts of a stream.
const (
	somethingChanged = "event: live|data:"
	sessionOver      = "event: over|data:"
)

// credited gives a company some float, which changes its balance.
func (s *site) credited(t *testing.T, company uuid.UUID) {
	t.Helper()
	s.clock.advance(time.Minute)
	ok := is.New(t)
	_, err := s.staff.ApproveVerification(t.Context(), company, ticketing.ApprovalParams{
		ExpiresAt: new(s.clock.now().AddDate(1, 0, 0)),
	})
	ok.NoErr(err)
	_, err = s.staff.CreditFloat(t.Context(), company, "bank-"+uuid.NewString(), 100_00)
	ok.NoErr(err)
}

// crowd opens the stream of the overview twenty times for each of ten people, the most that one person may open, and
// calls check with each of them concurrently.
func (s *site) crowd(t *testing.T, people int) []*feed {
	t.Helper()
	var feeds []*feed
	for i := range people {
		who := fmt.Sprintf("member%d", i)
		s.addMember(t, s.company, who, ticketing.RoleViewer)
		s.clients[who] = s.newClient(t)
		s.signIn(t, who)
		for range 20 {
			feeds = append(feeds, s.listen(t, who, liveOverview).opened(t))
		}
	}
	return feeds
}

// all calls check with each stream concurrently.
func all(feeds []*feed, check func(*feed)) {
	var wait sync.WaitGroup
	for _, f := range feeds {
		wait.Go(func() { check(f) })
	}
	wait.Wait()
}

func TestStreamSaysThatSomethingChanged(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.clock.advance(30 * time.Minute)
	own, queues := s.listen(t, owner, liveOverview).opened(t), s.listen(t, chief, "/platform/live").opened(t)
	other := s.listen(t, stranger, strings.ReplaceAll(liveOverview, "{companyId}", s.other.String())).opened(t)
	ok.Equal(queues.next(), somethingChanged) // What left a queue before has no time.
	s.credited(t, s.company)
	ok.Equal(own.next(), somethingChanged)
	s.submit(t, "Adire Concerts Limited")
	ok.Equal(queues.next(), somethingChanged)
	s.credited(t, s.other)
	ok.Equal(other.next(), somethingChanged)
	// A browser that reconnects has missed something, and so has a page that was made before the latest change.
	late := s.request(t, http.MethodGet, liveOverview+fmt.Sprintf("?since=%d", opening.UnixMilli()), nil)
	ok.Equal(s.send(t, owner, late).opened(t).next(), somethingChanged)
	s.clock.advance(time.Hour)
	again := s.request(t, http.MethodGet, liveOverview+fmt.Sprintf("?since=%d", s.clock.now().UnixMilli()), nil)
	again.Header.Set("Last-Event-ID", "1")
	ok.Equal(s.send(t, owner, again).opened(t).next(), somethingChanged)
}

func TestStreamIsForThoseWhoMaySeeItsPage(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.employ(t)
	streams := console.Streams()
	ok.True(len(streams) >= 9)
	for _, stream := range streams {
		path := s.filled(stream.Path)
		ok.Equal(s.do(t, nobody, s.request(t, http.MethodHead, path, nil)).StatusCode, http.StatusUnauthorized) // path
		for who := range people() {
			got := s.do(t, who, s.request(t, http.MethodHead, path, nil))
			// The stream of an event or an order that does not exist opens, and stays silent.
			if want := cmp.Or(expected(stream, who), http.StatusOK); got.StatusCode != want {
				t.Errorf("%s gets %d at %s, want %d", who, got.StatusCode, stream.Path, want)
			}
			ok.Equal(got.Header.Get("Location"), "")
			checkPolicies(t, got)
			r := s.request(t, http.MethodPost, path, nil)
			r.Header.Set("Origin", s.server.URL)
			ok.Equal(s.do(t, who, r).StatusCode, http.StatusMethodNotAllowed) // path, who
		}
	}
	ok.Equal(s.get(t, owner, liveOverview+"?since=x").StatusCode, http.StatusBadRequest)
	ok.Equal(s.get(t, owner, liveOverview+"?until=1").StatusCode, http.StatusBadRequest)
	ok.Equal(s.get(t, owner, "/business/{companyId}/branding/live").StatusCode, http.StatusNotFound)
	r := s.request(t, http.MethodGet, liveOverview, nil)
	r.Host = "evil.example"
	ok.Equal(s.do(t, owner, r).StatusCode, http.StatusMisdirectedRequest)
}

// TestStreamsAreLimited opens as many streams as a process has, of which a person has a part. Each of them is
// signalled.
func TestStreamsAreLimited(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves five hundred connections out")
	}
	ok, s := is.New(t), newSite(t)
	s.clock.advance(time.Hour)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	feeds := s.crowd(t, 25)
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("%d streams: %d bytes each, with the client's side of them", len(feeds),
		(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/uint64(len(feeds)))
	s.credited(t, s.company)
	began := time.Now()
	all(feeds, func(f *feed) {
		if event := f.next(); event != somethingChanged {
			t.Errorf("a stream says %q", event)
		}
	})
	t.Logf("all of them were signalled %v after the commit", time.Since(began).Round(time.Millisecond))
	full := s.listen(t, owner, liveOverview)
	ok.Equal(full.StatusCode, http.StatusServiceUnavailable)
	ok.Equal(full.Header.Get("Retry-After"), "30")
	ok.Equal(s.get(t, owner, "/business/{companyId}").StatusCode, http.StatusOK) // the page itself is there
	ok.NoErr(feeds[0].Body.Close())
	for full.StatusCode != http.StatusOK { // The server notices after a moment.
		full = s.listen(t, owner, liveOverview)
	}
	full.opened(t)
}

func TestPersonHasAFewStreams(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	for range 20 {
		s.listen(t, viewer, liveOverview).opened(t)
	}
	ok.Equal(s.listen(t, viewer, liveOverview).StatusCode, http.StatusServiceUnavailable)
	s.listen(t, owner, liveOverview).opened(t)
}

// absent is a store whose database can become unavailable.
type absent struct {
	driver.Store

	gone  atomic.Bool
	asked chan struct{} // receives while the database is away
}

func (a *absent) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	if !a.gone.Load() {
		return a.Store.View(ctx, fn)
	}
	select {
	case a.asked <- struct{}{}:
	case <-ctx.Done():
	}
	return fmt.Errorf("dial 10.0.0.1: %w", ticketing.ErrUnavailable)
}

// TestStreamsOutliveTheDatabase makes the database unavailable under two hundred pages, and lets it come back with a
// change.
func TestStreamsOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	store := &absent{Store: s.store, asked: make(chan struct{})}
	svc, err := ticketing.New(store, &ticketing.Config{Clock: s.clock.now})
	ok.NoErr(err)
	handler, err := console.New(svc, &console.Config{Clock: s.clock.now})
	ok.NoErr(err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.server = server
	s.clock.advance(time.Hour)
	feeds := s.crowd(t, 10)
	store.gone.Store(true)
	for range 2 { // One goroutine asks for all of them.
		<-store.asked
	}
	s.credited(t, s.company)
	store.gone.Store(false)
	all(feeds, func(f *feed) {
		if event := f.next(); event != somethingChanged {
			t.Errorf("a stream says %q", event)
		}
	})
}

// TestStreamsEndWithTheirServer shuts a server down under two hundred pages. It would wait for them.
func TestStreamsEndWithTheirServer(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.clock.advance(time.Hour)
	feeds := s.crowd(t, 10)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ok.NoErr(s.server.Config.Shutdown(ctx))
	all(feeds, func(f *feed) {
		if event := f.next(); event != "" {
			t.Errorf("a stream says %q", event)
		}
	})
	// A request that came just before begins no other one.
	r := s.request(t, http.MethodGet, liveOverview, nil)
	r = r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, s.server.Config))
	for _, cookie := range s.clients[owner].Jar.Cookies(s.address(t)) {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	ok.Equal(w.Code, http.StatusServiceUnavailable)
}

// TestStreamsEndWithTheirSession ends the sessions of one of ten people.
func TestStreamsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.clock.advance(30 * time.Minute)
	feeds := s.crowd(t, 10)
	_, err := s.Accounts().EndSessions(t.Context(), s.users["member0"])
	ok.NoErr(err)
	all(feeds[:20], func(f *feed) {
		// Its page requests itself once more, which leads to the sign-in page.
		for _, want := range []string{somethingChanged, sessionOver, ""} {
			if event := f.next(); event != want {
				t.Errorf("a stream says %q, want %q", event, want)
			}
		}
	})
	s.credited(t, s.company)
	all(feeds[20:], func(f *feed) {
		if event := f.next(); event != somethingChanged {
			t.Errorf("a stream says %q", event)
		}
	})
}

// unflushed is a writer that sends everything at the end, such as that of a host that compresses.
type unflushed struct{ http.ResponseWriter }

// TestStreamThatCannotBeFlushedIsOver has a host whose writer cannot flush. Otherwise a page would open the stream
// again and again.
func TestStreamThatCannotBeFlushedIsOver(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.handler.ServeHTTP(unflushed{w}, r)
	})
	f := s.listen(t, owner, liveOverview).opened(t)
	ok.Equal(f.next(), sessionOver)
	ok.Equal(f.next(), "")
}

// TestStreamIsNoUseOfASession keeps a page open until its unused session has ended.
func TestStreamIsNoUseOfASession(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.clock.advance(12*time.Hour - time.Minute)
	f := s.listen(t, owner, liveOverview).opened(t)
	r := s.request(t, http.MethodGet, "/business/{companyId}", nil)
	r.Header.Set("X-Console-Live", "1")
	ok.Equal(s.do(t, owner, r).StatusCode, http.StatusOK)
	s.clock.advance(2 * time.Minute)
	ok.Equal(f.next(), somethingChanged)
	ok.Equal(f.next(), sessionOver)
	ok.Equal(s.get(t, owner, "/business/{companyId}").StatusCode, http.StatusSeeOther)
}

// TestStreamsSayAtMostOnceASecondThatSomethingChanged credits without a break while a page is open.
func TestStreamsSayAtMostOnceASecondThatSomethingChanged(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.credited(t, s.company)
	f := s.listen(t, owner, liveOverview).opened(t)
	over, failed := make(chan struct{}), make(chan error, 1)
	began := time.Now()
	go func() {
		for {
			select {
			case <-over:
				failed <- nil
				return
			default:
			}
			if _, err := s.staff.CreditFloat(t.Context(), s.company, "bank-"+uuid.NewString(), 1_00); err != nil {
				failed <- err
				return
			}
		}
	}()
	for range 4 {
		ok.Equal(f.next(), somethingChanged)
	}
	took := time.Since(began)
	close(over)
	ok.NoErr(<-failed)
	// The first event may be of a look that has begun before. Looks begin a second apart, so that the last of four is two
	// seconds later at least.
	ok.True(took >= 2*time.Second)
}

// TestStreamOutlivesTheTimesOfItsServer has a server with short timeouts for requests and responses.
func TestStreamOutlivesTheTimesOfItsServer(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	server := httptest.NewUnstartedServer(s.handler)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	s.server = server
	s.clock.advance(time.Hour)
	f := s.listen(t, owner, liveOverview).opened(t)
	for range 2 { // A second apart at least.
		s.credited(t, s.company)
		ok.Equal(f.next(), somethingChanged)
	}
}

// TestStreamOutlivesAConfirmation confirms a session, which gives it another secret, beside one that ends.
func TestStreamOutlivesAConfirmation(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	confirmed := s.listen(t, owner, liveOverview).opened(t)
	ended := s.listen(t, viewer, liveOverview).opened(t)
	for _, cookie := range s.clients[owner].Jar.Cookies(s.address(t)) {
		_, err := s.Accounts().Confirm(t.Context(), cookie.Value, ticketing.SignInPasskey)
		ok.NoErr(err)
	}
	_, err := s.Accounts().EndSessions(t.Context(), s.users[viewer])
	ok.NoErr(err)
	ok.Equal(ended.next(), somethingChanged)
	ok.Equal(ended.next(), sessionOver)
	s.credited(t, s.company)
	ok.Equal(confirmed.next(), somethingChanged)
	ok.Equal(confirmed.next(), somethingChanged) // once more, for the sums
}

// TestRefreshLeavesWhatWasDoneToThePage lets a live page be fetched again between an act and the page that says what
// was done: the message is for that page, and so is the offer of a passkey after a sign-in.
func TestRefreshLeavesWhatWasDoneToThePage(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	ok.Equal(s.post(t, owner, brandingPath+"/save", "brandName", "Adire Live").StatusCode, http.StatusSeeOther)
	refresh := s.request(t, http.MethodGet, overviewPath, nil)
	refresh.AddCookie(&http.Cookie{Name: "ticketing-offer", Value: "1"})
	refresh.Header.Set("X-Console-Live", "1")
	const said = "The branding was saved."
	got := s.do(t, owner, refresh)
	ok.True(!got.has(said))
	ok.Equal(len(got.Cookies()), 0) // Neither cookie is removed.
	ok.True(s.get(t, owner, brandingPath).has(said))
	ok.True(!s.get(t, owner, brandingPath).has(said)) // It is said once.
}
