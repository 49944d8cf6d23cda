package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The certificate of the demo.
const (
	demoCertLife    = 365 * 24 * time.Hour
	demoCertRenewal = 24 * time.Hour // It is made again if it expires sooner.
	authorityFile   = "authority.pem"
	certificateFile = "certificate.pem"
	certKeyFile     = "key.pem"
)

// demoCertificate returns a folder with a certificate for localhost and the hosts, its key, and the authority that
// issued it. A demo on SQLite has them in PATH.tls beside the database, so that a browser needs to trust the authority
// only once. Any other demo has new ones in a folder for temporary files.
//
// The authority's private key is kept nowhere, and its certificate is for these hosts alone. So a browser that trusts
// it trusts this one certificate.
func (p *program) demoCertificate(hosts ...string) (folder string, err error) {
	hosts = append([]string{"localhost", "127.0.0.1", "::1"}, hosts...)
	path, kept := strings.CutPrefix(p.Database, sqlitePrefix)
	if kept {
		folder = path + ".tls"
		err = os.MkdirAll(folder, 0o700)
	} else {
		folder, err = os.MkdirTemp(p.getenv("TMPDIR"), "ticketing-tls-")
	}
	if err == nil && !holdsCertificate(folder, hosts) {
		err = makeDemoCertificate(folder, hosts)
	}
	if err != nil {
		return "", fmt.Errorf("--tls: %w", err)
	}
	return filepath.Abs(folder)
}

// holdsCertificate reports whether a folder holds a certificate that serves all hosts for a while.
func holdsCertificate(folder string, hosts []string) bool {
	found, err := tls.LoadX509KeyPair(filepath.Join(folder, certificateFile), filepath.Join(folder, certKeyFile))
	if err != nil {
		return false
	}
	authority, err := os.ReadFile(filepath.Join(folder, authorityFile)) //nolint:gosec // It is beside the database.
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(authority) {
		return false
	}
	for _, host := range hosts {
		_, err := found.Leaf.Verify(x509.VerifyOptions{
			DNSName: host, Roots: pool, CurrentTime: time.Now().Add(demoCertRenewal),
		})
		if err != nil {
			return false
		}
	}
	return true
}

// makeDemoCertificate writes a new authority, and a certificate that it issued, into a folder.
func makeDemoCertificate(folder string, hosts []string) error {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "ticketing demo"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(demoCertLife), KeyUsage: x509.KeyUsageCertSign, IsCA: true,
		BasicConstraintsValid: true, MaxPathLenZero: true, PermittedDNSDomainsCritical: true,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano() + 1), Subject: pkix.Name{CommonName: hosts[0]},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(demoCertLife), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			if short := ip.To4(); short != nil {
				ip = short
			}
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
			only := &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))}
			authority.PermittedIPRanges = append(authority.PermittedIPRanges, only)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
			authority.PermittedDNSDomains = append(authority.PermittedDNSDomains, host)
		}
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), authorityKey)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	issuer := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authorityDER})
	chain := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER}), issuer...)
	for name, content := range map[string][]byte{
		authorityFile: issuer, certificateFile: chain,
		certKeyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
