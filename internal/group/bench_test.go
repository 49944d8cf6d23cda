package group_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/floatgate/ticketing/internal/group"
)

// BenchmarkDo measures the cost of the mechanism for a call: the runs do nothing. Runs that give way yield the
// processor once, like a run that waits for a response, so that calls can be grouped.
func BenchmarkDo(b *testing.B) {
	for _, bench := range []struct {
		name          string
		callers, keys int
		run           func()
	}{
		{name: "1 caller", callers: 1, keys: 1, run: func() {}},
		{name: "256 callers", callers: 256, keys: 1, run: func() {}},
		{name: "256 callers, runs give way", callers: 256, keys: 1, run: runtime.Gosched},
		{name: "256 callers at 100 keys, runs give way", callers: 256, keys: 100, run: runtime.Gosched},
	} {
		b.Run(bench.name, func(b *testing.B) {
			runs := 0
			lanes := group.New(group.Config[int, *int]{
				Run: func(context.Context, time.Duration, []*int) error {
					runs++
					bench.run()
					return nil
				},
				Lanes: 1,
			})
			b.ReportAllocs()
			b.ResetTimer()
			var callers sync.WaitGroup
			for caller := range bench.callers {
				callers.Go(func() {
					for range (b.N + caller) / bench.callers {
						if err := lanes.Do(b.Context(), caller%bench.keys, 1, nil); err != nil {
							b.Error(err)
						}
					}
				})
			}
			callers.Wait()
			b.StopTimer()
			if err := lanes.Drain(b.Context()); err != nil {
				b.Error(err)
			}
			b.ReportMetric(float64(b.N)/float64(runs), "calls/group")
		})
	}
}
