package ticketing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/webhook"
)

const (
	outcomeBatch = 256 // how many outcomes are written together
	// writeTries is how often the outcome of an attempt is written where the store fails, a second between them at last:
	// about as long as the lease; writeTriesAtEnd is how often after the end of Run, and in a single pass.
	writeTries      = 30
	writeTriesAtEnd = 5
	// Where more than so many outcomes came at a time, others do: the next are written after a while, all together.
	outcomeFlow  = 4
	outcomePause = 15 * time.Millisecond
)

// parcel is a delivery with what an attempt takes.
type parcel struct {
	delivery DeliveryRecord
	body     []byte
	secret   WebhookSecret
	err      error     // why it cannot be sent
	version  time.Time // of its endpoint's last change when it was leased
	taken    time.Time // when it was leased, by the clock of this machine
}

var (
	errNoBody   = errors.New("the event cannot be rendered any more")
	errNoSecret = errors.New("the signing secret cannot be decrypted with the secret keys of this service")
	errUnsigned = errors.New("the request cannot be signed")
)

// parcels opens the secrets of deliveries that are leased; the others are left as they are. The versions are those of the
// endpoints in the transaction that leased them.
func (s *Service) parcels(
	deliveries []DeliveryRecord, bodies map[uuid.UUID][]byte, sealed map[WebhookSecretRef]WebhookSecretRecord,
	versions map[int64]time.Time,
) []parcel {
	opened := make(map[WebhookSecretRef]WebhookSecret, len(sealed))
	for ref, record := range sealed {
		secret, _, err := s.openWebhookSecret(record)
		if err != nil {
			s.log.Error("a webhook secret cannot be decrypted", slog.String("company", ref.CompanyID.String()),
				slog.Int64("endpoint", ref.Endpoint), slog.Int64("version", ref.Version), slog.Any("error", err))
			continue
		}
		opened[ref] = secret
	}
	parcels := make([]parcel, len(deliveries))
	taken := time.Now() //nolint:forbidigo // What waits in memory ages, whatever is done to the clock.
	for i, d := range deliveries {
		p := parcel{
			delivery: d, body: bodies[d.MessageID], secret: opened[d.secret()], version: versions[d.Endpoint], taken: taken,
		}
		switch {
		case len(p.body) == 0:
			p.err = errNoBody
		case p.secret == "":
			p.err = errNoSecret
		}
		parcels[i] = p
	}
	return parcels
}

// result is what an attempt came to.
type result int

const (
	resultFailure result = iota
	resultSuccess
	resultTimeout
	resultUnsent // it was not tried
	resultCut    // this side gave up, which says nothing about the receiver
)

// outcome is what an attempt came to, to be written.
type outcome struct {
	delivery DeliveryRecord // as it was leased
	attempt  DeliveryAttempt
	result   result
	at       time.Time
	jitter   float64

	// What the writing found:
	after DeliveryRecord // as it is kept now
	ours  bool           // the outcome counted
	// cancelling tells that the endpoint was disabled or deleted.
	cancelling bool
}

// unsent gives a delivery back that was not tried.
func (p parcel) unsent(at time.Time) *outcome {
	return &outcome{delivery: p.delivery, result: resultUnsent, at: at}
}

// on is the delivery after the outcome, and whether it counts. One that ended meanwhile stays as it is: there are no two
// final statuses. A success counts, whoever had it. Anything else counts only where the lease is still that of the
// attempt: if it ran out, because this process was held up, and another process took the delivery, that one tells.
func (o *outcome) on(kept DeliveryRecord) (DeliveryRecord, bool) {
	mine := kept.LeasedUntil.Equal(o.delivery.LeasedUntil) && len(kept.Attempts) == len(o.delivery.Attempts)
	switch {
	case kept.ID == uuid.Nil || kept.Status != DeliveryPending:
		return kept, false
	case o.result == resultSuccess:
		return kept.succeeded(o.attempt, o.at), true
	case !mine:
		return kept, false
	case o.result == resultUnsent:
		return kept.released(o.at, o.at), true
	case o.result == resultCut:
		return kept.released(o.at, o.at.Add(retryWait(1, o.jitter))), true
	default:
		return kept.failed(o.attempt, o.at, o.jitter), true
	}
}

// recorded tells whether the outcome is kept already: by a commit whose answer was lost.
func (o *outcome) recorded(kept DeliveryRecord) bool {
	last := len(kept.Attempts) - 1
	return last >= 0 && last == len(o.delivery.Attempts) && kept.Attempts[last].At.Equal(o.attempt.At.Time) &&
		kept.Attempts[last].Error == o.attempt.Error && kept.Attempts[last].Status == o.attempt.Status
}

// attempt posts a delivery, unless its lease is too short for that.
func (s *Service) attempt(ctx context.Context, p parcel) *outcome {
	began := s.now()
	if began.Add(attemptTimeout).After(p.delivery.LeasedUntil) {
		return p.unsent(began)
	}
	o := &outcome{delivery: p.delivery, attempt: DeliveryAttempt{At: Time{began}}, jitter: rand.Float64()} //nolint:gosec // It spreads retries; nobody gains by guessing it.
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	status, err := s.post(ctx, p, began)
	o.at = s.now()
	o.attempt.DurationMS = max(0, o.at.Sub(began).Milliseconds())
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() == nil:
		// The sender was closed, since the process ends. It waits nevertheless: a host may have closed it too early.
		s.log.InfoContext(ctx, "an attempt to deliver a webhook was cut off and does not count",
			slog.String("delivery", p.delivery.ID.String()))
		o.result = resultCut
		return o
	case err != nil:
		o.attempt.Error = line(err.Error(), maxDeliveryError)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			o.result = resultTimeout
		}
	case status < 200 || status > 299:
		o.attempt.Status, o.attempt.Error = status, "HTTP "+strconv.Itoa(status)
	default:
		o.attempt.Status, o.result = status, resultSuccess
	}
	s.telemetry.attempt(ctx, o)
	return o
}

// post hands a delivery to the sender. A panic of the sender's is an error like any other.
func (s *Service) post(ctx context.Context, p parcel, at time.Time) (status int, err error) {
	if p.err != nil {
		return 0, p.err
	}
	signature := webhook.Sign(string(p.secret), at, p.body)
	if signature == "" {
		return 0, errUnsigned
	}
	s.telemetry.flying.Add(ctx, 1)
	defer s.telemetry.flying.Add(context.WithoutCancel(ctx), -1)
	defer func() {
		if value := recover(); value != nil {
			s.contain("Sender.Post", value)
			err = errors.New("the sender panicked")
		}
	}()
	d := p.delivery
	return s.sender.Post(ctx, WebhookPost{
		EndpointID: d.EndpointID, DeliveryID: d.ID, EventID: d.MessageID, EventType: d.Type, URL: d.URL,
		Signature: signature, Body: p.body,
	})
}

// line is a text in one line, cut to so many characters.
func line(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	if text == "" {
		return "it failed"
	}
	return text
}

// writeOutcomes keeps what attempts came to, decided on each delivery as it is then, under its lock. It enters no gate:
// it reads and changes nothing but these rows, so that who disables an endpoint behind a closed gate waits for no sender,
// and where gates are locks of the companies' rows it takes none of those either. Groups confined to a company name one.
func (s *Service) writeOutcomes(ctx context.Context, patience time.Duration, outcomes []*outcome) error {
	refs := make([]DeliveryRef, len(outcomes))
	for i, o := range outcomes {
		refs[i] = o.delivery.ref()
	}
	refs = distinct(refs)
	return s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Enter(ctx, Entrance{Patience: patience}); err != nil {
			return err
		}
		found, err := tx.LockDeliveries(ctx, refs)
		if err != nil {
			return err
		}
		kept := make(map[DeliveryRef]DeliveryRecord, len(refs))
		for i, ref := range refs {
			kept[ref] = found[i]
		}
		var changed []DeliveryRef
		for _, o := range outcomes {
			ref := o.delivery.ref()
			o.cancelling = kept[ref].Cancelling
			if o.ours = o.recorded(kept[ref]); o.ours {
				o.after = kept[ref]
			} else if o.after, o.ours = o.on(kept[ref]); o.ours {
				kept[ref] = o.after
				changed = append(changed, ref)
			}
		}
		changed = distinct(changed)
		if len(changed) == 0 {
			return nil
		}
		records := make([]DeliveryRecord, len(changed))
		for i, ref := range changed {
			records[i] = kept[ref]
		}
		return tx.UpdateDeliveries(ctx, records)
	})
}

// writeGroup keeps a group of outcomes. When many come, it has the next ones gather.
func (s *Service) writeGroup(ctx context.Context, patience time.Duration, outcomes []*outcome) error {
	if len(outcomes) <= outcomeFlow {
		return s.writeOutcomes(ctx, patience, outcomes)
	}
	pause := time.NewTimer(outcomePause)
	defer pause.Stop()
	if err := s.writeOutcomes(ctx, patience, outcomes); err != nil {
		return err
	}
	<-pause.C
	return nil
}

// write keeps an outcome, together with those that come at the same time, and tells whether it counted. Where the store
// fails it tries again for about as long as the lease lasts; then the delivery is sent once more.
func (c *courier) write(ctx context.Context, o *outcome) bool {
	wait := lookGap
	for try := 1; ; try++ {
		err := c.outcomes.Do(ctx, o.delivery.CompanyID, 1, o)
		if err == nil {
			return o.ours
		}
		if c.givesUp(try) {
			c.s.report(ctx, "write what became of a delivery", fmt.Errorf("delivery %s: %w", o.delivery.ID, err))
			return false
		}
		pause := time.NewTimer(wait)
		<-pause.C
		wait = min(2*wait, time.Second)
	}
}

// givesUp tells whether what the store has refused so often is not tried again. It is called without the lock.
func (c *courier) givesUp(tries int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tries >= writeTries || tries >= writeTriesAtEnd && (c.once || c.closed)
}

// maxNotices is how many exhausted deliveries wait for the host's function.
const maxNotices = 1000

// notices tell the host of deliveries that are exhausted, one after another, beside the sending: a host that takes its
// time holds up nothing.
type notices struct {
	s     *Service
	mu    sync.Mutex
	idle  sync.Cond // by mu
	queue []WebhookDelivery
	runs  bool
}

func newNotices(s *Service) *notices {
	n := &notices{s: s}
	n.idle.L = &n.mu
	return n
}

// of tells what there is to tell of an outcome that was kept.
func (n *notices) of(ctx context.Context, o *outcome) {
	d := o.after
	if d.Status != DeliveryFailed {
		return
	}
	n.s.telemetry.exhaust(ctx, d.Type)
	n.s.log.WarnContext(ctx, "a webhook delivery is exhausted", slog.String("endpoint", d.EndpointID.String()),
		slog.String("delivery", d.ID.String()), slog.String("type", string(d.Type)),
		slog.Int("status", o.attempt.Status))
	if n.s.onExhausted == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) >= maxNotices {
		n.s.log.ErrorContext(ctx, "OnExhausted is too slow and is not told of a delivery",
			slog.String("delivery", d.ID.String()))
		return
	}
	n.queue = append(n.queue, d.delivery(o.at))
	if !n.runs {
		n.runs = true
		go n.run(ctx)
	}
}

func (n *notices) run(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) > 0 {
		next := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		n.tell(ctx, next)
		n.mu.Lock()
	}
	n.runs = false
	n.idle.Broadcast()
}

func (n *notices) tell(ctx context.Context, d WebhookDelivery) {
	defer func() { n.s.contain("OnExhausted", recover()) }()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	n.s.onExhausted(ctx, d)
}

// wait returns when the host was told of all.
func (n *notices) wait() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.runs {
		n.idle.Wait()
	}
}
