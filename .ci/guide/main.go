// Command guide prints the page that guide.md makes: the content of httpapi/guide/guide.html. It is a module of its
// own, so that what renders Markdown is nobody's dependency who imports the library.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

//go:embed page.html
var pageSource string

// heading is a row of the table of contents.
type heading struct{ ID, Text string }

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "guide:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return errors.New("usage: guide SOURCE [PAGE]")
	}
	source, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	page, err := render(source)
	if err != nil {
		return err
	}
	if len(args) == 2 {
		return os.WriteFile(args[1], page, 0o644)
	}
	_, err = os.Stdout.Write(page)
	return err
}

// render makes the page. Its title is the first heading, its contents are those of the second level. Raw HTML in the
// source is left out, as goldmark does by default.
func render(source []byte) ([]byte, error) {
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	)
	root := markdown.Parser().Parse(text.NewReader(source))
	var title string
	var contents []heading
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		h, ok := n.(*ast.Heading)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		id, _ := h.AttributeString("id")
		named, _ := id.([]byte)
		switch h.Level {
		case 1:
			title = plain(h, source)
		case 2:
			contents = append(contents, heading{string(named), plain(h, source)})
		}
		return ast.WalkSkipChildren, nil
	})
	if err != nil {
		return nil, err
	}
	if title == "" || len(contents) == 0 {
		return nil, errors.New("the source has no title or no chapters")
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, root); err != nil {
		return nil, err
	}
	rendered := dress(body.String())
	page, err := template.New("page").Parse(pageSource)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Title": title, "Contents": contents, "Body": template.HTML(rendered),
	})
	return out.Bytes(), err
}

var (
	headings = regexp.MustCompile(`(?s)<h([23]) id="([^"]*)">(.*?)</h[23]>`)
	cells    = regexp.MustCompile(`(?s)<td>.*?</td>`)
	codes    = regexp.MustCompile(`<code>[^<]*</code>`)
	breaks   = strings.NewReplacer("_", "_<wbr>", ":", ":<wbr>", ".", ".<wbr>")
)

// dress gives the page what Markdown has no word for. Headings link to themselves, and those of tables say what they
// are of. What is wider than a phone is scrolled by itself, with the keyboard, too, and long names in tables break
// between their words.
func dress(page string) string {
	page = headings.ReplaceAllString(page, `<h$1 id="$2"><a href="#$2">$3</a></h$1>`)
	page = strings.ReplaceAll(page, "<pre>", `<pre tabindex="0">`)
	page = strings.ReplaceAll(page, "<th>", `<th scope="col">`)
	return cells.ReplaceAllStringFunc(page, func(cell string) string {
		return codes.ReplaceAllStringFunc(cell, breaks.Replace)
	})
}

// plain is the text of a heading.
func plain(n ast.Node, source []byte) string {
	var out bytes.Buffer
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			out.Write(child.Segment.Value(source))
		default:
			out.WriteString(plain(child, source))
		}
	}
	return out.String()
}
