package main_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// BenchmarkFirstPaint measures the pages of a demo on a processor that is slowed four times, in a browser with an empty
// cache: how long after the click the first content is there, and what is transferred. The first page is one of a few
// words without a stylesheet: it says what the browser itself takes. The times say little on a machine that is busy
// otherwise.
func BenchmarkFirstPaint(b *testing.B) {
	browser := browsertest.New(b)
	ok := is.New(b)
	demo := exec.CommandContext(b.Context(), os.Args[0], "demo", "--json", "--database", "memory:",
		"--addr", "127.0.0.1:0", "--shop-addr", "127.0.0.1:0", "--rate-limit", "0")
	demo.Dir, demo.Env = b.TempDir(), []string{asProgram + "=1"}
	stdout, err := demo.StdoutPipe()
	ok.NoErr(err)
	ok.NoErr(demo.Start())
	b.Cleanup(func() { _, _ = demo.Process.Kill(), demo.Wait() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	ok.NoErr(err)
	var at demoAt
	ok.NoErr(json.Unmarshal(line, &at))
	least := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<!doctype html><title>Least</title><p>A page of one word.</p>"))
	}))
	b.Cleanup(least.Close)
	for _, page := range []struct{ name, url string }{
		{"least", least.URL},
		{"home", at.WebOrigin + "/"},
		{"reference", at.WebOrigin + prefix + "/docs"},
		{"guide", at.WebOrigin + prefix + "/guide"},
	} {
		b.Run(page.name, func(b *testing.B) {
			var first []float64
			bytes := 0
			for b.Loop() {
				p := browser.Open(b, "about:blank", browsertest.Desktop)
				slow := func(times float64) {
					_, err := chromedp.Call(p.Context(), emulation.SetCPUThrottlingRate,
						emulation.SetCPUThrottlingRateParams{Rate: times})
					ok.NoErr(err)
				}
				slow(4)
				p.Do(chromedp.Navigate(page.url))
				p.Wait(`document.readyState === "complete" && performance.getEntriesByName("first-contentful-paint").length === 1`)
				slow(1)
				took, err := strconv.ParseFloat(strings.TrimSpace(
					p.Text(`performance.getEntriesByName("first-contentful-paint")[0].startTime`)), 64)
				ok.NoErr(err)
				first, bytes = append(first, took), max(bytes, p.Transferred())
				p.Do(chromedp.Navigate("about:blank"))
			}
			slices.Sort(first)
			b.ReportMetric(first[len(first)/2], "ms-median")
			b.ReportMetric(first[0], "ms-least")
			b.ReportMetric(first[len(first)-1], "ms-most")
			b.ReportMetric(float64(bytes), "bytes")
		})
	}
}
