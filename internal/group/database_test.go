package group_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/floatgate/ticketing/internal/group"
)

const (
	runTime     = 10 * time.Millisecond  // how long a run takes
	returnTime  = 4 * time.Millisecond   // how long callers take to call again
	patience    = 50 * time.Millisecond  // of a run in a lane
	ownPatience = 500 * time.Millisecond // of a run that is called with patience 0
)

var (
	errNoAnswer = errors.New("no answer yet")

	errPoison = errors.New("poison")
	errBusy   = errors.New("busy")
	errGone   = errors.New("gone")
)

func class(err error) group.Class {
	switch {
	case errors.Is(err, errBusy):
		return group.Busy
	case errors.Is(err, errGone):
		return group.Gone
	default:
		return group.Poison
	}
}

// job is a call for the database of these tests.
type job struct {
	key    string
	number int
	weight int
	fault  func() error // poison, a panic, or the end of the goroutine; nil if the job succeeds
}

func (j *job) String() string {
	return fmt.Sprintf("%s%d", j.key, j.number)
}

func poison() error { return errPoison }
func panics() error { panic("ada@example.com") }
func exits() error  { runtime.Goexit(); return nil }

// span is a time range, counted from the start of the bubble.
type span struct{ from, to time.Duration }

func (s span) has(at time.Duration) bool { return s.from <= at && at < s.to }

// database commits a group completely or not at all, waits for locks that somebody holds, and is unavailable at times.
type database struct {
	held map[string]span
	away span

	start  time.Time
	mu     sync.Mutex
	active map[string]int
	runs   []string // each run's jobs, in the order in which the runs began
	tried  []*job   // every job of every run
	kept   []*job
	wrong  []string // violations of what Config.Run promises
}

func newDatabase() *database {
	return &database{held: make(map[string]span), start: time.Now(), active: make(map[string]int)}
}

// config returns the configuration of lanes over the database, with one lane.
func (d *database) config() group.Config[string, *job] {
	return group.Config[string, *job]{Run: d.run, Class: class, Lanes: 1, Patience: patience, Timeout: time.Hour}
}

func (d *database) run(_ context.Context, patience time.Duration, jobs []*job) error {
	keys, names := make(map[string]bool), make([]string, 0, len(jobs))
	for _, j := range jobs {
		keys[j.key] = true
		names = append(names, j.String())
	}
	d.mu.Lock()
	d.runs = append(d.runs, strings.Join(names, " "))
	d.tried = append(d.tried, jobs...)
	if patience == 0 && len(keys) > 1 {
		d.wrong = append(d.wrong, "endless patience for several keys")
	}
	for key := range keys {
		if d.active[key]++; d.active[key] > 1 {
			d.wrong = append(d.wrong, "two runs of one key at a time")
		}
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for key := range keys {
			d.active[key]--
		}
	}()

	if patience == 0 {
		patience = ownPatience
	}
	time.Sleep(runTime)
	now := time.Since(d.start)
	if d.away.has(now) {
		return errGone
	}
	for _, j := range jobs {
		if lock := d.held[j.key]; lock.has(now) {
			if lock.to-now > patience {
				time.Sleep(patience)
				return errBusy
			}
			time.Sleep(lock.to - now)
			now = time.Since(d.start)
		}
	}
	for _, j := range jobs {
		if j.fault != nil {
			if err := j.fault(); err != nil {
				return err
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = append(d.kept, jobs...)
	return nil
}

// ran returns the runs so far.
func (d *database) ran() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.runs)
}

// keptOf returns how often a job was kept.
func (d *database) keptOf(j *job) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return count(d.kept, j)
}

func count(jobs []*job, one *job) int {
	n := 0
	for _, j := range jobs {
		if j == one {
			n++
		}
	}
	return n
}

// order returns the numbers of a key's jobs in the order in which they were kept.
func (d *database) order(key string) []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	var numbers []int
	for _, j := range d.kept {
		if j.key == key {
			numbers = append(numbers, j.number)
		}
	}
	return numbers
}

// callers send jobs, one after another, and collect the results.
type callers struct {
	lanes   *group.Lanes[string, *job]
	mu      sync.Mutex
	answers map[*job]error
	at      map[*job]time.Duration
	start   time.Time
}

func newCallers(config group.Config[string, *job]) *callers {
	return &callers{
		lanes: group.New(config), answers: make(map[*job]error), at: make(map[*job]time.Duration), start: time.Now(),
	}
}

// send sends jobs in order. It returns when each of them runs, waits or has its result.
func (c *callers) send(ctx context.Context, jobs ...*job) {
	synctest.Wait()
	for _, j := range jobs {
		go func() {
			err := c.lanes.Do(ctx, j.key, j.weight, j)
			c.mu.Lock()
			defer c.mu.Unlock()
			if _, twice := c.answers[j]; twice {
				err = fmt.Errorf("%v was answered twice", j)
			}
			c.answers[j] = err
			c.at[j] = time.Since(c.start)
		}()
		synctest.Wait()
	}
}

// teach makes two callers call again returnTime after a run that took as long as this, until the lanes have learned it.
// Then the clock of the test begins.
func (c *callers) teach(d *database, took time.Duration) {
	part := float64(returnTime) / float64(took+returnTime)
	for pace := 1.0; pace >= linger; pace -= (pace - part) / 16 {
		c.send(context.Background(), jobs("z1 z2 z3")...)
		time.Sleep(2*took + returnTime) // z2 and z3, which ran together, have returned.
		c.send(context.Background(), jobs("z4 z5")...)
		time.Sleep(2 * took)
		synctest.Wait()
	}
	c.reset(d)
}

// reset begins the clock of a test.
func (c *callers) reset(db *database) {
	db.mu.Lock()
	defer db.mu.Unlock()
	c.start, db.start, db.runs = time.Now(), time.Now(), nil
}

// answer returns the result of a job.
func (c *callers) answer(j *job) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err, ok := c.answers[j]
	if !ok {
		return errNoAnswer
	}
	return err
}

// when returns the time of a job's result.
func (c *callers) when(j *job) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at[j]
}

// answered returns the jobs that have a result, by name.
func (c *callers) answered() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.answers))
	for j := range c.answers {
		names = append(names, j.String())
	}
	slices.Sort(names)
	return names
}

// drain waits for all results.
func (c *callers) drain(t *testing.T) {
	t.Helper()
	if err := c.lanes.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// jobs makes jobs from names such as "a1 b1 a2", whose key is a letter.
func jobs(names string) []*job {
	fields := strings.Fields(names)
	all := make([]*job, 0, len(fields))
	for _, name := range fields {
		j := &job{}
		if _, err := fmt.Sscanf(name[1:], "%d", &j.number); err != nil {
			panic(err)
		}
		j.key = name[:1]
		all = append(all, j)
	}
	return all
}
