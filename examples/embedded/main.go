// Command embedded is a host's own server with ticketing inside: one process, one SQLite file, nothing beside it.
//
//	go run ./examples/embedded
//
// It serves
//
//	/api/public/v1/…    the public API, for storefronts that hold an API key
//	POST /door/sales    the server's own till: form values tier, quantity, unitPrice, email; header Idempotency-Key
//	GET  /              a greeting
//
// and sends the company's webhooks, if an address is set:
//
//	APP_WEBHOOK_URL     the company's endpoint; its signing secret is written to embedded.db.webhook at the first start
//	APP_WEBHOOK_DEV_CA  for development: certificates, in PEM, of a receiver on this machine, which is then allowed
//
// Each buyer gets the tickets by mail:
//
//	APP_SMTP            the mail server, smtps://user:password@host; without it mails are written to embedded.db.mail
//	APP_MAIL_FROM       the address that they come from
//
// The company's owner, ada@freedompark.example, signs in at /login and goes on to the console, at localhost:
//
//	APP_PASSWORD        the owner's password; without it there is no console
//	APP_CONSOLE         "links": the console has sessions of its own, see console.go
//
// What is worth copying:
//
//   - main.go opens the store, makes the service, mounts the API before http.ServeMux, runs the background work, and
//     stops all of it in the right order.
//   - secret.go makes the key of the database at the first start, and only then.
//   - door.go sells without an API key: the host authenticates its till and calls the service itself.
//   - facts.go handles the facts that the service publishes, after the commit and at least once.
//   - hooks.go makes the sender of webhooks, and registers the company's endpoint.
//   - mails.go makes the sender of ticket mails, and sets from whom they come.
//   - console.go mounts the console, and lets the host's own users in: by the host's sign-in, or by a link.
//   - company.go creates the company, its rate, its float and its event; each step may run again.
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

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/store"
)

func main() {
	if err := run(context.Background(), os.Getenv, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until the context ends or a signal arrives.
func run(ctx context.Context, getenv func(string) string, stderr io.Writer) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(stderr, nil))

	path := orDefault(getenv("APP_DATABASE"), "embedded.db")
	secret, err := secretKey(path)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, "sqlite:"+path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	facts, developmentCA := newFacts(logger), getenv("APP_WEBHOOK_DEV_CA")
	sender, err := newSender(developmentCA)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sender.Close()) }()
	mails, closeMailer, err := newMailer(getenv("APP_SMTP"), path+".mail")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeMailer()) }()
	svc, err := ticketing.New(db, &ticketing.Config{
		SecretKeys: [][]byte{secret}, OnFact: facts.told, Logger: logger, Mailer: mails,
		Sender: sender, AllowPrivateWebhooks: developmentCA != "",
	})
	if err != nil {
		return err
	}
	// Before anything is written, check that the key is that of this database.
	if err := svc.Ready(ctx); err != nil {
		return err
	}
	if err := setSender(ctx, svc, orDefault(getenv("APP_MAIL_FROM"), "tickets@freedompark.example")); err != nil {
		return err
	}
	shop, err := setUp(ctx, svc)
	if err != nil {
		return err
	}
	if url := getenv("APP_WEBHOOK_URL"); url != "" {
		if err := register(ctx, svc, shop.companyID, url, path+".webhook"); err != nil {
			return err
		}
	}

	mux := http.NewServeMux()
	mux.Handle("POST /door/sales", &door{svc: svc, shop: shop, log: logger})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "Tickets are sold here.\n")
	})
	if password := getenv("APP_PASSWORD"); password != "" {
		if err := mountConsole(ctx, mux, svc, shop, password, getenv("APP_CONSOLE") == "links", logger); err != nil {
			return err
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", orDefault(getenv("APP_ADDR"), "127.0.0.1:8082"))
	if err != nil {
		return err
	}
	return serve(ctx, svc, listener, mount(httpapi.New(svc, &httpapi.Config{Logger: logger}), mux), stderr)
}

// mount passes requests under the API's prefix on unchanged. http.ServeMux cannot do that: it cleans paths, and
// redirects a request for a tier whose name holds "//".
func mount(api, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.Path; path == httpapi.DefaultPrefix || strings.HasPrefix(path, httpapi.DefaultPrefix+"/") {
			api.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// serve serves requests and runs the background work until the context ends. Requests in flight finish before the
// background work stops, so that their facts are published.
func serve(
	ctx context.Context, svc *ticketing.Service, listener net.Listener, handler http.Handler, stderr io.Writer,
) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	worked, served := make(chan error, 1), make(chan error, 1)
	go func() { worked <- svc.Run(background) }()
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintln(stderr, "listening on http://"+listener.Addr().String())

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
	case err = <-worked:
		worked <- nil // It is received again below.
	}
	drain, cancel := context.WithTimeout(background, 25*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(drain))
	stop()
	return errors.Join(err, <-worked)
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
