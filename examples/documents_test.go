package examples_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// shows checks that the Go blocks of a document are exactly the bodies of the examples in a file.
func shows(t *testing.T, document, source string) {
	t.Helper()
	bodies := map[string]bool{}
	for _, function := range strings.Split(read(t, source), "\nfunc Example_")[1:] {
		body, _, _ := strings.Cut(function, "\t// Output:")
		_, body, _ = strings.Cut(body, "() {\n")
		var text strings.Builder
		for line := range strings.Lines(body) {
			text.WriteString(strings.TrimPrefix(line, "\t"))
		}
		bodies[text.String()] = true
	}
	blocks := strings.Split(read(t, document), "\n```go\n")[1:]
	if len(blocks) != len(bodies) {
		t.Errorf("%s has %d Go blocks, there are %d examples", document, len(blocks), len(bodies))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !bodies[code] {
			t.Errorf("this block of %s is none of the examples in examples/%s:\n%s", document, source, code)
		}
	}
}

// The README is for a reader of five minutes: details belong into docs/.
func TestREADMEIsShort(t *testing.T) {
	t.Parallel()
	if lines := strings.Count(read(t, "../README.md"), "\n"); lines > 150 {
		t.Errorf("README.md has %d lines, at most 150 are for everybody: move details to docs/", lines)
	}
}

var (
	fence = regexp.MustCompile("(?ms)^( *)```.*?\n *```$")
	code  = regexp.MustCompile("`[^`\n]*`")
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)

	linked = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
)

// Every file and heading that a document links to exists.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	t.Parallel()
	headings := map[string]map[string]bool{}
	for _, document := range files(t, ".md") {
		if strings.HasPrefix(document, "../httpapi/guide/") {
			continue // Its links are of a server.
		}
		prose := code.ReplaceAllString(fence.ReplaceAllString(read(t, document), ""), "")
		for _, match := range link.FindAllStringSubmatch(prose, -1) {
			target, anchor, found := strings.Cut(match[1], "#")
			if strings.Contains(target, ":") {
				continue // A URL.
			}
			path := document
			if target != "" {
				path = filepath.Join(filepath.Dir(document), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s: %v", document, match[1], err)
				continue
			}
			if !found {
				continue
			}
			if headings[path] == nil {
				headings[path] = anchors(read(t, path))
			}
			if !headings[path][anchor] {
				t.Errorf("%s links to %s, where there is no such heading", document, match[1])
			}
		}
	}
}

// anchors returns the names that GitHub gives the headings of a document.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		title, found := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !found || !strings.HasPrefix(line, "#") {
			continue
		}
		title = linked.ReplaceAllString(strings.TrimSpace(title), "$1")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, title)
		for i := 1; names[name]; i++ {
			name = strings.TrimSuffix(name, "-"+strconv.Itoa(i-1)) + "-" + strconv.Itoa(i)
		}
		names[name] = true
	}
	return names
}

var (
	newLine  = regexp.MustCompile(`\s*\n\s*(?://)?\s*`)
	number   = regexp.MustCompile(`\d+(?:\.\d+)*`)
	sections = regexp.MustCompile(`(?:RFC \d+, )?\b[Ss]ections? (` + number.String() + `(?:(?:,| and|, and| or| to) ` +
		`(?:section )?` + number.String() + `)*)`)
	heading = regexp.MustCompile(`(?m)^##+ (` + number.String() + `) \S`)
)

// Every section of the contract that code or a document cites can be looked up in docs/contract.md.
func TestCitedSectionsAreSummedUp(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(read(t, "../docs/contract.md"), -1) {
		known[match[1]] = true
	}
	for _, path := range append(files(t, ".go"), files(t, ".md")...) {
		text := read(t, path)
		for at := strings.Index(text, "ection"); at >= 0; at = strings.Index(text, "ection") {
			near := newLine.ReplaceAllString(text[max(0, at-12):min(len(text), at+100)], " ")
			text = text[at+1:]
			match := sections.FindStringSubmatch(near)
			if len(match) == 0 || strings.HasPrefix(match[0], "RFC") {
				continue
			}
			for _, cited := range number.FindAllString(match[1], -1) {
				if !known[cited] {
					t.Errorf("%s cites section %s, which docs/contract.md lacks: %q", path, cited, match[0])
				}
			}
		}
	}
}

// files returns the files of the module with an extension.
func files(t *testing.T, extension string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(path) == extension:
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
