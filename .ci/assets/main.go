// Command assets makes the files of browsers from their sources. Of the embed SDK these are service.js and framed.js of
// TypeScript, bundled and minified, widget.css minified, and service.d.ts, which is public.d.ts. Of the console these
// are console.js, bar.css and console.css.
//
//	go -C .ci/assets run . ../../widget/src ../../widget/assets
//	go -C .ci/assets run . ../../console/src ../../console/assets
//
// It is a module of its own, so that nobody who imports the library depends on the bundler. It needs no Node.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "assets:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: assets SOURCE TARGET")
	}
	source, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	target, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	var entries []string
	for _, name := range []string{"service.ts", "framed.ts", "widget.css", "console.ts", "bar.css", "console.css"} {
		if entry := filepath.Join(source, name); exists(entry) {
			entries = append(entries, entry)
		}
	}
	result := api.Build(api.BuildOptions{
		EntryPoints:       entries,
		Outdir:            target,
		Bundle:            true,
		Write:             true,
		Format:            api.FormatIIFE,
		Target:            api.ES2022,
		Charset:           api.CharsetUTF8,
		LegalComments:     api.LegalCommentsNone,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		MangleProps:       `^(openList|openEvent|openDetails|openPurchase|openSuccess|purchases|focused|turns)$`, // of App
		LogLevel:          api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return errors.New("the bundler failed")
	}
	public := filepath.Join(source, "public.d.ts")
	if !exists(public) {
		return nil
	}
	types, err := os.ReadFile(public)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(target, "service.d.ts"), types, 0o644)
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
