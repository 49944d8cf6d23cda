// Package contracttest holds what the API answers in tests against the contract's document, openapi.json as the service
// serves it: status, headers, body and code, with what every answer has to be beside that. A test that makes a server of
// the API makes it with [New]; one that starts a program calls it through [Transport], and where it speaks over a
// connection of its own, holds what it reads with [Hold]. The rest is for the tests of the document itself.
package contracttest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
)

// New is [httpapi.New] with every answer held: fail, a test's Error, is told what is wrong with one.
func New(fail func(...any), svc *ticketing.Service, config *httpapi.Config) http.Handler {
	handler, prefix := httpapi.New(svc, config), PrefixOf(config)
	var holds sync.Map // The same answer to the same question is held once.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		a := Answer{Status: recorder.Code, Header: recorder.Result().Header, Body: recorder.Body.String()}
		if r.Method == http.MethodHead {
			a.Body = "" // net/http leaves it out.
		}
		if _, known := holds.LoadOrStore(fmt.Sprint(r.Method, r.URL, a.Status, a.Header, a.Body), true); !known {
			if err := Held(prefix, r, a, true); err != nil {
				fail(wrong(r, a, err))
			}
		}
		maps.Copy(w.Header(), a.Header)
		w.WriteHeader(a.Status)
		_, _ = io.WriteString(w, a.Body)
	})
}

// Panic is the fail of an example, which has no test to tell.
func Panic(told ...any) { panic(fmt.Sprint(told...)) }

// Transport passes requests on, and holds the answers to those that are for the API, as isAPI tells; without it those
// below [httpapi.DefaultPrefix] are.
func Transport(fail func(...any), next http.RoundTripper, isAPI func(*http.Request) bool) http.RoundTripper {
	if isAPI == nil {
		isAPI = func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path+"/", httpapi.DefaultPrefix+"/") }
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && isAPI(r) {
			Hold(fail, r, response)
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip carries one request.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Hold holds an answer of an API below [httpapi.DefaultPrefix], to no request at all where nobody could read it, and
// leaves it to be read. One that breaks off is none.
func Hold(fail func(...any), r *http.Request, response *http.Response) {
	body, broken := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), &ending{broken}))
	if broken != nil {
		return
	}
	a := Answer{Status: response.StatusCode, Header: response.Header, Body: string(body)}
	err := Held(httpapi.DefaultPrefix, r, a, true)
	if err == nil && !response.Uncompressed {
		err = a.Measured(r.Method)
	}
	if err != nil {
		fail(wrong(r, a, err))
	}
}

// ending is how a body ends: as it did when it was first read.
type ending struct{ err error }

// Read reads nothing.
func (e *ending) Read([]byte) (int, error) { return 0, cmp.Or(e.err, io.EOF) }

// wrong tells an answer of which something is wrong, and to what it is one.
func wrong(r *http.Request, a Answer, err error) error {
	return fmt.Errorf("%s %s: %w\n%v", r.Method, r.URL, err, a)
}

// PrefixOf is where a handler of this config lies, without a slash at its end.
func PrefixOf(config *httpapi.Config) string {
	prefix := httpapi.DefaultPrefix
	if config != nil {
		prefix = cmp.Or(config.Prefix, prefix)
	}
	return strings.TrimRight(prefix, "/")
}
