package delivery_test

import (
	"io"
	"net/http"
	"testing"
)

// BenchmarkPost measures an attempt over a kept TLS connection to a receiver on this machine, first sequentially, then
// from many goroutines.
func BenchmarkPost(b *testing.B) {
	for _, protocol := range []struct {
		name  string
		http2 bool
	}{{"HTTP1", false}, {"HTTP2", true}} {
		r := receive(b, protocol.http2, func(w http.ResponseWriter, request *http.Request) {
			_, _ = io.Copy(io.Discard, request.Body)
			w.WriteHeader(http.StatusNoContent)
		})
		post := func(b *testing.B) {
			b.Helper()
			if status, err := r.sender.Post(b.Context(), attempt()); err != nil || status != http.StatusNoContent {
				b.Fatal(status, err)
			}
		}
		b.Run(protocol.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				post(b)
			}
		})
		b.Run(protocol.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := r.sender.Post(b.Context(), attempt()); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
