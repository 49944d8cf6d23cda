package mail

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"regexp"

	gomail "github.com/wneessen/go-mail"
)

// minRSA is the size of the shortest RSA key that signs, in bits. Receivers reject keys below 1,024 (RFC 8301).
const minRSA = 2048

// maxTag is the longest value of a domain or selector. The library breaks a longer one into two lines, which breaks the
// signature.
const maxTag = 70

var selectorForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// DKIM signs mails (RFC 6376, with the ed25519 of RFC 8463). The domain of a signature is that of the mail's From
// address, as DMARC asks for. Its public key is expected in a TXT record of "selector._domainkey.domain".
type DKIM struct {
	// Key is an [ed25519.PrivateKey] or an [*rsa.PrivateKey] of at least 2048 bits, see [ParseDKIMKey].
	Key crypto.Signer
	// Selector names the key in the domain's DNS.
	Selector string
}

func (d *DKIM) check() error {
	if err := checkKey(d.Key); err != nil {
		return err
	}
	if len(d.Selector) > maxTag || !selectorForm.MatchString(d.Selector) {
		return errors.New("mail: the DKIM selector is not a name in DNS, such as mail2030")
	}
	return nil
}

func checkKey(key any) error {
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return nil
	case *rsa.PrivateKey:
		if key.N.BitLen() >= minRSA {
			return nil
		}
		return errors.New("mail: the DKIM key is an RSA key of less than 2048 bits")
	}
	return errors.New("mail: the DKIM key is neither an RSA nor an ed25519 private key")
}

// ParseDKIMKey returns the private key of a PEM file: an RSA key of at least 2048 bits in PKCS #1 or PKCS #8, or an
// ed25519 key in PKCS #8. An encrypted key is refused. No error repeats the file.
func ParseDKIMKey(file []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(file)
	if block == nil {
		return nil, errors.New("mail: the DKIM key is not a PEM file")
	}
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	default:
		return nil, errors.New("mail: the DKIM file has no unencrypted private key")
	}
	if err != nil {
		return nil, errors.New("mail: the DKIM key cannot be parsed")
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	return key.(crypto.Signer), nil
}

// sign makes the library sign the message as it is written. The From header is signed twice, so that none can be added.
func (d *DKIM) sign(msg *message) error {
	if len(msg.domain) > maxTag || !isASCII(msg.domain) {
		return failed(textUnsignable, nil)
	}
	// Each message gets its own signer: the library writes to it as it signs.
	signer := gomail.NewDKIMSigner(msg.domain, d.Selector, d.Key)
	// The library breaks the list of headers where it has more than 75 characters, which breaks the signature. So the
	// references are not signed.
	signer.SignHeaders("From", "To", "Reply-To", "Subject", "Date", "Message-ID", "Content-Type", "MIME-Version")
	signer.OversignHeaders("From")
	msg.SetDKIM(signer)
	return nil
}
