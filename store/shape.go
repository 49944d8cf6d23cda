package store

import (
	"strings"
	"sync"
)

// The text of a statement about many rows depends on which of its columns are the same in all of them. Each text is
// prepared by itself, and for the shards of each company once more. So there a column that was seen to vary is an array
// from then on, and a statement soon has two texts: for one row and for many.

// shapes are the shapes of statements, by their tables and columns. It is safe for concurrent use.
type shapes struct {
	mu sync.Mutex
	of map[string]*shape
}

// shape says which columns of a statement vary, and which are short: see valuesTable.
type shape struct {
	mu             sync.Mutex
	varying, short []bool
}

// valuesTable returns the set as a table of a statement, with the shape of those that were like it.
func (e *postgresEngine) valuesTable(name string, of set) valuesTable {
	t := newValuesTable(of)
	if e.shapes != nil && of.length() > 1 {
		e.shapes.settle(name, &t)
	}
	return t
}

func (s *shapes) settle(name string, t *valuesTable) {
	key := name + " " + strings.Join(t.columns, " ")
	s.mu.Lock()
	if s.of == nil {
		s.of = make(map[string]*shape)
	}
	of := s.of[key]
	if of == nil {
		of = &shape{varying: make([]bool, len(t.columns)), short: make([]bool, len(t.columns))}
		s.of[key] = of
	}
	s.mu.Unlock()
	t.shape = of
	of.mu.Lock()
	defer of.mu.Unlock()
	for i := range t.columns {
		switch {
		case !t.constant[i]:
			of.varying[i] = true
		case of.varying[i]:
			t.constant[i] = false
			t.varying++
		}
	}
}

// shorten adds the columns that were short before, and remembers those that are.
func (s *shape) shorten(t valuesTable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range t.columns {
		s.short[i] = s.short[i] || t.short[i]
		t.short[i] = s.short[i]
	}
}
