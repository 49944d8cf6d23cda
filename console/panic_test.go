package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

// breaking is a mailer of a host with a bug.
type breaking struct{ called chan struct{} }

func (b breaking) Mail(_ context.Context, mail ticketing.Mail) error {
	defer close(b.called)
	panic("cannot mail " + mail.To)
}

func TestPanicOfAMailerEndsNothing(t *testing.T) {
	t.Parallel()
	ok, mailer := is.New(t), breaking{make(chan struct{})}
	s := newSite(t, func(c *console.Config) { c.Mailer = mailer })
	ok.Equal(s.post(t, nobody, "/sign-in", "email", address(owner)).StatusCode, http.StatusSeeOther)
	<-mailer.called
	for !strings.Contains(s.log.String(), "panic of type string") {
		select {
		case <-t.Context().Done():
			t.Fatal("nothing was logged")
		case <-time.After(time.Millisecond):
		}
	}
	ok.True(!strings.Contains(s.log.String(), address(owner)))
}
