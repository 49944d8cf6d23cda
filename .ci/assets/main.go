// Command assets makes the files of the embed SDK from their sources: service.js and framed.js of TypeScript, bundled
// and minified, widget.css minified, and service.d.ts, which is public.d.ts.
//
//	go -C .ci/assets run . ../../widget/src ../../widget/assets
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
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(source, "service.ts"), filepath.Join(source, "framed.ts"),
			filepath.Join(source, "widget.css")},
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
	types, err := os.ReadFile(filepath.Join(source, "public.d.ts"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(target, "service.d.ts"), types, 0o644)
}
