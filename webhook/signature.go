package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// SecretPrefix begins every signing secret (section 5.2). It is part of the key: the HMAC key is the whole text.
	SecretPrefix = "svc_whsec_"
	// Tolerance is how far the time of a signature may differ from the receiver's clock, in either direction.
	Tolerance = 300 * time.Second

	maxTimestamp = 999_999_999_999 // twelve digits
)

// The errors of a signature, for errors.Is.
var (
	// ErrSecret means that no secret was given, or an empty one. The fault is in the receiver's settings, not at the
	// sender.
	ErrSecret = errors.New("webhook: no signing secret, or an empty one")
	// ErrSignatureHeader means that there is no signature, more than one, or one that does not have the form of Sign.
	ErrSignatureHeader = errors.New("webhook: the signature header is missing or malformed")
	// ErrTimestamp means that the signature was made more than Tolerance before or after now.
	ErrTimestamp = errors.New("webhook: the signature's time is too far from now")
	// ErrSignature means that no secret makes this signature of this body: the secret or the body is a different one.
	ErrSignature = errors.New("webhook: the signature does not match")
)

// Sign returns the value of [HeaderSignature] for a body that is sent at a time (section 6.4):
//
//	t=<timestamp>,v1=<digest>
//
// The timestamp is the time in whole seconds since 1970-01-01T00:00:00Z, in ASCII digits. The digest is the HMAC-SHA256
// (RFC 2104, FIPS 180-4), as 64 lower-case hexadecimal digits, with the bytes of the whole secret as key ("svc_whsec_"
// too) and over the bytes
//
//	the timestamp's digits, "." (0x2E), the body as it is sent
//
// so that a signature holds for one body and one moment. As an example, the secret "svc_whsec_example", the second
// 1767225600 and the body {} make
//
//	t=1767225600,v1=a6f6850a99c6229061afa91483d9e8e07a36ab740525ab278b3992b50acb57fa
//
// More vectors are in testdata/signatures.json. Sign returns "" for an empty secret and for a time before 1970 or of
// more than twelve digits: anyone could make such a signature, or no receiver would accept it.
func Sign(secret string, at time.Time, body []byte) string {
	seconds := at.Unix()
	if secret == "" || seconds < 0 || seconds > maxTimestamp {
		return ""
	}
	timestamp := strconv.FormatInt(seconds, 10)
	return "t=" + timestamp + ",v1=" + hex.EncodeToString(digest(secret, timestamp, body))
}

// Verify returns nil if a body was signed with one of the secrets, at a time near now. The header is the value of
// [HeaderSignature]. The body is the raw bytes as they came: JSON that was parsed and written again has other bytes.
//
// The header is "t=", one to twelve ASCII digits, ",v1=" and exactly 64 digits or lower-case letters a to f, and
// nothing before, between or after them. Its time may differ from now by at most 300 s in either direction. The digest
// is computed over the timestamp exactly as it is in the header, including leading zeros. It is computed with every
// secret, and compared in constant time. Several secrets are for a rotation: the header does not say which one was
// used.
//
// The error is [ErrSecret], [ErrSignatureHeader], [ErrTimestamp] or [ErrSignature], checked in this order.
func Verify(header string, body []byte, now time.Time, secrets ...string) error {
	_, err := verify(header, body, now, secrets)
	return err
}

// verify returns the time of the signature.
func verify(header string, body []byte, now time.Time, secrets []string) (time.Time, error) {
	if len(secrets) == 0 || slices.Contains(secrets, "") { // Anyone could sign with the empty one.
		return time.Time{}, ErrSecret
	}
	timestamp, sent, ok := parseSignature(header)
	if !ok {
		return time.Time{}, ErrSignatureHeader
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil { // There are no digits.
		return time.Time{}, ErrSignatureHeader
	}
	at := time.Unix(seconds, 0).UTC()
	if off := now.Sub(at); off > Tolerance || off < -Tolerance {
		return time.Time{}, ErrTimestamp
	}
	matches := false
	// Try all of them, so that the time taken does not reveal which one matched.
	for _, secret := range secrets {
		if hmac.Equal(digest(secret, timestamp, body), sent) {
			matches = true
		}
	}
	if !matches {
		return time.Time{}, ErrSignature
	}
	return at, nil
}

func digest(secret, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp))
	mac.Write([]byte{'.'})
	mac.Write(body)
	return mac.Sum(nil)
}

// parseSignature splits a header into the digits of its time, at most twelve, and its digest.
func parseSignature(header string) (timestamp string, sum []byte, ok bool) {
	rest, ok := strings.CutPrefix(header, "t=")
	if !ok {
		return "", nil, false
	}
	timestamp, sent, ok := strings.Cut(rest, ",v1=")
	if !ok || len(timestamp) > 12 || len(sent) != hex.EncodedLen(sha256.Size) ||
		strings.Trim(timestamp, "0123456789") != "" || strings.ContainsAny(sent, "ABCDEF") {
		return "", nil, false
	}
	sum, err := hex.DecodeString(sent)
	return timestamp, sum, err == nil
}
