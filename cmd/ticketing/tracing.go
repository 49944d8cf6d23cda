package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/net/http/httpguts"

	"github.com/floatgate/ticketing/store"
)

// tracing sends spans to a collector, by OTLP over HTTP. The variables of OpenTelemetry configure it. A nil *tracing
// sends none.
//
// Spans hold routes, names of statements, outcomes and numbers of calls. They hold no path, no query, no company, no
// key, no buyer and no SQL.
type tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	proxies  []netip.Prefix // whose traceparent is trusted
	system   attribute.KeyValue
}

const (
	// flushTimeout is the longest time that a server waits for its collector when it ends.
	flushTimeout = 5 * time.Second
	// traceLogInterval is the minimum time between two warnings about the collector.
	traceLogInterval = time.Minute
	// longestTraceError is the length at which an error is cut, since its text may come from a collector.
	longestTraceError = 300
	// shortestTraceSecret is the length from which a part of a header is kept out of the log. Shorter ones are common
	// words.
	shortestTraceSecret = 7
)

// openTracing starts to send spans if the environment names a collector. The SDK itself reads the rest of its settings
// from the environment.
func (p *program) openTracing(
	ctx context.Context, proxies []netip.Prefix, failures prometheus.Counter, logger *slog.Logger,
) (*tracing, error) {
	endpoint, err := p.traceEndpoint()
	if err != nil || endpoint == "" {
		return nil, err
	}
	if err := p.checkTraceHeaders(); err != nil {
		return nil, err
	}
	warnings := &traceWarnings{logger: logger, secrets: p.traceSecrets()}
	// This reports what the SDK finds wrong in its variables. There is one handler for the process.
	otel.SetErrorHandler(warnings)
	// The SDK's own log repeats values of its variables, which may hold a secret.
	otel.SetLogger(logr.Discard())
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, badValue("the variables OTEL_EXPORTER_OTLP_… cannot be used: %s", err.Error())
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "ticketing"),
			attribute.String("service.version", built().Version)),
		resource.WithFromEnv()) // The last one counts: OTEL_SERVICE_NAME takes precedence.
	if err != nil {
		return nil, badValue("OTEL_RESOURCE_ATTRIBUTES: must be name=value,name=value, percent-encoded")
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(about),
		sdktrace.WithBatcher(reportedExporter{exporter, failures, warnings}))
	system := "sqlite"
	if strings.HasPrefix(p.Database, postgres) {
		system = "postgresql"
	}
	logger.InfoContext(ctx, "traces are sent to a collector")
	return &tracing{
		provider: provider, tracer: provider.Tracer("github.com/floatgate/ticketing/cmd/ticketing"), proxies: proxies,
		system: attribute.String("db.system.name", system),
	}, nil
}

// traceEndpoint returns the collector's URL, or "" if no spans are sent. Its errors repeat no value, which may hold a
// secret.
func (p *program) traceEndpoint() (string, error) {
	if strings.EqualFold(p.getenv("OTEL_SDK_DISABLED"), "true") {
		return "", nil
	}
	switch p.getenv("OTEL_TRACES_EXPORTER") {
	case "", "otlp":
	case "none":
		return "", nil
	default:
		return "", badValue("OTEL_TRACES_EXPORTER: must be otlp or none")
	}
	name, endpoint := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", p.getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if endpoint == "" {
		name, endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT", p.getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	if endpoint == "" {
		return "", nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", badValue("%s: must be a URL such as http://127.0.0.1:4318", name)
	}
	if u.User != nil {
		return "", badValue("%s: holds a user or a password: give them as a header, in OTEL_EXPORTER_OTLP_HEADERS", name)
	}
	switch cmp.Or(p.getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), p.getenv("OTEL_EXPORTER_OTLP_PROTOCOL")) {
	case "", "http/protobuf", "http/json":
		return endpoint, nil
	default:
		return "", badValue("OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf or http/json; the collector's port for " +
			"them is commonly 4318")
	}
}

// checkTraceHeaders refuses headers for the collector that the SDK would leave out. Its errors repeat no value.
func (p *program) checkTraceHeaders() error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for member := range strings.SplitSeq(p.getenv(name), ",") {
			if strings.TrimSpace(member) == "" {
				continue
			}
			header, encoded, found := strings.Cut(member, "=")
			value, err := url.PathUnescape(encoded)
			if !found || err != nil || !httpguts.ValidHeaderFieldName(strings.TrimSpace(header)) ||
				!httpguts.ValidHeaderFieldValue(strings.TrimSpace(value)) {
				return badValue("%s: must be name=value,name=value, percent-encoded", name)
			}
		}
	}
	return nil
}

// traceSecrets returns what the headers for the collector hold, and each word of it.
func (p *program) traceSecrets() []string {
	var secrets []string
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for member := range strings.SplitSeq(p.getenv(name), ",") {
			_, encoded, _ := strings.Cut(member, "=")
			value, _ := url.PathUnescape(encoded)
			secrets = append(secrets, strings.TrimSpace(value), encoded)
			secrets = append(secrets, strings.Fields(value)...)
		}
	}
	secrets = slices.DeleteFunc(secrets, func(secret string) bool { return len(secret) < shortestTraceSecret })
	// A secret may be a part of a longer one.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// tracerProvider returns the provider for the spans of the service.
func (t *tracing) tracerProvider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// logger returns a logger whose lines carry the trace and the span that they belong to.
func (t *tracing) logger(logger *slog.Logger) *slog.Logger {
	if t == nil {
		return logger
	}
	return slog.New(tracedLog{logger.Handler()})
}

// flush sends the waiting spans, within a time limit, and sends none from then on.
func (t *tracing) flush(ctx context.Context, until time.Time, logger *slog.Logger) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, flushTimeout)
	defer stop()
	if t.provider.Shutdown(ctx) != nil {
		logger.WarnContext(ctx, "the last spans did not reach the collector")
	}
}

// requests returns a handler with a span for each request. The handler names it, see nameSpan.
//
// A request continues the trace of its traceparent only if it comes from a trusted proxy. Otherwise anybody could make
// the server sample their requests, and join the traces of others. Their trace becomes a link.
func (t *tracing) requests(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, method := r.Context(), spanMethod(r.Method)
		options := []trace.SpanStartOption{
			trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("http.request.method", method)),
		}
		sent := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header)))
		switch {
		case !sent.IsValid():
		case t.trusts(r.RemoteAddr):
			ctx = trace.ContextWithRemoteSpanContext(ctx, sent)
		default:
			options = append(options, trace.WithLinks(trace.Link{SpanContext: sent.WithTraceState(trace.TraceState{})}))
		}
		ctx, span := t.tracer.Start(ctx, method, options...)
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// trusts reports whether an address is that of a trusted proxy.
func (t *tracing) trusts(remote string) bool {
	address, err := netip.ParseAddrPort(remote)
	return err == nil && slices.ContainsFunc(t.proxies, func(proxy netip.Prefix) bool {
		return proxy.Contains(address.Addr().Unmap())
	})
}

// spanMethod keeps made-up methods out of spans.
func spanMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "_OTHER"
}

// nameSpan gives the span of a request its name and outcome. A request that matches no operation keeps its method as
// its name.
func nameSpan(ctx context.Context, method, route string, status int, code string) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if route != "" {
		span.SetName(method + " " + route)
		span.SetAttributes(attribute.String("http.route", route))
	}
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	if code != "" {
		span.SetAttributes(attribute.String("error.type", code))
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(otelcodes.Error, "")
	}
}

// statement records a statement of the store that has run, as a part of the request or group that ran it. Background
// work, which nobody waits for, has no spans.
func (t *tracing) statement(ctx context.Context, statement store.Statement) {
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	now := time.Now()
	_, span := t.tracer.Start(ctx, statement.Name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(now.Add(-statement.Duration)),
		trace.WithAttributes(t.system, attribute.String("db.operation.name", statement.Name)))
	if statement.Err != nil {
		span.SetAttributes(attribute.String("error.type", failureReason(statement.Err)))
		span.SetStatus(otelcodes.Error, "")
	}
	span.End(trace.WithTimestamp(now))
}

// reportedExporter counts failed exports, and logs them at intervals.
type reportedExporter struct {
	sdktrace.SpanExporter

	failures prometheus.Counter
	warnings *traceWarnings
}

// ExportSpans sends spans. Its failure is reported here, so the SDK gets none.
func (e reportedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.failures.Inc()
		e.warnings.Handle(err)
	}
	return nil
}

// traceWarnings logs failures of tracing, once a minute at most. It is the SDK's error handler.
type traceWarnings struct {
	logger  *slog.Logger
	secrets []string // that a collector may send back in its response

	mu     sync.Mutex
	logged time.Time
}

// Handle logs an error, unless another one was logged within the last minute.
func (w *traceWarnings) Handle(err error) {
	if errors.Is(err, context.Canceled) { // The server ends.
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.logged) < traceLogInterval {
		return
	}
	w.logged = time.Now()
	text := err.Error()
	for _, secret := range w.secrets {
		text = strings.ReplaceAll(text, secret, "…")
	}
	if len(text) > longestTraceError {
		text = strings.ToValidUTF8(text[:longestTraceError], "") + "…"
	}
	w.logger.Warn("spans did not reach the collector", slog.String("error", text))
}

// tracedLog adds the trace and the span to the lines that belong to one.
type tracedLog struct{ slog.Handler }

// Handle writes a line.
func (l tracedLog) Handle(ctx context.Context, record slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		record = record.Clone()
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	if err := l.Handler.Handle(ctx, record); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}

// WithAttrs returns a handler whose lines also have these attributes.
func (l tracedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracedLog{l.Handler.WithAttrs(attrs)}
}

// WithGroup returns a handler whose attributes are in a group.
func (l tracedLog) WithGroup(name string) slog.Handler { return tracedLog{l.Handler.WithGroup(name)} }
