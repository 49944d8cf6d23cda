package bench_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/bench"
)

// A bench of mails fails if a sale has no notification or no mail, if a mail came twice, or if one was recorded as sent
// but did not arrive.
func TestFindsLostMails(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(len(bench.JudgeMails(10, 10, 10, 10, 10)), 0)
	for _, counts := range [][4]int64{
		{9, 10, 10, 10}, {11, 10, 10, 10}, {10, 9, 10, 10}, {10, 10, 9, 10}, {10, 10, 10, 11},
	} {
		is.Equal(len(bench.JudgeMails(10, counts[0], counts[1], counts[2], counts[3])), 1)
	}
}

// A bench beside mails fails if an acknowledged sale has no notification, and if there are more notifications than
// sales that may have happened.
func TestFindsLostNotifications(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for _, test := range []struct {
		expected, notifications, failed int64
		problems                        int
	}{{10, 10, 0, 0}, {10, 12, 2, 0}, {10, 9, 2, 1}, {10, 13, 2, 1}} {
		is.Equal(len(bench.JudgeNotifications(test.expected, test.notifications, test.failed)), test.problems)
	}
}
