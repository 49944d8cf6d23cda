package main_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkStart measures the time from the start of a server on an existing database until it is ready. On Linux it
// also measures the server's resident memory at that point.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	binary := filepath.Join(dir, "ticketing")
	built, err := exec.CommandContext(b.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, built)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(b.Context(), binary, args...)
		cmd.Dir, cmd.Env = dir, []string{}
		return cmd
	}
	if err := command("demo", "--once", "--addr", "127.0.0.1:0").Run(); err != nil {
		b.Fatal(err)
	}
	resident := 0
	for b.Loop() {
		server := command("serve", "--addr", "127.0.0.1:0")
		stderr, err := server.StderrPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := server.Start(); err != nil {
			b.Fatal(err)
		}
		line, err := bufio.NewReader(stderr).ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		ready(b, strings.TrimSpace(strings.TrimPrefix(line, "listening on "))+"/readyz")
		b.StopTimer()
		resident += residentKiB(server.Process.Pid)
		_ = server.Process.Kill()
		_ = server.Wait()
		b.StartTimer()
	}
	b.ReportMetric(float64(resident)/float64(b.N)/1024, "MiB-resident")
}

func ready(b *testing.B, url string) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		b.Fatal(response.Status)
	}
}

// residentKiB returns the resident memory of a process in KiB, or 0 if it is unknown.
func residentKiB(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib := 0
	_, _ = fmt.Sscan(rest, &kib)
	return kib
}
