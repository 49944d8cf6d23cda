package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/floatgate/ticketing/embedproxy/conformance"
)

type proxyCommands struct {
	Check proxyCheck `cmd:"" help:"Check a browser proxy, in any language, against the contract."`
}

type proxyCheck struct {
	Proxy  proxyURL        `help:"The URL that the proxy serves." placeholder:"URL" required:""`
	Listen string          `help:"Where to serve the API that the proxy calls." placeholder:"HOST:PORT" required:""`
	Header []sessionHeader `help:"A header of a storefront session; may be given several times." placeholder:"'NAME: VALUE'" sep:"none"`
	Limits bool            `help:"Also send requests until the proxy limits them."`
	Slow   patienceSpan    `help:"Also check that the proxy gives up within this time when the API does not reply, such as 20s." placeholder:"TIME"`
	Wait   patienceSpan    `default:"30s" help:"How long to wait until the proxy listens." placeholder:"TIME"`
}

func (*proxyCheck) Help() string {
	return `It is the browser and the API at once. It serves an API that it controls at /api/public/v1 of --listen, ` +
		`sends operations to the proxy, and compares its calls and its responses to section 4.12 of the contract. Exit ` +
		`status 1 if a rule is broken. It needs no database.

    ticketing proxy check --proxy http://127.0.0.1:3000/tickets \
      --listen 127.0.0.1:9090 --header 'Cookie: session=VALUE'

Point the proxy at http://127.0.0.1:9090/api/public/v1 with any key of the form svc_live.ID.SECRET, and raise its ` +
		`limits to 3000 requests and 3000 checkouts a minute; otherwise the check waits whenever it is limited. Let a ` +
		`hook that asks for a payment accept every purchase. A proxy that needs the API at its start can be started ` +
		`after the check.`
}

// proxyChecked is the result of a run.
type proxyChecked struct {
	OK     bool                `json:"ok"`
	Checks []conformance.Check `json:"checks"`
}

func (c *proxyCheck) Run(ctx context.Context, p *program) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	listener, err := listen(ctx, "--listen", c.Listen)
	if err != nil {
		return err
	}
	header := http.Header{}
	for _, h := range c.Header {
		header.Add(h.name, h.value)
	}
	if err := p.beginProxy(localOrigin("http", listener.Addr()) + conformance.Prefix); err != nil {
		return errors.Join(err, listener.Close())
	}
	report, err := conformance.Run(ctx, conformance.Config{
		Proxy: c.Proxy.url, Listener: listener, Header: header,
		Limits: c.Limits, Slow: c.Slow.Duration, Wait: c.Wait.Duration,
		Logf: func(format string, args ...any) {
			if !p.JSON {
				fmt.Fprintln(p.stderr, escape(fmt.Sprintf(format, args...)))
			}
		},
	})
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "conformance: ")
		return interrupted(ctx, &failure{code: "PROXY_NOT_CHECKED", text: text})
	}
	return p.judgeProxy(report)
}

// beginProxy prints the URL that the proxy is to call.
func (p *program) beginProxy(upstream string) error {
	if p.JSON {
		return encode(p.stderr, struct {
			Upstream string `json:"upstream"`
		}{upstream})
	}
	_, err := fmt.Fprintf(p.stderr, "the proxy is to call %s\n", upstream)
	return outputError(err)
}

// judgeProxy prints a report, and fails if a rule is broken.
func (p *program) judgeProxy(report conformance.Report) error {
	failed := report.Count(conformance.Failed)
	if p.JSON {
		if err := encode(p.stdout, proxyChecked{OK: report.OK(), Checks: report.Checks}); err != nil {
			return err
		}
	} else if err := p.printChecks(report); err != nil {
		return err
	}
	if failed == 0 {
		return nil
	}
	return &failure{code: "PROXY_NOT_CONFORMANT", text: "the proxy breaks the contract: " +
		plural(failed, "check", "checks") + " failed"}
}

// printChecks prints a report for a person: the checks of each rule, and what failed.
func (p *program) printChecks(report conformance.Report) error {
	out := bufio.NewWriter(p.stdout)
	words := map[conformance.Status]string{
		conformance.Passed: "ok", conformance.Failed: "FAILED", conformance.Skipped: "skipped",
	}
	rule := ""
	for _, check := range report.Checks {
		if check.Rule != rule {
			if rule != "" {
				fmt.Fprintln(out)
			}
			if rule = check.Rule; rule == "operations" {
				fmt.Fprintln(out, "Table of operations")
			} else {
				fmt.Fprintln(out, "Rule "+rule)
			}
		}
		fmt.Fprintf(out, "  %-9s%s\n", words[check.Status], wrap(check.Name, 11))
		if check.Got != "" {
			for line := range strings.SplitSeq(check.Got, "\n") {
				fmt.Fprintf(out, "           %s\n", wrap("- "+escape(line), 13))
			}
		}
	}
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n",
		report.Count(conformance.Passed), report.Count(conformance.Failed), report.Count(conformance.Skipped))
	return outputError(out.Flush())
}

// terminalColumns is the width of a terminal that text is wrapped for.
const terminalColumns = 80

// wrap breaks a text into lines that fit a terminal, each but the first with an indent. A longer word is broken.
func wrap(text string, indent int) string {
	width := terminalColumns - indent
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		for utf8.RuneCountInString(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// proxyURL is the URL of a proxy.
type proxyURL struct{ url string }

func (v *proxyURL) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil ||
		u.Fragment != "" {
		return badValue("must be an address such as http://127.0.0.1:3000/tickets")
	}
	v.url = u.String()
	return nil
}

// sessionHeader is a header of a storefront session.
type sessionHeader struct{ name, value string }

func (v *sessionHeader) UnmarshalText(text []byte) error {
	name, value, ok := strings.Cut(string(text), ":")
	value = textproto.TrimString(value)
	if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) || value == "" {
		return badValue("must be a header such as 'Cookie: session=VALUE'")
	}
	v.name, v.value = name, value
	return nil
}

// patienceSpan is how long the check waits for the proxy.
type patienceSpan struct{ time.Duration }

func (v *patienceSpan) UnmarshalText(text []byte) error {
	const least, most = time.Second, 10 * time.Minute
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < least || parsed > most {
		return badValue("must be a duration such as 20s, from %s to %s", least, most)
	}
	v.Duration = parsed
	return nil
}
