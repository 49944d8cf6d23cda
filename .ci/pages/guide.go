package main

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// guide is the page of guide.md.
type guide struct {
	Title, Here string
	Contents    []heading
	Body        template.HTML
}

// heading is a row of the table of contents.
type heading struct{ ID, Text string }

// renderGuide makes the page. Its title is the first heading, its contents are those of the second level. Raw HTML in
// the source is left out, as goldmark does by default. Blocks of code that follow one another in several languages
// become one block, of which the reader chooses the language.
func renderGuide(source []byte) ([]byte, error) {
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&codeRenderer{}, 1))),
	)
	root := markdown.Parser().Parse(text.NewReader(source))
	page := guide{Here: "guide"}
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		h, ok := n.(*ast.Heading)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		id, _ := h.AttributeString("id")
		named, _ := id.([]byte)
		switch h.Level {
		case 1:
			page.Title = plain(h, source)
		case 2:
			page.Contents = append(page.Contents, heading{string(named), plain(h, source)})
		}
		return ast.WalkSkipChildren, nil
	})
	if err != nil {
		return nil, err
	}
	if page.Title == "" || len(page.Contents) == 0 {
		return nil, errors.New("the source has no title or no chapters")
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, root); err != nil {
		return nil, err
	}
	mine, err := execute("mine", nil)
	if err != nil {
		return nil, err
	}
	const code = `<div class="code">`
	page.Body = template.HTML(strings.Replace(dress(body.String()), code, string(mine)+code, 1))
	return execute("guide.html", page)
}

// codeRenderer renders blocks of code.
type codeRenderer struct{ count int }

// RegisterFuncs is called by goldmark.
func (r *codeRenderer) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindFencedCodeBlock, r.render)
}

func (r *codeRenderer) render(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	first := n.(*ast.FencedCodeBlock)
	if of, before := n.PreviousSibling().(*ast.FencedCodeBlock); before && joins(of, first, source) {
		return ast.WalkSkipChildren, nil // It was rendered with that one.
	}
	r.count++
	made := samples{ID: fmt.Sprintf("in-block-%d", r.count), Copy: fmt.Sprintf("block %d", r.count)}
	for block := first; ; {
		var code bytes.Buffer
		for i := range block.Lines().Len() {
			line := block.Lines().At(i)
			code.Write(line.Value(source))
		}
		one, err := newBlock(string(block.Language(source)), code.String())
		if err != nil {
			return ast.WalkStop, err
		}
		made.Blocks = append(made.Blocks, one)
		next, follows := block.NextSibling().(*ast.FencedCodeBlock)
		if !follows || !joins(block, next, source) {
			break
		}
		block = next
	}
	made.First, made.Title = made.Blocks[0].Language, made.Blocks[0].Name
	if made.First == "curl" && len(made.Blocks) == 1 {
		made.Title = "bash"
	}
	text, err := execute("samples", made)
	if err != nil {
		return ast.WalkStop, err
	}
	_, err = out.Write(text)
	return ast.WalkSkipChildren, err
}

// joins reports whether a block says the same as the one before it, in another of the languages of samples.
func joins(before, after *ast.FencedCodeBlock, source []byte) bool {
	order := []string{"sh", "go", "ts", "python"}
	place := func(block *ast.FencedCodeBlock) int {
		for i, name := range order {
			if string(block.Language(source)) == name {
				return i
			}
		}
		return -1
	}
	return place(before) >= 0 && place(after) > place(before)
}

var (
	headings = regexp.MustCompile(`(?s)<h([23]) id="([^"]*)">(.*?)</h[23]>`)
	cells    = regexp.MustCompile(`(?s)<td>.*?</td>`)
	codes    = regexp.MustCompile(`<code>[^<]*</code>`)
	breaks   = strings.NewReplacer("_", "_<wbr>", ":", ":<wbr>", ".", ".<wbr>")
)

// dress gives the page what Markdown has no word for. Headings link to themselves, and those of tables say what they
// are of. Long names in tables break between their words.
func dress(page string) string {
	page = headings.ReplaceAllString(page, `<h$1 id="$2"><a href="#$2">$3</a></h$1>`)
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
