package store_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/store"
)

// deadlines is a connection that records its read deadlines.
type deadlines struct {
	net.Conn

	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// TestFarDeadlinesStayForASecond checks that a deadline that is far ahead may stay for a second. One that is near,
// earlier than the one before, or zero is set at once.
func TestFarDeadlinesStayForASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		recorded := &deadlines{}
		conn := store.Lazily(recorded)
		begun := time.Now()
		at := func(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }
		for _, seconds := range []float64{60, 60.5, 60.9, 61.1, 61, 5, 5.5, 60} {
			is.NoErr(conn.SetReadDeadline(at(seconds)))
		}
		is.NoErr(conn.SetReadDeadline(time.Time{}))
		is.NoErr(conn.SetReadDeadline(at(60)))
		time.Sleep(50 * time.Second)
		is.NoErr(conn.SetReadDeadline(at(60.5)))
		is.Equal(recorded.set, []time.Time{at(60), at(61.1), at(61), at(5), at(5.5), at(60), {}, at(60), at(60.5)})
	})
}
