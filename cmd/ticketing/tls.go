package main

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"

	"github.com/floatgate/ticketing/httpapi"
)

// tlsFlags name the certificate with which a server speaks HTTPS.
type tlsFlags struct {
	TLSCert string `help:"PEM file of the certificate and its chain: serve HTTPS only. It is read at the start." name:"tls-cert" placeholder:"PEM"`
	TLSKey  string `help:"PEM file of the private key, without a password." name:"tls-key" placeholder:"PEM"`

	Made *tls.Certificate `kong:"-"` // used in place of the files
}

// load returns the certificate, or nil if none is named.
func (f *tlsFlags) load() (*tls.Certificate, error) {
	switch {
	case f.Made != nil:
		return f.Made, nil
	case f.TLSCert == "" && f.TLSKey == "":
		return nil, nil
	case f.TLSKey == "":
		return nil, badValue("--tls-cert: needs --tls-key, too")
	case f.TLSCert == "":
		return nil, badValue("--tls-key: needs --tls-cert, too")
	}
	certificate, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
	if missing, ok := errors.AsType[*fs.PathError](err); ok {
		flag := "--tls-cert"
		if missing.Path == f.TLSKey {
			flag = "--tls-key"
		}
		return nil, badValue("%s: %v", flag, missing)
	}
	if err != nil {
		return nil, badValue("--tls-cert %s and --tls-key %s: %s", f.TLSCert, f.TLSKey, withoutPackages(err.Error()))
	}
	return &certificate, nil
}

// transport is how a server speaks with its clients: plain HTTP, or HTTPS with a certificate.
type transport struct {
	certificate *tls.Certificate // nil: plain HTTP
}

// scheme returns http or https.
func (t transport) scheme() string {
	if t.certificate == nil {
		return "http"
	}
	return "https"
}

// listener returns the listener of the API's server, which calls Serve.
func (t transport) listener(l net.Listener) net.Listener { return httpapi.Listener(t.decrypted(l)) }

// decrypted returns a listener whose connections are plain to the server.
func (t transport) decrypted(l net.Listener) net.Listener {
	if t.certificate == nil {
		return l
	}
	return tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{*t.certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	})
}
