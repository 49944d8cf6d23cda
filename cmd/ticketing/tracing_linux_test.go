package main_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanReceiver is a collector: it keeps the spans that it is sent by OTLP over HTTP.
type spanReceiver struct {
	*httptest.Server

	mu       sync.Mutex
	spans    []*trace.Span
	bodies   bytes.Buffer
	services map[string]bool
	keys     map[string]bool // of the header authorization
}

func newSpanReceiver(t *testing.T) *spanReceiver {
	t.Helper()
	r := &spanReceiver{services: map[string]bool{}, keys: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if err := r.take(request); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *spanReceiver) take(request *http.Request) error {
	if request.Method != http.MethodPost || request.URL.Path != "/v1/traces" {
		return fmt.Errorf("%s %s is no export of spans", request.Method, request.URL.Path)
	}
	var body io.Reader = request.Body
	if request.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var sent collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(text, &sent); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies.Write(text)
	r.keys[request.Header.Get("Authorization")] = true
	for _, resource := range sent.GetResourceSpans() {
		for _, about := range resource.GetResource().GetAttributes() {
			if about.GetKey() == "service.name" {
				r.services[about.GetValue().GetStringValue()] = true
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
	return nil
}

// named returns the spans of a name.
func (r *spanReceiver) named(name string) (spans []*trace.Span) {
	for _, span := range r.spans {
		if span.GetName() == name {
			spans = append(spans, span)
		}
	}
	return spans
}

// parentOf returns the span that is the parent of another one; nil: it was not sent.
func (r *spanReceiver) parentOf(span *trace.Span) *trace.Span {
	for _, other := range r.spans {
		if bytes.Equal(other.GetSpanId(), span.GetParentSpanId()) && bytes.Equal(other.GetTraceId(), span.GetTraceId()) {
			return other
		}
	}
	return nil
}

// buyFrom sells a ticket to a client at an address of this machine, which sends a traceparent.
func buyFrom(ctx context.Context, shop shop, origin, address, key, traceparent string) error {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, origin+prefix+"/checkouts",
		strings.NewReader(shop.checkout()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+shop.key)
	request.Header.Set("Idempotency-Key", key)
	if traceparent != "" {
		request.Header.Set("Traceparent", traceparent)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("a checkout is answered %s", response.Status)
	}
	return nil
}

// A sale's trace leads from its request to the statements. Sales that share a transaction and their group link to one
// another. Only a trusted proxy's trace is continued. What is sent holds no key, no buyer, no company and no SQL, and
// everything is sent before the server ends.
func TestTraces(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	const (
		trustedTrace = "0af7651916cd43dd8448eb211c80319c"
		foreignTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
		parent       = "b7ad6b7169203331"
	)
	to := newSpanReceiver(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.with("OTEL_EXPORTER_OTLP_ENDPOINT", to.URL, "OTEL_SERVICE_NAME", "box-office",
		"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20collector", "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip").
		serve("--log-format", "json", "--rate-limit", "0", "--trusted-proxies", "127.0.0.1/32")
	ctx := soon(t)
	is.NoErr(buyFrom(ctx, shop, origin, "127.0.0.1", "trusted-0001", "00-"+trustedTrace+"-"+parent+"-01"))
	is.NoErr(buyFrom(ctx, shop, origin, "127.0.0.2", "foreign-0001", "00-"+foreignTrace+"-"+parent+"-01"))
	// Enough at a time that some wait for the first of them, and then share a transaction.
	var clients sync.WaitGroup
	errs := make(chan error, 24)
	for client := range cap(errs) {
		clients.Go(func() {
			errs <- buyFrom(ctx, shop, origin, "127.0.0.1", fmt.Sprintf("crowd-%04d", client), "")
		})
	}
	clients.Wait()
	for range cap(errs) {
		is.NoErr(<-errs)
	}
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)

	to.mu.Lock()
	defer to.mu.Unlock()
	requests := to.named("POST /checkouts")
	is.Equal(len(requests), 26) // All of them, though the server ended at once.
	is.Equal(to.services, map[string]bool{"box-office": true})
	is.Equal(to.keys, map[string]bool{"Bearer collector": true})

	var continued, linked int
	for _, span := range requests {
		switch fmt.Sprintf("%x", span.GetTraceId()) {
		case trustedTrace:
			is.Equal(fmt.Sprintf("%x", span.GetParentSpanId()), parent)
			continued++
		case foreignTrace:
			t.Error("the trace of a stranger is continued")
		}
		for _, link := range span.GetLinks() { // The others are of the groups that looked keys up.
			if fmt.Sprintf("%x", link.GetTraceId()) == foreignTrace {
				linked++
			}
		}
	}
	is.Equal(continued, 1)
	is.Equal(linked, 1)

	// Each sale is in the transaction of one group that commits: that below it, or that which it links to. A group that
	// waits too long for a lock, as on a busy machine, fails and runs again.
	groups, failed := map[string]*trace.Span{}, map[string]bool{}
	for _, group := range to.named("ticketing.group.checkouts.create") {
		if group.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR {
			failed[string(group.GetSpanId())] = true
			continue
		}
		groups[string(group.GetSpanId())] = group
		sale := to.parentOf(group)
		is.Equal(sale.GetName(), "ticketing.checkouts.create")
		is.Equal(to.parentOf(sale).GetName(), "POST /checkouts")
	}
	links := 0
	for _, sale := range to.named("ticketing.checkouts.create") {
		for _, link := range sale.GetLinks() {
			if failed[string(link.GetSpanId())] {
				continue
			}
			group := groups[string(link.GetSpanId())]
			is.True(group != nil)
			back := false
			for _, other := range group.GetLinks() {
				back = back || bytes.Equal(other.GetSpanId(), sale.GetSpanId())
			}
			is.True(back) // The group links to the sale that links to it.
			links++
		}
	}
	is.True(links > 0)
	is.Equal(len(groups)+links, 26)
	for _, name := range []string{"begin", "LockStock", "commit"} {
		below := 0
		for _, statement := range to.named(name) {
			if group := to.parentOf(statement); group != nil && groups[string(group.GetSpanId())] != nil {
				below++
			}
		}
		is.Equal(below, len(groups)) // each transaction of the groups, once
	}

	for _, secret := range []string{
		shop.key, strings.Split(shop.key, ".")[1], shop.companyID, shop.eventID, "ada@example.com", "SELECT", "INSERT",
		"crowd-0001",
	} {
		if bytes.Contains(to.bodies.Bytes(), []byte(secret)) {
			t.Errorf("the spans hold %q", secret)
		}
	}
	// The log of a request names its trace.
	found := false
	for line := range strings.Lines(p.errors()) {
		var about struct {
			Msg   string
			Trace string `json:"trace_id"`
			Span  string `json:"span_id"`
		}
		if json.Unmarshal([]byte(line), &about) == nil && about.Msg == "request" && about.Trace == trustedTrace {
			found = len(about.Span) == 16
		}
	}
	is.True(found)
}

// A collector that is away, or never answers, delays no sale and no end, and is logged once.
func TestTracesWithoutACollector(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	is.NoErr(err)
	defer func() { _ = silent.Close() }()
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.with("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+silent.Addr().String(),
		"OTEL_BSP_SCHEDULE_DELAY", "10", "OTEL_BSP_MAX_QUEUE_SIZE", "2", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1",
		"OTEL_EXPORTER_OTLP_TIMEOUT", "100", "OTEL_BSP_EXPORT_TIMEOUT", "100").serve("--rate-limit", "0")
	began := time.Now()
	sold := 0
	eventually(t, "two exports failed", func() bool {
		for range 10 {
			is.NoErr(buyFrom(soon(t), shop, origin, "127.0.0.1", fmt.Sprintf("away-%04d", sold), ""))
			sold++
		}
		_, body := get(t, origin+"/metrics")
		return regexp.MustCompile(`(?m)^ticketing_trace_export_failures_total ([2-9]|\d\d+)$`).MatchString(body)
	})
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
	is.True(time.Since(began) < 15*time.Second) // The drain itself has 25 seconds.
	is.Equal(strings.Count(p.errors(), "spans did not reach the collector"), 1)
}

// The log holds no header for the collector, though the collector repeats them, and no value that the SDK cannot read.
func TestTracesKeepSecrets(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	repeats := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Authorization") + ", " + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		http.Error(w, "unknown: "+header+", "+r.Header.Get("X-Api-Key"), http.StatusBadRequest)
	}))
	defer repeats.Close()
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.with("OTEL_EXPORTER_OTLP_ENDPOINT", repeats.URL, "OTEL_BSP_SCHEDULE_DELAY", "10",
		"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2-bearer", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
		"authorization=Bearer%20hunter2-bearer,x-api-key=hunter2%2Fkey", "OTEL_EXPORTER_OTLP_TIMEOUT", "hunter2-timeout",
		"OTEL_BSP_MAX_QUEUE_SIZE", "hunter2-queue").serve("--rate-limit", "0")
	is.NoErr(buyFrom(soon(t), shop, origin, "127.0.0.1", "secret-0001", ""))
	eventually(t, "an export failed", func() bool {
		return strings.Contains(p.errors(), "spans did not reach the collector")
	})
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
	is.True(strings.Contains(p.errors(), "400 Bad Request")) // what the collector responded
	is.True(!strings.Contains(p.errors(), "hunter2"))
}

// Settings that send spans nowhere are refused, without a word of what they hold.
func TestTraceSettings(t *testing.T) {
	t.Parallel()
	secret := url.UserPassword("ada", "hunter2").String()
	for _, test := range []struct{ name, variable, value, problem string }{
		{"no URL", "OTEL_EXPORTER_OTLP_ENDPOINT", "hunter2:4317", "OTEL_EXPORTER_OTLP_ENDPOINT: must be a URL"},
		{
			"a password", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://" + secret + "@collector:4318",
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: holds a user or a password",
		},
		{"another exporter", "OTEL_TRACES_EXPORTER", "hunter2", "OTEL_TRACES_EXPORTER: must be otlp or none"},
		{
			"headers with a colon", "OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer hunter2",
			"OTEL_EXPORTER_OTLP_HEADERS: must be name=value",
		},
		{
			"headers of traces with a colon", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=b,Authorization: Bearer hunter2==",
			"OTEL_EXPORTER_OTLP_TRACES_HEADERS: must be name=value",
		},
		{
			"bad percent-encoding", "OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2%zz",
			"OTEL_EXPORTER_OTLP_HEADERS: must be name=value",
		},
		{
			"two lines", "OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2%0Ax",
			"OTEL_EXPORTER_OTLP_HEADERS: must be name=value",
		},
		{"gRPC", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh := newShell(t).with("TICKETING_DATABASE", "memory:", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1",
				test.variable, test.value)
			got := sh.run("serve", "--addr", "127.0.0.1:0")
			is.Equal(got.status, 1)
			is.True(strings.Contains(got.stderr, test.problem))
			is.True(!strings.Contains(got.stdout+got.stderr, "hunter2"))
		})
	}
}
