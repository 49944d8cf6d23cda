package main

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// What stands in samples for the reader's address and key. The page's script replaces it.
const (
	sampleBase = "https://tickets.example/api/public/v1"
	sampleKey  = "svc_live.key-id.secret"
)

// block is code in one language.
type block struct {
	Language string // a class of page.css, and the value of its button
	Name     string
	HTML     template.HTML
}

// samples are blocks that say the same in several languages. One is shown at a time.
type samples struct {
	ID, Title, Copy, First string
	Blocks                 []block
}

// languages maps what a block of the guide is fenced with to the name of its button.
var languages = map[string]struct{ class, name string }{
	"sh": {"curl", "curl"}, "curl": {"curl", "curl"}, "go": {"go", "Go"}, "ts": {"ts", "TypeScript"},
	"python": {"python", "Python"}, "json": {"json", "JSON"}, "html": {"html", "HTML"}, "js": {"js", "JavaScript"},
	"text": {"text", "bash"},
}

func newBlock(language, text string) (block, error) {
	of, known := languages[language]
	if !known {
		return block{}, fmt.Errorf("a block is in the language %q", language)
	}
	made, err := highlight(language, text)
	return block{Language: of.class, Name: of.name, HTML: made}, err
}

// highlight marks keywords, texts, numbers and comments. The address and the key of the samples become elements, which
// the page's script finds.
func highlight(language, text string) (template.HTML, error) {
	lexer := lexers.Get(map[string]string{"sh": "bash", "curl": "bash", "ts": "typescript"}[language])
	if lexer == nil {
		lexer = lexers.Get(language)
	}
	if lexer == nil {
		lexer = lexers.Fallback
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, token := range tokens.Tokens() {
		escaped := html.EscapeString(token.Value)
		if class := classOf(language, token.Type); class != "" && strings.TrimSpace(token.Value) != "" {
			escaped = `<span class="` + class + `">` + escaped + `</span>`
		}
		out.WriteString(escaped)
	}
	made := strings.NewReplacer(
		sampleBase, `<span data-my="base">`+sampleBase+`</span>`, sampleKey, `<span data-my="key">`+sampleKey+`</span>`,
	).Replace(out.String())
	return template.HTML(made), nil
}

// classOf returns the class of page.css that a token has; empty is none.
func classOf(language string, kind chroma.TokenType) string {
	switch {
	case kind.InCategory(chroma.Comment):
		return "c"
	case kind == chroma.NameTag && language == "json":
		return "k"
	case kind.InSubCategory(chroma.LiteralString):
		return "s"
	case kind.InSubCategory(chroma.LiteralNumber), kind == chroma.KeywordConstant:
		return "n"
	case kind.InCategory(chroma.Keyword), kind == chroma.NameTag:
		return "k"
	default:
		return ""
	}
}
