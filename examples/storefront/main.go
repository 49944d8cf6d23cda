// Command storefront is a shop that sells tickets in a browser, with the embed SDK and the browser proxy of package
// embedproxy. Everything that is worth copying is in the package shop beside it; this file reads the settings and
// serves.
//
//	export TICKETING_BASE_URL=http://127.0.0.1:8080/api/public/v1
//	export TICKETING_API_KEY=svc_live.…     # of an embed key: it holds the three grants and no other
//	export TICKETING_WEB_ORIGIN=http://127.0.0.1:8080
//	go run ./examples/storefront
//
//	SHOP_ADDR       the address to listen at; defaults to 127.0.0.1:8081
//	SHOP_TLS_CERT   the certificate and its chain in PEM, and
//	SHOP_TLS_KEY    its key: the shop speaks HTTPS, and has the page with the widget in a frame
//	SHOP_PICTURES   the origins of the events' pictures, such as https://images.example, separated by commas
//	SSL_CERT_FILE   the authority of the API, if the system does not trust it
//
// Behind a load balancer that speaks HTTPS with browsers, and plain HTTP with the shop:
//
//	SHOP_SECURE           1: browsers reach the shop over HTTPS, though it has no certificate itself
//	SHOP_TRUSTED_PROXIES  the load balancer's addresses, such as 10.0.0.0/8, separated by commas: the buyer's address is
//	                      then the one in its X-Forwarded-For
//
// The API counts requests by address. Start it with the address of this shop among --trusted-proxies: then each buyer
// counts, and not the whole shop.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/examples/storefront/shop"
)

func main() {
	if err := run(context.Background(), os.Getenv, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The limits of the server. A checkout takes at most 15 seconds in the proxy.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = time.Minute
)

// run serves until the context ends or a signal arrives.
func run(ctx context.Context, getenv func(string) string, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	baseURL, key, origin := getenv("TICKETING_BASE_URL"), getenv("TICKETING_API_KEY"), getenv("TICKETING_WEB_ORIGIN")
	if baseURL == "" || key == "" || origin == "" {
		return errors.New("set TICKETING_BASE_URL, TICKETING_API_KEY and TICKETING_WEB_ORIGIN")
	}
	cert, certKey := getenv("SHOP_TLS_CERT"), getenv("SHOP_TLS_KEY")
	if (cert == "") != (certKey == "") {
		return errors.New("set both SHOP_TLS_CERT and SHOP_TLS_KEY, or neither")
	}
	secure, err := strconv.ParseBool(cmp.Or(getenv("SHOP_SECURE"), "false"))
	if err != nil {
		return errors.New("SHOP_SECURE must be 1 or 0")
	}
	proxies, err := readPrefixes(getenv("SHOP_TRUSTED_PROXIES"))
	if err != nil {
		return err
	}
	// It finds out what the key holds, and refuses one with more than the browser proxy needs.
	upstream, err := embedproxy.Remote(ctx, baseURL, key, &embedproxy.RemoteConfig{ForwardAddress: true})
	if err != nil {
		return err
	}
	handler, err := shop.New(shop.Config{
		Upstream: upstream, WebOrigin: origin, Secure: secure || cert != "", TrustedProxies: proxies,
		Pictures: list(getenv("SHOP_PICTURES")), Logger: slog.New(slog.NewTextHandler(stderr, nil)),
	})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(getenv("SHOP_ADDR"), "127.0.0.1:8081"))
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout,
	}
	done := make(chan error, 1)
	scheme := "http://"
	if cert != "" {
		scheme = "https://"
		go func() { done <- server.ServeTLS(listener, cert, certKey) }()
	} else {
		go func() { done <- server.Serve(listener) }()
	}
	fmt.Fprintln(stderr, "listening on "+scheme+listener.Addr().String())
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return server.Shutdown(ctx)
}

// list splits a setting at its commas. An empty one has no items.
func list(setting string) []string {
	return strings.FieldsFunc(setting, func(r rune) bool { return r == ',' || r == ' ' })
}

// readPrefixes reads addresses and ranges of addresses.
func readPrefixes(setting string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, item := range list(setting) {
		prefix, err := netip.ParsePrefix(item)
		if address, single := netip.ParseAddr(item); single == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, errors.New("SHOP_TRUSTED_PROXIES must be addresses or ranges, such as 10.0.0.0/8")
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}
