package ticketingtest_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

func TestIDsAreOfTheContractAndRepeat(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	one, same, other := ticketingtest.NewIDs(7), ticketingtest.NewIDs(7), ticketingtest.NewIDs(8)
	seen := make(map[uuid.UUID]bool)
	for range 1000 {
		id := one()
		parsed, err := ticketing.ParseID(id.String())
		is.NoErr(err)
		is.Equal(parsed, id)
		is.Equal(same(), id)
		is.True(other() != id)
		is.True(!seen[id])
		seen[id] = true
	}
}
