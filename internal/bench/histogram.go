package bench

import (
	"encoding/json"
	"math"
	"sync/atomic"
	"time"
)

// histogram counts latencies in buckets, each one percent wider than the one before, from a microsecond to an hour. Any
// number of goroutines may record.
type histogram struct {
	counts [histogramBuckets]atomic.Int64
	max    atomic.Int64 // exact
}

const (
	histogramBuckets = 2216 // 1.01 to this power is an hour in microseconds.
	histogramStep    = 1.01
)

func (h *histogram) record(took time.Duration) {
	bucket := 0
	if took > time.Microsecond {
		bucket = int(math.Log(float64(took)/float64(time.Microsecond)) / math.Log(histogramStep))
	}
	h.counts[min(bucket, histogramBuckets-1)].Add(1)
	for {
		most := h.max.Load()
		if int64(took) <= most || h.max.CompareAndSwap(most, int64(took)) {
			return
		}
	}
}

func (h *histogram) add(other *histogram) {
	for i := range h.counts {
		h.counts[i].Add(other.counts[i].Load())
	}
	h.max.Store(max(h.max.Load(), other.max.Load()))
}

// total returns how many latencies were recorded.
func (h *histogram) total() (total int64) {
	for i := range h.counts {
		total += h.counts[i].Load()
	}
	return total
}

// quantile returns the latency that the given part of all latencies did not exceed. It is at most one percent too high,
// and 0 if nothing was recorded.
func (h *histogram) quantile(part float64) time.Duration {
	total := h.total()
	rank := int64(math.Ceil(part * float64(total)))
	for i := range h.counts {
		if rank -= h.counts[i].Load(); rank <= 0 && total > 0 {
			edge := time.Duration(math.Pow(histogramStep, float64(i+1)) * float64(time.Microsecond))
			return min(edge, time.Duration(h.max.Load()))
		}
	}
	return 0
}

// encodedHistogram is the encoding of a histogram between processes: its non-empty buckets.
type encodedHistogram struct {
	Buckets [][2]int64 `json:"buckets"`
	Max     int64      `json:"max"`
}

// MarshalJSON encodes the non-empty buckets.
func (h *histogram) MarshalJSON() ([]byte, error) {
	e := encodedHistogram{Max: h.max.Load()}
	for i := range h.counts {
		if n := h.counts[i].Load(); n > 0 {
			e.Buckets = append(e.Buckets, [2]int64{int64(i), n})
		}
	}
	return json.Marshal(e)
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (h *histogram) UnmarshalJSON(text []byte) error {
	var e encodedHistogram
	if err := json.Unmarshal(text, &e); err != nil {
		return err
	}
	for _, b := range e.Buckets {
		if b[0] >= 0 && b[0] < histogramBuckets {
			h.counts[b[0]].Store(b[1])
		}
	}
	h.max.Store(e.Max)
	return nil
}
