package ticketing_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store/memory"
)

func TestChallengeIsOfOnePurposeFiveMinutesAndTheseKeys(t *testing.T) {
	t.Parallel()
	ok, e := is.New(t), newEnv(t, memory.New())
	challenge, err := e.Accounts().NewChallenge("sign-in")
	ok.NoErr(err)
	again, err := e.Accounts().NewChallenge("sign-in")
	ok.NoErr(err)
	ok.True(!bytes.Equal(challenge, again))

	check := func(svc *ticketing.Service, purpose string, challenge []byte) ticketing.Code {
		_, err := svc.Accounts().CheckChallenge(purpose, challenge)
		return code(err)
	}
	ok.Equal(check(e.Service, "sign-in", challenge), ticketing.Code(""))
	rotated := e.service(t, secretKey('b'), secretKey('a'))
	ok.Equal(check(rotated, "sign-in", challenge), ticketing.Code(""))
	ok.Equal(check(e.service(t, secretKey('b')), "sign-in", challenge), ticketing.CodeSignInRequired)
	ok.Equal(check(e.Service, "confirm", challenge), ticketing.CodeSignInRequired)
	for i := range challenge {
		broken := append([]byte(nil), challenge...)
		broken[i] ^= 1
		ok.Equal(check(e.Service, "sign-in", broken), ticketing.CodeSignInRequired)
	}
	for n := range challenge {
		ok.Equal(check(e.Service, "sign-in", challenge[:n]), ticketing.CodeSignInRequired)
	}
	e.clock.advance(5*time.Minute - time.Millisecond)
	at, err := e.Accounts().CheckChallenge("sign-in", challenge)
	ok.NoErr(err)
	ok.Equal(at, opening)
	e.clock.advance(time.Millisecond)
	ok.Equal(check(e.Service, "sign-in", challenge), ticketing.CodeSignInRequired)
}
