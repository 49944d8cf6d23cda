package main_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	receiver "github.com/floatgate/ticketing/examples/webhook-receiver"
	"github.com/floatgate/ticketing/webhook"
)

const (
	current = "svc_whsec_current"
	next    = "svc_whsec_next"
	eventID = "0b8f6f0e-6d5c-4c1e-9a53-0f2d5f8b7a10"
	line    = "balance.low " + eventID + " the float is down to 950.00"
)

// delivery is a delivery as the service sends it, signed by package webhook, which the example does not use.
type delivery struct {
	event  webhook.Event
	body   []byte
	header http.Header
}

func newDelivery(t *testing.T, id, deliveryID string, data any) *delivery {
	t.Helper()
	event := webhook.NewEvent(id, time.Now(), data)
	body, err := event.Encode()
	if err != nil {
		t.Fatal(err)
	}
	d := &delivery{event: event, body: body, header: http.Header{
		"Content-Type": {"application/json; charset=utf-8"}, "User-Agent": {"Service-Webhooks/1.0"},
	}}
	d.header.Set(webhook.HeaderEventID, id)
	d.header.Set(webhook.HeaderEvent, event.Type)
	d.header.Set(webhook.HeaderDeliveryID, deliveryID)
	d.sign(current, time.Now())
	return d
}

// low returns the delivery that most tests send.
func low(t *testing.T) *delivery {
	t.Helper()
	return newDelivery(t, eventID, "7d9e2c51-8a34-4b6f-9c1d-2e3f40516273", webhook.BalanceLow{
		OrderID: "5c6d7e8f-9012-4a3b-8c4d-5e6f70819203", Currency: "NGN", BalanceBefore: "1100.00", BalanceAfter: "950.00",
		ThresholdAmount: "1000.00",
	})
}

func (d *delivery) sign(secret string, at time.Time) {
	d.header.Set(webhook.HeaderSignature, webhook.Sign(secret, at, d.body))
}

// send posts the delivery and returns the status.
func (d *delivery) send(ctx context.Context, client *http.Client, url string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/webhooks", bytes.NewReader(d.body))
	if err != nil {
		return 0, err
	}
	request.Header = d.header
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// world is a receiver over TLS whose work a test reads.
type world struct {
	t        *testing.T
	server   *httptest.Server
	receiver *receiver.Receiver
}

func newWorld(t *testing.T, path string) *world {
	t.Helper()
	inbox, err := receiver.OpenInbox(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, receiver: &receiver.Receiver{
		Secrets: []string{current}, Inbox: inbox, Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	}}
	w.server = httptest.NewTLSServer(w.receiver.Handler())
	t.Cleanup(func() {
		w.server.Close()
		if err := inbox.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// sends returns the status of a delivery.
func (w *world) sends(d *delivery) int {
	w.t.Helper()
	status, err := d.send(w.t.Context(), w.server.Client(), w.server.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	return status
}

// works does the pending work and returns its events.
func (w *world) works() []receiver.Event {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	defer stop()
	last := newDelivery(w.t, "ffffffff-ffff-4fff-bfff-ffffffffffff", "", webhook.BalanceLow{})
	if fresh, err := w.receiver.Inbox.Keep(ctx, last.event.ID, last.event.Type, last.body, time.Now()); err != nil ||
		!fresh {
		w.t.Fatal("the last event: ", fresh, err)
	}
	var done []receiver.Event
	w.receiver.Inbox.Work(ctx, w.receiver.Log, func(_ context.Context, event receiver.Event) error {
		if event.ID == last.event.ID { // Jobs are done in the order of their arrival.
			stop()
			return nil
		}
		done = append(done, event)
		return nil
	})
	return done
}

func path(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "receiver.db")
}

// Section 6.4, items 6 and 7: each event is handled once. Attempts of a delivery and replays of its event are
// duplicates.
func TestAnEventIsWorkedOnOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, path(t))
	d := low(t)
	is.Equal(w.sends(d), http.StatusNoContent)
	is.Equal(w.sends(d), http.StatusNoContent) // the same request again
	d.sign(current, time.Now().Add(-5*time.Second))
	is.Equal(w.sends(d), http.StatusNoContent) // another attempt
	d.header.Set(webhook.HeaderDeliveryID, "11111111-2222-4333-8444-555555555555")
	is.Equal(w.sends(d), http.StatusNoContent) // a replay

	done := w.works()
	is.Equal(len(done), 1)
	is.Equal(done[0].ID, eventID)
	is.Equal(done[0].Type, "balance.low")
}

// Concurrent attempts of one event are stored once, by the constraint.
func TestDuplicatesMayComeAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, path(t))
	d := low(t)
	var group sync.WaitGroup
	statuses := make([]int, 16)
	for i := range statuses {
		group.Go(func() {
			statuses[i], _ = d.send(t.Context(), w.server.Client(), w.server.URL)
		})
	}
	group.Wait()
	is.Equal(statuses, slices.Repeat([]int{http.StatusNoContent}, 16))
	is.Equal(len(w.works()), 1)
}

// Section 6.5: in both phases of a rotation the receiver accepts everything that the service sends.
func TestBothSecretsAreTried(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	file := path(t)
	for _, step := range []struct {
		secrets       []string
		current, next int
	}{
		{[]string{current}, http.StatusNoContent, http.StatusBadRequest},
		{[]string{current, next}, http.StatusNoContent, http.StatusNoContent},
		{[]string{next}, http.StatusBadRequest, http.StatusNoContent},
	} {
		w := newWorld(t, file) // deployed again
		w.receiver.Secrets = step.secrets
		d := low(t)
		is.Equal(w.sends(d), step.current)
		d.sign(next, time.Now())
		is.Equal(w.sends(d), step.next)
	}
}

// Section 6.4: a request that is not signed by the service, or not now, or not of v1, is refused and not stored.
func TestWhatIsNotAsTheContractSaysIsRefused(t *testing.T) {
	t.Parallel()
	const id, kind, signature = "X-Service-Event-Id", "X-Service-Event", "X-Service-Signature"
	for name, change := range map[string]func(d *delivery){
		"a tampered body":  func(d *delivery) { d.body = bytes.Replace(d.body, []byte("950.00"), []byte("150.00"), 1) },
		"a rewritten body": func(d *delivery) { d.body = append(d.body, '\n') },
		"no body":          func(d *delivery) { d.body = nil },
		"too old":          func(d *delivery) { d.sign(current, time.Now().Add(-302*time.Second)) },
		"too early":        func(d *delivery) { d.sign(current, time.Now().Add(302*time.Second)) },
		"another secret":   func(d *delivery) { d.sign("svc_whsec_other", time.Now()) },
		"no signature":     func(d *delivery) { d.header.Del(signature) },
		"in capitals": func(d *delivery) {
			prefix, digest, _ := strings.Cut(d.header.Get(signature), ",v1=")
			d.header.Set(signature, prefix+",v1="+strings.ToUpper(digest))
		},
		"more behind it": func(d *delivery) { d.header.Set(signature, d.header.Get(signature)+",v2=0") },
		"another version": func(d *delivery) {
			d.body = bytes.Replace(d.body, []byte(`"v1"`), []byte(`"v2"`), 1)
			d.sign(current, time.Now())
		},
		"signed nonsense": func(d *delivery) { d.body = []byte("{"); d.sign(current, time.Now()) },
		"no id":           func(d *delivery) { d.body = []byte(`{"api_version":"v1"}`); d.sign(current, time.Now()) },
		"no id anywhere": func(d *delivery) {
			d.body = []byte(`{"api_version":"v1"}`)
			d.header = http.Header{}
			d.sign(current, time.Now())
		},
		"another id":   func(d *delivery) { d.header.Set(id, "11111111-2222-4333-8444-555555555555") },
		"another type": func(d *delivery) { d.header.Set(kind, "order.created") },
		"too large": func(d *delivery) {
			d.body = append(d.body, bytes.Repeat([]byte(" "), 1<<20)...)
			d.sign(current, time.Now())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := newWorld(t, path(t))
			d := low(t)
			change(d)
			is.Equal(w.sends(d), http.StatusBadRequest)
			is.Equal(len(w.works()), 0)
			// Nor does it prevent the genuine delivery.
			is.Equal(w.sends(low(t)), http.StatusNoContent)
		})
	}
}

// The code that was written from the contract agrees with the golden vectors.
func TestVerifyFindsWhatTheGoldenVectorsSay(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text, err := os.ReadFile("../../webhook/testdata/signatures.json")
	is.NoErr(err)
	var vectors struct {
		Verify []struct {
			Name         string
			Now          int64
			Secrets      []string
			Header, Body string
			Result       string
		}
	}
	is.NoErr(json.Unmarshal(text, &vectors))
	is.True(len(vectors.Verify) >= 50)
	for _, vector := range vectors.Verify {
		if vector.Result == "secret" {
			continue // The program does not start without a secret.
		}
		err := receiver.Verify(vector.Header, []byte(vector.Body), time.Unix(vector.Now, 0), vector.Secrets)
		if (err == nil) != (vector.Result == "ok") {
			t.Errorf("%s: %v", vector.Name, err)
		}
	}
}

// The line of an event says what it is about, and names no buyer.
func TestAllTypesArePublished(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	settings := settings(t)
	lines, url, end := program(t, settings)
	client := http.DefaultClient
	for i, data := range []any{
		webhook.OrderCreated{
			Order: webhook.Order{ID: "an order", GrossAmount: "150.05", Buyer: webhook.Buyer{Email: "ada@example.com"}},
		},
		webhook.CommissionAccrued{Amount: "3.75"},
		webhook.BalanceLow{BalanceAfter: "950.00"},
		webhook.TicketValidated{AdmissionID: "an admission"},
	} {
		d := newDelivery(t, eventID[:35]+string(rune('0'+i)), "", data)
		status, err := d.send(t.Context(), client, url)
		is.NoErr(err)
		is.Equal(status, http.StatusNoContent)
		is.True(lines.Scan())
		want := d.event.Type + " " + d.event.ID + " "
		is.Equal(lines.Text(), want+[]string{
			"order an order for 150.05", "commission of 3.75", "the float is down to 950.00", "admission an admission",
		}[i])
	}
	is.NoErr(end())
}

// victim names the inbox file of a process that is killed after it stored an event and before it responded.
const victim = "TICKETING_TEST_VICTIM"

// TestVictim is that process. Elsewhere it does nothing.
func TestVictim(t *testing.T) { //nolint:paralleltest // It is alone in its process.
	file := os.Getenv(victim)
	if file == "" {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := receiver.OpenInbox(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	handler := (&receiver.Receiver{
		Secrets: []string{current}, Inbox: inbox, Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	}).Handler()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		if answer.Code == http.StatusNoContent {
			_ = self.Kill()
		}
		select {} // The process does nothing more.
	}))
	if _, err := os.Stdout.WriteString("listening on " + server.URL + "\n"); err != nil {
		t.Fatal(err)
	}
	<-t.Context().Done()
}

// An event that was stored and not acknowledged is sent again, and is handled once.
func TestKilledBetweenCommitAndAnswer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	file := path(t)
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestVictim$")
	process.Env = append(os.Environ(), victim+"="+file)
	output, err := process.StdoutPipe()
	is.NoErr(err)
	is.NoErr(process.Start())
	told := bufio.NewScanner(output)
	is.True(told.Scan())
	url, found := strings.CutPrefix(told.Text(), "listening on ")
	is.True(found)
	d := low(t)
	_, err = d.send(t.Context(), http.DefaultClient, url)
	is.True(err != nil) // No answer: a failed attempt for the service.
	is.True(process.Wait() != nil)

	w := newWorld(t, file)
	d.sign(current, time.Now())
	is.Equal(w.sends(d), http.StatusNoContent)
	is.Equal(len(w.works()), 1)
}

// Work that fails is postponed and delays no other. Work that was interrupted is done again. Work that is done is not
// done again.
func TestWorkIsDoneUntilItIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		inbox, err := receiver.OpenInbox(t.Context(), path(t))
		is.NoErr(err)
		defer inbox.Close()
		begun := time.Now()
		first := low(t)
		second := newDelivery(t, "11111111-2222-4333-8444-555555555555", "", webhook.BalanceLow{})
		for i, d := range []*delivery{first, second} {
			_, err := inbox.Keep(t.Context(), d.event.ID, d.event.Type, d.body, begun.Add(time.Duration(i)*time.Millisecond))
			is.NoErr(err)
		}
		var tried []string
		work := func(until time.Duration, do func() error) {
			ctx, stop := context.WithDeadline(t.Context(), begun.Add(until))
			defer stop()
			inbox.Work(ctx, slog.New(slog.DiscardHandler), func(_ context.Context, event receiver.Event) error {
				tried = append(tried, event.ID)
				if do == nil {
					return nil
				}
				return do()
			})
		}
		fails := true
		work(59*time.Second, func() error {
			if fails {
				fails = false
				return io.ErrUnexpectedEOF
			}
			time.Sleep(time.Hour) // It is stopped during its work.
			return context.DeadlineExceeded
		})
		is.Equal(tried, []string{first.event.ID, second.event.ID})
		work(3*time.Hour, nil)
		is.Equal(tried[2:], []string{second.event.ID, first.event.ID}) // The first was postponed by a minute.
	})
}

// program runs the program. It returns the printed lines, the address, and a function that ends it.
func program(t *testing.T, settings map[string]string) (lines *bufio.Scanner, url string, end func() error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	printed, stdout := io.Pipe()
	logged, stderr := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := receiver.Run(ctx, func(name string) string { return settings[name] }, stdout, stderr)
		_ = stdout.Close()
		_ = stderr.CloseWithError(err)
		ended <- err
	}()
	log := bufio.NewScanner(logged)
	if !log.Scan() {
		t.Fatal(log.Err())
	}
	url, found := strings.CutPrefix(log.Text(), "listening on ")
	if !found {
		t.Fatal(log.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, logged) }()
	return bufio.NewScanner(printed), url, func() error {
		stop()
		go func() { _, _ = io.Copy(io.Discard, printed) }()
		return <-ended
	}
}

func settings(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"TICKETING_WEBHOOK_SECRET": current + ", " + next, "HOOKS_ADDR": "127.0.0.1:0", "HOOKS_DATABASE": path(t),
	}
}

// The program knows after a restart which events it has accepted.
func TestProgram(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	settings := settings(t)
	d := low(t)

	lines, url, end := program(t, settings)
	status, err := d.send(t.Context(), http.DefaultClient, url)
	is.NoErr(err)
	is.Equal(status, http.StatusNoContent)
	is.True(lines.Scan())
	is.Equal(lines.Text(), line)
	is.NoErr(end())
	stat, err := os.Stat(settings["HOOKS_DATABASE"])
	is.NoErr(err)
	is.Equal(stat.Mode().Perm(), os.FileMode(0o600)) // It holds buyers.

	lines, url, end = program(t, settings)
	d.sign(next, time.Now())
	status, err = d.send(t.Context(), http.DefaultClient, url)
	is.NoErr(err)
	is.Equal(status, http.StatusNoContent)
	other := newDelivery(t, "11111111-2222-4333-8444-555555555555", "", webhook.BalanceLow{BalanceAfter: "1.00"})
	status, err = other.send(t.Context(), http.DefaultClient, url)
	is.NoErr(err)
	is.Equal(status, http.StatusNoContent)
	is.True(lines.Scan())
	is.Equal(lines.Text(), "balance.low "+other.event.ID+" the float is down to 1.00") // and not the first again
	response, err := http.Get(url + "/webhooks")
	is.NoErr(err)
	is.NoErr(response.Body.Close())
	is.Equal(response.StatusCode, http.StatusMethodNotAllowed)
	is.NoErr(end())
}

// With a certificate the program serves TLS itself.
func TestProgramServesTLS(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	is.NoErr(err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	is.NoErr(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	is.NoErr(err)
	folder := t.TempDir()
	settings := settings(t)
	settings["HOOKS_CERT"], settings["HOOKS_KEY"] = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	is.NoErr(os.WriteFile(settings["HOOKS_CERT"], text, 0o600))
	is.NoErr(os.WriteFile(settings["HOOKS_KEY"], pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		0o600))

	lines, url, end := program(t, settings)
	roots := x509.NewCertPool()
	is.True(roots.AppendCertsFromPEM(text))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	is.True(strings.HasPrefix(url, "https://"))
	status, err := low(t).send(t.Context(), &http.Client{Transport: transport}, url)
	is.NoErr(err)
	is.Equal(status, http.StatusNoContent)
	is.True(lines.Scan())
	is.Equal(lines.Text(), line)
	is.NoErr(end())
}

func TestProgramNeedsItsSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ change, value, want string }{
		"no secret":             {"TICKETING_WEBHOOK_SECRET", "", "TICKETING_WEBHOOK_SECRET"},
		"an empty secret":       {"TICKETING_WEBHOOK_SECRET", current + ",", "TICKETING_WEBHOOK_SECRET"},
		"a key of another":      {"TICKETING_WEBHOOK_SECRET", "svc_live.hidden", "TICKETING_WEBHOOK_SECRET"},
		"half a certificate":    {"HOOKS_CERT", "cert.pem", "HOOKS_KEY"},
		"a folder that is no":   {"HOOKS_DATABASE", "/nowhere/receiver.db", "open the inbox"},
		"an address that is no": {"HOOKS_ADDR", "127.0.0.1:99999", "99999"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			settings := settings(t)
			settings[test.change] = test.value
			err := receiver.Run(t.Context(), func(name string) string { return settings[name] }, io.Discard, io.Discard)
			is.True(err != nil)
			is.True(strings.Contains(err.Error(), test.want))
			is.True(!strings.Contains(err.Error(), "hidden"))
		})
	}
}
