// Command webhook-receiver receives webhooks. It is written from section 6 of the contract alone, in Go and without
// this module, so that it shows what a receiver in any language has to do. In Go, package webhook does the work of
// verify.go and receiver.go.
//
//	export TICKETING_WEBHOOK_SECRET=svc_whsec_…
//	go run ./examples/webhook-receiver
//
// and, to see events without an endpoint and without a server,
//
//	ticketing webhook listen COMPANY --secret $TICKETING_WEBHOOK_SECRET --forward-to http://127.0.0.1:8083/webhooks
//	ticketing webhook trigger COMPANY order.created --yes
//
// It serves POST /webhooks, responds 204 once an event is stored, and prints a line per event.
//
//	TICKETING_WEBHOOK_SECRET  the endpoint's secret; during a rotation the current and the next one, with a comma between
//	HOOKS_ADDR                the address to listen at; defaults to 127.0.0.1:8083
//	HOOKS_DATABASE            its SQLite file; defaults to receiver.db
//	HOOKS_CERT, HOOKS_KEY     PEM files to serve TLS with; without them a proxy in front has to: the service sends to
//	                          https URLs only
//
// What is worth copying:
//
//   - verify.go checks the signature against the raw body before anything parses it (section 6.4, items 1 to 5).
//   - receiver.go checks that headers and body name one event, stores it, and responds only then (items 6 and 7).
//   - inbox.go stores the event's id under a uniqueness constraint and the work in one durable transaction.
//   - worker.go does the work afterwards, outside the request, and again after a crash.
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
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(context.Background(), os.Getenv, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run receives until the context ends or a signal arrives.
func run(ctx context.Context, getenv func(string) string, stdout, stderr io.Writer) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	secrets, err := parseSecrets(getenv("TICKETING_WEBHOOK_SECRET"))
	if err != nil {
		return err
	}
	cert, key := getenv("HOOKS_CERT"), getenv("HOOKS_KEY")
	if (cert == "") != (key == "") {
		return errors.New("set both of HOOKS_CERT and HOOKS_KEY, or none")
	}
	inbox, err := OpenInbox(ctx, orDefault(getenv("HOOKS_DATABASE"), "receiver.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, inbox.Close()) }()
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	receiver := &Receiver{Secrets: secrets, Inbox: inbox, Log: logger, Clock: time.Now}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", orDefault(getenv("HOOKS_ADDR"), "127.0.0.1:8083"))
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: receiver.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 15 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	served, worked := make(chan error, 1), make(chan struct{})
	go func() {
		if cert == "" {
			fmt.Fprintln(stderr, "listening on http://"+listener.Addr().String())
			served <- server.Serve(listener)
			return
		}
		fmt.Fprintln(stderr, "listening on https://"+listener.Addr().String())
		served <- server.ServeTLS(listener, cert, key)
	}()
	go func() {
		defer close(worked)
		inbox.Work(background, logger, printer(stdout))
	}()

	select {
	case <-ctx.Done():
	case err = <-served:
	}
	// Requests in flight finish first. Remaining work is done after the next start.
	drain, end := context.WithTimeout(background, 15*time.Second)
	defer end()
	err = errors.Join(err, server.Shutdown(drain))
	cancel()
	<-worked
	return err
}

// parseSecrets parses one secret, or two with a comma between.
func parseSecrets(setting string) ([]string, error) {
	secrets := strings.Split(setting, ",")
	for i, secret := range secrets {
		secrets[i] = strings.TrimSpace(secret)
		if !strings.HasPrefix(secrets[i], "svc_whsec_") {
			return nil, errors.New("set TICKETING_WEBHOOK_SECRET to the secret of the endpoint, svc_whsec_…, " +
				"or to the current and the next one with a comma between")
		}
	}
	return secrets, nil
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
