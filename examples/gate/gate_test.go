package main_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	gate "github.com/floatgate/ticketing/examples/gate"
)

// Each kind of scan has its verdict, and only a ticket of this event that is not in yet is admitted.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t)
	g := w.gate(w, "Gate 1")
	order := w.Sell(t, w.event, "VIP", 4)
	admission := func(i int) uuid.UUID { return order.Lines[i].AdmissionID }
	code := ticketing.FormatAdmissionCode(w.event, admission(0))
	other := w.Event(t).ID
	w.Inventory(t, other, "VIP", 100, 2)
	elsewhere := w.Sell(t, other, "VIP", 1)
	refunded := w.Sell(t, w.event, "VIP", 2)
	is.Equal(g.Scan(t.Context(), w.code(refunded.Lines[1].AdmissionID)).Verdict, gate.Admitted)
	_, err := w.Staff.RefundOrder(t.Context(), refunded.ID, ticketing.RefundParams{Reason: "asked for"})
	is.NoErr(err)
	cancelled := w.Sell(t, w.event, "VIP", 1)
	_, err = w.Staff.CancelOrder(t.Context(), cancelled.ID, "sold twice")
	is.NoErr(err)
	for _, scan := range []struct {
		name, text string
		verdict    gate.Verdict
	}{
		{"a ticket", code + "\r", gate.Admitted},
		{"the same ticket", code, gate.AlreadyIn},
		{"the same ticket in lower case", strings.ToLower(code), gate.AlreadyIn},
		{"another ticket of the order, in lower case", strings.ToLower(w.code(admission(1))), gate.Admitted},
		{"a ticket of another event", ticketing.FormatAdmissionCode(other, elsewhere.Lines[0].AdmissionID), gate.OtherEvent},
		{"a ticket of another event as one of this", w.code(elsewhere.Lines[0].AdmissionID), gate.Unknown},
		{"no admission", w.code(uuid.New()), gate.Unknown},
		{"a refunded ticket", w.code(refunded.Lines[0].AdmissionID), gate.Refunded},
		{"a ticket that was refunded inside", w.code(refunded.Lines[1].AdmissionID), gate.AlreadyIn},
		{"a cancelled ticket", w.code(cancelled.Lines[0].AdmissionID), gate.Refunded},
		{"a bottle", "5901234123457", gate.NotATicket},
		{"garbage", "\x00\xff\x1b[2J", gate.NotATicket},
		{"the key of the gate", w.key, gate.NotATicket},
	} {
		result := g.Scan(t.Context(), scan.text)
		if result.Verdict != scan.verdict {
			t.Errorf("%s: %s, want %s", scan.name, result.Verdict, scan.verdict)
		}
		in := scan.verdict == gate.Admitted || scan.verdict == gate.AlreadyIn
		is.Equal(result.Validation.ID != uuid.Nil, in)
	}
	// At another gate, the first gate is named.
	result := w.gate(w, "Gate 2").Scan(t.Context(), code)
	is.Equal(result.Verdict, gate.AlreadyIn)
	is.Equal(*result.Validation.Location, "Gate 1")
	is.Equal(w.gate(w, "").Scan(t.Context(), w.code(admission(2))).Validation.Location, nil)

	// People stand at the gate when the event has begun, has ended, and after the company's verification has.
	_, err = w.Staff.RevokeVerification(t.Context(), w.Company.ID)
	is.NoErr(err)
	is.Equal(g.Scan(t.Context(), w.code(admission(3))).Verdict, gate.Admitted)
	is.True(!strings.Contains(w.log.String(), "SVC1"))
	is.True(!strings.Contains(w.log.String(), w.key))
}

// Whatever the network does to a scan, its ticket is admitted once, and all attempts have one key.
func TestOneScanWhateverTheLineDoes(t *testing.T) {
	t.Parallel()
	busy := refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "2")
	for name, faults := range map[string][]fault{
		"nothing":                 nil,
		"the answer is lost":      {lostAnswer},
		"the line breaks":         {brokenConnection, brokenConnection},
		"the request is lost":     {neverArrived, neverArrived, neverArrived},
		"500 after the admission": {afterCommit(failed)},
		"500 before":              {failed},
		"429":                     {busy},
		"a gateway":               {gateway, gateway},
		"an original in flight":   {neverAnswered, conflicts, conflicts},
		"all of it":               {neverArrived, busy, afterCommit(failed), gateway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				g := w.gate(w, "Gate 1")
				code := w.code(w.Sell(w.t, w.event, "VIP", 1).Lines[0].AdmissionID)
				is.Equal(g.Scan(w.t.Context(), code).Verdict, gate.Admitted)
				is.Equal(len(w.sent), len(faults)+1)
				is.Equal(len(slices.Compact(slices.Clone(w.sent))), 1)
				is.Equal(g.Scan(w.t.Context(), code).Verdict, gate.AlreadyIn) // a second scan, so another key
				is.True(w.sent[len(w.sent)-1] != w.sent[0])
				is.Equal(w.waited > 0, len(faults) > 0)
			}, faults...)
		})
	}
}

// A scan that gets no answer is TRY AGAIN after 15 seconds at most, and the gate goes on. The next scan of the ticket
// shows what became of it.
func TestPatienceHasAnEnd(t *testing.T) {
	t.Parallel()
	silence := slices.Repeat([]fault{neverAnswered}, 20)
	busy := refuse(http.StatusTooManyRequests, ticketing.CodeRateLimited, "60")
	revoked := refuse(http.StatusForbidden, ticketing.CodePermissionDenied, "")
	inFlight := append([]fault{neverAnswered}, slices.Repeat([]fault{conflicts}, 30)...)
	for name, test := range map[string]struct {
		faults []fault
		then   gate.Verdict
		least  time.Duration
	}{
		"silence":                       {silence, gate.Admitted, 15 * time.Second},
		"an answer that is lost":        {append([]fault{lostAnswer}, silence...), gate.AlreadyIn, 15 * time.Second},
		"a network that is away":        {slices.Repeat([]fault{neverArrived}, 20), gate.Admitted, 0},
		"a service that fails":          {slices.Repeat([]fault{failed}, 20), gate.Admitted, 0},
		"a gateway":                     {slices.Repeat([]fault{gateway}, 20), gate.Admitted, 0},
		"a limit":                       {[]fault{busy}, gate.Admitted, 0},
		"in flight all the time":        {inFlight, gate.Admitted, 15 * time.Second},
		"a refusal after a lost answer": {[]fault{lostAnswer, revoked}, gate.AlreadyIn, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				g := w.gate(w, "Gate 1")
				code := w.code(w.Sell(w.t, w.event, "VIP", 1).Lines[0].AdmissionID)
				began := time.Now()
				is.Equal(g.Scan(w.t.Context(), code).Verdict, gate.TryAgain)
				is.True(time.Since(began) >= test.least && time.Since(began) <= 15*time.Second)
				is.Equal(len(slices.Compact(slices.Clone(w.sent))), 1)
				w.faults = nil
				is.Equal(g.Scan(w.t.Context(), code).Verdict, test.then)
			}, test.faults...)
		})
	}
}

// A gate that the service refuses, and answers that are not about this scan, let nobody in.
func TestGateThatDoesNotWork(t *testing.T) {
	t.Parallel()
	for name, become := range map[string]fault{
		"the key is revoked":     refuse(http.StatusUnauthorized, ticketing.CodeAuthenticationFailed, ""),
		"the key lacks a grant":  refuse(http.StatusForbidden, ticketing.CodePermissionDenied, ""),
		"the location is wrong":  refuse(http.StatusBadRequest, ticketing.CodeInvalidRequest, ""),
		"an outcome of tomorrow": altered(`"outcome":"ADMITTED"`, `"outcome":"ADMITTED_BY_GUEST_LIST"`),
		"no outcome":             altered(`"outcome":"ADMITTED"`, `"outcome":null`),
		"another admission":      altered(`"admissionId":"`, `"admissionId":"11111111-1111-4111-8111-111111111111","was":"`),
		"another event":          altered(`"eventId":"`, `"eventId":"11111111-1111-4111-8111-111111111111","was":"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(is *is.I, w *world) {
				g := w.gate(w, "Gate 1")
				code := w.code(w.Sell(w.t, w.event, "VIP", 1).Lines[0].AdmissionID)
				is.Equal(g.Scan(w.t.Context(), code), gate.Result{Verdict: gate.NotWorking})
				is.Equal(len(w.sent), 1)
				is.True(strings.Contains(w.log.String(), "level="))
			}, become)
		})
	}
	t.Run("another address", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		w := newWorld(t)
		w.api = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>Accept our terms</html>"))
		})
		g := w.gate(w, "")
		is.True(g.Check(t.Context()) != nil)
		is.Equal(g.Scan(t.Context(), w.code(uuid.New())).Verdict, gate.NotWorking)
	})
	t.Run("a network that comes later", func(t *testing.T) {
		t.Parallel()
		inWorld(t, func(is *is.I, w *world) {
			api := w.api
			away := true
			g := w.gate(roundTripper(func(r *http.Request) (*http.Response, error) {
				if away {
					return nil, errors.New("no route to host")
				}
				return w.RoundTrip(r)
			}), "")
			is.NoErr(g.Check(w.t.Context()))
			away, w.api = false, api
			is.Equal(g.Scan(w.t.Context(), w.code(uuid.New())).Verdict, gate.Unknown)
		})
	})
}

// Of several gates that scan copies of a ticket at once, one admits it.
func TestGatesAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t)
	code := w.code(w.Sell(t, w.event, "VIP", 1).Lines[0].AdmissionID)
	verdicts := make([]gate.Verdict, 8)
	var gates sync.WaitGroup
	for i := range verdicts {
		g := w.gate(w, "")
		gates.Go(func() { verdicts[i] = g.Scan(t.Context(), code).Verdict })
	}
	gates.Wait()
	slices.Sort(verdicts)
	is.Equal(slices.Compact(slices.Clone(verdicts)), []gate.Verdict{gate.Admitted, gate.AlreadyIn})
	is.Equal(verdicts[1], gate.AlreadyIn)
}
