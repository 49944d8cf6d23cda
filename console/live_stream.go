package console

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const (
	streamType = "text/event-stream"
	streamPath = "/live" // after the path of the page
	// refreshHeader marks a request that a page makes by itself. It does not extend the session.
	refreshHeader = "X-Console-Live"

	// streamBeat is how often a silent stream sends something, so that no proxy closes it.
	streamBeat = 15 * time.Second
	// streamWait is how long a browser may take to receive what is sent.
	streamWait = 10 * time.Second
	// streamLife is how long a stream lasts. The browser then opens another one, which checks the permissions again. If
	// the host identifies people, nothing else shows that a session has ended.
	streamLife     = 5 * time.Minute
	hostStreamLife = time.Minute
	// retryStream is when a browser may try again, in seconds.
	retryStream = 30
)

// The texts that are sent. When the browser opens the stream again, it repeats the id. Then it may have missed events.
const (
	streamOpened  = "id: 1\n\n"
	streamChanged = "event: live\ndata:\n\n"
	streamOver    = "event: over\ndata:\n\n"
	streamIdle    = ":\n\n"
)

var errTooManyStreams = &ticketing.Error{
	Code: ticketing.CodeRateLimited, Message: "Too many live pages are open.",
}

// refreshes reports whether a page fetches its changing part again, which has no filters.
func (x *exchange) refreshes() bool { return x.r.Header.Get(refreshHeader) != "" }

// watched returns the changing things of a page that the person may see. A person who sees an event, an order or a list
// of the log may know that it changed.
func (c *call) watched(p *page) []ticketing.Watched {
	var seen []ticketing.Watched
	for _, one := range c.changing(p) {
		needs := ticketing.PermissionWalletRead
		switch one.Topic {
		case ticketing.WatchMoney:
		case ticketing.WatchAudit, ticketing.WatchEvent, ticketing.WatchOrder:
			needs = ""
		case ticketing.WatchDelivery, ticketing.WatchDeliveries:
			needs = ticketing.PermissionWebhookRead
		case ticketing.WatchMails:
			needs = ticketing.PermissionNotificationRead
		case ticketing.WatchQueues, ticketing.WatchSales:
			needs = ticketing.PermissionTenantRead
		}
		if needs == "" || holds(c.actor, needs) {
			seen = append(seen, one)
		}
	}
	return seen
}

// changing returns the changing things of a page, also those that the person may not see.
func (c *call) changing(p *page) []ticketing.Watched {
	all := make([]ticketing.Watched, len(p.live))
	for i, topic := range p.live {
		all[i] = ticketing.Watched{Topic: topic, CompanyID: c.companyID}
		switch topic {
		case ticketing.WatchEvent:
			all[i].ID = c.pathID("eventId")
		case ticketing.WatchOrder:
			all[i].ID = c.pathID("orderId")
		case ticketing.WatchDelivery:
			all[i].ID = c.pathID("deliveryId")
		case ticketing.WatchQueues, ticketing.WatchSales:
			all[i].CompanyID = uuid.Nil
		case ticketing.WatchMoney, ticketing.WatchAudit, ticketing.WatchDeliveries, ticketing.WatchMails:
		}
	}
	return all
}

// streamOf returns the path of the stream of a page, and "" for a page that does not update by itself.
func (c *call) streamOf(p *page) string {
	watched := c.watched(p)
	if len(watched) == 0 {
		return ""
	}
	path := c.expand(p.path) + streamPath + "?since=" + strconv.FormatInt(c.now.UnixMilli(), 10)
	if len(c.states) > 0 {
		states := make([]ticketing.WatchedState, len(watched))
		for i, one := range watched {
			states[i] = c.states[one]
		}
		path += "&state=" + stateOf(states)
	}
	return path
}

// following returns the changing things of a page whose state is read before the content of the page. So a change that
// the page does not show is noticed when its stream opens, even one without a time. A page that opens no stream needs
// no state. What the person may not see is among it, since their permissions are read at the same time; nothing of it
// is shown.
func (c *call) following(p *page) []ticketing.Watched {
	if p == nil || c.exchange.api || c.exchange.refreshes() || c.r.URL.Query().Has("cursor") {
		return nil
	}
	return c.changing(p)
}

// stateOf returns a text that identifies the states of all topics of a page.
func stateOf(states []ticketing.WatchedState) string {
	var versions []byte
	for _, one := range states {
		versions = binary.BigEndian.AppendUint64(versions, one.Version)
	}
	h := fnv.New64a()
	_, _ = h.Write(versions) // A hash accepts everything.
	return strconv.FormatUint(h.Sum64(), 36)
}

// openStream responds to a GET of the stream of a page, for those who may see the page.
func (x *exchange) openStream(ctx context.Context, p *page) (answer, error) {
	c, err := x.enter(ctx, p.scope, nil)
	if err != nil {
		return answer{}, err
	}
	if err := c.permit(p); err != nil {
		return answer{}, err
	}
	if err := c.readQuery([]string{"since", "state"}); err != nil {
		return answer{}, err
	}
	s := &stream{
		user: x.visitor.userID, session: x.visitor.sessionID, secret: x.visitor.secret, watched: c.watched(p),
		state: c.query("state"),
	}
	if len(s.watched) == 0 {
		return answer{}, errNoPage
	}
	if text := c.query("since"); text != "" {
		since, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return answer{}, invalid("since: must be a number of milliseconds")
		}
		s.since = time.UnixMilli(since)
	}
	if x.r.Header.Get("Last-Event-ID") != "" {
		s.since = time.Time{}
	}
	a := answer{contentType: streamType}
	if x.r.Method == http.MethodHead {
		return a, nil
	}
	full := answer{
		status: http.StatusServiceUnavailable, code: errTooManyStreams.Code, contentType: jsonType,
		body: encodeRefusal(errTooManyStreams), retryAfter: retryStream,
	}
	select {
	case <-x.live.draining(x.r):
		return full, nil
	default:
	}
	if !x.live.open(s) { //nolint:contextcheck // live asks for all streams, and continues after this one.
		return full, nil
	}
	a.stream = s
	return a, nil
}

// sendStream sends a stream until the browser leaves the page, the session ends, the server shuts down, or streamLife
// is over. Each text has its own time limit, since that of the server is for a whole response.
func (x *exchange) sendStream(s *stream) {
	control := http.NewResponseController(x.w)
	send := func(text string) bool {
		// A writer without deadlines needs none.
		_ = control.SetWriteDeadline(time.Now().Add(streamWait))
		if _, err := io.WriteString(x.w, text); err != nil {
			return false
		}
		err := control.Flush()
		if errors.Is(err, errors.ErrUnsupported) {
			// The host's writer cannot flush. The page stays as it was loaded, and opens no other stream.
			_, _ = io.WriteString(x.w, streamOver)
		}
		return err == nil
	}
	life := streamLife
	if s.secret == "" {
		life = hostStreamLife
	}
	ends := time.NewTimer(life)
	defer ends.Stop()
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	drain := x.live.draining(x.r)
	for going := send(streamOpened); going; {
		select {
		case <-s.changed:
			going = send(streamChanged)
		case <-beat.C:
			going = send(streamIdle)
		case <-s.over:
			// The page then requests itself once more, and is redirected to the sign-in page.
			send(streamChanged + streamOver)
			return
		case <-ends.C:
			return
		case <-drain:
			return
		case <-x.r.Context().Done():
			return
		}
	}
}
