package webhook_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/webhook"
)

const (
	secret = "svc_whsec_example"
	next   = "svc_whsec_bmV4dA_-next"
)

// now is the time of the tests, in the zone of Lagos.
var now = time.Unix(1767225600, 0).In(time.FixedZone("WAT", 3600))

// vectors are those of testdata/signatures.json, which describes them.
type vectors struct {
	Sign []struct {
		Name, Secret, Timestamp, Body, Header string
	}
	Verify []struct {
		Name         string
		Now          int64
		Secrets      []string
		Header, Body string
		Result       string
	}
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var read vectors
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if len(read.Sign) < 10 || len(read.Verify) < 50 {
		t.Fatalf("%d and %d vectors", len(read.Sign), len(read.Verify))
	}
	return read
}

// Section 6.4, items 1 to 3: the signature equals that of other implementations of HMAC, and verifies.
func TestSignMakesTheGoldenSignatures(t *testing.T) {
	t.Parallel()
	for _, vector := range readVectors(t).Sign {
		t.Run(vector.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			seconds, err := strconv.ParseInt(vector.Timestamp, 10, 64)
			is.NoErr(err)
			at := time.Unix(seconds, 999_999_999) // The fraction of a second is dropped.
			is.Equal(webhook.Sign(vector.Secret, at, []byte(vector.Body)), vector.Header)
			is.NoErr(webhook.Verify(vector.Header, []byte(vector.Body), time.Unix(seconds, 0), vector.Secret))
		})
	}
}

// Section 6.4, items 3 to 5: what is accepted, and the error of each refusal.
func TestVerifyFindsWhatTheGoldenVectorsSay(t *testing.T) {
	t.Parallel()
	results := map[string]error{
		"ok": nil, "secret": webhook.ErrSecret, "header": webhook.ErrSignatureHeader,
		"timestamp": webhook.ErrTimestamp, "signature": webhook.ErrSignature,
	}
	for _, vector := range readVectors(t).Verify {
		t.Run(vector.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			want, known := results[vector.Result]
			is.True(known)
			err := webhook.Verify(vector.Header, []byte(vector.Body), time.Unix(vector.Now, 0), vector.Secrets...)
			is.True(errors.Is(err, want))
		})
	}
}

// The clock has fractions of a second: the tolerance is exactly 300 s.
func TestToleranceHasSharpEdges(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	body := []byte("{}")
	header := webhook.Sign(secret, now, body)
	for _, edge := range []time.Duration{-webhook.Tolerance, webhook.Tolerance} {
		further := edge + edge/webhook.Tolerance // by a nanosecond
		is.NoErr(webhook.Verify(header, body, now.Add(edge), secret))
		is.True(errors.Is(webhook.Verify(header, body, now.Add(further), secret), webhook.ErrTimestamp))
	}
	// A time that is too far for any Duration is refused, too.
	far := webhook.Sign(secret, time.Unix(999_999_999_999, 0), body)
	is.True(errors.Is(webhook.Verify(far, body, now, secret), webhook.ErrTimestamp))
	is.True(errors.Is(webhook.Verify(far, body, time.Time{}, secret), webhook.ErrTimestamp))
	is.True(errors.Is(webhook.Verify(header, body, time.Unix(1<<40, 0), secret), webhook.ErrTimestamp))
}

// A change of any bit of the header or the body is found.
func TestEveryByteIsSigned(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	body := []byte(`{"id":"0b8f6f0e-6d5c-4c1e-9a53-0f2d5f8b7a10"}`)
	header := webhook.Sign(secret, now, body)
	for i := range len(header) {
		for bit := range 8 {
			mangled := []byte(header)
			mangled[i] ^= 1 << bit
			is.True(webhook.Verify(string(mangled), body, now, secret) != nil)
		}
	}
	for i := range body {
		for bit := range 8 {
			body[i] ^= 1 << bit
			is.True(errors.Is(webhook.Verify(header, body, now, secret), webhook.ErrSignature))
			body[i] ^= 1 << bit
		}
	}
	is.NoErr(webhook.Verify(header, body, now, secret))
}

// Sign makes no signature that anyone could make, or that no receiver accepts.
func TestSignRefusesToSignNothing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(webhook.Sign("", now, []byte("{}")), "")
	is.Equal(webhook.Sign(secret, time.Unix(-1, 0), []byte("{}")), "")
	is.Equal(webhook.Sign(secret, time.Time{}, []byte("{}")), "")
	is.Equal(webhook.Sign(secret, time.Unix(1_000_000_000_000, 0), []byte("{}")), "")
}

var headerForm = regexp.MustCompile(`\At=[0-9]{1,12},v1=[0-9a-f]{64}\z`)

// A header is malformed exactly if it has not the form of section 6.4, and no guess is accepted.
func FuzzVerify(f *testing.F) {
	for _, vector := range readVectors(f).Verify {
		f.Add(vector.Header, []byte(vector.Body), vector.Now)
	}
	f.Fuzz(func(t *testing.T, header string, body []byte, seconds int64) {
		is := is.New(t)
		at := time.Unix(seconds%(1<<40), 0)
		err := webhook.Verify(header, body, at, "svc_whsec_fuzz") // Nothing in the seeds is signed with it.
		is.True(err != nil)
		is.Equal(errors.Is(err, webhook.ErrSignatureHeader), !headerForm.MatchString(header))
		signed := webhook.Sign(secret, at, body)
		is.Equal(signed != "", at.Unix() >= 0 && at.Unix() <= 999_999_999_999)
		if signed != "" {
			is.True(headerForm.MatchString(signed))
			is.NoErr(webhook.Verify(signed, body, at, next, secret))
		}
		is.True(!strings.Contains(err.Error(), "fuzz"))
	})
}
