package main_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	checkout "github.com/floatgate/ticketing/examples/checkout"
	"github.com/floatgate/ticketing/httpapi"
)

// The program serves quotes of the API that it is configured with, and stops when its context ends.
func TestProgram(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t)
	api := httptest.NewServer(w.api)
	t.Cleanup(api.Close)
	settings := map[string]string{
		"TICKETING_BASE_URL": api.URL + httpapi.DefaultPrefix, "TICKETING_API_KEY": w.key,
		"SHOP_CARTS": w.dir, "SHOP_ADDR": "127.0.0.1:0",
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	output, stderr := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := checkout.Run(ctx, func(name string) string { return settings[name] }, stderr)
		_ = stderr.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(output)
	is.True(lines.Scan())
	origin, found := strings.CutPrefix(lines.Text(), "listening on ")
	is.True(found)
	go func() { _, _ = io.Copy(io.Discard, output) }()

	response, err := http.Post(origin+"/quote", "application/json",
		strings.NewReader(`{"eventId":"`+w.event.String()+`","lines":[{"tier":"VIP","quantity":2}]}`))
	is.NoErr(err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	is.NoErr(err)
	is.Equal(response.StatusCode, http.StatusOK)
	is.True(strings.Contains(string(body), `"total":{"amount":"10000.00","currency":"NGN"}`))
	stop()
	is.NoErr(<-ended)
}

func TestProgramNeedsItsSettings(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	err := checkout.Run(t.Context(), func(string) string { return "" }, io.Discard)
	is.True(err != nil && strings.Contains(err.Error(), "TICKETING_API_KEY"))
}
