package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/group"
)

// report logs the request and calls OnRequest.
func (x *exchange) report(ctx context.Context, status int, code ticketing.Code) {
	answer := Answer{Status: status, Code: code, Duration: x.api.now().Sub(x.began)}
	if x.op != nil {
		answer.Method, answer.Route = x.op.method, x.op.path
	}
	if x.api.log.Enabled(ctx, slog.LevelInfo) {
		attrs := []slog.Attr{
			slog.String("requestId", x.id), slog.String("method", knownMethod(x.r.Method)),
			slog.String("route", answer.Route), slog.Int("status", status),
		}
		if code != "" {
			attrs = append(attrs, slog.String("code", string(code)))
		}
		attrs = append(attrs, slog.Duration("duration", answer.Duration))
		if x.caller.CompanyID() != uuid.Nil {
			attrs = append(attrs, slog.String("companyId", x.caller.CompanyID().String()))
		}
		x.api.log.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
	}
	if x.api.onRequest != nil {
		x.api.onRequest(ctx, answer)
	}
}

// knownMethod returns the method, or one fixed name for every unknown method, so that clients cannot fill the log with
// names.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}

func (x *exchange) logInternal(ctx context.Context, err error) {
	attrs := []slog.Attr{slog.String("requestId", x.id), slog.String("error", err.Error())}
	if p, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, slog.String("stack", p.stack))
	}
	if p, ok := errors.AsType[*group.PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	x.api.log.LogAttrs(ctx, slog.LevelError, "internal error", attrs...)
}

// panicError is a panic as an error for the log.
type panicError struct {
	text  string
	stack string
}

// newPanicError keeps the text of a runtime error only. Any other value may hold what must not be logged.
func newPanicError(v any) *panicError {
	text := fmt.Sprintf("panic of type %T", v)
	if fault, ok := v.(runtime.Error); ok {
		text = "panic: " + fault.Error()
	}
	return &panicError{text: text, stack: string(debug.Stack())}
}

func (e *panicError) Error() string { return e.text }
