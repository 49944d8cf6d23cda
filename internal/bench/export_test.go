package bench

import (
	"context"
	"encoding/json"
	"math"
	"time"
)

// JudgeBooks returns the problems of books with the given number of orders.
func JudgeBooks(orders, acknowledged, failed int64) []string {
	books := booksVerified{Orders: orders}
	books.judge(acknowledged, failed)
	return books.Problems
}

// JudgeScans returns the problems of books with the given number of validations.
func JudgeScans(validated, acknowledged, failed int64) []string {
	books := booksVerified{Validated: validated}
	books.judgeScans(acknowledged, failed)
	return books.Problems
}

// JudgeDeliveries returns the problems of the deliveries of the given number of events.
func JudgeDeliveries(expected, deliveries, succeeded, arrived, refused int64) []string {
	v := webhookVerified{
		Expected: expected, Deliveries: deliveries, Succeeded: succeeded, Arrived: arrived, Refused: refused,
	}
	v.judge()
	return v.Problems
}

// JudgeMails returns the problems of the mails of the given number of sales.
func JudgeMails(expected, notifications, sent, arrived, accepted int64) []string {
	v := mailVerified{
		Expected: expected, Notifications: notifications, Sent: sent, Arrived: arrived, Accepted: accepted,
	}
	v.judge()
	return v.Problems
}

// JudgeNotifications returns the problems of the notifications of the given number of sales and failed calls.
func JudgeNotifications(expected, notifications, failed int64) []string {
	v := mailLoadVerified{Expected: expected, Notifications: notifications}
	v.judge(failed)
	return v.Problems
}

// JudgeRush returns why a bench of checkouts beside pages fails whose answers of a page had the given codes.
func JudgeRush(page string, codes map[string]int64, callsBeside int64) error {
	took := new(histogram)
	took.record(time.Millisecond)
	run := rushRun{took: took}
	run.Without.Calls, run.Beside.Calls = 1, callsBeside
	r := rushReport{Runs: []rushRun{run}, Books: booksVerified{OK: true}}
	r.summarise(map[string]*pageAnswers{page: {failed: codes}})
	return r.failure()
}

// Slices returns the lengths of the slices of a run with the given median latency.
func Slices(run, median time.Duration) (lengths []time.Duration) {
	b := &bench{slowest: median}
	for left := run; left > 0; left -= lengths[len(lengths)-1] {
		lengths = append(lengths, b.sliceOf(left))
	}
	return lengths
}

// Slice returns the calls a second of a slice in which each client calls call in a loop.
func Slice(ctx context.Context, length time.Duration, clients int, call func()) (perSecond float64, err error) {
	side := &loadSide{}
	for range clients {
		side.callers = append(side.callers, callerFunc(call))
	}
	l := &load{plan: loadPlan{Op: OpQuote, Shops: make([]shop, 1)}, sides: [2]*loadSide{side, side}}
	o, err := l.slice(ctx, sliceOrder{For: length, Budget: math.MaxInt64})
	if err != nil {
		return 0, err
	}
	return rate(o.Completed, o.Window), nil
}

type callerFunc func()

func (c callerFunc) call(context.Context, *task) error { c(); return nil }
func (c callerFunc) interrupt()                        {}

// Quantiles returns quantiles and the maximum of latencies, after encoding and decoding them as between processes.
func Quantiles(latencies []time.Duration, parts ...float64) (quantiles []time.Duration, most time.Duration, err error) {
	var h, other histogram
	for _, latency := range latencies {
		h.record(latency)
	}
	text, err := json.Marshal(&h)
	if err == nil {
		err = json.Unmarshal(text, &other)
	}
	for _, part := range parts {
		quantiles = append(quantiles, other.quantile(part))
	}
	return quantiles, time.Duration(other.max.Load()), err
}
