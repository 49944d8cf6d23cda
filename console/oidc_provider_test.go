package console_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"sync"
	"testing"

	"github.com/matryer/is"
)

// rsaKeys are two keys of 2,048 bits, as providers sign with. They are made once, since that takes long.
var rsaKeys = sync.OnceValues(func() ([2]*rsa.PrivateKey, error) {
	var keys [2]*rsa.PrivateKey
	for n := range keys {
		var err error
		if keys[n], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			return keys, err
		}
	}
	return keys, nil
})

// rsaKey is a key of an issuer: an id, and which of the two keys it is.
type rsaKey struct {
	id string
	n  int
}

// signAs makes an issuer sign with the first of some keys, and publish all of them.
func (i *issuer) signAs(t *testing.T, published ...rsaKey) {
	t.Helper()
	pair, err := rsaKeys()
	is.New(t).NoErr(err)
	i.set(func() {
		i.endpoint["id_token_signing_alg_values_supported"] = []string{"RS256"}
		i.keys = nil
		for _, one := range published {
			key := pair[one.n].PublicKey
			i.keys = append(i.keys, map[string]string{
				"use": "sig", "kty": "RSA", "kid": one.id, "alg": "RS256", "n": encode(key.N.Bytes()),
				"e": encode(big.NewInt(int64(key.E)).Bytes()),
			})
		}
		i.sign = func(c claims) string { return rs256(t, pair[published[0].n], published[0].id, c) }
	})
}

func rs256(t *testing.T, key *rsa.PrivateKey, id string, c claims) string {
	t.Helper()
	ok := is.New(t)
	body, err := json.Marshal(c)
	ok.NoErr(err)
	text := encode([]byte(`{"alg":"RS256","kid":"`+id+`"}`)) + "." + encode(body)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	ok.NoErr(err)
	return text + "." + encode(signature)
}

// atHash is the hash of the access token of the issuer.
func atHash() string {
	sum := sha256.Sum256([]byte("access"))
	return encode(sum[:16])
}

// TestAnswersOfProvidersSignIn signs in with ID tokens that have the members of those of real providers, as recorded.
func TestAnswersOfProvidersSignIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		claims   claims // beside iss, sub, aud, nonce, iat and exp
		userInfo claims
	}{
		{
			name: "zitadel/oidc 3.51: the address at the UserInfo endpoint alone",
			claims: claims{
				"auth_time": opening.Unix(), "amr": []string{"pwd"}, "azp": clientID, "client_id": clientID, "at_hash": atHash(),
				"c_hash": "0jAWgT7bOe7vxU2y2Z6xJA",
			},
			userInfo: claims{"sub": "sub-" + owner, "email": address(owner), "email_verified": true},
		},
		{
			name: "dex of August 2026: one audience as text, no azp",
			claims: claims{
				"aud": clientID, "auth_time": opening.Unix(), "at_hash": atHash(), "c_hash": "DtBfqcdKOVQUZSojBi37GA",
				"jti": "06ce1ef4-b0cf-44a0-b769-1c23df43bad6", "email": address(owner), "email_verified": true,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ok, i := is.New(t), newIssuer(t)
			i.signAs(t, rsaKey{"8de06fad", 0}, rsaKey{"1", 1})
			i.userInfo = tt.userInfo
			s := newSite(t, i.use)
			s.clients["somebody"] = s.newClient(t)
			asked := s.lead(t, i, "somebody", begin)
			about := claims{
				"iss": i.URL, "sub": "sub-" + owner, "aud": []string{clientID}, "nonce": asked.Get("nonce"),
				"iat": opening.Unix(), "exp": opening.Unix() + 3600,
			}
			maps.Copy(about, tt.claims)
			in := s.comeBack(t, "somebody", i.issue(asked, about), asked.Get("state"))
			ok.Equal(in.StatusCode, http.StatusSeeOther)
			account := s.get(t, "somebody", "/account")
			ok.True(account.has(address(owner)))
			ok.True(account.has("OpenID Connect")) // how they signed in
		})
	}
}

// TestKeysOfTheIssuerAreRotated signs in after the issuer has made a new key, also under the id of the old one, and
// refuses what is signed with a key that the issuer does not publish any more.
func TestKeysOfTheIssuerAreRotated(t *testing.T) {
	t.Parallel()
	ok, i := is.New(t), newIssuer(t)
	s := newSite(t, i.use)
	signIn := func() page {
		s.clients["somebody"] = s.newClient(t)
		asked := s.lead(t, i, "somebody", begin)
		return s.comeBack(t, "somebody", i.issue(asked, s.claimsOf(i, asked, owner)), asked.Get("state"))
	}
	for _, published := range [][]rsaKey{
		{{"1", 0}},
		{{"2", 1}, {"1", 0}}, // a new key beside the old one
		{{"2", 0}},           // another key under the same id
	} {
		i.signAs(t, published...)
		ok.Equal(signIn().StatusCode, http.StatusSeeOther)
	}
	withdrawn := i.sign
	i.signAs(t, rsaKey{"3", 1})
	ok.Equal(signIn().StatusCode, http.StatusSeeOther)
	i.set(func() { i.sign = withdrawn })
	refused := signIn()
	ok.Equal(refused.StatusCode, http.StatusUnauthorized)
	ok.True(refused.has(notAccepted))
}
