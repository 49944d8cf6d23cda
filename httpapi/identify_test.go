package httpapi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// keyStore is a store that counts look-ups of keys by their ids, and in which the grants of a key can be changed. No
// operation of the service changes them.
type keyStore struct {
	driver.Store

	lookUps atomic.Int64
	mu      sync.Mutex
	grants  map[uuid.UUID][]ticketing.Grant
}

func (s *keyStore) regrant(id uuid.UUID, grants []ticketing.Grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grants == nil {
		s.grants = make(map[uuid.UUID][]ticketing.Grant)
	}
	s.grants[id] = grants
}

func (s *keyStore) granted(keys []driver.APIKey, err error) ([]driver.APIKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range keys {
		if grants, changed := s.grants[keys[i].ID]; changed {
			keys[i].Grants = slices.Clone(grants)
		}
	}
	return keys, err
}

func (s *keyStore) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	return s.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error { return fn(ctx, keyReads{tx, s}) })
}

func (s *keyStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error { return fn(ctx, keyTx{tx, s}) })
}

// keyReads is a transaction of a keyStore that reads, keyTx one that writes.
type keyReads struct {
	driver.ReadTx

	store *keyStore
}

func (r keyReads) FindAPIKeys(ctx context.Context, ids []uuid.UUID) ([]driver.APIKey, error) {
	r.store.lookUps.Add(1)
	return r.store.granted(r.ReadTx.FindAPIKeys(ctx, ids))
}

func (r keyReads) APIKeys(ctx context.Context, refs []driver.APIKeyRef) ([]driver.APIKey, error) {
	return r.store.granted(r.ReadTx.APIKeys(ctx, refs))
}

// Announce passes announced reads on: what they return goes through keyReads when it is called.
func (r keyReads) Announce(ctx context.Context, reads func(ctx context.Context, tx driver.ReadTx)) {
	if announcer, ok := r.ReadTx.(driver.Announcer); ok {
		announcer.Announce(ctx, reads)
	}
}

type keyTx struct {
	driver.Tx

	store *keyStore
}

func (t keyTx) APIKeys(ctx context.Context, refs []driver.APIKeyRef) ([]driver.APIKey, error) {
	return t.store.granted(t.Tx.APIKeys(ctx, refs))
}

// twin is a server of the API whose clock stands still and whose ids count up: two twins that get the same calls give
// the same answers to the byte, and write the same log. One of them remembers the keys that it met. The other has a new
// service for each request.
type twin struct {
	t         *testing.T
	remembers bool
	store     *keyStore
	config    ticketing.Config
	handler   http.Handler
	log       *bytes.Buffer
	// office is another service of the store, as in another process: all that the company and its staff do is done there.
	office  *ticketing.Service
	staff   ticketing.Operator
	company uuid.UUID
	trusted ticketing.Caller
}

var masterKeys = [][]byte{bytes.Repeat([]byte("k"), 32), bytes.Repeat([]byte("z"), 32)}

func newTwin(t *testing.T, remembers bool) *twin {
	t.Helper()
	is := is.New(t)
	ids := uint32(0)
	w := &twin{
		t: t, remembers: remembers, store: &keyStore{Store: testdb.Chosen(t)}, log: new(bytes.Buffer),
		config: ticketing.Config{
			Clock: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
			NewID: func() uuid.UUID {
				ids++
				id := uuid.UUID{6: 0x40, 8: 0x80}
				binary.BigEndian.PutUint32(id[:], ids)
				return id
			},
		},
	}
	w.office = w.service(masterKeys[0], masterKeys[1])
	w.staff = w.office.As(ticketing.Staff("test"))
	company, err := w.staff.CreateCompany(t.Context(), "Lagos Live")
	is.NoErr(err)
	w.company, w.trusted = company.ID, ticketing.TrustedCaller(company.ID, ticketing.AllGrants()...)
	_, err = w.staff.ApproveVerification(t.Context(), w.company, ticketing.ApprovalParams{})
	is.NoErr(err)
	rate, err := money.ParseRate("250", money.BasisPoints)
	is.NoErr(err)
	_, err = w.staff.ScheduleCommission(t.Context(), w.company, ticketing.CommissionParams{Rate: rate})
	is.NoErr(err)
	_, err = w.staff.CreditFloat(t.Context(), w.company, "funding-1", 100_000_000)
	is.NoErr(err)
	w.open()
	return w
}

func (w *twin) service(keys ...[]byte) *ticketing.Service {
	w.t.Helper()
	config := w.config
	config.SecretKeys = keys
	svc, err := ticketing.New(w.store, &config)
	is.New(w.t).NoErr(err)
	is.New(w.t).NoErr(svc.Ready(w.t.Context()))
	return svc
}

// open gives the twin a new service, which remembers nothing.
func (w *twin) open() {
	w.t.Helper()
	timeless := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	w.handler = newHandler(w.t, w.service(masterKeys[0], masterKeys[1]), &httpapi.Config{
		RateLimit: -1, Clock: w.config.Clock,
		Logger: slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{ReplaceAttr: timeless})),
	})
}

// apiRequest is a request to a twin.
type apiRequest struct{ method, path, idempotency, body string }

// send returns the answer to a request, with the lines of the log, and the number of look-ups.
func (w *twin) send(key string, r apiRequest) (a answer, log string, lookUps int64) {
	w.t.Helper()
	if !w.remembers {
		w.open()
	}
	request, err := http.NewRequestWithContext(w.t.Context(), r.method, "http://x"+httpapi.DefaultPrefix+r.path,
		strings.NewReader(r.body))
	is.New(w.t).NoErr(err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("X-Request-Id", "the-request")
	if r.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.idempotency != "" {
		request.Header.Set("Idempotency-Key", r.idempotency)
	}
	w.log.Reset()
	before := w.store.lookUps.Load()
	a = answerTo(request, w.handler)
	return a, w.log.String(), w.store.lookUps.Load() - before
}

// place makes an event with seats, of which one is sold.
func (w *twin) place() sold {
	w.t.Helper()
	is := is.New(w.t)
	ctx := w.t.Context()
	event, err := w.office.CreateEvent(ctx, w.trusted, uuid.NewString(), ticketing.CreateEventParams{
		Title: "Night Market", Date: "2027-05-01", StartsAt: "18:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
		ImageURL: "https://img.example.com/a.png", Status: ticketing.EventPublished,
	})
	is.NoErr(err)
	_, err = w.office.CreateInventory(ctx, w.trusted, event.ID, uuid.NewString(),
		ticketingtest.InventoryParams("VIP", 10_00, 9))
	is.NoErr(err)
	order, err := w.office.Checkout(ctx, w.trusted, uuid.NewString(), ticketingtest.Basket(event.ID, "VIP", 10_00, 1))
	is.NoErr(err)
	return sold{event: event.ID.String(), order: order.ID.String(), admission: order.Lines[0].AdmissionID.String()}
}

// within returns the path of an endpoint with the ids of a place.
func (p sold) within(path string) string {
	return strings.NewReplacer(
		"/orders/{id}", "/orders/"+p.order, "/events/{id}", "/events/"+p.event,
		"/admissions/{id}", "/admissions/"+p.admission,
	).Replace(path)
}

// body returns a well-formed body for an endpoint, and "" for one that needs none.
func (p sold) body(method, path string) string {
	switch method + " " + path {
	case "POST /events":
		return with(withoutCategory(createEventBody.members), "", "")
	case "PATCH /events/{id}":
		return `{"venue":"Harbour"}`
	case "POST /events/{id}/inventory":
		return with(createInventoryBody.members, "", "")
	case "PATCH /events/{id}/inventory/VIP":
		return `{"status":"PAUSED"}`
	case "POST /pricing/quote":
		return quoteJSON(p.event, "VIP")
	case "POST /checkouts":
		return checkoutJSON(p.event, "VIP", 1, "10.00")
	}
	return ""
}

func (w *twin) issue(grants []ticketing.Grant) ticketing.IssuedAPIKey {
	w.t.Helper()
	key, err := w.staff.IssueAPIKey(w.t.Context(), w.company, "test", grants)
	is.New(w.t).NoErr(err)
	return key
}

func (w *twin) revoke(id uuid.UUID) {
	w.t.Helper()
	_, err := w.staff.RevokeAPIKey(w.t.Context(), id)
	is.New(w.t).NoErr(err)
}

func (w *twin) rotate(id uuid.UUID) ticketing.IssuedAPIKey {
	w.t.Helper()
	key, err := w.staff.RotateAPIKey(w.t.Context(), id)
	is.New(w.t).NoErr(err)
	return key
}

func (w *twin) suspend() {
	w.t.Helper()
	_, err := w.staff.SuspendCompany(w.t.Context(), w.company)
	is.New(w.t).NoErr(err)
}

func (w *twin) activate() {
	w.t.Helper()
	_, err := w.staff.ActivateCompany(w.t.Context(), w.company)
	is.New(w.t).NoErr(err)
}

// redigest gives a key another digest in the store.
func (w *twin) redigest(id uuid.UUID) {
	w.t.Helper()
	is.New(w.t).NoErr(w.store.Update(w.t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{w.company}}); err != nil {
			return err
		}
		ref := driver.APIKeyRef{CompanyID: w.company, ID: id}
		keys, err := tx.APIKeys(ctx, []driver.APIKeyRef{ref})
		if err != nil {
			return err
		}
		digest := keys[0].Digest[:len("v1:0123456789abcdef:")] + strings.Repeat("A", 43)
		return tx.TouchAPIKeys(ctx, []driver.APIKeyUse{{APIKeyRef: ref, UsedAt: w.config.Clock(), Digest: digest}})
	}))
}

// allBut returns all grants except one.
func allBut(grant ticketing.Grant) []ticketing.Grant {
	return slices.DeleteFunc(ticketing.AllGrants(), func(g ticketing.Grant) bool { return g == grant })
}

// changesOfAKey are what may happen to a key between two requests. Each returns the text of the key that the second one
// is sent with.
var changesOfAKey = []struct {
	name string
	// same is set if the key and the company are in the end as before. lacks is set if the key is issued without the
	// grant of the operation.
	same, lacks bool
	change      func(w *twin, key ticketing.IssuedAPIKey, grant ticketing.Grant) string
	// want is the code of the second request, "" if that depends on the request alone.
	want ticketing.Code
}{
	{
		name: "nothing", same: true,
		change: func(_ *twin, key ticketing.IssuedAPIKey, _ ticketing.Grant) string { return key.Key },
	},
	{
		name: "revoked", want: ticketing.CodeAuthenticationFailed,
		change: func(w *twin, key ticketing.IssuedAPIKey, _ ticketing.Grant) string {
			w.revoke(key.ID)
			return key.Key
		},
	},
	{
		name: "rotated", same: true, // The predecessor is good until it is revoked.
		change: func(w *twin, key ticketing.IssuedAPIKey, _ ticketing.Grant) string {
			w.revoke(w.rotate(key.ID).ID)
			return key.Key
		},
	},
	{
		name: "rotated and revoked", want: ticketing.CodeAuthenticationFailed,
		change: func(w *twin, key ticketing.IssuedAPIKey, _ ticketing.Grant) string {
			successor := w.rotate(key.ID)
			w.revoke(key.ID)
			w.revoke(successor.ID)
			return key.Key
		},
	},
	{
		name: "company suspended", want: ticketing.CodeAuthenticationFailed,
		change: func(w *twin, key ticketing.IssuedAPIKey, _ ticketing.Grant) string {
			w.suspend()
			return key.Key
		},
	},
	{
		name: "company suspended and activated", same: true,
		change: func(w *twin, key ticketing.IssuedAPIKey, _ ticketing.Grant) string {
			w.suspend()
			w.activate()
			return key.Key
		},
	},
	{
		name: "grant lost", want: ticketing.CodePermissionDenied,
		change: func(w *twin, key ticketing.IssuedAPIKey, grant ticketing.Grant) string {
			w.store.regrant(key.ID, allBut(grant))
			return key.Key
		},
	},
	{
		name: "another grant lost",
		change: func(w *twin, key ticketing.IssuedAPIKey, grant ticketing.Grant) string {
			w.store.regrant(key.ID, []ticketing.Grant{grant})
			return key.Key
		},
	},
	{
		name: "grant gained", lacks: true,
		change: func(w *twin, key ticketing.IssuedAPIKey, _ ticketing.Grant) string {
			w.store.regrant(key.ID, ticketing.AllGrants())
			return key.Key
		},
	},
	{
		name: "digest renewed",
		change: func(w *twin, key ticketing.IssuedAPIKey, _ ticketing.Grant) string {
			_, err := w.service(masterKeys[1], masterKeys[0]).Authenticate(w.t.Context(), key.Key)
			is.New(w.t).NoErr(err)
			return key.Key
		},
	},
	{
		name: "another secret stored", want: ticketing.CodeAuthenticationFailed,
		change: func(w *twin, key ticketing.IssuedAPIKey, _ ticketing.Grant) string {
			w.redigest(key.ID)
			return key.Key
		},
	},
	{
		name: "another secret sent", want: ticketing.CodeAuthenticationFailed,
		change: func(_ *twin, key ticketing.IssuedAPIKey, _ ticketing.Grant) string {
			return key.Key[:46] + strings.Repeat("A", 43)
		},
	},
}

// TestAServerThatRemembersKeysAnswersAlike checks each operation with a key that changed in the store since the server
// met it. Whatever the change and the request are, the answer and the log are those of a server that remembers nothing.
// What is wrong with the key is reported before what is wrong with the request.
func TestAServerThatRemembersKeysAnswersAlike(t *testing.T) {
	t.Parallel()
	for _, e := range endpoints {
		t.Run(e.method+" "+e.path, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			twins := []*twin{newTwin(t, true), newTwin(t, false)}
			requests := []string{"well-formed", "malformed", "unknown id", "without idempotency key"}
			if testdb.OnPostgres() {
				requests = requests[:2] // The others have run in memory.
			}
			for _, c := range changesOfAKey {
				places := []sold{twins[0].place(), twins[1].place()}
				is.Equal(places[0], places[1])
				for n, request := range requests {
					r := apiRequest{method: e.method, path: places[0].within(e.path), body: places[0].body(e.method, e.path)}
					if e.keyed {
						r.idempotency = strings.ReplaceAll(c.name, " ", "-") + "-000" + string(rune('1'+n))
					}
					status := http.StatusBadRequest
					switch request {
					case "well-formed":
						status = 0
					case "malformed":
						r.path += "?nonsense=1"
					case "unknown id":
						if !strings.Contains(e.path, "{id}") {
							continue
						}
						r.path, status = at(e.path), http.StatusNotFound
					case "without idempotency key":
						if !e.keyed {
							continue
						}
						r.idempotency = ""
					}
					var answers, again [2]answer
					var logs [2]string
					var lookUps [2]int64
					for i, w := range twins {
						grants := ticketing.AllGrants()
						if c.lacks {
							grants = allBut(e.grant)
						}
						key := w.issue(grants)
						// The first request meets the key: there is no such event, nor a right to see it without the grant.
						first, _, _ := w.send(key.Key, apiRequest{method: http.MethodGet, path: "/events/" + someID})
						is.True(first.status == http.StatusNotFound || c.lacks && first.status == http.StatusForbidden)
						secret := c.change(w, key, e.grant)
						answers[i], logs[i], lookUps[i] = w.send(secret, r)
						again[i], _, _ = w.send(secret, r)
						w.revoke(key.ID)
						if c.name == "company suspended" {
							w.activate()
						}
					}
					what := c.name + ", " + request
					if answers[0].String() != answers[1].String() || logs[0] != logs[1] {
						t.Errorf("%s:\n got %v%v\nwant %v%v", what, answers[0], logs[0], answers[1], logs[1])
					}
					if again[0].String() != again[1].String() {
						t.Errorf("%s, again:\n got %v\nwant %v", what, again[0], again[1])
					}
					switch got := answers[0]; {
					case c.want != "" && got.code() != c.want, c.want == "" && status != 0 && got.status != status,
						c.want == "" && status == 0 && got.status >= 300:
						t.Errorf("%s: %v", what, got)
					}
					// What the operation read itself is not looked up. Nor is a refusal with a made-up secret looked up twice.
					want := int64(1)
					if c.same && status != http.StatusBadRequest {
						want = 0
					}
					if lookUps[0] != want || lookUps[1] != 1 {
						t.Errorf("%s: %d look-ups, want %d; %d without memory", what, lookUps[0], want, lookUps[1])
					}
				}
			}
		})
	}
}

// TestAnOutdatedKeyWaitsForNoSlot checks that a company with one slot gets it for both runs of an operation whose key
// has changed since the server met it.
func TestAnOutdatedKeyWaitsForNoSlot(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newTwin(t, true)
	w.config.CompanySlots = 1
	w.open()
	place := w.place()
	for _, path := range []string{"/orders", "/events/" + place.event, "/events?nonsense=1"} {
		key := w.issue(ticketing.AllGrants())
		first, _, _ := w.send(key.Key, apiRequest{method: http.MethodGet, path: "/orders"})
		is.Equal(first.status, http.StatusOK)
		_, err := w.service(masterKeys[1], masterKeys[0]).Authenticate(t.Context(), key.Key)
		is.NoErr(err)
		second, log, lookUps := w.send(key.Key, apiRequest{method: http.MethodGet, path: path})
		is.Equal(second.status >= 500, false)
		is.Equal(lookUps, int64(1))
		is.Equal(strings.Count(log, "\n"), 1) // Its use is recorded.
		w.revoke(key.ID)
	}
}
