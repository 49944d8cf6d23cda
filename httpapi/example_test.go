package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/store/memory"
)

// The handler is the whole server.
func ExampleNew() {
	svc, err := ticketing.New(memory.New(), nil)
	if err != nil {
		panic(err)
	}
	server := &http.Server{
		Addr:              "127.0.0.1:8080",
		Handler:           httpapi.New(svc, nil),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,

		DisableGeneralOptionsHandler: true,
	}

	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/api/public/v1/events", nil)
	r.Header.Set("X-Request-Id", "example-1")
	w := httptest.NewRecorder()
	server.Handler.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("WWW-Authenticate"))
	fmt.Println(w.Header().Get("X-Request-Id"))
	// Output:
	// 401 Bearer
	// example-1
}

// Beside the routes of a host, the handler gets its requests before a ServeMux would clean their paths.
func ExampleNew_besideOtherRoutes() {
	svc, err := ticketing.New(memory.New(), nil)
	if err != nil {
		panic(err)
	}
	const prefix = "/tickets/v1"
	api := httpapi.New(svc, &httpapi.Config{Prefix: prefix})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "our own page") })

	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, prefix+"/") {
			api.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})

	for _, path := range []string{"/", "/tickets/v1/orders", "/tickets/v1//orders"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, nil))
		fmt.Println(path, w.Code)
	}
	// Output:
	// / 200
	// /tickets/v1/orders 401
	// /tickets/v1//orders 404
}
