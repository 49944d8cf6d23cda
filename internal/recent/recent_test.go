package recent_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/recent"
)

// TestMap checks that the latest values are remembered, at least as many as the limit says and at most twice as many,
// and that a value that is added or put again stays longer.
func TestMap(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	m := recent.Map[int, string]{Limit: 2}
	kept := func() (keys []int) {
		for key := range 10 {
			if m.Has(key) {
				keys = append(keys, key)
			}
		}
		return keys
	}
	is.Equal(kept(), nil)
	for key := range 4 {
		m.Put(key, "first")
	}
	is.Equal(kept(), []int{0, 1, 2, 3})
	m.Add(0, "second")
	is.Equal(kept(), []int{0, 2, 3})
	m.Put(0, "third")
	m.Add(0, "fourth")
	value, ok := m.Get(0)
	is.True(ok)
	is.Equal(value, "third")
	m.Put(4, "first")
	m.Put(5, "first")
	is.Equal(kept(), []int{0, 4, 5})
	m.Forget(0)
	m.Forget(5)
	is.Equal(kept(), []int{4})
}
