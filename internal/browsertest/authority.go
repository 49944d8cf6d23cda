package browsertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Authority issues the certificates of a test's servers. Only those trust it that a test passes it to: a browser, by
// [New], or a client in Go, by its Pool. All browsers of [New] also trust the one of [Trusted].
type Authority struct {
	// Root is the authority's own certificate.
	Root *x509.Certificate

	key *ecdsa.PrivateKey
}

// NewAuthority makes an authority with a new key.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	authority, err := makeAuthority()
	if err != nil {
		tb.Fatal(err)
	}
	return authority
}

// Trusted returns the authority that the shared Chromium of [New] trusts. It is the same for all tests of a package.
func Trusted(tb testing.TB) *Authority {
	tb.Helper()
	authority, err := theTrusted()
	if err != nil {
		tb.Fatal(err)
	}
	return authority
}

var theTrusted = sync.OnceValues(makeAuthority)

func makeAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	root, err := sign(template, template, key, key)
	return &Authority{Root: root, key: key}, err
}

func sign(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// Pool returns roots for a client that trusts only this authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Root)
	return pool
}

// Certificate returns a new certificate for the names, with its chain up to the authority. Without names it is for
// localhost, all names under it, and 127.0.0.1.
func (a *Authority) Certificate(tb testing.TB, names ...string) tls.Certificate {
	tb.Helper()
	if len(names) == 0 {
		names = []string{"localhost", "*.localhost", "127.0.0.1"}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: names[0]},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	leaf, err := sign(template, a.Root, key, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{leaf.Raw, a.Root.Raw}, PrivateKey: key, Leaf: leaf}
}

// Files writes a new certificate for the names, as Certificate makes it, and its key to PEM files, for the flags of a
// server.
func (a *Authority) Files(tb testing.TB, names ...string) (certFile, keyFile string) {
	tb.Helper()
	certificate := a.Certificate(tb, names...)
	var chain []byte
	for _, der := range certificate.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		tb.Fatal(err)
	}
	folder := tb.TempDir()
	certFile, keyFile = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for path, content := range map[string][]byte{
		certFile: chain, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return certFile, keyFile
}

// Server serves a handler over TLS until the test ends, and returns its origin: https://localhost:PORT. It can also be
// reached at 127.0.0.1 and at each name under localhost, which are other origins. Two servers are two origins, since
// their ports differ.
func (a *Authority) Server(tb testing.TB, handler http.Handler) (origin string) {
	tb.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{a.Certificate(tb)}, MinVersion: tls.VersionTLS12}
	// A browser that ends while it connects is not a failure.
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	tb.Cleanup(server.Close)
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
}

// trust makes a browser trust servers whose chain has one of the roots. On Linux Chromium takes a user's roots from an
// NSS database in the home of the user. That database needs a tool to fill, and all tests share it. The hash of a
// root's key on the command line needs neither, and applies to this browser only. The browser then does not check the
// chain and its names: a test that depends on them uses a client in Go.
func trust(roots []*x509.Certificate) chromedp.ExecAllocatorOption {
	hashes := make([]string, 0, len(roots))
	for _, root := range roots {
		hash := sha256.Sum256(root.RawSubjectPublicKeyInfo)
		hashes = append(hashes, base64.StdEncoding.EncodeToString(hash[:]))
	}
	return chromedp.Flag("ignore-certificate-errors-spki-list", strings.Join(hashes, ","))
}
