package mail_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

var testKeys = sync.OnceValue(func() map[string]crypto.Signer {
	long, _ := rsa.GenerateKey(rand.Reader, 2048)
	short, _ := rsa.GenerateKey(rand.Reader, 1024)
	_, edwards, _ := ed25519.GenerateKey(rand.Reader)
	other, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return map[string]crypto.Signer{"rsa": long, "short": short, "ed25519": edwards, "ecdsa": other}
})

func pkcs8(key any) []byte {
	der, _ := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// An independent verifier accepts the signature of a mail that arrived, with keys of both kinds and with any content.
// The signature is of the domain of the From address, and is invalid for a changed mail.
func TestSignatureHolds(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"rsa", "ed25519"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			key, err := mail.ParseDKIMKey(pkcs8(testKeys()[kind]))
			is.NoErr(err)
			r := receive(t, false)
			s := r.mailer(t, "smtp://mail.example.com", mail.SMTPConfig{DKIM: &mail.DKIM{Key: key, Selector: "tickets"}})
			mails := []ticketing.Mail{ticketMail(2), ticketMail(50)}
			for _, text := range hostile {
				m := ticketMail(1)
				m.FromName, m.Subject, m.Text, m.References = text, text, text, ""
				mails = append(mails, m)
			}
			long := ticketMail(0)
			long.FromAddress = "tickets@" + strings.Repeat("a", 58) + ".Example.com"
			mails = append(mails, long)
			for i, m := range mails {
				is.NoErr(s.Mail(t.Context(), m))
				data := r.all()[i].data
				checkMessage(t, data, m)
				domain := strings.ToLower(m.FromAddress[strings.Index(m.FromAddress, "@")+1:])
				is.Equal(verify(t, key, domain, data), "")
			}
			data := r.all()[0].data
			for _, change := range []func([]byte) []byte{
				func(b []byte) []byte { return append([]byte("From: eve@example.com\r\n"), b...) },
				func(b []byte) []byte { return bytes.Replace(b, []byte("To: <ada"), []byte("To: <eve"), 1) },
				func(b []byte) []byte { return bytes.Replace(b, []byte("Reply-To: <help"), []byte("Reply-To: <eve"), 1) },
				func(b []byte) []byte { return bytes.Replace(b, []byte("Here are"), []byte("Here were"), 1) },
				func(b []byte) []byte { return append(b, "more\r\n"...) },
			} {
				is.True(verify(t, key, "example.com", change(bytes.Clone(data))) != "")
			}
		})
	}
}

// verify returns what is wrong with the only signature of the message.
func verify(tb testing.TB, key crypto.Signer, domain string, data []byte) string {
	tb.Helper()
	is := is.New(tb)
	record := "v=DKIM1; k=ed25519; p="
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		record = "v=DKIM1; k=rsa; p="
		der, err := x509.MarshalPKIXPublicKey(key.Public())
		is.NoErr(err)
		public = der
	}
	results, err := dkim.VerifyWithOptions(bytes.NewReader(data), &dkim.VerifyOptions{
		LookupTXT: func(name string) ([]string, error) {
			is.Equal(name, "tickets._domainkey."+domain)
			return []string{record + base64.StdEncoding.EncodeToString(public)}, nil
		},
	})
	is.NoErr(err)
	is.Equal(len(results), 1)
	if results[0].Err != nil {
		return results[0].Err.Error()
	}
	is.Equal(results[0].Domain, domain)
	return ""
}

// A mail that cannot be signed is not sent without a signature.
func TestUnsignableMailIsNotSent(t *testing.T) {
	t.Parallel()
	r := receive(t, false)
	s := r.mailer(t, "smtp://mail.example.com",
		mail.SMTPConfig{DKIM: &mail.DKIM{Key: testKeys()["ed25519"], Selector: "tickets"}})
	m := ticketMail(1)
	m.FromAddress = "tickets@" + strings.Repeat("a", 60) + ".example.com"
	checkError(t, s.Mail(t.Context(), m), nil, "")
	is.New(t).Equal(len(r.all()), 0)
}

// Keys that receivers accept are parsed, others are refused, and no error repeats a key.
func TestKeyFiles(t *testing.T) {
	t.Parallel()
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	long := testKeys()["rsa"].(*rsa.PrivateKey)
	public, err := x509.MarshalPKIXPublicKey(long.Public())
	is.New(t).NoErr(err)
	for _, test := range []struct {
		name string
		file []byte
		ok   bool
	}{
		{"RSA in PKCS #8", pkcs8(long), true},
		{"RSA in PKCS #1", block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(long)), true},
		{"text around it", append([]byte("tickets 2030\n"), append(pkcs8(long), "end\n"...)...), true},
		{"ed25519", pkcs8(testKeys()["ed25519"]), true},
		{"short RSA", pkcs8(testKeys()["short"]), false},
		{"ECDSA", pkcs8(testKeys()["ecdsa"]), false},
		{"public key", block("PUBLIC KEY", public), false},
		{"encrypted", block("ENCRYPTED PRIVATE KEY", public), false},
		{"cut", block("PRIVATE KEY", x509.MarshalPKCS1PrivateKey(long)[:100]), false},
		{"no PEM", []byte("secret"), false},
		{"empty", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			key, err := mail.ParseDKIMKey(test.file)
			is.Equal(err == nil, test.ok)
			if !test.ok {
				is.True(!strings.Contains(err.Error(), "secret"))
				return
			}
			_, err = mail.NewSMTP("smtp://"+host, &mail.SMTPConfig{DKIM: &mail.DKIM{Key: key, Selector: "a.b-c_1"}})
			is.NoErr(err)
		})
	}
	for _, config := range []mail.DKIM{
		{},
		{Key: long},
		{Selector: "a"},
		{Key: testKeys()["short"], Selector: "a"},
		{Key: long, Selector: "a; b=c"},
		{Key: testKeys()["ecdsa"], Selector: "a"},
		{Key: long, Selector: strings.Repeat("a", 71)},
	} {
		_, err := mail.NewSMTP("smtp://"+host, &mail.SMTPConfig{DKIM: &config})
		is.New(t).True(err != nil)
	}
}
