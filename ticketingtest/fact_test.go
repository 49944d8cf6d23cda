package ticketingtest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

func TestFactsWaitForSoMany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var facts ticketingtest.Facts
	one := ticketing.Fact{ID: uuid.New(), Type: ticketing.FactOrderCreated}
	two := ticketing.Fact{ID: uuid.New(), Type: ticketing.FactBalanceLow}
	is.NoErr(facts.OnFact(t.Context(), one))

	told, err := facts.Wait(t.Context(), 1)
	is.NoErr(err)
	is.Equal(told, []ticketing.Fact{one})

	waited := make(chan []ticketing.Fact)
	go func() {
		told, _ := facts.Wait(t.Context(), 2)
		waited <- told
	}()
	is.NoErr(facts.OnFact(t.Context(), two))
	is.Equal(<-waited, []ticketing.Fact{one, two})
	is.Equal(facts.Of(ticketing.FactBalanceLow), []ticketing.Fact{two})

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	told, err = facts.Wait(ended, 3)
	is.True(errors.Is(err, context.Canceled))
	is.Equal(told, []ticketing.Fact{one, two})
}
