package mail_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// checkError checks that the error is of the class (nil: the mail is tried again), has the code, and repeats neither an
// address nor the password nor anything that the server said.
func checkError(tb testing.TB, err, class error, code string) {
	tb.Helper()
	is := is.New(tb)
	var e *ticketing.MailError
	if !errors.As(err, &e) {
		tb.Fatalf("got %v, no MailError", err)
	}
	for _, one := range []error{ticketing.ErrMailRefused, ticketing.ErrMailServer} {
		if errors.Is(err, one) != errors.Is(class, one) {
			tb.Errorf("%v is %v: %v", err, one, errors.Is(err, one))
		}
	}
	is.Equal(e.Code, code)
	is.True(len(e.Code) <= 20)
	is.True(e.Text != "" && utf8.RuneCountInString(e.Text) <= 200 && !strings.ContainsAny(e.Text, "\r\n"))
	for _, secret := range []string{"chatter", "@", "ada", "p@ss", "float"} {
		is.True(!strings.Contains(err.Error(), secret))
	}
	tb.Log(err)
}
