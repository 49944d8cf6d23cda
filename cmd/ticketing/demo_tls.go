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

// demoTLS is a certificate for localhost and other hosts, its key, and the authority that issued it. A demo on SQLite
// keeps them in PATH.tls beside the database, so that a browser needs to trust the authority only once. Any other demo
// has new ones in a folder for temporary files, which goes with the demo.
//
// The authority's private key is stored nowhere, and its certificate is for these hosts only. So a browser that trusts
// the authority trusts only this one certificate.
type demoTLS struct {
	certificate tls.Certificate
	files       map[string][]byte // what is still to be written, by its name
	folder      string            // empty: that for temporary files is not there yet
	temporary   bool
	tempDir     string
}

// demoCertificate returns a kept certificate that serves the hosts for a while, or a new one. It writes nothing.
func (p *program) demoCertificate(hosts ...string) (*demoTLS, error) {
	hosts = append([]string{"localhost", "127.0.0.1", "::1"}, hosts...)
	made := &demoTLS{tempDir: p.getenv("TMPDIR")}
	if path, kept := strings.CutPrefix(p.Database, sqlitePrefix); !kept {
		made.temporary = true
	} else if folder, err := filepath.Abs(path + ".tls"); err != nil {
		return nil, fmt.Errorf("--tls: %w", err)
	} else {
		made.folder = folder
	}
	var err error
	if made.temporary || !holdsCertificate(made.folder, hosts) {
		if made.files, err = makeDemoCertificate(hosts); err == nil {
			made.certificate, err = tls.X509KeyPair(made.files[certificateFile], made.files[certKeyFile])
		}
	} else {
		made.certificate, err = tls.LoadX509KeyPair(filepath.Join(made.folder, certificateFile),
			filepath.Join(made.folder, certKeyFile))
	}
	if err != nil {
		return nil, fmt.Errorf("--tls: %w", err)
	}
	return made, nil
}

// keep writes what is new, and returns the file of the authority.
func (d *demoTLS) keep() (authority string, err error) {
	if d.temporary {
		d.folder, err = os.MkdirTemp(d.tempDir, "ticketing-tls-")
		if err == nil {
			d.folder, err = filepath.Abs(d.folder)
		}
	} else {
		err = os.MkdirAll(d.folder, 0o700)
	}
	for name, content := range d.files {
		if err == nil {
			err = os.WriteFile(filepath.Join(d.folder, name), content, 0o600)
		}
	}
	if err != nil {
		return "", fmt.Errorf("--tls: %w", err)
	}
	return filepath.Join(d.folder, authorityFile), nil
}

// close removes the folder for temporary files.
func (d *demoTLS) close() {
	if d.temporary && d.folder != "" {
		_ = os.RemoveAll(d.folder)
	}
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

// makeDemoCertificate returns the files of a new authority and of a certificate that it issued.
func makeDemoCertificate(hosts []string) (map[string][]byte, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	issuer := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authorityDER})
	chain := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER}), issuer...)
	return map[string][]byte{
		authorityFile: issuer, certificateFile: chain,
		certKeyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}, nil
}
