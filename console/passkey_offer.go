package console

import (
	"context"
	"time"

	"github.com/floatgate/ticketing"
)

// accountPath is the page where a person adds passkeys at any time.
const accountPath = "/account"

// beginAndOffer gives the browser its session. The first page after it offers to add a passkey, if the person has none.
// The offer needs a script to be shown, as passkeys do. There is none after a sign-in that is not recent, such as that
// of an issuer who knew the person since the morning: it may not add a passkey.
func (x *exchange) beginAndOffer(ctx context.Context, in ticketing.SignedIn, next string) (answer, error) {
	led, err := x.begin(ctx, in, next)
	if err != nil {
		return answer{}, err
	}
	if !in.Session.Confirmed(x.began) {
		return led, nil
	}
	keys, err := x.accounts.ListPasskeys(ctx, in.Session.UserID)
	if err == nil && len(keys) == 0 {
		x.setCookie(offerCookie, "1", x.began.Add(time.Minute))
	}
	return led, err
}

// takeOffer reports whether the page has to offer a passkey, once.
func (x *exchange) takeOffer() bool {
	if x.cookie(offerCookie) == "" {
		return false
	}
	x.removeCookie(offerCookie)
	return true
}
