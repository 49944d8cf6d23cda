package conformance_test

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/embedproxy/conformance"
)

const sessionCookie = "session=7f3c0d9e"

// expectOK fails the test for each check that failed.
func expectOK(t *testing.T, report conformance.Report) {
	t.Helper()
	for _, check := range report.Checks {
		if check.Status == conformance.Failed {
			t.Errorf("rule %s: %s\n%s", check.Rule, check.Name, check.Got)
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// A proxy that was written in another language from the contract's text alone passes.
func TestPython(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves processes out")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 is installed, which runs the independent proxy: apt-get install python3, or the like")
	}
	is := is.New(t)
	listener := listen(t)
	proxy := exec.CommandContext(t.Context(), "python3", "testdata/proxy.py")
	proxy.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "API_KEY=svc_live.python.0123456789",
		"UPSTREAM=http://"+listener.Addr().String()+conformance.Prefix, "SESSION=7f3c0d9e")
	proxy.Stderr = t.Output()
	stdout, err := proxy.StdoutPipe()
	is.NoErr(err)
	is.NoErr(proxy.Start())
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	is.NoErr(err)

	report, err := conformance.Run(t.Context(), conformance.Config{
		Proxy: strings.TrimSpace(line), Listener: listener, Header: http.Header{"Cookie": {sessionCookie}},
	})
	is.NoErr(err)
	expectOK(t, report)
	is.True(report.OK())
}
