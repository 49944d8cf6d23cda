package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strconv"
	"time"
)

// tolerance is how far a signature's time may differ from this machine's clock (section 6.4, item 4).
const tolerance = 300 * time.Second

var (
	signatureForm = regexp.MustCompile(`\At=([0-9]{1,12}),v1=([0-9a-f]{64})\z`)

	errForm    = errors.New("the signature header is missing or malformed")
	errTime    = errors.New("the signature is too old, or a clock is wrong")
	errForgery = errors.New("no secret made this signature of this body")
)

// verify checks the value of X-Service-Signature against the raw body (section 6.4, items 1 to 5).
func verify(header string, body []byte, now time.Time, secrets []string) error {
	parts := signatureForm.FindStringSubmatch(header)
	if parts == nil {
		return errForm
	}
	seconds, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return errForm
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return errTime
	}
	for _, secret := range secrets { // The header does not say which secret made it.
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(parts[1] + "."))
		mac.Write(body)
		if hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(parts[2])) { // in constant time
			return nil
		}
	}
	return errForgery
}
