package mail_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"hash"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// The best mechanism that a server offers is used, and the server accepts only the right user.
func TestBestMechanismIsUsed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, offers, uses string
	}{
		{"plain before LOGIN", "LOGIN PLAIN", "PLAIN"},
		{"LOGIN alone", "LOGIN", "LOGIN"},
		{"SHA-1 before PLAIN", "PLAIN LOGIN SCRAM-SHA-1", "SCRAM-SHA-1"},
		{"SHA-256 before SHA-1", "SCRAM-SHA-1 SCRAM-SHA-256 SCRAM-SHA-1-PLUS", "SCRAM-SHA-256"},
		{"bound to the connection", "CRAM-MD5 SCRAM-SHA-1 SCRAM-SHA-256 SCRAM-SHA-256-PLUS", "SCRAM-SHA-256-PLUS"},
		{"SHA-1 bound to the connection", "SCRAM-SHA-1 SCRAM-SHA-1-PLUS", "SCRAM-SHA-1-PLUS"},
		{"in lower case", "plain", "PLAIN"},
	} {
		for _, wrong := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, wrong %v", test.name, wrong), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					is := is.New(t)
					server := &script{offersTLS: []string{"AUTH " + test.offers}}
					used := ""
					server.authenticate = func(p *peer, rest string) bool {
						used, _, _ = strings.Cut(rest, " ")
						return p.signIn(rest, 4096)
					}
					url := rawURL
					if wrong {
						url = strings.Replace(url, "p%40ss", "other", 1)
					}
					s := server.mailer(t, url, mail.SMTPConfig{})
					err := s.Check(t.Context())
					is.Equal(used, test.uses)
					if wrong {
						checkError(t, err, ticketing.ErrMailServer, "535 5.7.8")
						return
					}
					is.NoErr(err)
					is.NoErr(s.Mail(t.Context(), ticketMail(1)))
				})
			})
		}
	}
}

// A server cannot make a client work for hours.
func TestServerCannotAskForEndlessWork(t *testing.T) {
	t.Parallel()
	for _, iterations := range []int{-1, 0, 1_000_001, 1 << 31, 1 << 62} {
		synctest.Test(t, func(t *testing.T) {
			server := &script{offersTLS: []string{"AUTH SCRAM-SHA-256"}}
			server.authenticate = func(p *peer, rest string) bool { return p.signIn(rest, iterations) }
			s := server.mailer(t, rawURL, mail.SMTPConfig{})
			begun := time.Now()
			checkError(t, s.Check(t.Context()), ticketing.ErrMailServer, "")
			is.New(t).True(time.Since(begun) < time.Minute)
		})
	}
}

// signIn is the server's half of signing in. It reports whether the client has sent the right user and password.
func (p *peer) signIn(rest string, iterations int) bool {
	mechanism, initial, _ := strings.Cut(rest, " ")
	ask := func(challenge string) string {
		p.say("334 " + base64.StdEncoding.EncodeToString([]byte(challenge)))
		line, _ := p.hear()
		answer, _ := base64.StdEncoding.DecodeString(line)
		return string(answer)
	}
	switch mechanism {
	case "PLAIN":
		answer, _ := base64.StdEncoding.DecodeString(initial)
		return string(answer) == "\x00"+user+"\x00"+password
	case "LOGIN":
		return ask("Username:") == user && ask("Password:") == password
	}
	// SCRAM, RFC 5802.
	newHash := sha256.New
	if strings.Contains(mechanism, "SHA-1") {
		newHash = sha1.New
	}
	first := ask("")
	binding, bare, ok := strings.Cut(first, ",,")
	nonce := bare[strings.Index(bare, ",r=")+len(",r="):]
	if !ok || bare != "n="+user+",r="+nonce || nonce == "" {
		return false
	}
	salt := []byte("salt of the server")
	serverFirst := fmt.Sprintf("r=%sserver,s=%s,i=%d", nonce, base64.StdEncoding.EncodeToString(salt), iterations)
	final := ask(serverFirst)
	without, proof, ok := strings.Cut(final, ",p=")
	if !ok {
		return false
	}
	bound := binding + ",,"
	if strings.HasSuffix(mechanism, "-PLUS") {
		state := p.conn.(*tls.Conn).ConnectionState()
		key, err := state.ExportKeyingMaterial("EXPORTER-Channel-Binding", nil, 32)
		if err != nil || binding != "p=tls-exporter" {
			return false
		}
		bound += string(key)
	}
	if without != "c="+base64.StdEncoding.EncodeToString([]byte(bound))+",r="+nonce+"server" {
		return false
	}
	sum := func(key []byte, text string) []byte { return mac(newHash, key, text) }
	salted, err := pbkdf2.Key(newHash, password, salt, iterations, newHash().Size())
	if err != nil {
		return false
	}
	message := bare + "," + serverFirst + "," + without
	clientKey := sum(salted, "Client Key")
	digest := newHash()
	digest.Write(clientKey)
	signature := sum(digest.Sum(nil), message)
	for i := range clientKey {
		clientKey[i] ^= signature[i]
	}
	got, _ := base64.StdEncoding.DecodeString(proof)
	if !bytes.Equal(got, clientKey) {
		return false
	}
	ask("v=" + base64.StdEncoding.EncodeToString(sum(sum(salted, "Server Key"), message)))
	return true
}

func mac(newHash func() hash.Hash, key []byte, text string) []byte {
	m := hmac.New(newHash, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}
