package console

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// The limits of pages that update by themselves.
const (
	maxStreams     = 500 // of a process
	maxUserStreams = 20  // of a person
	// watchEvery is how often the service is asked for changes, and watchAfter how soon after a commit of this process
	// at the earliest. So a stream gets at most one event a second.
	watchEvery = 2 * time.Second
	watchAfter = time.Second
	// watchWait is how long such a question may take.
	watchWait = 10 * time.Second
	// sessionsEvery is how often the service is asked which sessions have ended.
	sessionsEvery = 3 * time.Second
	// watchSlack is how much earlier than its commit a change may be dated.
	watchSlack = 2 * time.Second
)

// live is what the open streams of a console share. One goroutine asks for changes for all of them. It runs while a
// stream is open.
type live struct {
	svc *ticketing.Service
	log *slog.Logger

	mu      sync.Mutex
	streams map[*stream]struct{}
	users   map[uuid.UUID]int // the open streams of each person
	asking  bool              // the goroutine runs

	servers sync.Map // of each *http.Server the channel that is closed when it shuts down
}

func newLive(svc *ticketing.Service, log *slog.Logger) *live {
	return &live{svc: svc, log: log, streams: map[*stream]struct{}{}, users: map[uuid.UUID]int{}}
}

// stream is a page that updates while it is open.
type stream struct {
	live    *live
	user    uuid.UUID
	session uuid.UUID
	secret  string // of the session; empty where the host identifies people
	watched []ticketing.Watched
	since   time.Time     // when the page was made; the zero time: it has missed changes
	state   string        // of what the page shows; empty: it is not known
	changed chan struct{} // has room for one signal, which stands for all until it is sent
	over    chan struct{} // closed when the session has ended
	ended   bool          // over is closed; guarded by live.mu

	// seen are the states that the page shows, and again reports whether the page must be signalled once more. Only the
	// goroutine of live uses them.
	seen  []ticketing.WatchedState
	again bool
}

// open adds a stream. It returns false if there are too many.
func (l *live) open(s *stream) bool {
	s.live, s.changed, s.over = l, make(chan struct{}, 1), make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.streams) >= maxStreams || l.users[s.user] >= maxUserStreams {
		return false
	}
	l.streams[s] = struct{}{}
	l.users[s.user]++
	if !l.asking {
		l.asking = true
		go l.ask()
	}
	return true
}

// close removes a stream.
func (s *stream) close() {
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	delete(s.live.streams, s)
	if s.live.users[s.user]--; s.live.users[s.user] == 0 {
		delete(s.live.users, s.user)
	}
}

// draining returns a channel that is closed when the server of a request shuts down, so that the server does not wait
// for the streams. It is nil for a server that is not an [http.Server].
func (l *live) draining(r *http.Request) <-chan struct{} {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return nil
	}
	if known, ok := l.servers.Load(server); ok {
		return known.(chan struct{}) //nolint:forcetypeassert // Nothing else is stored.
	}
	drain := make(chan struct{})
	known, loaded := l.servers.LoadOrStore(server, drain)
	if !loaded {
		server.RegisterOnShutdown(func() { close(drain) })
	}
	return known.(chan struct{}) //nolint:forcetypeassert // Nothing else is stored.
}

// current returns the open streams. If there are none, the goroutine must end.
func (l *live) current() []*stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make([]*stream, 0, len(l.streams))
	for s := range l.streams {
		open = append(open, s)
	}
	l.asking = len(open) > 0
	return open
}

// ask asks for changes until no stream is open.
func (l *live) ask() {
	var checked time.Time
	failed := false
	for {
		commits := l.svc.Commits()
		open := l.current()
		if len(open) == 0 {
			return
		}
		began := time.Now()
		err := guarded(func() error {
			ctx, cancel := context.WithTimeout(context.Background(), watchWait)
			defer cancel()
			if began.Sub(checked) >= sessionsEvery {
				if err := l.checkSessions(ctx, open); err != nil {
					return err
				}
				checked = began
			}
			return l.compare(ctx, open)
		})
		if err != nil && !failed { // An outage is logged once.
			l.log.LogAttrs(context.Background(), slog.LevelWarn, "pages do not update by themselves for now",
				slog.String("error", err.Error()))
		}
		failed = err != nil
		pause(began.Add(watchAfter), nil)
		pause(began.Add(watchEvery), commits)
	}
}

// pause waits until a time, or until the channel is closed.
func pause(until time.Time, early <-chan struct{}) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	}
}

// compare signals the streams whose page shows an outdated state.
func (l *live) compare(ctx context.Context, open []*stream) error {
	var watched []ticketing.Watched
	index := map[ticketing.Watched]int{}
	for _, s := range open {
		for _, one := range s.watched {
			if _, ok := index[one]; !ok {
				index[one] = len(watched)
				watched = append(watched, one)
			}
		}
	}
	states, err := l.svc.Watch(ctx, watched)
	if err != nil {
		return err
	}
	for _, s := range open {
		now := make([]ticketing.WatchedState, len(s.watched))
		for i, one := range s.watched {
			now[i] = states[index[one]]
		}
		changed := s.seen == nil && s.missed(now)
		for i, state := range s.seen {
			changed = changed || state.Version != now[i].Version
		}
		s.seen = now
		// The dispatch adds a sale to the sums some moments after its commit. So a page is signalled once more.
		changed, s.again = changed || s.again, changed && slices.ContainsFunc(s.watched, isMoney)
		if changed {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}
	return nil
}

// missed reports whether a page may not show the state of when its stream opened. The sums of a sale that the page
// shows may come a moment later, so a page that was made right after a change has missed it, too.
func (s *stream) missed(now []ticketing.WatchedState) bool {
	return s.since.IsZero() || s.state != "" && s.state != stateOf(now) ||
		slices.ContainsFunc(now, func(state ticketing.WatchedState) bool {
			return s.state == "" && state.Undated || state.ChangedAt.After(s.since.Add(-watchSlack))
		})
}

// checkSessions ends the streams of ended sessions. It asks once for all of them, and once more for each person whose
// session has ended or was confirmed.
func (l *live) checkSessions(ctx context.Context, open []*stream) error {
	var secrets []string
	of := map[string]int{}
	for _, s := range open {
		if _, ok := of[s.secret]; !ok && s.secret != "" {
			of[s.secret] = len(secrets)
			secrets = append(secrets, s.secret)
		}
	}
	if len(secrets) == 0 {
		return nil
	}
	sessions, err := l.svc.Accounts().Sessions(ctx, secrets)
	if err != nil {
		return err
	}
	// A confirmation gives a session another secret. So a session is looked up by its id before its streams end.
	still := map[uuid.UUID][]ticketing.Session{}
	for _, s := range open {
		if s.secret == "" || sessions[of[s.secret]].ID != uuid.Nil {
			continue
		}
		if _, asked := still[s.user]; !asked {
			if still[s.user], err = l.svc.Accounts().ListSessions(ctx, s.user); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(still[s.user], func(one ticketing.Session) bool { return one.ID == s.session }) {
			l.end(s)
		}
	}
	return nil
}

// end ends a stream whose session has ended.
func (l *live) end(s *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !s.ended {
		s.ended = true
		close(s.over)
	}
}

func isMoney(one ticketing.Watched) bool { return one.Topic == ticketing.WatchMoney }
