package conformance_test

import (
	"io"
	"net/http"
	"net/http/httptest"
)

// inMemory is a network in memory: it calls a handler.
type inMemory struct{ handler http.Handler }

func (n inMemory) RoundTrip(req *http.Request) (response *http.Response, err error) {
	served := req.Clone(req.Context())
	served.RequestURI = req.URL.RequestURI()
	if served.Body == nil {
		served.Body = http.NoBody
	}
	if served.Host == "" {
		served.Host = req.URL.Host
	}
	recorder := httptest.NewRecorder()
	defer func() {
		if recover() == nil {
			return
		}
		if recorder.Body.Len() == 0 {
			response, err = nil, io.ErrUnexpectedEOF
			return
		}
		response, err = recorder.Result(), nil
		response.Body = io.NopCloser(io.MultiReader(recorder.Body, cutOff{}))
	}()
	n.handler.ServeHTTP(recorder, served)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

// cutOff is the end of a body that was cut off.
type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
