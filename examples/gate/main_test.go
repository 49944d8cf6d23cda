package main_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	gate "github.com/floatgate/ticketing/examples/gate"
	"github.com/floatgate/ticketing/httpapi"
)

// The program reads scans until its input ends, and shows one line for each.
func TestProgram(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w, settings := newProgram(t)
	order := w.Sell(t, w.event, "VIP", 2)
	first, second := w.code(order.Lines[0].AdmissionID), w.code(order.Lines[1].AdmissionID)
	scans := first + "\r\n\r\n" + first + "\n" + strings.Repeat("7", 10_000) + "\n\x00\xff\n \n" + strings.ToLower(second)
	var stdout, stderr bytes.Buffer
	is.NoErr(gate.Run(t.Context(), settings, strings.NewReader(scans), &stdout, &stderr))
	shown := regexp.MustCompile(`·.*`).ReplaceAllString(stdout.String(), "…")
	is.Equal(shown, `ADMITTED       VIP …
ALREADY IN     VIP …
NOT A TICKET   this is not the code of a ticket
NOT A TICKET   this is not the code of a ticket
ADMITTED       VIP …
`)
	is.True(strings.Contains(stdout.String(), " at Gate 1"))
	is.Equal(stderr.String(), "ready for event "+w.event.String()+"\n")
}

// Ctrl-C ends the program while it waits for a scan. A scan under way is finished first, and its result shown.
func TestProgramIsStopped(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w, settings := newProgram(t)
	code := w.code(w.Sell(t, w.event, "VIP", 1).Lines[0].AdmissionID)
	for _, test := range []struct{ scan, shown string }{
		{"", ""},
		{code + "\n", "ADMITTED"},
		{code + "\n" + code + "\n", "ALREADY IN"}, // the first of them, since it was let in above
	} {
		ctx, stop := context.WithCancel(t.Context())
		w.faults = []fault{func(_ *http.Request, api func() *http.Response) (*http.Response, error) {
			stop()
			return api(), nil
		}}
		input, scanner := io.Pipe()
		output, stderr := io.Pipe()
		var stdout bytes.Buffer
		ended := make(chan error, 1)
		go func() {
			err := gate.Run(ctx, settings, input, &stdout, stderr)
			_ = stderr.Close()
			ended <- err
		}()
		lines := bufio.NewScanner(output)
		is.True(lines.Scan() && strings.HasPrefix(lines.Text(), "ready"))
		if test.scan == "" {
			stop()
		} else {
			go func() { _, _ = io.WriteString(scanner, test.scan) }()
		}
		is.NoErr(<-ended)
		is.Equal(strings.TrimSpace(strings.SplitAfterN(stdout.String()+"  ", "  ", 2)[0]), test.shown)
		is.True(strings.Count(stdout.String(), "\n") <= 1)
		is.NoErr(scanner.Close())
	}
}

func TestProgramNeedsItsSettings(t *testing.T) {
	t.Parallel()
	_, settings := newProgram(t)
	for name, test := range map[string]struct{ value, says string }{
		"TICKETING_BASE_URL": {"", "set TICKETING_BASE_URL and TICKETING_API_KEY"},
		"TICKETING_API_KEY":  {"", "set TICKETING_BASE_URL and TICKETING_API_KEY"},
		"GATE_EVENT":         {"tonight", "GATE_EVENT: must be a UUID of version 4"},
		"GATE_LOCATION":      {strings.Repeat("Ọ", 201), "GATE_LOCATION: must have at most 200 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := func(asked string) string {
				if asked == name {
					return test.value
				}
				return settings(asked)
			}
			err := gate.Run(t.Context(), with, strings.NewReader(""), io.Discard, io.Discard)
			is.New(t).True(err != nil && err.Error() == test.says)
		})
	}
}

// The program ends with an error where the address serves something else, and where nobody sees its results.
func TestProgramThatCannotWork(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w, settings := newProgram(t)
	scan := strings.NewReader(w.code(w.Sell(t, w.event, "VIP", 1).Lines[0].AdmissionID))
	is.True(gate.Run(t.Context(), settings, scan, gone{}, io.Discard) != nil)

	hotel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>Accept our terms</html>"))
	}))
	t.Cleanup(hotel.Close)
	there := func(name string) string {
		if name == "TICKETING_BASE_URL" {
			return hotel.URL
		}
		return settings(name)
	}
	err := gate.Run(t.Context(), there, strings.NewReader(""), io.Discard, io.Discard)
	is.True(err != nil && strings.Contains(err.Error(), "does not serve version 1"))
}

// newProgram returns a world whose API listens on a port, and the settings of a program for it.
func newProgram(t *testing.T) (*world, func(string) string) {
	t.Helper()
	w := newWorld(t)
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		answered, err := w.RoundTrip(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = answered.Body.Close() }()
		for name := range answered.Header {
			to.Header().Set(name, answered.Header.Get(name))
		}
		to.WriteHeader(answered.StatusCode)
		_, _ = io.Copy(to, answered.Body)
	}))
	t.Cleanup(server.Close)
	settings := map[string]string{
		"TICKETING_BASE_URL": server.URL + httpapi.DefaultPrefix, "TICKETING_API_KEY": w.key,
		"GATE_EVENT": w.event.String(), "GATE_LOCATION": " Gate 1 ",
	}
	return w, func(name string) string { return settings[name] }
}
