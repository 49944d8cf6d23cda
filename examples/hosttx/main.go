// Command hosttx is a host's own program that keeps its own rows beside ticketing's, and sells in its own transaction:
// both are committed, or neither.
//
//	go run ./examples/hosttx
//
// It books two trips to a festival. A trip is a row of the program, and the tickets of its travellers. The first is
// committed, and booked again, as after a lost answer: there is still one trip and one order. For the second the
// tickets are sold, and then there is no seat on the bus: the trip and the sale are rolled back.
//
// It works in a temporary SQLite file. APP_DATABASE names a PostgreSQL database instead.
//
// What is worth copying is in trip.go.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store"
)

func main() {
	if err := run(context.Background(), os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run books the trips and prints the results.
func run(ctx context.Context, getenv func(string) string, stdout io.Writer) (err error) {
	name := getenv("APP_DATABASE")
	if name == "" {
		folder, err := os.MkdirTemp("", "hosttx")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(folder) }()
		name = "sqlite:" + filepath.Join(folder, "trips.db")
	}
	tickets, err := store.Open(ctx, name, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tickets.Close()) }()
	if err := tickets.Migrate(ctx); err != nil {
		return err
	}
	db, err := openOwn(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	// The key of an example. A host's own key is random, secret and stored.
	secret := bytes.Repeat([]byte("example "), 4)
	svc, err := ticketing.New(tickets, &ticketing.Config{SecretKeys: [][]byte{secret}})
	if err != nil {
		return err
	}
	if err := svc.Ready(ctx); err != nil {
		return err
	}
	agency, err := openAgency(ctx, svc, tickets, db)
	if err != nil {
		return err
	}
	friends := trip{Booking: "0001", Name: "Ada's friends", Travellers: 2}
	school := trip{Booking: "0002", Name: "The whole school", Travellers: 45}
	for _, booked := range []trip{friends, friends, school} {
		order, err := agency.book(ctx, booked)
		switch {
		case errors.Is(err, errBusFull):
			fmt.Fprintf(stdout, "taken back: %s, %v\n", booked.Name, err)
		case err != nil:
			return err
		default:
			fmt.Fprintf(stdout, "kept: %s, %s for %s, order %s\n", booked.Name, order.Status, order.Gross, order.ID)
		}
	}
	return agency.count(ctx, stdout)
}

// openOwn opens the program's own connection pool. With SQLite its transactions begin IMMEDIATE, so that they can be
// used for a sale. With PostgreSQL one pool would do for both: store.OpenDB uses the program's pool.
func openOwn(name string) (*bun.DB, error) {
	pool, err := store.OpenPool(name)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(name, "sqlite:") {
		return bun.NewDB(pool, sqlitedialect.New()), nil
	}
	return bun.NewDB(pool, pgdialect.New()), nil
}
