package ticketing

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// challengeLife is how long a challenge can be used.
const challengeLife = 5 * time.Minute

// challengeDomain separates the digests of challenges from all others.
const challengeDomain = "challenge.v1"

// challengeHead is the length of what a challenge begins with, in bytes: 8 of Unix milliseconds, big-endian, and 24
// random ones. Its digest follows.
const challengeHead = 8 + 24

var errChallenge = &Error{Code: CodeSignInRequired, Message: "This took too long or was used before. Try again."}

// NewChallenge returns bytes for a device to sign, such as the challenge of a passkey. Any process with the same secret
// keys can check them, so none has to keep them. The purpose says what the signature is for, and for whom: a challenge
// of one purpose is refused for every other.
func (a Accounts) NewChallenge(purpose string) ([]byte, error) {
	challenge := make([]byte, challengeHead)
	at := a.s.now().UnixMilli()
	binary.BigEndian.PutUint64(challenge, uint64(at))
	if _, err := io.ReadFull(a.s.rand, challenge[8:]); err != nil {
		return nil, fmt.Errorf("ticketing: make a challenge: %w", err)
	}
	return append(challenge, a.s.keys.Sum(challengeDomain, purpose, challenge)...), nil
}

// CheckChallenge returns the time at which a challenge was made. It returns SIGN_IN_REQUIRED for a challenge of another
// purpose, one that is older than five minutes, and one that this service did not make. It does not detect a repeated
// challenge: [Accounts.UsePasskey] does, by refusing a challenge that is not newer than the last use of the passkey.
func (a Accounts) CheckChallenge(purpose string, challenge []byte) (time.Time, error) {
	if len(challenge) < challengeHead {
		return time.Time{}, errChallenge
	}
	head, digest := challenge[:challengeHead], string(challenge[challengeHead:])
	if ok, _ := a.s.keys.Verify(digest, challengeDomain, purpose, head); !ok {
		return time.Time{}, errChallenge
	}
	at := time.UnixMilli(int64(binary.BigEndian.Uint64(head))).UTC() //nolint:gosec // NewChallenge wrote it.
	if now := a.s.now(); now.Sub(at) >= challengeLife || at.After(now.Add(time.Minute)) {
		return time.Time{}, errChallenge
	}
	return at, nil
}
