package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/examples/storefront/shop"
	"github.com/floatgate/ticketing/httpapi"
)

// The properties of the demo's shop.
const (
	demoShopKey   = "demo-shop"
	demoPictures  = "https://images.example"
	demoPicture   = demoPictures + "/highlife.jpg"
	shopPicture   = "/picture.svg" // of the shop itself, since a page may show pictures over HTTPS only
	shopCheckTime = 30 * time.Second
)

// demoShop is the shop of a demo: a website of its own, which sells through the API with an embed key.
type demoShop struct {
	listener  net.Listener // nil: there is no shop
	origin    string
	transport transport
	made      *demoTLS // of --tls; nil: none
	authority string   // file of the authority of made, once it is kept; empty: none
	why       string   // why there is no shop, for a person
}

// openShop listens for the shop before anything else happens. With --once there is none.
func (c *demoCommand) openShop(ctx context.Context, p *program) (*demoShop, error) {
	if c.TLS && (c.TLSCert != "" || c.TLSKey != "") {
		return nil, badValue("--tls: makes a certificate; leave out --tls-cert and --tls-key, or --tls")
	}
	set := &demoShop{}
	if c.TLS {
		made, err := p.demoCertificate(namedHosts(c.Addr, c.ShopAddr)...)
		if err != nil {
			return nil, err
		}
		c.Made, set.made = &made.certificate, made
	}
	certificate, err := c.load()
	if err != nil || c.Once {
		return set, err
	}
	set.transport = transport{certificate}
	if set.listener, err = listen(ctx, "--shop-addr", c.ShopAddr); err != nil {
		return nil, err
	}
	set.origin = localOrigin(set.transport.scheme(), set.listener.Addr())
	return set, nil
}

// namedHosts returns the hosts of addresses, without empty ones and those that mean all addresses.
func namedHosts(addresses ...string) []string {
	var hosts []string
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err == nil && host != "" && (ip == nil || !ip.IsUnspecified()) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// keep writes the files of a certificate that --tls made. It is called once the demo sells, so that a refused demo
// leaves none.
func (s *demoShop) keep() (err error) {
	if s.made != nil {
		s.authority, err = s.made.keep()
	}
	return err
}

// close ends a shop that was never served, and removes what was kept for one demo.
func (s *demoShop) close() {
	if s.made != nil {
		s.made.close()
	}
	s.closeListener()
}

func (s *demoShop) closeListener() {
	if s.listener != nil {
		_ = s.listener.Close()
	}
}

// sells reports whether there is a shop.
func (s *demoShop) sells() bool { return s.listener != nil && s.why == "" }

// serve serves the shop until stop is called, which drains first the website, whose requests call the API, and then the
// API. The website calls the API over HTTP, like a website elsewhere. It uses its own listener for that, so that its
// buyers do not count against the rate limit of the demo's user.
func (s *demoShop) serve(
	ctx context.Context, c *demoCommand, r *running, key string,
) (stop func() error, err error) {
	if !s.sells() {
		s.closeListener()
		return func() error { return nil }, nil
	}
	api, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	unlimited := c.serving
	unlimited.RateLimit = 0
	upstream := serveOn(httpapi.Listener(api), unlimited.handler(r.svc, r.metrics, r.logger), r.logger)
	checking, cancel := context.WithTimeout(ctx, shopCheckTime)
	defer cancel()
	remote, err := embedproxy.Remote(checking, localOrigin("http", api.Addr())+httpapi.DefaultPrefix, key, nil)
	if err != nil {
		_ = upstream.Close()
		return nil, err
	}
	handler, err := shop.New(shop.Config{
		Upstream: remote, WebOrigin: r.webOrigin, Secure: s.transport.certificate != nil,
		// The certificate is also for other names than this origin's, such as localhost, which is another origin.
		Pictures: []string{demoPictures, s.origin}, Logger: r.logger,
	})
	if err != nil {
		_ = upstream.Close()
		return nil, err
	}
	front := serveOn(s.transport.listener(s.listener), handler, r.logger)
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		return errors.Join(front.drain(ctx), upstream.drain(ctx))
	}, nil
}

// serveOn serves a handler on a listener.
func serveOn(listener net.Listener, handler http.Handler, logger *slog.Logger) *server {
	server := newServer(handler, logger)
	go func() { _ = server.Serve(listener) }()
	return server
}

// issueShopKey issues the embed key of the shop. If keys of others leave no room for it, there is no shop, and its why
// gives the reason.
func (s *demoShop) issueShopKey(ctx context.Context, op ticketing.Operator, companyID uuid.UUID) (string, error) {
	if s.listener == nil {
		return "", nil
	}
	issued, err := op.IssueAPIKey(ctx, companyID, demoShopKey, embedproxy.Grants())
	if errors.Is(err, ticketing.CodeConflict) {
		s.why = "The company already has two keys that no demo issued, and the shop needs one: revoke one, with ticketing " +
			"key revoke, and start the demo again."
		return "", nil
	}
	return issued.Key, err
}

// picture returns the address of the picture of the demo's event. Over HTTPS the shop serves the picture itself, so it
// works without a network. Over plain HTTP there is none, since pictures of events must be on HTTPS. Without a shop it
// is empty.
func (s *demoShop) picture() string {
	switch {
	case s.listener == nil:
		return ""
	case s.transport.certificate == nil:
		return demoPicture
	}
	picture, err := url.JoinPath(s.origin, shopPicture)
	if err != nil {
		return demoPicture
	}
	return picture
}

// String returns where the shop is, and what a browser needs for it.
func (s *demoShop) String() string {
	var text strings.Builder
	if s.why != "" {
		text.WriteString("There is no shop. " + s.why + "\n")
	} else if s.listener != nil {
		text.WriteString("Buy a ticket in the shop, in a browser:\n\n    " + s.origin + "\n\n")
		if s.transport.certificate == nil {
			text.WriteString("The widget is part of the page. Browsers show it in a frame only over HTTPS: for that, " +
				"start the demo with --tls.\n")
		} else {
			text.WriteString("The widget is part of the page, and at " + s.origin + "/frame in a frame.\n")
		}
	}
	if s.authority != "" {
		text.WriteString("Make your browser trust the authority of the certificate: " + s.authority + "\n")
	}
	return text.String()
}
