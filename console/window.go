package console

import (
	"sync"
	"time"
)

// maxKeys bounds the memory of a window.
const maxKeys = 1 << 16

// window counts in fixed windows, in memory. A key's window begins with its first try. It is safe for concurrent use.
type window struct {
	mu     sync.Mutex
	most   int
	length time.Duration
	counts map[string]*count
	order  []*count // by the end of their windows
}

type count struct {
	key  string
	ends time.Time
	n    int
}

func newWindow(most int, length time.Duration) *window {
	return &window{most: most, length: length, counts: map[string]*count{}}
}

// take counts a try of a key and returns 0, or after how long the key may try again.
func (w *window) take(key string, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.order) > 0 && (!now.Before(w.order[0].ends) || len(w.order) > maxKeys) {
		delete(w.counts, w.order[0].key)
		w.order = w.order[1:]
	}
	c := w.counts[key]
	if c == nil {
		c = &count{key: key, ends: now.Add(w.length)}
		w.counts[key] = c
		w.order = append(w.order, c)
	}
	if c.n >= w.most {
		return c.ends.Sub(now)
	}
	c.n++
	return 0
}
