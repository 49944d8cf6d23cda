// Command checkout is a storefront's server: it sells tickets through the public API, which package client calls.
//
//	export TICKETING_BASE_URL=http://127.0.0.1:8080/api/public/v1
//	export TICKETING_API_KEY=svc_live.…
//	go run ./examples/checkout
//
// The browser talks to this server and never to the API, whose key stays here:
//
//	POST /quote     {"eventId", "lines":[{"tier","quantity"}]}                       what it costs now
//	POST /checkout  {"cartId", "eventId", "buyer", "lines", "agreedTotal"}           buys it, once per cart
//
// where agreedTotal is the amount of the quote's total, such as "5000.00".
//
//	SHOP_ADDR   where it listens, 127.0.0.1:8081 unless it is set
//	SHOP_CARTS  the folder that carts are kept in, carts unless it is set
//
// What is worth copying:
//
//   - carts.go keeps the idempotency key and the parameters of each cart on disk before they are first sent, so that
//     neither a lost answer nor a crash can sell a cart twice.
//   - shop.go quotes, checks out, quotes again where the price has moved, asks the buyer where it has risen, and knows
//     which errors leave open whether a cart was sold. The client repeats a call as the contract asks (section 7); what is
//     left to the shop is CONFLICT, and the same cart after a restart.
//   - api.go sets the client's times, and logs what the contract allows at the level it asks for.
//   - browser.go shows the browser the order without what is none of its business (section 4.12, rule 6).
//
// What a real storefront adds: its own session and CSRF checks and a rate limit in front of these two paths, a look
// whether the event is published (section 4.12, rule 4), and the buyer's payment between quote and checkout.
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

// run serves until the context ends or a signal comes.
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
