package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// exportRoute is the act that downloads all orders of the measured company as a file.
const exportRoute = "/business/{companyId}/orders/export"

// heapEvery is how often the size of the heap is read during the export.
const heapEvery = 20 * time.Millisecond

// exportFigures are the figures of a file with all orders of the measured company.
type exportFigures struct {
	Orders  int     `json:"orders"`
	Seconds float64 `json:"seconds"` // from the request to the last byte
	Bytes   int64   `json:"bytes"`
	// InUseGrowth is the largest growth of the objects in use, in bytes, as each garbage collection found them.
	// HeapGrowth is that of all objects. Its garbage depends on the rest of the process: by default Go lets it grow to
	// the size of what is in use. The reader of the file is in the same process, and so is the bench.
	InUseGrowth int64 `json:"inUseGrowthBytes"`
	HeapGrowth  int64 `json:"heapGrowthBytes"`
}

// exportOrders downloads all orders as a person with a session does, and discards them. It checks by the last line that
// the file is complete, since the status of the response was sent before.
func (m *pagesBench) exportOrders(ctx context.Context) (exportFigures, error) {
	m.mu.Lock()
	m.run = nil // It is not a page of the last run.
	m.mu.Unlock()
	// The session is no longer recent enough for a download of orders.
	if err := m.signInAgain(ctx); err != nil {
		return exportFigures{}, err
	}
	address := m.origin + m.variables.Replace(exportRoute)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
	if err != nil {
		return exportFigures{}, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", m.origin)
	request.AddCookie(&http.Cookie{Name: sessionCookie, Value: m.cookie}) //nolint:gosec // It is sent to this machine.
	peak := watchHeap()
	began := time.Now()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		peak()
		return exportFigures{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	var file exportedFile
	_, err = io.Copy(&file, answer.Body)
	figures := exportFigures{
		Orders: file.lines - 1, Seconds: rounded(time.Since(began).Seconds()), Bytes: file.bytes,
	}
	figures.InUseGrowth, figures.HeapGrowth = peak()
	switch {
	case err != nil:
		return exportFigures{}, err
	case answer.StatusCode != http.StatusOK:
		return exportFigures{}, &Error{Code: codeBenchFailed, Text: "the export of orders failed: " + answer.Status}
	case strings.HasPrefix(string(file.last), "CUT OFF"):
		return exportFigures{}, &Error{Code: codeBenchFailed, Text: "the export of orders was cut off"}
	}
	return figures, nil
}

// signInAgain begins another session of the same person.
func (m *pagesBench) signInAgain(ctx context.Context) error {
	user, err := m.svc.Accounts().FindUser(ctx, pagesEmail)
	if err != nil || user.ID == uuid.Nil {
		return fmt.Errorf("find the person of the pages: %w", err)
	}
	begun, err := m.svc.Accounts().SignIn(ctx, user.ID, ticketing.SignInPasskey, ticketing.Client{Browser: "bench"})
	m.cookie = begun.Secret
	return err
}

// exportedFile counts what is written to it, and keeps only the beginning of the last line.
type exportedFile struct {
	lines int
	bytes int64
	last  []byte
	ended bool // the last line
}

func (f *exportedFile) Write(b []byte) (int, error) {
	const kept = 64
	f.bytes += int64(len(b))
	f.lines += bytes.Count(b, []byte("\n"))
	for line := range bytes.Lines(b) {
		if f.ended {
			f.last = f.last[:0]
		}
		f.last = append(f.last, line[:min(len(line), kept-min(len(f.last), kept))]...)
		f.ended = line[len(line)-1] == '\n'
	}
	return len(b), nil
}

// watchHeap collects the garbage and then watches the heap until the returned function is called. That function returns
// the largest growth of the objects in use and of all objects.
func watchHeap() func() (inUse, all int64) {
	runtime.GC()
	before := readHeap()
	peak := before
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(heapEvery)
		defer ticker.Stop()
		for {
			now := readHeap()
			peak.inUse, peak.all = max(peak.inUse, now.inUse), max(peak.all, now.all)
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() (inUse, all int64) {
		close(stop)
		<-stopped
		return peak.inUse - before.inUse, peak.all - before.all
	}
}

// heap is the size of the heap in bytes: of the objects in use, as the latest garbage collection found them, and of all
// objects.
type heap struct{ inUse, all int64 }

// readHeap returns the size of the heap. Unlike [runtime.ReadMemStats], it does not stop the program.
func readHeap() heap {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	size := func(i int) int64 { return int64(samples[i].Value.Uint64()) } //nolint:gosec // No heap is that large.
	return heap{inUse: size(0), all: size(1)}
}
