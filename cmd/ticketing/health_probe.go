package main

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"
)

type healthCommand struct {
	Addr         string `default:"127.0.0.1:8080" help:"Where the server listens." placeholder:"HOST:PORT"`
	OperatorAddr string `help:"Where its health and metrics listen by themselves, if they do." placeholder:"HOST:PORT"`
	Live         bool   `help:"Ask only whether the process lives: yes, too, while the database is away."`
}

func (*healthCommand) Help() string {
	return `It reads the addresses from the same variables as the server, and asks /readyz there, or /healthz with ` +
		`--live. The exit status is 0 for yes and 1 for no. It is for a container without a shell:

    HEALTHCHECK CMD ["/ticketing", "health", "--live"]

A server with --tls-cert needs --operator-addr for it.`
}

// probeTimeout is longer than a server takes to check whether it is ready.
const probeTimeout = readyTimeout + time.Second

func (c *healthCommand) Run(ctx context.Context, p *program) error {
	flag, address, path := "--addr", c.Addr, "/readyz"
	if c.OperatorAddr != "" {
		flag, address = "--operator-addr", c.OperatorAddr
	} else if p.getenv(variable("tls-cert")) != "" {
		return badValue("--operator-addr: is needed where the server speaks HTTPS")
	}
	if c.Live {
		path = "/healthz"
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return badValue("%s: must be HOST:PORT, such as 127.0.0.1:8080", flag)
	}
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		host = "localhost" // It listens on all addresses.
	}
	url := "http://" + net.JoinHostPort(host, port) + path
	no := func(why string) error { return &failure{code: "UNAVAILABLE", text: url + " " + why} }

	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return badValue("%s: must be HOST:PORT, such as 127.0.0.1:8080", flag)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request) // through no proxy
	if err != nil {
		return no("does not respond")
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return no("responds with " + response.Status)
	}
	return p.show(map[string]string{"status": "ok"}, field{"Status", "ok"})
}
