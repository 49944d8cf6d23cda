// Command pages makes the guide and the reference: httpapi/guide/guide.html of guide.md, and
// httpapi/docs/reference.html of openapi.json. It is a module of its own, so that what renders Markdown and code is no dependency of programs that
// import the library.
package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
)

//go:embed *.html
var templates embed.FS

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

// run reads guide/guide.md and openapi.json of one folder, and writes the pages to the same places of it or of another.
func run(args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return errors.New("usage: pages HTTPAPI [FOLDER]")
	}
	from, to := args[0], args[len(args)-1]
	source, err := os.ReadFile(filepath.Join(from, "guide", "guide.md"))
	if err != nil {
		return err
	}
	document, err := os.ReadFile(filepath.Join(from, "openapi.json"))
	if err != nil {
		return err
	}
	guide, err := renderGuide(source)
	if err != nil {
		return fmt.Errorf("guide: %w", err)
	}
	reference, err := renderReference(document)
	if err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	return errors.Join(
		write(filepath.Join(to, "guide", "guide.html"), guide),
		write(filepath.Join(to, "docs", "reference.html"), reference),
	)
}

func write(path string, page []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, page, 0o644)
}

// execute makes a page of its template.
func execute(name string, page any) ([]byte, error) {
	parsed, err := template.ParseFS(templates, "*.html")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.ExecuteTemplate(&out, name, page)
	return out.Bytes(), err
}
