// Command checkout is a storefront's server: it sells tickets through the public API, which package client calls.
//
//	export TICKETING_BASE_URL=http://127.0.0.1:8080/api/public/v1
//	export TICKETING_API_KEY=svc_live.…
//	go run ./examples/checkout
//
// The browser calls this server and never the API, whose key stays here:
//
//	POST /quote     {"eventId", "lines":[{"tier","quantity"}]}                       what it costs now
//	POST /checkout  {"cartId", "eventId", "buyer", "lines", "agreedTotal"}           buys it, once per cart
//
// where agreedTotal is the amount of the quote's total, such as "5000.00".
//
//	SHOP_ADDR   the address to listen at; defaults to 127.0.0.1:8081
//	SHOP_CARTS  the folder of the carts; defaults to carts
//
// What is worth copying:
//
//   - carts.go stores the idempotency key and the parameters of each cart on disk before they are first sent. So
//     neither a lost answer nor a crash can sell a cart twice.
//   - shop.go quotes and checks out. It quotes again if the price has changed, asks the buyer if it has risen, and
//     knows which errors leave open whether a cart was sold. The client retries a call as the contract requires
//     (section 7). The shop itself handles CONFLICT, and repeats open carts after a restart.
//   - api.go sets the client's timeouts, and logs what the contract allows at the level that it requires.
//   - browser.go shows the browser only the public members of the order (section 4.12, rule 6).
//
// A real storefront adds its own session and CSRF checks, a rate limit in front of these two paths, a check that the
// event is published (section 4.12, rule 4), and the buyer's payment between quote and checkout.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(context.Background(), os.Getenv, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until the context ends or a signal arrives.
func run(ctx context.Context, getenv func(string) string, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	baseURL, key := getenv("TICKETING_BASE_URL"), getenv("TICKETING_API_KEY")
	if baseURL == "" || key == "" {
		return errors.New("set TICKETING_BASE_URL and TICKETING_API_KEY")
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	carts, err := OpenCarts(orDefault(getenv("SHOP_CARTS"), "carts"))
	if err != nil {
		return err
	}
	shop, err := NewShop(baseURL, key, nil, carts, logger)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", orDefault(getenv("SHOP_ADDR"), "127.0.0.1:8081"))
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: shop.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: patience + 15*time.Second, IdleTimeout: time.Minute,
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	fmt.Fprintln(stderr, "listening on http://"+listener.Addr().String())
	go shop.Resume(ctx)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return server.Shutdown(ctx)
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
