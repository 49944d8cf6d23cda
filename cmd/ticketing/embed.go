package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/floatgate/ticketing/widget"
)

type embedCommands struct {
	Snippet embedSnippetCommand `cmd:"" help:"Print the HTML, script and content security policy for a page that sells tickets."`
}

type embedSnippetCommand struct {
	Proxy     proxyPath `help:"Path of the browser proxy on the website's own server, such as /tickets." placeholder:"PATH" required:""`
	Frame     bool      `help:"Show the widget in a frame of the web origin, over HTTPS."`
	WebOrigin webOrigin `help:"Origin that serves the SDK: that of \"ticketing serve\", or of what is in front of it. Defaults to https://tickets.example, which stands for yours." placeholder:"URL"`
	Pictures  origins   `help:"Origins of the logo and of the events' pictures. Defaults to any, over HTTPS. Not with --frame: those in the frame are under its own policy." placeholder:"URL,…"`
}

func (*embedSnippetCommand) Help() string {
	return `It needs no database. A strict Content-Security-Policy forbids script within a page, so the call that ` +
		`mounts the widget is in a file of the website's own.

    ticketing embed snippet --proxy /tickets
    ticketing embed snippet --proxy /tickets --web-origin https://tickets.example
    ticketing embed snippet --proxy /tickets --web-origin https://tickets.example --frame
    ticketing embed snippet --proxy /tickets --web-origin https://tickets.example --pictures https://img.example`
}

// proxyPath is a path on the origin of a page.
type proxyPath string

// What these match needs no escape in HTML, JavaScript and a policy.
var (
	proxyPathForm = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)
	dotSegment    = regexp.MustCompile(`/\.\.?(/|$)`) // which a browser resolves
	originForm    = regexp.MustCompile(`^https?://[A-Za-z0-9._:\[\]-]+$`)
)

func (v *proxyPath) UnmarshalText(text []byte) error {
	if !proxyPathForm.Match(text) || dotSegment.Match(text) {
		return badValue("must be an absolute path such as /tickets, of letters, digits and . _ ~ -, without . and .. " +
			"between slashes")
	}
	*v = proxyPath(text)
	return nil
}

// origins are origins of pictures.
type origins []string

func (v *origins) UnmarshalText(text []byte) error {
	for part := range strings.SplitSeq(string(text), ",") {
		var one webOrigin
		if err := one.UnmarshalText([]byte(strings.TrimSpace(part))); err != nil ||
			!originForm.MatchString(one.origin) || !strings.HasPrefix(one.origin, "https://") {
			return badValue("must be origins such as https://img.example, separated by commas")
		}
		*v = append(*v, one.origin)
	}
	return nil
}

// snippet is what a website needs to sell.
type snippet struct {
	HTML       string `json:"html"`
	Script     string `json:"script"`
	ScriptPath string `json:"scriptPath"` // where the page loads the script from
	CSP        string `json:"csp"`
}

// placeholderOrigin stands for the web origin until the reader has one.
const placeholderOrigin = "https://tickets.example"

func (c *embedSnippetCommand) Run(p *program) error {
	placeholder := c.WebOrigin.origin == ""
	if placeholder {
		c.WebOrigin.origin = placeholderOrigin
	}
	if c.Frame && len(c.Pictures) > 0 {
		return badValue("--pictures: is not for --frame: the pictures in the frame are under the frame's own policy")
	}
	if c.Frame && !strings.HasPrefix(c.WebOrigin.origin, "https://") {
		return badValue("--frame: needs a --web-origin of https: browsers show the frame over HTTPS alone")
	}
	if !originForm.MatchString(c.WebOrigin.origin) {
		return badValue("--web-origin: must be an origin as a browser writes it, such as https://tickets.example")
	}
	if placeholder {
		fmt.Fprintln(p.stderr, placeholderOrigin+" stands for the origin that serves the SDK: set yours with --web-origin "+
			"or TICKETING_WEB_ORIGIN")
	}
	made := c.snippet()
	if p.JSON {
		return encode(p.stdout, made)
	}
	_, err := fmt.Fprintf(p.stdout, "Into the page, where the tickets go:\n\n%s\nInto the file %s of the website's own, "+
		"since a strict policy allows no script within a page:\n\n%s\nInto the Content-Security-Policy of the page:\n\n%s\n",
		made.HTML, made.ScriptPath, made.Script, made.CSP)
	if err == nil && c.Frame {
		_, err = fmt.Fprintln(p.stdout, "\nThe page needs no img-src for the tickets: the pictures in the frame are under "+
			"the frame's own policy.")
	}
	return outputError(err)
}

// snippet makes the lines.
func (c *embedSnippetCommand) snippet() snippet {
	origin, path := c.WebOrigin.origin, string(c.Proxy)+".js"
	script := "ServiceEmbedsV1.mount({\n  target: '#tickets',\n" +
		"  transport: ServiceEmbedsV1.proxyTransport('" + string(c.Proxy) + "'),\n})\n"
	pictures := "https:"
	if len(c.Pictures) > 0 {
		pictures = strings.Join(c.Pictures, " ")
	}
	policy := []string{
		"script-src 'self' " + origin, "style-src 'self' " + origin, "connect-src 'self'", "img-src 'self' " + pictures,
	}
	if c.Frame {
		script = strings.Replace(script, "mount({", "mountIframe({\n  embedUrl: '"+origin+widget.FramePath+"',", 1)
		policy = []string{"script-src 'self' " + origin, "frame-src " + origin, "connect-src 'self'"}
	}
	return snippet{
		HTML: "<div id=\"tickets\"></div>\n<script src=\"" + origin + widget.ScriptPath + "\" defer></script>\n" +
			"<script src=\"" + path + "\" defer></script>\n",
		Script: script, ScriptPath: path, CSP: strings.Join(policy, "; "),
	}
}
